// SPDX-License-Identifier: MIT
#include "host.h"

#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

void co_host_facts(co_host *out)
{
    struct utsname name;
    if (uname(&name) == 0)
        snprintf(out->os, sizeof out->os, "%.40s %.64s", name.sysname, name.release);
    else
        snprintf(out->os, sizeof out->os, "unknown");
    co_host_cpu_name(out->cpu, sizeof out->cpu);
    out->cpu_count = (int)sysconf(_SC_NPROCESSORS_ONLN);
}
