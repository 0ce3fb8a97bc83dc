// SPDX-License-Identifier: MIT
#include "analysis/threads.h"

#include "analysis/summary.h"
#include "analysis_util.h"
#include "people.h"
#include "sched_states.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_INTERVALS 64

typedef struct interval {
    int64_t time;
    double ns;
} interval;

struct an_threads {
    an_thread_times *items;
    size_t count, capacity;
    cm_map by_thread; // thread and process -> place
    an_thread_times idle;
    an_people people;
    an_sched_states states;
    interval intervals[MAX_INTERVALS]; // by time
    size_t interval_count;
    char **names;
    size_t name_count, name_capacity;
    uint64_t left_out;
    bool has_ready, has_switches, has_samples;
};

void an_threads_destroy(an_threads *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->name_count; i++)
        free(t->names[i]);
    free(t->names);
    free(t->items);
    cm_map_deinit(&t->by_thread);
    an_people_deinit(&t->people);
    an_sched_states_deinit(&t->states);
    free(t);
}

static int64_t key_of(int64_t thread, int64_t process)
{
    return (int64_t)((uint64_t)process << 40 ^ (uint64_t)thread);
}

static const an_thread_times nothing = {.pid = -1, .program = "", .name = ""};

// NULL with CM_OK: no room.
static cm_status get(an_threads *t, int64_t thread, int64_t process, an_thread_times **out)
{
    size_t at;
    *out = thread == 0 ? &t->idle : NULL;
    if (thread <= 0)
        return CM_OK;
    if (cm_map_find(&t->by_thread, key_of(thread, process), &at)) {
        *out = &t->items[at];
        return CM_OK;
    }
    if (t->count == AN_MAX_SCHED_THREADS) {
        t->left_out++;
        return CM_OK;
    }
    an_thread_times *items = an_grow(t->items, &t->capacity, t->count, sizeof *items);
    if (!items)
        return an_no_memory();
    t->items = items;
    if (!cm_map_put(&t->by_thread, key_of(thread, process), t->count))
        return an_no_memory();
    items[t->count] = nothing;
    items[t->count].thread = thread;
    items[t->count].process = process;
    *out = &items[t->count++];
    return CM_OK;
}

// ---------------------------------------------------------------------------------------- switches

// Sums by the place among the states: the process of a thread may become known later.
typedef struct sums {
    an_thread_times *of;
    size_t capacity;
    bool failed;
} sums;

static void on_piece(void *context, size_t place, const an_piece *p)
{
    sums *s = context;
    double ns = (double)p->end_ns - (double)p->begin_ns;
    if (place >= s->capacity) {
        size_t wanted = place * 2 + 64;
        an_thread_times *larger = realloc(s->of, wanted * sizeof *larger);
        s->failed = s->failed || !larger;
        if (!larger)
            return;
        memset(larger + s->capacity, 0, (wanted - s->capacity) * sizeof *larger);
        s->of = larger;
        s->capacity = wanted;
    }
    an_thread_times *n = &s->of[place];
    double *parts[AN_DOING_COUNT] = {&n->unknown_ns, &n->on_cpu_ns, &n->ready_ns, &n->preempted_ns,
                                     &n->waiting_ns};
    *parts[p->doing] += ns;
    n->switches += p->doing == AN_DOING_RUN;
}

static cm_status keep_sums(an_threads *t, const sums *s)
{
    for (size_t i = 0; i < t->states.count && i < s->capacity; i++) {
        const an_thread_times *from = &s->of[i];
        an_thread_times *n;
        if (from->on_cpu_ns + from->ready_ns + from->preempted_ns + from->waiting_ns <= 0)
            continue; // it started, that is all
        CM_TRY(get(t, t->states.threads[i].thread, t->states.threads[i].process, &n));
        if (!n)
            continue;
        n->on_cpu_ns += from->on_cpu_ns;
        n->ready_ns += from->ready_ns;
        n->preempted_ns += from->preempted_ns;
        n->waiting_ns += from->waiting_ns;
        n->unknown_ns += from->unknown_ns;
        n->switches += from->switches;
    }
    return CM_OK;
}

