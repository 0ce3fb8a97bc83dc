// SPDX-License-Identifier: MIT
// Whose loading it was: kernels that run inside session creation do so before the session has a
// number. They belong to the session that was being created on the same thread at that time.
#include "analysis_util.h"
#include "ops_internal.h"

#include <stdlib.h>

#define LOOK_BACK 64 // sessions that may be in creation at once

cm_status an_ops_add_creations(an_ops *o, const tm_block *b)
{
    for (size_t row = 0; row < b->row_count && o->creation_count < AN_MAX_CREATIONS; row++) {
        an_creation *creations =
            an_grow(o->creations, &o->creation_capacity, o->creation_count, sizeof *creations);
        if (!creations)
            return an_no_memory();
        o->creations = creations;
        int64_t begin = b->columns[TM_session_time][row], load = b->columns[TM_session_load][row];
        creations[o->creation_count++] =
            (an_creation){.session = b->columns[TM_session_session][row],
                          .thread = b->columns[TM_session_thread][row],
                          .begin_ns = begin,
                          .end_ns = an_add_clamped(begin, load > 0 ? load : 0)};
    }
    return CM_OK;
}

static int by_begin(const void *a, const void *b)
{
    const an_creation *x = a, *y = b;
    return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

// 0 if none was being created there and then.
static int64_t session_in_creation(const an_ops *o, int64_t thread, int64_t time_ns)
{
    size_t low = 0, high = o->creation_count;
    while (low < high) { // how many had begun
        size_t middle = low + (high - low) / 2;
        if (o->creations[middle].begin_ns <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t back = 1; back <= low && back <= LOOK_BACK; back++) {
        const an_creation *c = &o->creations[low - back];
        if (c->thread == thread && time_ns <= c->end_ns)
            return c->session;
    }
    return 0;
}

void an_ops_assign_loading(an_ops *o)
{
    if (o->creation_count)
        qsort(o->creations, o->creation_count, sizeof *o->creations, by_begin);
    for (size_t i = 0; i < o->kernel_count; i++) {
        an_kernel *k = &o->kernels[i];
        if (k->session == 0 && k->loaded)
            k->session = session_in_creation(o, k->loading_thread, k->loading_time_ns);
    }
}
