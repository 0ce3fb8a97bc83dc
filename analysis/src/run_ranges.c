// SPDX-License-Identifier: MIT
// See run_ranges.h.
#include "run_ranges.h"

#include "analysis_util.h"

#include <stdlib.h>
#include <string.h>

#define LOOK_BACK 8 // ranges at the end that a new run may extend: runs on several threads

void an_run_ranges_init(an_run_ranges *r)
{
    memset(r, 0, sizeof *r);
    r->complete = true;
}

void an_run_ranges_deinit(an_run_ranges *r)
{
    free(r->items);
    memset(r, 0, sizeof *r);
}

static int by_session_and_run(const void *a, const void *b)
{
    const an_run_range *x = a, *y = b;
    if (x->session != y->session)
        return x->session < y->session ? -1 : 1;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return (x->last > y->last) - (x->last < y->last);
}

void an_run_ranges_finish(an_run_ranges *r)
{
    size_t kept = 0;
    if (r->count)
        qsort(r->items, r->count, sizeof *r->items, by_session_and_run);
    for (size_t i = 0; i < r->count; i++) {
        an_run_range *last = kept ? &r->items[kept - 1] : NULL, *next = &r->items[i];
        if (last && last->session == next->session && last->value == next->value &&
            (next->first <= last->last || next->first == last->last + 1)) {
            if (next->last > last->last)
                last->last = next->last;
        } else {
            r->items[kept++] = *next;
        }
    }
    r->count = kept;
}

static bool extend(an_run_range *range, int64_t session, int64_t run, int64_t value)
{
    if (range->session != session || range->value != value)
        return false;
    if (run >= range->first && run <= range->last)
        return true;
    if (range->last < INT64_MAX && run == range->last + 1) {
        range->last = run;
        return true;
    }
    return false;
}

cm_status an_run_ranges_add(an_run_ranges *r, int64_t session, int64_t run, int64_t value)
{
    for (size_t back = 1; back <= LOOK_BACK && back <= r->count; back++)
        if (extend(&r->items[r->count - back], session, run, value))
            return CM_OK;
    if (r->count == AN_RUN_RANGES && r->complete) {
        an_run_ranges_finish(r);
        r->complete = r->count < AN_RUN_RANGES / 4 * 3;
    }
    if (!r->complete)
        return CM_OK;
    an_run_range *items = an_grow(r->items, &r->capacity, r->count, sizeof *items);
    if (!items)
        return an_no_memory();
    r->items = items;
    items[r->count++] = (an_run_range){session, run, run, value};
    return CM_OK;
}

const an_run_range *an_run_ranges_find(const an_run_ranges *r, int64_t session, int64_t run)
{
    size_t low = 0, high = r->count;
    while (low < high) { // the first range behind the run
        size_t middle = low + (high - low) / 2;
        const an_run_range *m = &r->items[middle];
        if (m->session < session || (m->session == session && m->first <= run))
            low = middle + 1;
        else
            high = middle;
    }
    const an_run_range *found = low ? &r->items[low - 1] : NULL;
    return found && found->session == session && run <= found->last ? found : NULL;
}