static cm_status read_stream(an_threads *t, an_sched_stream *stream)
{
    an_sched_row row;
    cm_status status;
    while ((status = an_sched_stream_next(stream, &row)) == CM_OK) {
        t->has_ready = t->has_ready || row.is_ready;
        t->has_switches = t->has_switches || !row.is_ready;
        CM_TRY(an_sched_states_add(&t->states, &row));
    }
    an_sched_states_finish(&t->states);
    t->left_out += t->states.left_out;
    return status == CM_END ? CM_OK : status;
}

static cm_status read_switches(an_threads *t, const an_source *source)
{
    an_sched_stream stream = {0};
    sums s = {.of = NULL};
    t->states.context = &s;
    t->states.piece = on_piece;
    cm_status status = an_sched_stream_open(&stream, source);
    if (status == CM_OK)
        status = read_stream(t, &stream);
    if (status == CM_OK)
        status = s.failed ? an_no_memory() : keep_sums(t, &s);
    an_sched_stream_close(&stream);
    free(s.of);
    return status;
}

// ----------------------------------------------------------------------------------------- samples

static void add_interval(an_threads *t, int64_t time, double ns)
{
    size_t i = t->interval_count;
    if (i == MAX_INTERVALS)
        return;
    for (; i > 0 && t->intervals[i - 1].time > time; i--)
        t->intervals[i] = t->intervals[i - 1];
    t->intervals[i] = (interval){time, ns};
    t->interval_count++;
}

// The one in force then; before the first that was told, that one.
static double interval_at(const an_threads *t, int64_t time)
{
    size_t i = t->interval_count;
    while (i > 1 && t->intervals[i - 1].time > time)
        i--;
    return i ? t->intervals[i - 1].ns : (double)NAN;
}

static cm_status take_samples(void *context, const tm_reader *r, const tm_block *b)
{
    (void)r;
    an_threads *t = context;
    for (size_t i = 0; i < b->row_count; i++) {
        an_thread_times *n;
        int64_t count = b->columns[TM_profile_count][i];
        CM_TRY(get(t, b->columns[TM_profile_thread][i], b->columns[TM_profile_process][i], &n));
        if (!n)
            continue;
        t->has_samples = true;
        n->samples++;
        n->sampled_ns +=
            (double)(count > 1 ? count : 1) * interval_at(t, b->columns[TM_profile_time][i]);
    }
    return CM_OK;
}

// ------------------------------------------------------------------------------------- who is who

static cm_status keep_name(an_threads *t, an_thread_times *n, const char *text)
{
    char **names = an_grow(t->names, &t->name_capacity, t->name_count, sizeof *names);
    if (!names)
        return an_no_memory();
    t->names = names;
    char *copy = malloc(strlen(text) + 1);
    if (!copy)
        return an_no_memory();
    strcpy(copy, text);
    names[t->name_count++] = copy;
    n->name = copy;
    return CM_OK;
}

// Names come last: only threads that have time need them.
static cm_status take_names(void *context, const tm_reader *r, const tm_block *b)
{
    an_threads *t = context;
    for (size_t i = 0; i < b->row_count; i++) {
        const char *text = tm_reader_string(r, b->columns[TM_thread_name][i]);
        size_t at;
        int64_t key = key_of(b->columns[TM_thread_thread][i], b->columns[TM_thread_process][i]);
        if (text[0] && cm_map_find(&t->by_thread, key, &at) && t->name_count < AN_MAX_PEOPLE)
            CM_TRY(keep_name(t, &t->items[at], text));
    }
    return CM_OK;
}

