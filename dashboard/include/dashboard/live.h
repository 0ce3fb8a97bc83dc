// SPDX-License-Identifier: MIT
// What a capture does right now, in bounded memory: rolling figures of its sessions, operators,
// counters and processes, fed by the same rows that go into the timeline file. A replay feeds it
// from a file, a capture through a queue (live_feed.h).
//
// Any thread may call these functions: each takes the lock of its own accord. What has no room
// (more sessions, kernels, texts than the limits in src/live_state.h) is left out and counted.
#pragma once

#include "common/out.h"
#include "timeline/timeline.h"

#include <stdbool.h>
#include <stdint.h>

// NAN stands for what is not known. (isnan() of mingw takes a float and warns.)
static inline bool da_known(double value)
{
    return value == value;
}

typedef struct da_live da_live;

typedef enum da_state { DA_RECORDING, DA_PLAYING, DA_PAUSED, DA_ENDED } da_state;

// What a capture is, told once. Texts are copied.
typedef struct da_about {
    bool replay;
    const char *file;
    double duration_s;       // of a replay
    double counters_hz;      // 0: not known
    const tm_header *header; // NULL: not known
} da_about;

cm_status da_live_create(const da_about *about, da_live **out);
void da_live_destroy(da_live *l);

// Forgets all rows: a replay begins anew.
void da_live_reset(da_live *l);

// Whether rows of this kind mean anything here.
bool da_live_wants(tm_kind kind);

// A row as tm_writer_row has it. Strings that it refers to come before it.
void da_live_row(da_live *l, tm_kind kind, const int64_t *values);
void da_live_string(da_live *l, int64_t id, const char *text, size_t len);

// The capture's clock went on, with or without rows.
void da_live_time(da_live *l, int64_t now_ns);
void da_live_state(da_live *l, da_state state, double speed);
void da_live_file_bytes(da_live *l, uint64_t bytes);
void da_live_dropped(da_live *l, uint64_t rows); // in all, of the queue
void da_live_counters_hz(da_live *l, double hz); // another rate from now on
// Why the recording ended before its time. Before da_live_state(DA_ENDED).
void da_live_failure(da_live *l, const char *sentence);

// Rises with every change; stands still while paused.
uint64_t da_live_version(da_live *l);
