// SPDX-License-Identifier: MIT
#include "host.h"

#include <stdio.h>

#include <windows.h>

// GetVersionEx answers with what the program's manifest asks for; this one tells the truth.
NTSYSAPI LONG NTAPI RtlGetVersion(OSVERSIONINFOW *version);

void co_host_facts(co_host *out)
{
    OSVERSIONINFOW version = {.dwOSVersionInfoSize = sizeof version};
    RtlGetVersion(&version);
    snprintf(out->os, sizeof out->os, "Windows %lu.%lu.%lu", (unsigned long)version.dwMajorVersion,
             (unsigned long)version.dwMinorVersion, (unsigned long)version.dwBuildNumber);
    co_host_cpu_name(out->cpu, sizeof out->cpu);
    SYSTEM_INFO info;
    GetNativeSystemInfo(&info);
    out->cpu_count = (int)info.dwNumberOfProcessors;
}
