// SPDX-License-Identifier: MIT
// Runs and memory of sessions. A session may be met by its runs before its own row comes.
#include "live_state.h"

#include <stdlib.h>
#include <string.h>

#define LIMIT_RUNS  512u // that the limit of outliers is taken from
#define LIMIT_EVERY 64u  // runs between two limits
#define LIMIT_LEAST 32u

da_session *da_session_find(const da_live *l, int64_t id)
{
    for (size_t i = 0; i < l->session_count; i++)
        if (l->sessions[i]->id == id)
            return l->sessions[i];
    return NULL;
}

int64_t da_session_process(const da_live *l, const da_session *s)
{
    const da_module *module = s->process ? NULL : da_module_find(l, s->facts[TM_session_module]);
    return module ? module->process : s->process;
}

void da_session_free(da_session *s)
{
    if (!s)
        return;
    cm_histogram_deinit(&s->latencies);
    da_ring_deinit(&s->recent);
    da_ring_deinit(&s->ops);
    free(s->run_ops);
    da_tiers_deinit(s->tiers);
    free(s);
}

// When nothing more could come of it; -1: something may. One that was never made has no end, and
// from a process that we left nothing is told.
static int64_t over_since(da_live *l, const da_session *s)
{
    const da_process *p = da_process_find(l, da_session_process(l, s));
    if (s->ended_ns >= 0 || s->facts[TM_session_status] != 0)
        return s->ended_ns >= 0 ? s->ended_ns : s->facts[TM_session_time];
    return p && p->ended ? p->end_ns : -1;
}

// The session that ended first makes room.
static bool make_room(da_live *l)
{
    size_t oldest = DA_SESSIONS;
    int64_t since = INT64_MAX;
    for (size_t i = 0; i < l->session_count; i++) {
        int64_t over = over_since(l, l->sessions[i]);
        if (over >= 0 && over < since) {
            oldest = i;
            since = over;
        }
    }
    if (oldest == DA_SESSIONS)
        return false;
    if (l->sessions[oldest]->id > l->evicted_session)
        l->evicted_session = l->sessions[oldest]->id;
    l->some_over = true; // its kernels
    da_session_free(l->sessions[oldest]);
    memmove(&l->sessions[oldest], &l->sessions[oldest + 1],
            (l->session_count - oldest - 1) * sizeof *l->sessions);
    l->session_count--;
    return true;
}

// NULL where there is no room; counted.
static da_session *get(da_live *l, int64_t id)
{
    da_session *s = da_session_find(l, id);
    if (s || id <= 0)
        return s;
    if (l->session_count == DA_SESSIONS && !make_room(l)) {
        l->no_room++;
        return NULL;
    }
    s = calloc(1, sizeof *s);
    if (!s) {
        l->no_room++;
        return NULL;
    }
    s->id = id;
    s->ended_ns = s->first_begin_ns = s->run_allocated = s->run_allocations = -1;
    s->ops_gone = INT64_MIN;
    cm_histogram_init(&s->latencies);
    da_ring_init(&s->recent, sizeof(da_run), DA_RUNS);
    da_ring_init(&s->ops, sizeof(da_op), DA_OPS);
    da_tiers_init(s->tiers);
    l->sessions[l->session_count++] = s;
    return s;
}

void da_on_session(da_live *l, const int64_t *row)
{
    da_session *s = get(l, row[TM_session_session]);
    if (!s)
        return;
    memcpy(s->facts, row, sizeof s->facts);
    s->process = da_session_process(l, s); // its module may have to make room
    da_end_with_process(l, s);             // in a file the end of a process stands before it
}

void da_on_session_end(da_live *l, const int64_t *row)
{
    da_session *s = da_session_find(l, row[TM_session_end_session]);
    if (!s)
        return;
    s->ended_ns = row[TM_session_end_time] > 0 ? row[TM_session_end_time] : 0;
    l->some_over = true;
}

// ------------------------------------------------------------------------------------------- runs

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

// docs/api.md says what an outlier is.
static void find_limit(da_session *s)
{
    int64_t durations[LIMIT_RUNS];
    size_t count = s->recent.count < LIMIT_RUNS ? s->recent.count : LIMIT_RUNS;
    if (count < LIMIT_LEAST)
        return;
    for (size_t i = 0; i < count; i++)
        durations[i] =
            ((const da_run *)da_ring_at(&s->recent, s->recent.count - count + i))->duration_ns;
    qsort(durations, count, sizeof *durations, by_value);
    double median = (double)durations[(count - 1) / 2];
    double p90 = (double)durations[(count * 9 + 9) / 10 - 1];
    double far = median + 5 * (p90 - median);
    s->outlier_limit_ns = far > 1.5 * median ? far : 1.5 * median;
}

static void note_outlier(da_live *l, da_session *s, const da_run *run)
{
    if (s->since_limit++ % LIMIT_EVERY == 0 || s->outlier_limit_ns <= 0)
        find_limit(s);
    if (s->outlier_limit_ns <= 0 || (double)run->duration_ns <= s->outlier_limit_ns)
        return;
    da_outlier *o = da_ring_add(&l->outliers);
    if (o)
        *o = (da_outlier){s->id, run->run, run->begin_ns, run->duration_ns};
}

