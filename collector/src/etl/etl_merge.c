// SPDX-License-Identifier: MIT
// All processors by time. The buffers of one processor are in order of time where they stand in the
// file; those of different processors interleave as they were written. So: an index of all buffers,
// one lane for each processor, and of all lanes always the earliest record.
//
// A circular file that came round has its oldest buffer somewhere in the middle: its lanes start
// there and go on from the front.
#include "etl_internal.h"

#include "common/buf.h"
#include "etl_record.h"

#include <stdlib.h>

#define MODE_CIRCULAR 0x2u
#define CPU_SHIFT     48 // an entry of the index: processor, then the place in the order of reading
#define PLACE_MASK    (((uint64_t)1 << CPU_SHIFT) - 1)

typedef struct lane {
    size_t at, end; // in the index
    etl_loaded loaded;
    size_t next; // offset of the record behind `event`
    co_etl_event event;
} lane;

typedef struct merge {
    co_etl *e;
    uint64_t *index;
    size_t count;
    uint64_t pivot; // offset of the oldest buffer of a circular file; 0: the file's order is good
    lane *lanes;
    size_t lane_count;
    size_t *heap; // lanes with a record, the earliest first
    size_t heap_count;
    uint64_t bytes_read;
} merge;

// The header's buffer is always the first; the others start with the pivot.
static uint64_t place_of(const merge *m, uint64_t offset)
{
    if (offset == 0 || m->pivot == 0)
        return offset;
    return offset >= m->pivot ? offset - m->pivot + 1 : offset + (m->e->bytes - m->pivot) + 1;
}

static uint64_t offset_of(const merge *m, uint64_t place)
{
    if (place == 0 || m->pivot == 0)
        return place;
    uint64_t offset = place - 1 + m->pivot;
    return offset < m->e->bytes ? offset : offset - m->e->bytes;
}

// Neighbouring buffers may have changed places; where the file came round the number falls by
// nearly all buffers of the file.
static uint64_t find_pivot(co_etl *e)
{
    co_etl_buffer buffer;
    uint64_t pivot = 0, largest = 1;
    int64_t before = INT64_MIN;
    for (uint64_t offset = 0; co_etl_buffer_at(e, offset, &buffer) == CM_OK;
         offset += buffer.size) {
        if (offset == 0)
            continue;
        if (before > buffer.sequence && (uint64_t)before - (uint64_t)buffer.sequence > largest) {
            largest = (uint64_t)before - (uint64_t)buffer.sequence;
            pivot = offset;
        }
        before = buffer.sequence;
    }
    return pivot;
}

