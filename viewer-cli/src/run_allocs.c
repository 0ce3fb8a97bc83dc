// SPDX-License-Identifier: MIT
// See run_allocs.h. Rows may say anything; sizes of releases come from the allocations that they
// end, so that what is drawn never falls below nothing.
#include "run_allocs.h"

#include "common/map.h"
#include "spark.h"
#include "timeline_input.h"

#include <stdlib.h>

enum { ACTION_RELEASED = 1, FLAG_FAILED = 4 };

static cm_status no_memory(void)
{
    return cm_fail(CM_NO_MEMORY, "There is not enough memory for the allocations of this run.");
}

void vw_run_allocs_deinit(vw_run_allocs *a)
{
    free(a->items);
}

// ---------------------------------------------------------------------------------------- reading

static cm_status take(vw_run_allocs *a, const tm_block *b, size_t row)
{
    if (a->count == VW_RUN_MAX_ALLOCS) {
        a->left_out++;
        return CM_OK;
    }
    if (a->count == a->capacity) {
        size_t wanted = a->capacity ? a->capacity * 2 : 64;
        vw_alloc *items = realloc(a->items, wanted * sizeof *items);
        if (!items)
            return no_memory();
        a->items = items;
        a->capacity = wanted;
    }
    int64_t bytes = b->columns[TM_alloc_bytes][row];
    a->items[a->count++] =
        (vw_alloc){.time_ns = b->columns[TM_alloc_time][row],
                   .thread = b->columns[TM_alloc_thread][row],
                   .kernel = b->columns[TM_alloc_kernel][row],
                   .address = (uint64_t)b->columns[TM_alloc_address][row],
                   .bytes = bytes > 0 ? bytes : 0,
                   .released = b->columns[TM_alloc_action][row] == ACTION_RELEASED};
    return CM_OK;
}

static cm_status read_rows(vw_run_allocs *a, const char *path, int64_t session, int64_t run)
{
    tm_reader *reader;
    tm_block b;
    CM_TRY(vw_open_timeline(path, &reader));
    tm_reader_only(reader, TM_BIT(alloc));
    cm_status status;
    while ((status = tm_reader_next(reader, &b)) == CM_OK) {
        for (size_t row = 0; row < b.row_count && status == CM_OK; row++)
            if (b.columns[TM_alloc_session][row] == session &&
                b.columns[TM_alloc_run][row] == run &&
                !(b.columns[TM_alloc_flags][row] & FLAG_FAILED))
                status = take(a, &b, row);
        if (status != CM_OK)
            break;
    }
    tm_reader_close(reader);
    return status == CM_END ? CM_OK : status;
}

static int by_time(const void *a, const void *b)
{
    const vw_alloc *x = a, *y = b;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    return (x->released > y->released) - (x->released < y->released);
}

// Gives releases the size of what they release, and adds up.
static cm_status find_sizes(vw_run_allocs *a)
{
    cm_map by_address;
    double now = 0;
    bool room = true;
    cm_map_init(&by_address);
    for (size_t i = 0; i < a->count && room; i++) {
        vw_alloc *item = &a->items[i];
        size_t of; // the place of the allocation and 1, 0: it is released already
        if (!item->released) {
            a->allocations++;
            a->allocated_bytes += (double)item->bytes;
            room = cm_map_put(&by_address, (int64_t)item->address, i + 1);
        } else {
            bool ours = cm_map_find(&by_address, (int64_t)item->address, &of) && of > 0;
            a->releases++;
            item->bytes = ours ? -a->items[of - 1].bytes : 0;
            a->released_bytes -= (double)item->bytes;
            if (ours)
                room = cm_map_put(&by_address, (int64_t)item->address, 0);
        }
        now += (double)item->bytes;
        a->peak_bytes = now > a->peak_bytes ? now : a->peak_bytes;
    }
    cm_map_deinit(&by_address);
    return room ? CM_OK : no_memory();
}

cm_status vw_run_allocs_read(vw_run_allocs *a, const char *path, int64_t session, int64_t run)
{
    CM_TRY(read_rows(a, path, session, run));
    if (a->count)
        qsort(a->items, a->count, sizeof *a->items, by_time);
    return find_sizes(a);
}

// ---------------------------------------------------------------------------------------- drawing

static size_t column_of(const vw_alloc *item, int64_t begin_ns, int64_t duration_ns, size_t columns)
{
    double whole = duration_ns > 0 ? (double)duration_ns : 1;
    double at = ((double)item->time_ns - (double)begin_ns) / whole * (double)columns;
    return at < 0 ? 0 : at >= (double)columns ? columns - 1 : (size_t)at;
}

void vw_run_allocs_draw(cm_out *out, const vw_run_allocs *a, int64_t begin_ns, int64_t duration_ns,
                        bool unicode, size_t columns)
{
    double now = 0;
    size_t next = 0;
    for (size_t c = 0; c < columns; c++) {
        double most = now; // within this column
        for (; next < a->count && column_of(&a->items[next], begin_ns, duration_ns, columns) <= c;
             next++) {
            now += (double)a->items[next].bytes;
            most = now > most ? now : most;
        }
        vw_spark_level(out, a->peak_bytes > 0 ? most / a->peak_bytes : 0, unicode);
    }
}
