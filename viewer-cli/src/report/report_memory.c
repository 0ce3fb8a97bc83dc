// SPDX-License-Identifier: MIT
// The arenas of each session over time: what they hold, and the least and the most that was in use
// after a run, in stretches of equal length.
#include "report.h"

#include <string.h>

#define MOST_ARENAS 64 // of all sessions

typedef struct arena {
    int64_t allocator;
    size_t session; // place
    int64_t held_bytes, in_use_bytes;
} arena;

typedef struct pass {
    vw_rp_memory *memory;
    const vw_rp_latency *latency;
    arena arenas[MOST_ARENAS];
    size_t arena_count;
} pass;

static arena *arena_of(pass *p, int64_t allocator, size_t session)
{
    for (size_t i = 0; i < p->arena_count; i++)
        if (p->arenas[i].allocator == allocator && p->arenas[i].session == session)
            return &p->arenas[i];
    if (p->arena_count == MOST_ARENAS)
        return NULL;
    p->arenas[p->arena_count] = (arena){.allocator = allocator, .session = session};
    return &p->arenas[p->arena_count++];
}

// Several sessions use it from now on: it is no part of what one of them has.
static void leave_arena(pass *p, int64_t allocator)
{
    for (size_t i = p->arena_count; i-- > 0;)
        if (p->arenas[i].allocator == allocator)
            p->arenas[i] = p->arenas[--p->arena_count];
}

static int64_t add(int64_t a, int64_t b)
{
    return a > INT64_MAX - b ? INT64_MAX : a + b;
}

static void take_level(pass *p, size_t session, int64_t time_ns)
{
    int64_t held = 0, in_use = 0;
    for (size_t i = 0; i < p->arena_count; i++) {
        if (p->arenas[i].session == session) {
            held = add(held, p->arenas[i].held_bytes);
            in_use = add(in_use, p->arenas[i].in_use_bytes);
        }
    }
    int64_t at = time_ns > 0 ? time_ns / p->memory->stretch_ns : 0;
    vw_rp_level *level =
        &p->memory
             ->levels[session][at < VW_RP_MEMORY_POINTS ? (size_t)at : VW_RP_MEMORY_POINTS - 1];
    level->held_bytes = held;
    level->low_bytes = level->any && level->low_bytes < in_use ? level->low_bytes : in_use;
    level->high_bytes = level->any && level->high_bytes > in_use ? level->high_bytes : in_use;
    level->any = true;
}

static cm_status take_states(void *context, const tm_reader *reader, const tm_block *b)
{
    (void)reader;
    pass *p = context;
    for (size_t row = 0; row < b->row_count; row++) {
        size_t session;
        int64_t held = b->columns[TM_memory_held_bytes][row];
        int64_t in_use = b->columns[TM_memory_in_use_bytes][row];
        if (b->columns[TM_memory_session][row] == 0)
            leave_arena(p, b->columns[TM_memory_allocator][row]);
        if (!cm_map_find(&p->latency->by_id, b->columns[TM_memory_session][row], &session))
            continue;
        arena *a = arena_of(p, b->columns[TM_memory_allocator][row], session);
        if (!a)
            continue;
        a->held_bytes = held > 0 ? held : 0;
        a->in_use_bytes = in_use > 0 ? in_use : 0;
        take_level(p, session, b->columns[TM_memory_time][row]);
    }
    return CM_OK;
}

cm_status vw_rp_memory_read(vw_rp_memory *m, const vw_rp_latency *l, const an_source *source,
                            int64_t end_ns)
{
    pass p = {.memory = m, .latency = l};
    m->stretch_ns = (end_ns > 0 ? end_ns : 0) / VW_RP_MEMORY_POINTS + 1;
    return an_source_read(source, TM_BIT(memory), &p, take_states);
}
