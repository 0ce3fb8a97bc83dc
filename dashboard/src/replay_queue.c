// SPDX-License-Identifier: MIT
#include "replay_queue.h"

#include <stdlib.h>
#include <string.h>

typedef struct da_due {
    int64_t end_ns;
    size_t row;
} da_due;

int64_t da_row_end(tm_kind kind, const int64_t *row)
{
    int64_t begin = 0, duration = 0;
    if (kind == TM_KIND_run) {
        begin = row[TM_run_begin];
        duration = row[TM_run_duration];
    } else if (kind == TM_KIND_op) {
        begin = row[TM_op_begin];
        duration = row[TM_op_duration];
    } else {
        const tm_kind_info *info = tm_kind_get(kind);
        for (unsigned i = 0; i < info->column_count; i++) {
            if (info->columns[i].type == TM_TIME) {
                begin = row[i];
                break;
            }
        }
    }
    begin = begin < 0 ? 0 : begin;
    return duration <= 0 ? begin : duration < INT64_MAX - begin ? begin + duration : INT64_MAX;
}

// ----------------------------------------------------------------------------------------- blocks

static int by_end(const void *a, const void *b)
{
    const da_due *x = a, *y = b;
    if (x->end_ns != y->end_ns)
        return x->end_ns < y->end_ns ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static size_t bytes_of(const da_waiting *w)
{
    return w->rows * (w->columns * sizeof *w->values + sizeof *w->due);
}

static void put_in_order(da_waiting *w)
{
    bool in_order = true;
    for (size_t i = 0; i < w->rows; i++) {
        w->due[i] = (da_due){da_row_end(w->kind, w->values + i * w->columns), i};
        in_order = in_order && (i == 0 || w->due[i - 1].end_ns <= w->due[i].end_ns);
    }
    if (!in_order)
        qsort(w->due, w->rows, sizeof *w->due, by_end);
}

bool da_queue_add(da_replay_queue *q, const tm_block *b, int64_t *out_first)
{
    da_waiting w = {
        .kind = b->kind, .columns = tm_kind_get(b->kind)->column_count, .rows = b->row_count};
    *out_first = 0;
    if (!w.rows)
        return true;
    w.values = malloc(w.rows * w.columns * sizeof *w.values);
    w.due = malloc(w.rows * sizeof *w.due);
    if (!w.values || !w.due || q->count == DA_WAITING_BLOCKS) {
        free(w.values);
        free(w.due);
        return false;
    }
    for (size_t row = 0; row < w.rows; row++)
        for (unsigned c = 0; c < w.columns; c++)
            w.values[row * w.columns + c] = b->columns[c][row];
    put_in_order(&w);
    *out_first = w.due[0].end_ns;
    q->blocks[q->count++] = w;
    q->bytes += bytes_of(&w);
    return true;
}

bool da_queue_is_full(const da_replay_queue *q)
{
    return q->count == DA_WAITING_BLOCKS || q->bytes >= DA_WAITING_BYTES;
}

static void free_block(da_replay_queue *q, da_waiting *w)
{
    q->bytes -= bytes_of(w);
    free(w->values);
    free(w->due);
}

void da_queue_clear(da_replay_queue *q)
{
    for (size_t i = 0; i < q->count; i++)
        free_block(q, &q->blocks[i]);
    q->count = 0;
}

// ---------------------------------------------------------------------------------------- telling

static void tell_texts(da_live *live, tm_reader *reader, tm_kind kind, const int64_t *row)
{
    const tm_kind_info *info = tm_kind_get(kind);
    for (unsigned i = 0; i < info->column_count; i++) {
        if (info->columns[i].type != TM_STR || row[i] <= 0 || da_text(live, row[i]))
            continue;
        const char *text = tm_reader_string(reader, row[i]);
        da_take_text(live, row[i], text, strlen(text));
    }
}

static void tell_block(da_waiting *w, da_live *live, tm_reader *reader, int64_t clock_ns)
{
    while (w->told < w->rows && w->due[w->told].end_ns <= clock_ns) {
        da_lock(live);
        for (unsigned i = 0; i < DA_BATCH && w->told < w->rows; i++) {
            if (w->due[w->told].end_ns > clock_ns)
                break;
            const int64_t *row = w->values + w->due[w->told++].row * w->columns;
            tell_texts(live, reader, w->kind, row);
            da_take_row(live, w->kind, row);
        }
        da_unlock(live);
    }
}

void da_queue_tell(da_replay_queue *q, da_live *live, tm_reader *reader, int64_t clock_ns)
{
    size_t kept = 0;
    for (size_t i = 0; i < q->count; i++) {
        tell_block(&q->blocks[i], live, reader, clock_ns);
        if (q->blocks[i].told < q->blocks[i].rows)
            q->blocks[kept++] = q->blocks[i];
        else
            free_block(q, &q->blocks[i]);
    }
    q->count = kept;
}

void da_queue_tell_oldest(da_replay_queue *q, da_live *live, tm_reader *reader)
{
    if (!q->count)
        return;
    tell_block(&q->blocks[0], live, reader, INT64_MAX);
    free_block(q, &q->blocks[0]);
    memmove(q->blocks, q->blocks + 1, --q->count * sizeof *q->blocks);
}
