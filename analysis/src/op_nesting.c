// SPDX-License-Identifier: MIT
// See op_nesting.h. Must never keep more than AN_NEST_TOTAL spans, whatever a file says.
#include "op_nesting.h"

#include "analysis_util.h"

#include <stdlib.h>
#include <string.h>

void an_nesting_init(an_nesting *n)
{
    memset(n, 0, sizeof *n);
}

void an_nesting_deinit(an_nesting *n)
{
    for (size_t i = 0; i < n->thread_count; i++) {
        for (size_t d = 0; d < n->threads[i].level_count; d++)
            free(n->threads[i].levels[d].spans);
        free(n->threads[i].levels);
    }
    free(n->threads);
    cm_map_deinit(&n->thread_by_id);
    memset(n, 0, sizeof *n);
}

cm_status an_nesting_find_thread(an_nesting *n, int64_t thread, size_t *out)
{
    if (cm_map_find(&n->thread_by_id, thread, out)) {
        n->last_thread = *out;
        return CM_OK;
    }
    if (n->thread_count == AN_NEST_THREADS) {
        *out = AN_NEST_THREADS;
        return CM_OK;
    }
    an_nest_thread *threads =
        an_grow(n->threads, &n->thread_capacity, n->thread_count, sizeof *threads);
    if (!threads)
        return an_no_memory();
    n->threads = threads;
    if (!cm_map_put(&n->thread_by_id, thread, n->thread_count))
        return an_no_memory();
    threads[n->thread_count] = (an_nest_thread){.thread = thread};
    *out = n->last_thread = n->thread_count++;
    return CM_OK;
}

// levels[index], made if need be; NULL without memory.
static an_nest_level *level_at(an_nest_thread *t, size_t index)
{
    if (index >= t->level_count) {
        an_nest_level *levels = realloc(t->levels, (index + 1) * sizeof *levels);
        if (!levels)
            return NULL;
        memset(levels + t->level_count, 0, (index + 1 - t->level_count) * sizeof *levels);
        t->levels = levels;
        t->level_count = index + 1;
    }
    return &t->levels[index];
}

static void join(an_span *into, const an_span *other)
{
    into->begin_ns = other->begin_ns < into->begin_ns ? other->begin_ns : into->begin_ns;
    into->end_ns = other->end_ns > into->end_ns ? other->end_ns : into->end_ns;
    into->busy_ns = an_add_saturating(into->busy_ns, other->busy_ns);
}

static void join_neighbours(an_nesting *n, an_nest_level *level)
{
    size_t kept = 0;
    for (size_t i = 0; i < level->count; i += 2) {
        level->spans[kept] = level->spans[i];
        if (i + 1 < level->count)
            join(&level->spans[kept], &level->spans[i + 1]);
        kept++;
    }
    n->span_total -= level->count - kept;
    level->count = kept;
}

static cm_status add_span(an_nesting *n, an_nest_thread *t, size_t index, an_span span)
{
    an_nest_level *level = level_at(t, index);
    if (!level)
        return an_no_memory();
    if (level->count == AN_NEST_SPANS)
        join_neighbours(n, level);
    if (n->span_total == AN_NEST_TOTAL) {
        if (level->count)
            join(&level->spans[level->count - 1], &span);
        return CM_OK;
    }
    an_span *spans = an_grow(level->spans, &level->capacity, level->count, sizeof *spans);
    if (!spans)
        return an_no_memory();
    level->spans = spans;
    spans[level->count++] = span;
    n->span_total++;
    return CM_OK;
}

// The time of the children of begin .. end; only what comes after its end stays.
static uint64_t take_children(an_nesting *n, an_nest_level *level, int64_t begin_ns, int64_t end_ns)
{
    uint64_t busy = 0;
    size_t kept = 0;
    for (size_t i = 0; i < level->count; i++) {
        const an_span *s = &level->spans[i];
        int64_t middle = s->begin_ns / 2 + s->end_ns / 2;
        if (middle > end_ns)
            level->spans[kept++] = *s;
        else if (middle >= begin_ns)
            busy = an_add_saturating(busy, s->busy_ns);
    }
    n->span_total -= level->count - kept;
    level->count = kept;
    return busy;
}

cm_status an_nesting_end(an_nesting *n, size_t thread, int64_t depth, int64_t begin_ns,
                         int64_t end_ns, uint64_t *self_ns)
{
    uint64_t duration = (uint64_t)end_ns - (uint64_t)begin_ns, children = 0;
    if (end_ns < begin_ns)
        duration = 0;
    if (thread >= n->thread_count) {
        *self_ns = duration;
        return CM_OK;
    }
    an_nest_thread *t = &n->threads[thread];
    size_t at = depth < 0 ? 0 : depth > AN_NEST_DEPTHS ? AN_NEST_DEPTHS : (size_t)depth;
    if (at < t->level_count)
        children = take_children(n, &t->levels[at], begin_ns, end_ns);
    if (at > 0)
        CM_TRY(add_span(n, t, at - 1, (an_span){begin_ns, end_ns, duration}));
    *self_ns = children < duration ? duration - children : 0;
    return CM_OK;
}
