// SPDX-License-Identifier: MIT
#include "progress.h"

#include "common/os.h"

#include <stdio.h>
#include <string.h>

#define FIRST_NS 1000000000u // short work shows nothing
#define AGAIN_NS 200000000u

vw_progress vw_progress_begin(const char *what, bool quiet)
{
    bool show = !quiet && cm_is_terminal(CM_STDERR);
    return (vw_progress){.what = show ? what : NULL, .next_ns = cm_monotonic_ns() + FIRST_NS};
}

void vw_progress_show(vw_progress *p, uint64_t done, uint64_t total)
{
    char line[128];
    if (!p->what || cm_monotonic_ns() < p->next_ns)
        return;
    unsigned percent =
        total ? (unsigned)(done < total ? (double)done / (double)total * 100 : 100) : 0;
    snprintf(line, sizeof line, "\rortscope: %s, %u %% ", p->what, percent);
    cm_stream_write(CM_STDERR, line, strlen(line));
    p->next_ns = cm_monotonic_ns() + AGAIN_NS;
    p->shown = true;
}

void vw_progress_end(vw_progress *p)
{
    static const char wipe[] = "\r                                                            \r";
    if (p->shown)
        cm_stream_write(CM_STDERR, wipe, sizeof wipe - 1);
    p->shown = false;
}
