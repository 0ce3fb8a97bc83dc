// SPDX-License-Identifier: MIT
// process_facts PID...: prints "PID threads handles" of each process, as the system counts them.
// GetProcessHandleCount answers 0 under Wine; the list of all processes has the true numbers.
#include <stdio.h>
#include <stdlib.h>
#include <windows.h>
#include <winternl.h>

#define LIST_BYTES (4u << 20)

static const SYSTEM_PROCESS_INFORMATION *find(const char *list, ULONG pid)
{
    for (;;) {
        const SYSTEM_PROCESS_INFORMATION *entry = (const void *)list;
        if ((ULONG)(ULONG_PTR)entry->UniqueProcessId == pid)
            return entry;
        if (!entry->NextEntryOffset)
            return NULL;
        list += entry->NextEntryOffset;
    }
}

int main(int argc, char **argv)
{
    char *list = malloc(LIST_BYTES);
    if (!list || NtQuerySystemInformation(SystemProcessInformation, list, LIST_BYTES, NULL) < 0) {
        fprintf(stderr, "process_facts: the list of processes could not be had\n");
        return 1;
    }
    for (int i = 1; i < argc; i++) {
        const SYSTEM_PROCESS_INFORMATION *entry = find(list, strtoul(argv[i], NULL, 10));
        if (!entry) {
            fprintf(stderr, "process_facts: no process %s\n", argv[i]);
            return 3;
        }
        printf("%s %lu %lu\n", argv[i], entry->NumberOfThreads, entry->HandleCount);
    }
    return 0;
}
