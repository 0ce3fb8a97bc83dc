// SPDX-License-Identifier: MIT
// The collector's own marks for event tracing (provider Ortscope-Collector): in a recording of the
// whole machine they tell from when to when ortscope recorded what, and what it lost. With nobody
// listening each costs a load and a branch.
#pragma once

#include "tracelogging/etw.h"

typedef struct co_marks {
    tl_provider provider;
    tl_etw_thread thread;
} co_marks;

// `marks` is zero. `api` NULL: there is no event tracing, and all of this does nothing.
void co_marks_open(co_marks *marks, const tl_etw_api *api);
void co_marks_close(co_marks *marks);

void co_marks_capture_begin(co_marks *marks, uint64_t utc_ns, const char *file);
void co_marks_capture_end(co_marks *marks, uint64_t runs, uint64_t lost_events);
void co_marks_target_begin(co_marks *marks, uint32_t pid, uint32_t process, int how,
                           const char *program);
void co_marks_target_end(co_marks *marks, uint32_t pid, uint32_t process, int reason,
                         int64_t exit_code);
void co_marks_loss(co_marks *marks, uint32_t process, int cause, uint64_t events);
