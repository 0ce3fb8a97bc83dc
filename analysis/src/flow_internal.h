// SPDX-License-Identifier: MIT
// What flow.c gathers of a run and flow_run.c makes of it.
#pragma once

#include "analysis/flow.h"
#include "ops_internal.h"

#define AN_MIXED UINT32_MAX // not always the same predecessor

// One execution of a run.
typedef struct an_flow_item {
    int64_t begin_ns, end_ns;
    uint32_t kernel, thread; // places in ops->kernels and ops->nesting.threads
    int32_t depth;
} an_flow_item;

// What all runs together say about a kernel.
typedef struct an_flow_kernel {
    uint64_t path_ns, path_count;
    uint64_t leaf_ns, leaf_count; // executions that contain no others
    uint32_t before;              // the one before it on its thread and 1; 0: none yet; AN_MIXED
    uint8_t kind;                 // an_op_kind
} an_flow_kernel;

typedef struct an_doubt {
    int64_t begin_ns, end_ns;
} an_doubt;

// A session while it is gathered.
typedef struct an_flow_gather {
    an_flow_session result;
    int64_t covered_until_ns;
    an_doubt *doubts; // when executions without a run were under way
    size_t doubt_count, doubt_capacity;
} an_flow_gather;

typedef struct an_flow_run {
    int64_t session, run;
    int64_t begin_ns, end_ns;
    int64_t thread;
    bool has_row, failed, dropped; // dropped: not all of its executions are here
    an_flow_item *items;
    size_t count, capacity;
} an_flow_run;

struct an_flow {
    const an_ops *ops;
    an_flow_choice choice;
    an_flow_kernel *kernels; // in the order of ops->kernels
    an_flow_gather *sessions;
    size_t session_count, session_capacity;
    cm_map session_by_id;
    an_flow_run *runs; // open ones
    size_t run_count, run_capacity, last_run;
    size_t next_kernel; // where the next one that is asked for probably is
    cm_map run_by_hash;
    size_t item_count; // of all open runs
    uint64_t lost;
    an_flow_item *outer; // scratch of flow_run.c
    int64_t *begins;
    size_t outer_capacity;
};

// In flow_run.c: a run all of whose executions are there.
cm_status an_flow_take(an_flow *f, an_flow_gather *s, an_flow_run *run);

// In flow_answers.c: sorts what the sessions have, once all runs were taken.
cm_status an_flow_settle(an_flow *f);

// In flow_pairs.c: what followed what, once all runs were taken.
void an_flow_find_pairs(an_flow *f);
