// SPDX-License-Identifier: MIT
// Rows of a file that was read ahead, waiting for the moment at which they became known. Not for
// several threads at once.
#pragma once

#include "live_state.h"

typedef struct da_waiting {
    tm_kind kind;
    unsigned columns;
    size_t rows, told;
    int64_t *values;    // row by row
    struct da_due *due; // a row each, in the order in which they are told
} da_waiting;

#define DA_WAITING_BLOCKS 512u
#define DA_WAITING_BYTES  (64u << 20)

typedef struct da_replay_queue {
    da_waiting blocks[DA_WAITING_BLOCKS];
    size_t count, bytes;
} da_replay_queue;

// When what a row tells of has ended.
int64_t da_row_end(tm_kind kind, const int64_t *row);

// Copies the block. *out_first: when its first row is due. False: no memory.
bool da_queue_add(da_replay_queue *q, const tm_block *b, int64_t *out_first);
// Tells what is due by then, each block in the order of the ends of its rows.
void da_queue_tell(da_replay_queue *q, da_live *live, tm_reader *reader, int64_t clock_ns);
// Tells the oldest block whatever its time: what has no room comes too early, and is not lost.
void da_queue_tell_oldest(da_replay_queue *q, da_live *live, tm_reader *reader);
bool da_queue_is_full(const da_replay_queue *q);
void da_queue_clear(da_replay_queue *q);
