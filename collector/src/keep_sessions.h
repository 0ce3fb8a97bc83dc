// SPDX-License-Identifier: MIT
// What `--ops slow` knows of each session. Of a fixed size at most: where there are more sessions,
// the one that has not run for longest is forgotten.
#pragma once

#include "slowest.h"

#include <stddef.h>

#define CO_KEEP_SESSIONS 4096u // 64 MB with their distributions

typedef struct co_keep_session {
    int64_t session;
    uint64_t used;       // when it was asked for last, by co_keep_sessions.turn
    unsigned ending;     // 0: it lives; else how often co_keep_sessions_age came since
    co_slowest *slowest; // NULL: not needed yet
} co_keep_session;

// All zero: none.
typedef struct co_keep_sessions {
    co_keep_session *items; // by their numbers
    size_t count, capacity;
    uint64_t turn;
} co_keep_sessions;

// Added if it is not there; NULL if memory is short. Good until the next call.
co_keep_session *co_keep_sessions_get(co_keep_sessions *k, int64_t session);

// The session has ended. Its runs may still lie in other rings: it is forgotten only at the second
// co_keep_sessions_age() from now.
void co_keep_sessions_ended(co_keep_sessions *k, int64_t session);
void co_keep_sessions_age(co_keep_sessions *k);
void co_keep_sessions_deinit(co_keep_sessions *k);
