// SPDX-License-Identifier: MIT
// A timeline that has to be read more than once: what belongs together may stand far apart in it.
// This layer opens no files, so whoever asks gives a way to begin anew.
#pragma once

#include "timeline/timeline.h"

typedef struct an_source {
    void *context;
    cm_status (*open)(void *context, tm_reader **out); // at the file's beginning, to be closed
} an_source;

// One reading: calls `take` for each block of the kinds in `mask` (TM_BIT). A damaged end is the
// end.
cm_status an_source_read(const an_source *source, uint64_t mask, void *context,
                         cm_status (*take)(void *context, const tm_reader *reader,
                                           const tm_block *block));

// The same, without blocks whose times are not wanted, as far as the file makes that possible.
cm_status an_source_read_times(const an_source *source, uint64_t mask, void *context,
                               tm_wanted *wanted,
                               cm_status (*take)(void *context, const tm_reader *reader,
                                                 const tm_block *block));

// There is a row of one of these kinds. A file that can't be read has none.
bool an_source_has(const an_source *source, uint64_t mask);
