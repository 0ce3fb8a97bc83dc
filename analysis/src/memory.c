// SPDX-License-Identifier: MIT
// States of arenas and sums of runs into what a session does with memory (see analysis/memory.h).
// Rows may come in any order and say anything. Must never keep anything per run.
#include "analysis/memory.h"

#include "analysis_util.h"
#include "trend.h"

#include <math.h>
#include <stdlib.h>

#define MAX_ARENAS 16 // of one session; ORT has one a device

// One state of an arena.
typedef struct arena_state {
    int64_t time_ns, run, held, in_use, peak, allocations, extensions, shrinks;
} arena_state;

typedef struct arena {
    int64_t id;
    arena_state first, last;    // by time
    arena_state after_last_run; // the last one that was taken after a run; run 0: none
    arena_state at_peak;        // the first one that tells of the highest peak
} arena;

struct an_memory {
    arena *arenas;
    size_t arena_count, arena_capacity;
    int64_t source;   // of the states
    an_trend states;  // bytes in use after runs, as arenas tell it
    an_trend counted; // the same as the hook counted it
    int64_t live, live_time_ns;
    int64_t grown; // what runs made the arenas take from the system
    bool live_known;
    uint64_t counted_runs, runs, untold_runs;
    bool shared, overlapped, lost;             // as in an_memory_facts
    double runless_bytes, runless_allocations; // of no run; NAN: not known
    cm_histogram allocated, allocations, run_peak;
    an_growth growth;
};

cm_status an_memory_create(an_memory **out)
{
    an_memory *m = calloc(1, sizeof *m);
    if (!m)
        return an_no_memory();
    cm_histogram_init(&m->allocated);
    cm_histogram_init(&m->allocations);
    cm_histogram_init(&m->run_peak);
    *out = m;
    return CM_OK;
}

void an_memory_destroy(an_memory *m)
{
    if (!m)
        return;
    free(m->arenas);
    an_trend_deinit(&m->states);
    an_trend_deinit(&m->counted);
    cm_histogram_deinit(&m->allocated);
    cm_histogram_deinit(&m->allocations);
    cm_histogram_deinit(&m->run_peak);
    free(m);
}

// ------------------------------------------------------------------------------------------- rows

static arena_state state_of(const tm_block *b, size_t row)
{
    return (arena_state){.time_ns = b->columns[TM_memory_time][row],
                         .run = b->columns[TM_memory_run][row],
                         .held = b->columns[TM_memory_held_bytes][row],
                         .in_use = b->columns[TM_memory_in_use_bytes][row],
                         .peak = b->columns[TM_memory_peak_bytes][row],
                         .allocations = b->columns[TM_memory_allocations][row],
                         .extensions = b->columns[TM_memory_extensions][row],
                         .shrinks = b->columns[TM_memory_shrinks][row]};
}

static arena *find_arena(an_memory *m, int64_t id)
{
    for (size_t i = 0; i < m->arena_count; i++)
        if (m->arenas[i].id == id)
            return &m->arenas[i];
    return NULL;
}

static arena *add_arena(an_memory *m, int64_t id, arena_state state)
{
    arena *arenas = an_grow(m->arenas, &m->arena_capacity, m->arena_count, sizeof *arenas);
    if (!arenas)
        return NULL;
    m->arenas = arenas;
    arenas[m->arena_count] = (arena){.id = id, .first = state, .last = state, .at_peak = state};
    return &arenas[m->arena_count++];
}

// What all arenas have in use after the run that `state` of `a` tells of.
static cm_status add_to_trend(an_memory *m, const arena *a, const arena_state *state)
{
    int64_t held = state->held, in_use = state->in_use;
    if (state->run <= 0 || held < 0 || in_use < 0)
        return CM_OK;
    for (size_t i = 0; i < m->arena_count; i++) {
        if (&m->arenas[i] == a)
            continue;
        held = an_add_clamped(held, m->arenas[i].last.held);
        in_use = an_add_clamped(in_use, m->arenas[i].last.in_use);
    }
    return an_trend_add(&m->states, state->run, in_use, held);
}

cm_status an_memory_add_state(an_memory *m, const tm_block *b, size_t row)
{
    arena_state state = state_of(b, row);
    int64_t id = b->columns[TM_memory_allocator][row];
    arena *a = find_arena(m, id);
    if (!a && m->arena_count == MAX_ARENAS)
        return CM_OK;
    if (!a)
        a = add_arena(m, id, state);
    if (!a)
        return an_no_memory();
    m->source = b->columns[TM_memory_source][row];
    if (state.time_ns < a->first.time_ns)
        a->first = state;
    if (state.time_ns >= a->last.time_ns)
        a->last = state;
    if (state.run > a->after_last_run.run)
        a->after_last_run = state;
    if (state.peak > a->at_peak.peak ||
        (state.peak == a->at_peak.peak && state.time_ns < a->at_peak.time_ns))
        a->at_peak = state;
    return add_to_trend(m, a, &state);
}

