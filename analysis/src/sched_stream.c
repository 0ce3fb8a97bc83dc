// SPDX-License-Identifier: MIT
#include "sched_stream.h"

#include "analysis_util.h"

#include <stdlib.h>
#include <string.h>

static bool is_before(const an_sched_row *a, const an_sched_row *b)
{
    return a->time != b->time ? a->time < b->time : a->number < b->number;
}

static void push(an_sched_queue *q, const an_sched_row *row)
{
    size_t at = q->count++;
    while (at > 0 && is_before(row, &q->heap[(at - 1) / 2])) {
        q->heap[at] = q->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    q->heap[at] = *row;
}

static void pop(an_sched_queue *q)
{
    an_sched_row last = q->heap[--q->count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < q->count; at = child) {
        if (child + 1 < q->count && is_before(&q->heap[child + 1], &q->heap[child]))
            child++;
        if (!is_before(&q->heap[child], &last))
            break;
        q->heap[at] = q->heap[child];
    }
    q->heap[at] = last;
}

static an_sched_row row_at(an_sched_queue *q)
{
    const tm_block *b = &q->block;
    size_t i = q->at++;
    if (b->kind == TM_KIND_ready)
        return (an_sched_row){.time = b->columns[TM_ready_time][i],
                              .number = q->number++,
                              .is_ready = true,
                              .cpu = b->columns[TM_ready_cpu][i],
                              .new_thread = b->columns[TM_ready_thread][i],
                              .new_process = b->columns[TM_ready_process][i]};
    return (an_sched_row){.time = b->columns[TM_sched_time][i],
                          .number = q->number++,
                          .cpu = b->columns[TM_sched_cpu][i],
                          .new_thread = b->columns[TM_sched_new_thread][i],
                          .new_process = b->columns[TM_sched_new_process][i],
                          .old_thread = b->columns[TM_sched_old_thread][i],
                          .old_process = b->columns[TM_sched_old_process][i],
                          .state = b->columns[TM_sched_state][i],
                          .reason = b->columns[TM_sched_wait_reason][i]};
}

static cm_status fill(an_sched_queue *q)
{
    while (!q->ended && q->count < AN_SCHED_WINDOW) {
        if (q->at < q->block.row_count) {
            an_sched_row row = row_at(q);
            push(q, &row);
            continue;
        }
        q->at = 0;
        cm_status status = tm_reader_next(q->reader, &q->block);
        if (status == CM_END) {
            q->ended = true;
            q->block.row_count = 0;
        } else if (status != CM_OK) {
            return status;
        }
    }
    return CM_OK;
}

cm_status an_sched_stream_open(an_sched_stream *s, const an_source *source)
{
    static const uint64_t kinds[] = {TM_BIT(sched), TM_BIT(ready)};
    memset(s, 0, sizeof *s);
    s->last_ns = INT64_MIN;
    for (size_t i = 0; i < 2; i++) {
        an_sched_queue *q = &s->queues[i];
        q->heap = malloc(AN_SCHED_WINDOW * sizeof *q->heap);
        if (!q->heap)
            return an_no_memory();
        CM_TRY(source->open(source->context, &q->reader));
        tm_reader_only(q->reader, kinds[i]);
    }
    return CM_OK;
}

void an_sched_stream_close(an_sched_stream *s)
{
    for (size_t i = 0; i < 2; i++) {
        tm_reader_close(s->queues[i].reader);
        free(s->queues[i].heap);
    }
    memset(s, 0, sizeof *s);
}

cm_status an_sched_stream_next(an_sched_stream *s, an_sched_row *out)
{
    an_sched_queue *from = NULL;
    for (size_t i = 0; i < 2; i++) {
        an_sched_queue *q = &s->queues[i];
        CM_TRY(fill(q));
        // Of the same time the switch comes first: a thread that stops and is made ready at once.
        if (q->count && (!from || q->heap[0].time < from->heap[0].time))
            from = q;
    }
    if (!from)
        return CM_END;
    *out = from->heap[0];
    pop(from);
    if (out->time < s->last_ns) {
        out->time = s->last_ns;
        s->late++;
    }
    s->last_ns = out->time;
    return CM_OK;
}
