// SPDX-License-Identifier: MIT
// Self time of operators: which executions lie directly inside which, thread by thread.
//
// Executions are recorded when they end, so that on one thread those inside a Loop, If or Scan come
// before it. What is kept is only the executions whose enclosing one has not ended yet: per thread
// and depth a list of spans. When an execution ends, the spans one depth deeper whose middle lies
// in its interval are its children (the middle, since begin and end are rounded and the clock is
// corrected now and then). Spans before its begin have lost their parent and are forgotten.
// Long lists join neighbours, which only blurs what happens when a parent was lost.
#pragma once

#include "common/map.h"
#include "common/status.h"

#include <stdbool.h>

#define AN_NEST_DEPTHS  64            // deeper ones count as this deep
#define AN_NEST_SPANS   1024          // kept per thread and depth
#define AN_NEST_TOTAL   (1024 * 1024) // kept in all
#define AN_NEST_THREADS (64 * 1024)   // with nesting; executions on further ones are all their own

typedef struct an_span {
    int64_t begin_ns, end_ns;
    uint64_t busy_ns; // the durations in it
} an_span;

typedef struct an_nest_level {
    an_span *spans; // in order of their ends
    size_t count, capacity;
} an_nest_level;

typedef struct an_nest_thread {
    int64_t thread;
    an_nest_level *levels; // levels[d]: ended executions of depth d + 1
    size_t level_count;
    // Of the rows of the current block, for finding out whether they come in order.
    int64_t last_end_ns;
    int64_t last_depth;
    uint64_t seen_in_block;
} an_nest_thread;

typedef struct an_nesting {
    an_nest_thread *threads;
    size_t thread_count, thread_capacity;
    cm_map thread_by_id;
    size_t last_thread; // the one of the last question: rows of a thread come together
    size_t span_total;
} an_nesting;

void an_nesting_init(an_nesting *n);
void an_nesting_deinit(an_nesting *n);

// The place of a thread; AN_NEST_THREADS when there is no room for another one.
cm_status an_nesting_find_thread(an_nesting *n, int64_t thread, size_t *out);

static inline cm_status an_nesting_thread(an_nesting *n, int64_t thread, size_t *out)
{
    if (n->last_thread < n->thread_count && n->threads[n->last_thread].thread == thread) {
        *out = n->last_thread;
        return CM_OK;
    }
    return an_nesting_find_thread(n, thread, out);
}

// Whether something that ended outside all others may have had anything inside it.
static inline bool an_nesting_any(const an_nesting *n, size_t thread)
{
    return thread < n->thread_count && n->threads[thread].level_count > 0;
}

// One execution that has ended, and its self time. Those of one thread must come in the order of
// their ends, of those that end together the inner ones first.
cm_status an_nesting_end(an_nesting *n, size_t thread, int64_t depth, int64_t begin_ns,
                         int64_t end_ns, uint64_t *self_ns);
