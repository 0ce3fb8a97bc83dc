// SPDX-License-Identifier: MIT
#include "host.h"

#include <cpuid.h>
#include <stdio.h>
#include <string.h>

void co_host_cpu_name(char *out, size_t capacity)
{
    unsigned words[13] = {0};
    unsigned a, b, c, d;
    if (!__get_cpuid(0x80000000u, &a, &b, &c, &d) || a < 0x80000004u) {
        snprintf(out, capacity, "x86-64");
        return;
    }
    for (unsigned i = 0; i < 3; i++)
        __get_cpuid(0x80000002u + i, &words[4 * i], &words[4 * i + 1], &words[4 * i + 2],
                    &words[4 * i + 3]);
    const char *name = (const char *)words;
    while (*name == ' ')
        name++;
    size_t len = strlen(name);
    while (len && name[len - 1] == ' ')
        len--;
    snprintf(out, capacity, "%.*s", (int)len, name);
}