static int compare_entries(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static cm_status make_index(merge *m)
{
    cm_buf index = CM_BUF_INIT;
    co_etl_buffer buffer;
    cm_status status;
    m->pivot = m->e->header.mode & MODE_CIRCULAR ? find_pivot(m->e) : 0;
    for (uint64_t offset = 0; (status = co_etl_buffer_at(m->e, offset, &buffer)) == CM_OK;
         offset += buffer.size) {
        if (buffer.used <= ETL_BUFFER_HEADER)
            continue;
        if (index.len / sizeof(uint64_t) == ETL_BUFFERS_MAX || offset > PLACE_MASK / 2) {
            cm_buf_deinit(&index);
            return cm_fail(CM_UNSUPPORTED,
                           "The recording has more than %zu buffers, which is more than can be "
                           "put in order; record with larger buffers.",
                           ETL_BUFFERS_MAX);
        }
        uint64_t entry = (uint64_t)buffer.cpu << CPU_SHIFT | place_of(m, offset);
        cm_buf_append(&index, &entry, sizeof entry);
    }
    if (status == CM_END || status == CM_CORRUPT) // damage is told when reading front to back
        status = cm_buf_status(&index);
    m->index = (uint64_t *)(void *)index.data;
    m->count = index.len / sizeof *m->index;
    if (m->count)
        qsort(m->index, m->count, sizeof *m->index, compare_entries);
    return status;
}

static size_t count_lanes(const merge *m)
{
    size_t lanes = 0;
    for (size_t i = 0; i < m->count; i++)
        lanes += i == 0 || m->index[i] >> CPU_SHIFT != m->index[i - 1] >> CPU_SHIFT;
    return lanes;
}

static cm_status make_lanes(merge *m)
{
    size_t count = count_lanes(m);
    m->lanes = calloc(count + 1, sizeof *m->lanes);
    m->heap = calloc(count + 1, sizeof *m->heap);
    if (!m->lanes || !m->heap)
        return cm_fail(CM_NO_MEMORY, "There is not enough memory to put the recording in order.");
    for (size_t i = 0; i < m->count; i++) {
        if (i == 0 || m->index[i] >> CPU_SHIFT != m->index[i - 1] >> CPU_SHIFT)
            m->lanes[m->lane_count++].at = i;
        m->lanes[m->lane_count - 1].end = i + 1;
    }
    return CM_OK;
}

static cm_status check_memory(const merge *m)
{
    size_t total = 0;
    for (size_t i = 0; i < m->lane_count; i++)
        total += m->lanes[i].loaded.cap;
    if (total <= m->e->memory_max)
        return CM_OK;
    return cm_fail(CM_NO_MEMORY,
                   "Putting the recording in order takes more than %zu MB: it has buffers of %zu "
                   "processors that are too large. Record with smaller buffers.",
                   m->e->memory_max >> 20, m->lane_count);
}

// The lane's next record into `event`; CM_END if it has no more.
static cm_status advance(merge *m, lane *l)
{
    for (;;) {
        int64_t before = l->event.time;
        while (l->next && l->next < l->loaded.used) {
            const char *problem;
            etl_record_result result =
                co_etl_record_parse(l->loaded.bytes, l->loaded.used, l->next, l->loaded.cpu,
                                    &l->event, &l->next, &problem);
            if (result == ETL_RECORD_END || result == ETL_RECORD_BROKEN)
                break;
            if (!l->event.timed)
                l->event.time = before;
            return CM_OK;
        }
        if (l->at == l->end)
            return CM_END;
        co_etl_buffer buffer;
        const char *problem;
        size_t cap = l->loaded.cap;
        CM_TRY(co_etl_buffer_at(m->e, offset_of(m, m->index[l->at++] & PLACE_MASK), &buffer));
        CM_TRY(co_etl_buffer_load(m->e, &buffer, &l->loaded, &problem));
        if (l->loaded.cap != cap)
            CM_TRY(check_memory(m));
        m->bytes_read += buffer.size;
        l->next = ETL_BUFFER_HEADER;
    }
}

// ------------------------------------------------------------------------------------- the heap

static bool earlier(const merge *m, size_t a, size_t b)
{
    const co_etl_event *x = &m->lanes[a].event, *y = &m->lanes[b].event;
    return x->time != y->time ? x->time < y->time : a < b; // lanes are in order of processors
}

static void sink(merge *m, size_t at)
{
    size_t moved = m->heap[at];
    for (size_t child; (child = 2 * at + 1) < m->heap_count; at = child) {
        if (child + 1 < m->heap_count && earlier(m, m->heap[child + 1], m->heap[child]))
            child++;
        if (!earlier(m, m->heap[child], moved))
            break;
        m->heap[at] = m->heap[child];
    }
    m->heap[at] = moved;
}

static cm_status start_lanes(merge *m)
{
    for (size_t i = 0; i < m->lane_count; i++) {
        cm_status status = advance(m, &m->lanes[i]);
        if (status == CM_OK)
            m->heap[m->heap_count++] = i;
        else if (status != CM_END)
            return status;
    }
    for (size_t i = m->heap_count / 2; i-- > 0;)
        sink(m, i);
    return CM_OK;
}

static cm_status hand_out(merge *m, const co_etl_visitor *v)
{
    uint64_t told = 0;
    while (m->heap_count) {
        lane *l = &m->lanes[m->heap[0]];
        if (v->event && !v->event(v->context, &l->event))
            return CM_OK;
        cm_status status = advance(m, l);
        if (status == CM_END)
            m->heap[0] = m->heap[--m->heap_count];
        else if (status != CM_OK)
            return status;
        if (m->heap_count)
            sink(m, 0);
        if (m->bytes_read != told) {
            told = m->bytes_read;
            if (v->progress && !v->progress(v->context, told, m->e->bytes))
                return CM_OK;
        }
    }
    return CM_OK;
}

cm_status co_etl_merge(co_etl *e, const co_etl_visitor *visitor)
{
    merge m = {.e = e};
    cm_status status = make_index(&m);
    if (status == CM_OK)
        status = make_lanes(&m);
    if (status == CM_OK)
        status = start_lanes(&m);
    if (status == CM_OK)
        status = hand_out(&m, visitor);
    for (size_t i = 0; i < m.lane_count; i++)
        free(m.lanes[i].loaded.bytes);
    free(m.lanes);
    free(m.heap);
    free(m.index);
    return status;
}