const int64_t da_duration_bounds_ns[DA_DURATION_BOUNDS] = {
    10000,       20000,       50000,       100000,      200000,     500000,
    1000000,     2000000,     5000000,     10000000,    20000000,   50000000,
    100000000,   200000000,   500000000,   1000000000,  2000000000, 5000000000,
    10000000000, 20000000000, 50000000000, 100000000000};

static size_t bucket_of(int64_t duration_ns)
{
    size_t i = 0;
    while (i < DA_DURATION_BOUNDS && duration_ns > da_duration_bounds_ns[i])
        i++;
    return i;
}

void da_on_run(da_live *l, const int64_t *row)
{
    da_session *s = get(l, row[TM_run_session]);
    if (!s)
        return;
    int64_t begin = row[TM_run_begin] > 0 ? row[TM_run_begin] : 0;
    int64_t duration = row[TM_run_duration] > 0 ? row[TM_run_duration] : 0;
    int64_t end = duration < INT64_MAX - begin ? begin + duration : INT64_MAX;
    duration = end - begin; // sums of both stay in range from here on
    s->runs++;
    s->failed += row[TM_run_status] != 0;
    s->in_flight = row[TM_run_in_flight] > 0 ? row[TM_run_in_flight] : 0;
    if (s->first_begin_ns < 0 || begin < s->first_begin_ns)
        s->first_begin_ns = begin;
    if (end > s->last_end_ns)
        s->last_end_ns = end;
    if (row[TM_run_status] == 0) { // as in `ortscope summary`
        cm_histogram_add(&s->latencies, (uint64_t)duration);
        s->duration_buckets[bucket_of(duration)]++;
    }
    da_tiers_run(s, end, duration, row[TM_run_status] != 0, s->in_flight);
    const da_run *oldest = s->recent.count == DA_RUNS ? da_ring_at(&s->recent, 0) : NULL;
    if (oldest && da_run_op_count(s, oldest->run)) // it goes
        s->with_ops = *oldest;
    da_run *run = da_ring_add(&s->recent);
    if (!run)
        return;
    *run = (da_run){.run = row[TM_run_run],
                    .thread = row[TM_run_thread],
                    .begin_ns = begin,
                    .duration_ns = duration,
                    .status = row[TM_run_status],
                    .in_flight = s->in_flight};
    if (run->status == 0)
        note_outlier(l, s, run);
}

// ----------------------------------------------------------------------------------------- memory

static size_t place_of_arena(const da_session *s, int64_t id)
{
    size_t i = 0;
    while (i < s->arena_count && s->arenas[i].id != id)
        i++;
    return i;
}

static bool is_shared(const da_live *l, int64_t arena)
{
    for (size_t i = 0; i < l->shared_arena_count; i++)
        if (l->shared_arenas[i] == arena)
            return true;
    return false;
}

// Whose it was keeps nothing of it: its newest state would stand still there.
static void share_arena(da_live *l, int64_t arena, int64_t time_ns)
{
    if (!is_shared(l, arena) && l->shared_arena_count < DA_ARENAS)
        l->shared_arenas[l->shared_arena_count++] = arena;
    for (size_t k = 0; k < l->session_count; k++) {
        da_session *s = l->sessions[k];
        size_t i = place_of_arena(s, arena);
        if (i == s->arena_count || (s->ended_ns >= 0 && s->ended_ns <= time_ns))
            continue; // what ended before had it to itself
        s->arenas[i] = s->arenas[--s->arena_count];
        s->shares_arena = true;
    }
}

void da_on_memory(da_live *l, const int64_t *row)
{
    if (row[TM_memory_session] == 0)
        share_arena(l, row[TM_memory_allocator], row[TM_memory_time]);
    da_session *s = get(l, row[TM_memory_session]);
    if (!s || is_shared(l, row[TM_memory_allocator])) // told late, by another thread
        return;
    size_t i = place_of_arena(s, row[TM_memory_allocator]);
    if (i == DA_ARENAS)
        return;
    if (i == s->arena_count)
        s->arena_count++;
    s->arenas[i] = (da_arena){row[TM_memory_allocator], row[TM_memory_held_bytes],
                              row[TM_memory_in_use_bytes], row[TM_memory_peak_bytes]};
}

void da_on_run_memory(da_live *l, const int64_t *row)
{
    da_session *s = get(l, row[TM_run_memory_session]);
    if (!s || row[TM_run_memory_run] == 0)
        return;
    s->run_allocated = row[TM_run_memory_allocated_bytes];
    s->run_allocations = row[TM_run_memory_allocations];
}

static int64_t sum_arenas(const da_session *s, size_t field)
{
    int64_t sum = -1;
    for (size_t i = 0; i < s->arena_count; i++) {
        int64_t value;
        memcpy(&value, (const char *)&s->arenas[i] + field, sizeof value);
        if (value >= 0 && value < INT64_MAX / (int64_t)DA_ARENAS)
            sum = (sum < 0 ? 0 : sum) + value;
    }
    return sum;
}

int64_t da_arenas_held(const da_session *s)
{
    return sum_arenas(s, offsetof(da_arena, held));
}

int64_t da_arenas_in_use(const da_session *s)
{
    return sum_arenas(s, offsetof(da_arena, in_use));
}

// The newest state that was told is that before the release.
int64_t da_session_held(const da_session *s)
{
    return s->ended_ns >= 0 ? -1 : da_arenas_held(s);
}

int64_t da_session_in_use(const da_session *s)
{
    return s->ended_ns >= 0 ? -1 : da_arenas_in_use(s);
}
