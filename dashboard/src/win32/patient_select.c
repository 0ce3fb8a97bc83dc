// SPDX-License-Identifier: MIT
#include "patient_select.h"

#include <stdbool.h>

#include <windows.h>

typedef struct sets {
    fd_set read, write, failed;
} sets;

static fd_set copy_of(const fd_set *set)
{
    fd_set none = {.fd_count = 0};
    return set ? *set : none;
}

static int look(const sets *wanted, sets *out)
{
    struct timeval at_once = {0, 0};
    *out = *wanted;
    return select(0, &out->read, &out->write, &out->failed, &at_once);
}

// Whoever waits for the same socket at the same time may be left without a word: nobody waits for
// long, and looks again then.
static void associate(const fd_set *set, HANDLE event, long what)
{
    for (unsigned i = 0; i < set->fd_count; i++)
        WSAEventSelect(set->fd_array[i], event, event ? what : 0);
}

static int wait_and_look(const sets *wanted, DWORD ms, sets *out)
{
    HANDLE event = CreateEventW(NULL, TRUE, FALSE, NULL);
    if (!event)
        return 0;
    const long reading = FD_READ | FD_ACCEPT | FD_CLOSE;
    associate(&wanted->read, event, reading);
    associate(&wanted->write, event, reading | FD_WRITE | FD_CONNECT);
    int found = look(wanted, out); // what came before the event was there
    if (found == 0)
        WaitForSingleObject(event, ms);
    associate(&wanted->read, NULL, 0);
    associate(&wanted->write, NULL, 0);
    CloseHandle(event);
    return found ? found : look(wanted, out);
}

int da_patient_select(int ignored, fd_set *to_read, fd_set *to_write, fd_set *failed,
                      const struct timeval *limit)
{
    const sets wanted = {copy_of(to_read), copy_of(to_write), copy_of(failed)};
    sets found;
    (void)ignored;
    DWORD ms = (DWORD)limit->tv_sec * 1000u + (DWORD)limit->tv_usec / 1000u;
    int count = look(&wanted, &found);
    if (count == 0 && ms)
        count = wait_and_look(&wanted, ms, &found);
    if (to_read)
        *to_read = found.read;
    if (to_write)
        *to_write = found.write;
    if (failed)
        *failed = found.failed;
    return count;
}