static void add_known(cm_histogram *h, int64_t value)
{
    if (value >= 0)
        cm_histogram_add(h, (uint64_t)value);
}

static double known(int64_t value)
{
    return value >= 0 ? (double)value : (double)NAN;
}

// Of several runs, whose is not known. What they only released changes no number of ours.
static void add_runless(an_memory *m, int64_t bytes, int64_t allocations)
{
    if (bytes == 0 && allocations == 0)
        return;
    m->overlapped = true;
    m->runless_bytes += known(bytes);
    m->runless_allocations += known(allocations);
}

cm_status an_memory_add_run(an_memory *m, const tm_block *b, size_t row)
{
    int64_t live = b->columns[TM_run_memory_live_bytes][row];
    int64_t time_ns = b->columns[TM_run_memory_time][row];
    int64_t run = b->columns[TM_run_memory_run][row];
    int64_t bytes = b->columns[TM_run_memory_allocated_bytes][row];
    int64_t allocations = b->columns[TM_run_memory_allocations][row];
    if (run <= 0) {
        add_runless(m, bytes, allocations);
        return CM_OK;
    }
    m->counted_runs++;
    add_known(&m->allocated, bytes);
    add_known(&m->allocations, allocations);
    add_known(&m->run_peak, b->columns[TM_run_memory_peak_bytes][row]);
    int64_t grown = b->columns[TM_run_memory_grown_bytes][row];
    m->grown = an_add_clamped(m->grown, grown > 0 ? grown : 0);
    if (live < 0)
        return CM_OK;
    if (!m->live_known || time_ns >= m->live_time_ns) {
        m->live = live;
        m->live_time_ns = time_ns;
    }
    m->live_known = true;
    return an_trend_add(&m->counted, run, live, m->grown);
}

// ----------------------------------------------------------------------------------------- growth

bool an_memory_overlapped(const an_memory *m)
{
    return m->overlapped;
}

// Runs that allocated nothing have no row. Neither has one whose row was lost, or one all of whose
// allocations may be others': nothing is made up for them.
static void add_empty_runs(an_memory *m, uint64_t runs)
{
    if (m->counted_runs == 0 || m->counted_runs >= runs || m->overlapped)
        return;
    if (m->lost) {
        m->untold_runs = runs - m->counted_runs;
        return;
    }
    for (uint64_t i = m->counted_runs; i < runs; i++) {
        cm_histogram_add(&m->allocated, 0);
        cm_histogram_add(&m->allocations, 0);
        cm_histogram_add(&m->run_peak, 0);
    }
}

// Where arenas tell what they hold, that decides: what runs made them take is no growth where they
// give it back each time.
cm_status an_memory_finish(an_memory *m, uint64_t runs, bool lost)
{
    const an_trend *t = m->states.rows >= m->counted.rows ? &m->states : &m->counted;
    an_slope earlier, later;
    m->runs = runs;
    m->lost = lost;
    add_empty_runs(m, runs);
    m->growth = (an_growth){.bytes_per_run = NAN, .low = NAN, .high = NAN};
    if (t->rows < AN_TREND_FEWEST)
        return CM_OK;
    CM_TRY(an_trend_slope(t, false, &earlier));
    CM_TRY(an_trend_slope(t, true, &later));
    if (__builtin_isnan(later.per_run))
        return CM_OK; // many rows of the same few runs
    m->growth =
        (an_growth){AN_STEADY, later.per_run, later.low, later.high, an_trend_later_rows(t)};
    if (later.low > 0)
        m->growth.verdict = earlier.per_run > 2 * later.per_run ? AN_WARMING : AN_LEAK;
    else if (an_trend_held_grew(m->states.rows > 1 ? &m->states : &m->counted))
        m->growth.verdict = AN_WARMING;
    return CM_OK;
}

size_t an_memory_arena_count(const an_memory *m)
{
    return m->arena_count;
}

int64_t an_memory_arena(const an_memory *m, size_t place)
{
    return m->arenas[place].id;
}

void an_memory_leave(an_memory *m, size_t place)
{
    m->arenas[place] = m->arenas[--m->arena_count];
    m->shared = true;
    m->growth = (an_growth){.bytes_per_run = NAN, .low = NAN, .high = NAN};
}

