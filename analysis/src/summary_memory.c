// SPDX-License-Identifier: MIT
// See summary_memory.h. An arena may be one session's at first and be shared by several later: what
// it told of the first one until then must not stand for what that one has at the end.
#include "summary_memory.h"

#include "analysis_util.h"
#include "session_stats.h"

#include <math.h>

// NULL: no memory.
static an_memory *memory_of(an_summary *s, int64_t session)
{
    an_session *n = an_summary_session(s, session);
    if (n && !n->memory)
        (void)an_memory_create(&n->memory);
    return n ? n->memory : NULL;
}

static an_shared_arena *get_shared(an_summary *s, int64_t id)
{
    size_t at;
    if (cm_map_find(&s->shared_by_id, id, &at))
        return &s->shared[at];
    an_shared_arena *shared =
        an_grow(s->shared, &s->shared_capacity, s->shared_count, sizeof *shared);
    if (!shared)
        return NULL;
    s->shared = shared;
    if (!cm_map_put(&s->shared_by_id, id, s->shared_count))
        return NULL;
    shared[s->shared_count] = (an_shared_arena){
        .id = id, .first_ns = INT64_MAX, .last_ns = INT64_MIN, .held = -1, .in_use = -1};
    return &shared[s->shared_count++];
}

static cm_status add_shared(an_summary *s, const tm_block *b, size_t row)
{
    int64_t time_ns = b->columns[TM_memory_time][row];
    an_shared_arena *a = get_shared(s, b->columns[TM_memory_allocator][row]);
    if (!a)
        return an_no_memory();
    if (time_ns < a->first_ns)
        a->first_ns = time_ns;
    if (time_ns >= a->last_ns) {
        a->last_ns = time_ns;
        a->held = b->columns[TM_memory_held_bytes][row];
        a->in_use = b->columns[TM_memory_in_use_bytes][row];
    }
    return CM_OK;
}

cm_status an_summary_add_memory(an_summary *s, const tm_reader *r, const tm_block *b, size_t row)
{
    (void)r;
    int64_t session = b->columns[TM_memory_session][row];
    if (!session)
        return add_shared(s, b, row);
    an_memory *m = memory_of(s, session);
    return m ? an_memory_add_state(m, b, row) : an_no_memory();
}

cm_status an_summary_add_run_memory(an_summary *s, const tm_reader *r, const tm_block *b,
                                    size_t row)
{
    (void)r;
    int64_t session = b->columns[TM_run_memory_session][row];
    an_memory *m = session ? memory_of(s, session) : NULL;
    if (!m)
        return session ? an_no_memory() : CM_OK;
    CM_TRY(an_session_add_run_memory(s, an_summary_session(s, session), b, row));
    return an_memory_add_run(m, b, row);
}

cm_status an_summary_add_session_end(an_summary *s, const tm_reader *r, const tm_block *b,
                                     size_t row)
{
    (void)r;
    int64_t time_ns = b->columns[TM_session_end_time][row];
    return cm_map_put(&s->session_ends, b->columns[TM_session_end_session][row],
                      time_ns > 0 ? (size_t)time_ns : 0)
               ? CM_OK
               : an_no_memory();
}

void an_summary_leave_shared(const an_summary *s, an_session *n)
{
    size_t end_ns = 0;
    bool ended = cm_map_find(&s->session_ends, n->id, &end_ns);
    for (size_t i = n->memory ? an_memory_arena_count(n->memory) : 0; i-- > 0;) {
        size_t at;
        if (cm_map_find(&s->shared_by_id, an_memory_arena(n->memory, i), &at) &&
            (!ended || s->shared[at].first_ns < (int64_t)end_ns)) // else it was gone by then
            an_memory_leave(n->memory, i);
    }
}

an_shared_bytes an_summary_shared(const an_summary *s)
{
    an_shared_bytes sum = {NAN, NAN};
    for (size_t i = 0; i < s->shared_count; i++) {
        int64_t held = s->shared[i].held, in_use = s->shared[i].in_use;
        sum.held = (i ? sum.held : 0) + (held >= 0 ? (double)held : (double)NAN);
        sum.in_use = (i ? sum.in_use : 0) + (in_use >= 0 ? (double)in_use : (double)NAN);
    }
    return sum;
}
