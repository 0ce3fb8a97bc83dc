// SPDX-License-Identifier: MIT
// Rows for timelines that tests and benchmarks make. Whoever includes it has a `tm_writer
// *g_writer`.
#pragma once

#include "timeline/timeline.h"

#include <string.h>

// ROW(run, ...): a value for each column, and no fewer.
#define ROW(kind, ...)                                                                             \
    do {                                                                                           \
        const int64_t values_[] = {__VA_ARGS__};                                                   \
        _Static_assert(sizeof values_ / sizeof *values_ == TM_##kind##_COUNT,                      \
                       "one value a column");                                                      \
        tm_writer_row(g_writer, TM_KIND_##kind, values_);                                          \
    } while (0)

#define TEXT(s) tm_writer_string(g_writer, (s), strlen(s))
