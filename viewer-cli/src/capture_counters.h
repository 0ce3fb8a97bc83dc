// SPDX-License-Identifier: MIT
// `--counters`, `--hz` and `--max-overhead` of the capture commands.
#pragma once

#include "collector/counters.h"
#include "options.h"

typedef struct vw_counter_args {
    const char *counters, *max_overhead;
    vw_number hz;
} vw_counter_args;

cm_status vw_read_counters(const vw_counter_args *args, co_counters_options *out);

// How often they are read; 0 where there are none.
static inline double vw_counters_hz(const co_counters_options *options)
{
    return options->sources ? options->hz : 0;
}
