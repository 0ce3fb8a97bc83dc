// SPDX-License-Identifier: MIT
// How far a long work has come, on a terminal only: one line that is overwritten and goes away.
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct vw_progress {
    const char *what; // "counting events"; NULL: nothing is shown
    uint64_t next_ns; // when to show it again
    bool shown;
} vw_progress;

vw_progress vw_progress_begin(const char *what, bool quiet);
void vw_progress_show(vw_progress *p, uint64_t done, uint64_t total);
void vw_progress_end(vw_progress *p);
