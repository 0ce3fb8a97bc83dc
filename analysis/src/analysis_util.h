// SPDX-License-Identifier: MIT
// Shared by the files of this layer only: growing arrays, copied strings, sums that do not wrap.
#pragma once

#include "timeline/timeline.h"

#include <stddef.h>
#include <stdint.h>

cm_status an_no_memory(void);

// Room for one more item: the array, moved if need be, or NULL (the old one is then still good).
void *an_grow(void *items, size_t *capacity, size_t count, size_t item_size);

// Replaces *text with a copy of the reader's string (also for "").
cm_status an_copy_string(char **text, const tm_reader *reader, int64_t id);

// Both numbers come from a file: no overflow whatever they are.
static inline int64_t an_add_clamped(int64_t a, int64_t b)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return b > 0 ? INT64_MAX : INT64_MIN;
    return sum;
}

static inline uint64_t an_add_saturating(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}