// -------------------------------------------------------------------------------------- questions

// Of all arenas; NAN as soon as one does not tell.
typedef struct totals {
    double held, in_use, peak, held_at_peak;
    double grown, extensions, shrinks, allocations, runs;
} totals;

static totals add_up(const an_memory *m)
{
    totals t = {0};
    for (size_t i = 0; i < m->arena_count; i++) {
        const arena_state *first = &m->arenas[i].first, *last = &m->arenas[i].last;
        const arena_state *run = &m->arenas[i].after_last_run;
        t.held += known(last->held);
        t.in_use += known(last->in_use);
        t.peak += known(m->arenas[i].at_peak.peak);
        t.held_at_peak += known(m->arenas[i].at_peak.held);
        t.grown += known(last->held) - known(first->held);
        t.extensions += known(last->extensions) - known(first->extensions);
        t.shrinks += known(last->shrinks) - known(first->shrinks);
        t.allocations += known(run->allocations) - known(first->allocations);
        double runs = known(run->run) - known(first->run);
        t.runs = runs > t.runs ? runs : t.runs;
    }
    return t;
}

static double share(double part, double whole)
{
    return whole > 0 ? part / whole : (double)NAN;
}

static double not_below_0(double value)
{
    return value < 0 ? 0 : value;
}

static const cm_histogram nothing; // of single runs, where they can't be told apart

// Of all runs together where single ones can't be told apart: right only if every row is there.
static double mean_of(const an_memory *m, const cm_histogram *h, double runless)
{
    if (!m->overlapped)
        return h->count ? h->mean : (double)NAN;
    bool whole = !m->lost && m->runs >= m->counted_runs && h->count == m->counted_runs;
    return whole && m->runs ? ((double)h->sum + runless) / (double)m->runs : (double)NAN;
}

void an_memory_get(const an_memory *m, an_memory_facts *out)
{
    totals t = add_up(m);
    bool arenas = m->arena_count > 0, whole = m->run_peak.count && !m->overlapped;
    double allocations = mean_of(m, &m->allocations, m->runless_allocations);
    double live = m->live_known && !m->shared ? (double)m->live : (double)NAN;
    if (!arenas)
        t = (totals){NAN, live, NAN, NAN, NAN, NAN, NAN, NAN, 0};
    double unused = not_below_0(t.held - t.in_use), at_peak = not_below_0(t.held_at_peak - t.peak);
    *out = (an_memory_facts){
        .source = !arenas && !m->shared ? AN_MEMORY_COUNTED
                  : m->source == 1      ? AN_MEMORY_STATS
                                        : AN_MEMORY_ARENA,
        .arenas = m->arena_count,
        .shared = m->shared,
        .held_bytes = t.held,
        .in_use_bytes = t.in_use,
        .peak_bytes = t.peak,
        .unused_bytes = unused,
        .unused_share = share(unused, t.held),
        .unused_at_peak_bytes = at_peak,
        .unused_at_peak_share = share(at_peak, t.held_at_peak),
        .grown_bytes = t.grown,
        .extensions = t.extensions,
        .shrinks = t.shrinks,
        .overlapped = m->overlapped,
        .lost = m->lost,
        .untold_runs = m->untold_runs,
        .counted_runs = m->counted_runs,
        .allocated = m->overlapped ? &nothing : &m->allocated,
        .allocations = m->overlapped ? &nothing : &m->allocations,
        .allocated_per_run = mean_of(m, &m->allocated, m->runless_bytes),
        .allocations_per_run = !__builtin_isnan(allocations) ? allocations
                               : t.runs > 0 && !m->shared    ? t.allocations / t.runs
                                                             : (double)NAN,
        .run_peak_bytes = whole ? (double)m->run_peak.max : (double)NAN,
        .growth = m->growth,
    };
}

const char *an_verdict_name(an_verdict verdict)
{
    static const char *const names[] = {"too_few_runs", "steady", "warming", "leak"};
    return names[verdict];
}

const char *an_memory_source_name(an_memory_source source)
{
    static const char *const names[] = {"counted", "AllocatorGetStats", "arena"};
    return names[source];
}

size_t an_memory_course(const an_memory *m, double out[AN_MEMORY_COURSE])
{
    _Static_assert(AN_MEMORY_COURSE >= AN_TREND_POINTS, "every point has its place");
    const an_trend *t = m->states.rows ? &m->states : &m->counted;
    if (m->shared)
        return 0; // it ends where the sharing begins
    for (size_t i = 0; i < t->count; i++)
        out[i] = not_below_0(t->points[i].value);
    return t->count;
}
