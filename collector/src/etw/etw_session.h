// SPDX-License-Identifier: MIT
// A real-time session of our own: started with what is allowed here, told what is not, kept from
// filling up by flushing, asked for its losses, and stopped on every way out. A session outlives
// the process that started it: one that a dead ortscope left behind is found by its name and
// stopped at the next start.
#pragma once

#include "collector/etw.h"
#include "etw_api.h"

#define ETW_SESSION_PREFIX "ortscope-"

typedef struct etw_identity {
    uint32_t pid;
    uint64_t created; // FILETIME: tells a process apart from an earlier one with its PID
} etw_identity;

// One sentence for the user; level as in log rows.
typedef struct etw_tell {
    void *context;
    void (*say)(void *context, int level, const char *sentence);
} etw_tell;

typedef struct etw_wish {
    unsigned parts;   // CO_ETW_*
    uint32_t buffers; // 0: by the number of processors
    unsigned processors;
    etw_identity self;
} etw_wish;

typedef struct etw_session {
    const etw_api *api;
    uint64_t handle; // 0: none
    uint16_t name[ETW_NAME_CHARS];
    unsigned parts;      // CO_ETW_* that we got
    uint32_t last_error; // why a part is missing
} etw_session;

typedef struct etw_losses {
    uint64_t events, log_buffers, real_time_buffers;
} etw_losses;

// "ortscope-4242-1db4e7a90c1f200"; false if the name is not one of ours.
void co_etw_session_name(etw_identity self, uint16_t out[ETW_NAME_CHARS]);
bool co_etw_session_owner(const uint16_t *name, etw_identity *out);

// Stops the sessions of processes that are gone. Returns how many.
unsigned co_etw_stop_stale(const etw_api *api, const etw_tell *tell);

// Starts it and enables its providers, with as many of the wished parts as can be had; what can't
// is told. False (and no session) if there is none of them.
bool co_etw_session_start(etw_session *s, const etw_api *api, const etw_wish *wish,
                          const etw_tell *tell);

// Asks providers for what was there before; once the session is being read.
void co_etw_session_rundown(const etw_session *s);

void co_etw_session_flush(const etw_session *s);
// False if the session is gone.
bool co_etw_session_losses(const etw_session *s, etw_losses *out);
// Any number of times. `out` gets the last losses.
void co_etw_session_stop(etw_session *s, etw_losses *out);

// For co_etw_check; `api` NULL: this system has no event tracing.
void co_etw_check_with(const etw_api *api, etw_identity self, co_etw_findings *out);
