// SPDX-License-Identifier: MIT
// Facts about this machine for the header of a timeline.
#pragma once

#include <stddef.h>

typedef struct co_host {
    char os[128];  // "Windows 10.0.19045"
    char cpu[64];  // brand string
    int cpu_count; // logical processors
} co_host;

void co_host_facts(co_host *out);

// The processor's brand string by CPUID; the same on every system.
void co_host_cpu_name(char *out, size_t capacity);