static cm_status take_first(void *context, const tm_reader *r, const tm_block *b)
{
    an_threads *t = context;
    CM_TRY(an_people_add(&t->people, r, b));
    for (size_t i = 0; i < b->row_count; i++) {
        if (b->kind == TM_KIND_thread && b->columns[TM_thread_action][i] == 0)
            CM_TRY(an_sched_states_started(&t->states, b->columns[TM_thread_thread][i],
                                           b->columns[TM_thread_process][i],
                                           b->columns[TM_thread_time][i]));
        else if (b->kind == TM_KIND_profiling && b->columns[TM_profiling_source][i] == 0)
            add_interval(t, b->columns[TM_profiling_time][i],
                         (double)b->columns[TM_profiling_interval][i]);
    }
    return CM_OK;
}

static void finish_one(const an_threads *t, an_thread_times *n)
{
    const an_person *person = an_people_find(&t->people, n->process);
    if (person) {
        n->program = person->name;
        n->pid = person->pid;
        n->followed = person->followed;
    }
    if (n->on_cpu_ns + n->ready_ns + n->preempted_ns + n->waiting_ns <= 0)
        n->on_cpu_ns = n->ready_ns = n->preempted_ns = n->waiting_ns = n->unknown_ns = (double)NAN;
    if (!t->has_ready)
        n->ready_ns = (double)NAN;
    if (!t->has_samples)
        n->sampled_ns = (double)NAN;
}

static double time_of(const an_thread_times *n)
{
    return an_known(n->on_cpu_ns) ? n->on_cpu_ns : -1;
}

static int busiest_first(const void *a, const void *b)
{
    const an_thread_times *x = a, *y = b;
    if (time_of(x) < time_of(y) || time_of(x) > time_of(y))
        return time_of(x) > time_of(y) ? -1 : 1;
    if (x->samples != y->samples)
        return x->samples > y->samples ? -1 : 1;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    return (x->thread > y->thread) - (x->thread < y->thread);
}

static cm_status read_all(an_threads *t, const an_source *source)
{
    CM_TRY(an_sched_states_init(&t->states));
    CM_TRY(an_source_read(source, AN_PEOPLE_KINDS | TM_BIT(thread) | TM_BIT(profiling), t,
                          take_first));
    CM_TRY(read_switches(t, source));
    CM_TRY(an_source_read(source, TM_BIT(profile), t, take_samples));
    CM_TRY(an_source_read(source, TM_BIT(thread), t, take_names));
    for (size_t i = 0; i < t->count; i++)
        finish_one(t, &t->items[i]);
    finish_one(t, &t->idle);
    if (t->count)
        qsort(t->items, t->count, sizeof *t->items, busiest_first);
    return CM_OK;
}

cm_status an_threads_read(const an_source *source, an_threads **out)
{
    *out = NULL;
    if (!an_source_has(source, TM_BIT(sched) | TM_BIT(profile)))
        return CM_OK;
    an_threads *t = calloc(1, sizeof *t);
    if (!t)
        return an_no_memory();
    t->idle = nothing;
    cm_map_init(&t->by_thread);
    an_people_init(&t->people);
    cm_status status = read_all(t, source);
    if (status == CM_OK)
        *out = t;
    else
        an_threads_destroy(t);
    return status;
}

// --------------------------------------------------------------------------------------- questions

size_t an_threads_count(const an_threads *t)
{
    return t->count;
}

const an_thread_times *an_threads_get(const an_threads *t, size_t at)
{
    return &t->items[at];
}

const an_thread_times *an_threads_idle(const an_threads *t)
{
    return &t->idle;
}

double an_threads_interval_ns(const an_threads *t)
{
    return t->interval_count ? t->intervals[t->interval_count - 1].ns : (double)NAN;
}

bool an_threads_has_switches(const an_threads *t)
{
    return t->has_switches;
}

bool an_threads_has_samples(const an_threads *t)
{
    return t->has_samples;
}

uint64_t an_threads_left_out(const an_threads *t)
{
    return t->left_out;
}
