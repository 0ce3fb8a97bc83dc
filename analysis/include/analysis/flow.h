// SPDX-License-Identifier: MIT
// How the operators of runs follow each other: how many are in flight, what the chain is that a
// run's end waits for, which threads idle meanwhile, where execution goes from one provider to
// another, and which operators stand one after the other although ORT could have joined them.
//
// Definitions, the same in text and JSON. All of them are about the runs that are looked at:
// successful ones all of whose operators are known. A run is left out if it failed, if executions
// that could not be assigned to a run overlap it, or if its own row or too much of it is missing.
// - in flight: threads that execute an operator of the run. What Loop, If and Scan run inside
//   themselves on their thread is not counted again. none, one and several add up to the run.
// - critical path: the timeline does not have the edges of the graph, so it is told by time alone:
//   from the operator that ended last back to the one that ended last before it began, on any
//   thread, and so on. Data may not have flowed that way. The rest of a run's time are the gaps.
// - pool: threads other than a run's own that executed operators of the session's runs (those of
//   inter-op). Idle: the time that runs of the session cover, less their operators of these runs.
// - changes of provider: between executions that follow each other on a thread of a run, those that
//   only contain others (Loop, If) left out. gap: from the end of one to the begin of the other.
//   Copies: nodes MemcpyToHost and MemcpyFromHost, which ORT puts between providers.
// - not joined: operators that in every run directly followed the same other one, of types that ORT
//   has a fusion for (an_can_fuse), where recorded shapes do not say that the result of the first
//   is no input of the second. Whether ORT could have joined them is not recorded: constants or
//   other uses of the result may forbid it.
// Times of providers that only submit work are those of the submission.
//
// Memory: that of AN_FLOW_WINDOW executions, and a few words for each kernel.
#pragma once

#include "analysis/ops.h"

#define AN_FLOW_WINDOW      (512 * 1024) // executions that wait until their run is complete
#define AN_FLOW_RUNS        (64 * 1024)  // runs that do
#define AN_FLOW_SESSIONS    1024
#define AN_FLOW_THREADS     1024 // of a session's pool
#define AN_FLOW_TRANSITIONS 64   // different ones of a session
#define AN_FLOW_PATH        16   // operators of the path that are kept, of each session
#define AN_FLOW_PAIRS       32   // different pairs of types, of each session

typedef struct an_pool_thread {
    int64_t thread;
    uint64_t runs; // in which it executed something
    uint64_t busy_ns;
} an_pool_thread;

typedef struct an_transition {
    const char *from, *to; // providers, borrowed from the an_ops
    uint64_t count, gap_ns;
} an_transition;

typedef struct an_path_op {
    const char *node, *op_type, *domain, *provider; // borrowed from the an_ops
    uint64_t path_ns, count;                        // on the path
} an_path_op;

typedef struct an_unfused {
    const char *first, *second;               // types
    const char *first_domain, *second_domain; // all borrowed from the an_ops
    const char *example_first, *example_second;
    uint64_t pairs, calls;
    uint64_t first_ns, second_ns;
    uint64_t shapes_known; // pairs of which shapes say that they fit
} an_unfused;

typedef struct an_flow_session {
    int64_t session;
    uint64_t runs, left_out, without_ops;
    uint64_t run_ns;                      // of the runs looked at
    uint64_t none_ns, one_ns, several_ns; // parts of it
    uint64_t most;                        // threads at once
    uint64_t busy_ns;                     // of all threads, added up
    uint64_t path_ns, path_count;         // the rest of run_ns are gaps
    an_path_op path[AN_FLOW_PATH];        // heaviest first
    size_t path_kept;                     //
    uint64_t covered_ns;                  // time in which at least one of the runs was under way
    an_pool_thread *pool;                 // busiest first
    size_t pool_count, pool_capacity;     //
    uint64_t pool_busy_ns;                // within them
    an_transition *transitions;           // most frequent first
    size_t transition_count, transition_capacity;
    uint64_t changes, change_gap_ns; // of all transitions
    uint64_t copies_to_host, copies_from_host, to_host_ns, from_host_ns;
    an_unfused unfused[AN_FLOW_PAIRS]; // those with the longest second operator first
    size_t unfused_count;
} an_flow_session;

typedef struct an_flow an_flow;

// `ops` must be finished, of the same file, and outlive it. Only this session's if has_session, and
// only this run if has_run.
typedef struct an_flow_choice {
    bool has_session, has_run;
    int64_t session, run;
} an_flow_choice;

cm_status an_flow_create(const an_ops *ops, const an_flow_choice *choice, an_flow **out);
void an_flow_destroy(an_flow *f); // NULL is fine

// Takes in run, op and lost blocks, in the order of the file. Other kinds are left alone.
cm_status an_flow_add(an_flow *f, const tm_block *block);
cm_status an_flow_finish(an_flow *f);

// Sessions with runs, in order of their numbers.
size_t an_flow_count(const an_flow *f);
const an_flow_session *an_flow_get(const an_flow *f, size_t at);
uint64_t an_flow_lost(const an_flow *f); // events, of the whole file: any of them may be missing

// NAN where nothing was looked at.
double an_flow_parallel_share(const an_flow_session *s); // of the runs' time
double an_flow_path_share(const an_flow_session *s);     // the same
double an_flow_pool_idle_ns(const an_flow_session *s);   // of all its threads; NAN: there is none
double an_flow_pool_idle_share(const an_flow_session *s);
uint64_t an_flow_copy_ns(const an_flow_session *s); // of copies in both directions

// "order of execution": what the critical path is based on.
const char *an_flow_basis(void);
