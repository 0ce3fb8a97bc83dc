// SPDX-License-Identifier: MIT
// The figures of a capture as plain numbers, for who shows them without JSON (`ortscope top`). NAN
// is "not known".
#pragma once

#include "dashboard/live.h"

#define DA_TOP_SESSIONS  64u
#define DA_TOP_OPS       256u
#define DA_TOP_PROCESSES 8u
#define DA_TOP_NAME      96u

typedef struct da_top_process {
    int64_t pid;
    char program[DA_TOP_NAME]; // without its folder
    double cpu_percent;        // of one core
    double working_set_bytes, threads;
    const char *state; // "running", "exited", "detached"
    double exit_code;
} da_top_process;

typedef struct da_top_session {
    int64_t id;
    char model[DA_TOP_NAME]; // without its folder
    bool ended;
    uint64_t runs, failed;
    int64_t in_flight; // when the newest run began; 0 when nothing runs any more
    double throughput_per_s, p50_us, p95_us, p99_us, max_us; // of the window
    double arena_bytes;
} da_top_session;

typedef struct da_top_op {
    char name[DA_TOP_NAME], domain[DA_TOP_NAME], provider[DA_TOP_NAME]; // name: of the type or node
    uint64_t calls;
    double self_us, mean_us, share;
    bool submits; // times are those of submissions to a device
} da_top_op;

typedef struct da_top {
    bool replay;
    da_state state;
    double time_s, duration_s, speed, window_s;
    double machine_percent; // of all cores
    double overhead_us;     // what recording a run costs
    uint64_t lost_events;
    size_t process_count, session_count, op_count; // in the arrays
    size_t more_processes, more_ops;               // that did not fit
    // Those that run first, the newest of them first; then those that have ended, likewise.
    da_top_process processes[DA_TOP_PROCESSES];
    da_top_session sessions[DA_TOP_SESSIONS];
    da_top_op ops[DA_TOP_OPS]; // largest self time first
} da_top;

typedef struct da_top_choice {
    double window_s; // over which latencies and throughput are taken
    int64_t session; // whose operators, 0: of all
    bool by_node;    // not by type
} da_top_choice;

void da_top_take(da_live *l, const da_top_choice *choice, da_top *out);
