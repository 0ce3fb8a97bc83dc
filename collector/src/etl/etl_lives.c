// SPDX-License-Identifier: MIT
#include "etl_lives.h"

#include "etl_facts.h"

#include <stdlib.h>

static int compare_notes(const void *a, const void *b)
{
    const etl_note *x = a, *y = b;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

static etl_life *last_life(cm_buf *lives)
{
    return lives->len ? (etl_life *)(void *)(lives->data + lives->len) - 1 : NULL;
}

// Whether the note tells once more what `last` knows: the kernel and its manifest both report, and
// what is there at the end was there before.
static bool is_known(const etl_life *last, const etl_note *n)
{
    if (!last || last->id != n->id)
        return false;
    if (last->ended)
        return n->action == ETL_ENDS;
    return n->action != ETL_BEGINS || n->owner == last->owner;
}

// The notes of each number, in order of time, to lives that follow each other.
static void take_notes(cm_buf *notes, cm_buf *lives)
{
    size_t count = notes->len / sizeof(etl_note);
    etl_note *n = (etl_note *)(void *)notes->data;
    if (count)
        qsort(n, count, sizeof *n, compare_notes);
    for (size_t i = 0; i < count && !lives->failed; i++) {
        etl_life *last = last_life(lives);
        if (!is_known(last, &n[i])) {
            etl_life life = {.id = n[i].id,
                             .owner = n[i].owner,
                             .begin = n[i].action == ETL_BEGINS ? n[i].time : INT64_MIN,
                             .end = INT64_MAX,
                             .began = n[i].action == ETL_BEGINS};
            if (last && last->id == life.id && !last->ended)
                last->end = n[i].time; // its end was lost
            cm_buf_append(lives, &life, sizeof life);
            if (lives->failed)
                return;
            last = last_life(lives);
        }
        if (!last->name)
            last->name = n[i].name;
        if (!last->command_line)
            last->command_line = n[i].command_line;
        if (last->owner == CO_ETL_UNKNOWN)
            last->owner = n[i].owner;
        if (n[i].action == ETL_ENDS && !last->ended) {
            last->end = n[i].time;
            last->ended = true;
            last->exit_code = n[i].exit_code;
        }
    }
}

// A number that is used again: what was there before the first start ends there.
static void separate(cm_buf *lives)
{
    etl_life *l = (etl_life *)(void *)lives->data;
    for (size_t i = 1; i < lives->len / sizeof *l; i++)
        if (l[i].id == l[i - 1].id && l[i].begin < l[i - 1].end)
            l[i].begin = l[i - 1].end;
}

void co_etl_lives_settle(cm_buf *notes, cm_buf *lives)
{
    take_notes(notes, lives);
    separate(lives);
}

const etl_life *co_etl_lives_find(const cm_buf *lives, uint32_t id, int64_t time)
{
    const etl_life *l = (const etl_life *)(const void *)lives->data;
    size_t low = 0, high = lives->len / sizeof *l, count = high;
    while (low < high) { // the first that ends at this time or later
        size_t middle = low + (high - low) / 2;
        if (l[middle].id < id || (l[middle].id == id && l[middle].end < time))
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && l[low].id == id && l[low].begin <= time ? &l[low] : NULL;
}
