// SPDX-License-Identifier: MIT
// Samples of counters to the runs around which they lie. Rows stand only where a value changes, and
// a sample tells of the time before it: between two rows the later value counts from one interval
// of its source before it, the earlier one until then.
#include "analysis/counters.h"
#include "analysis/summary.h"
#include "analysis_util.h"
#include "join_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SERIES     4096
#define USUAL_INTERVAL 20000000 // ns, of a source that does not say
#define LATE_INTERVAL  1.5      // a sample may come so many intervals after the one before

typedef enum role {
    ROLE_NONE,
    ROLE_PERFORMANCE,
    ROLE_FREQUENCY,
    ROLE_GPU,
    ROLE_NPU,
    ROLE_CPU_USER,
    ROLE_CPU_KERNEL,
    ROLE_FAULTS,
    ROLE_HARD_FAULTS
} role;

typedef struct sample {
    int64_t time, value;
    bool known;
} sample;

typedef struct series {
    role role;
    int64_t id, about, process, number, per_unit;
    int64_t source; // string of the file
    double interval_ns;
    sample *samples; // by time, once read
    size_t count, capacity;
} series;

typedef struct sampler {
    an_join *j;
    series *series;
    size_t count, capacity;
    cm_map by_id;
    size_t samples; // in all
} sampler;

// ----------------------------------------------------------------------------------------- reading

static role role_of(const char *name, int64_t about, int64_t process)
{
    static const struct {
        const char *name;
        int64_t about;
        role role;
    } roles[] = {
        {"performance", AN_ABOUT_CORE, ROLE_PERFORMANCE},
        {"performance", AN_ABOUT_MACHINE, ROLE_PERFORMANCE},
        {"frequency", AN_ABOUT_CORE, ROLE_FREQUENCY},
        {"frequency", AN_ABOUT_MACHINE, ROLE_FREQUENCY},
        {"gpu_utilization", AN_ABOUT_DEVICE, ROLE_GPU},
        {"npu_utilization", AN_ABOUT_DEVICE, ROLE_NPU},
        {"cpu_user", AN_ABOUT_PROCESS, ROLE_CPU_USER},
        {"cpu_kernel", AN_ABOUT_PROCESS, ROLE_CPU_KERNEL},
        {"page_faults", AN_ABOUT_PROCESS, ROLE_FAULTS},
        {"hard_faults", AN_ABOUT_PROCESS, ROLE_HARD_FAULTS},
    };
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (roles[i].about == about && strcmp(roles[i].name, name) == 0)
            return about != AN_ABOUT_PROCESS && process ? ROLE_NONE : roles[i].role;
    return ROLE_NONE;
}

static cm_status add_counter(sampler *s, const tm_reader *r, const tm_block *b, size_t i)
{
    int64_t about = b->columns[TM_counter_about][i], process = b->columns[TM_counter_process][i];
    role found = role_of(tm_reader_string(r, b->columns[TM_counter_name][i]), about, process);
    if (found == ROLE_NONE || s->count == MAX_SERIES)
        return CM_OK;
    series *all = an_grow(s->series, &s->capacity, s->count, sizeof *all);
    if (!all)
        return an_no_memory();
    s->series = all;
    if (!cm_map_put(&s->by_id, b->columns[TM_counter_counter][i], s->count))
        return an_no_memory();
    all[s->count++] = (series){.role = found,
                               .about = about,
                               .process = process,
                               .id = b->columns[TM_counter_counter][i],
                               .number = b->columns[TM_counter_number][i],
                               .per_unit = b->columns[TM_counter_per_unit][i],
                               .source = b->columns[TM_counter_source][i],
                               .interval_ns = USUAL_INTERVAL};
    return CM_OK;
}

// The slowest that a source ever was: a value too old by one interval is better than none.
static void add_sampling(sampler *s, const tm_block *b, size_t i)
{
    double ns = (double)b->columns[TM_sampling_interval_us][i] * 1e3;
    for (size_t k = 0; k < s->count; k++)
        if (s->series[k].source == b->columns[TM_sampling_source][i] &&
            ns > s->series[k].interval_ns)
            s->series[k].interval_ns = ns;
}

static cm_status take_counters(void *context, const tm_reader *r, const tm_block *b)
{
    for (size_t i = 0; i < b->row_count; i++)
        CM_TRY(add_counter(context, r, b, i));
    return CM_OK;
}

static cm_status add_sample(sampler *s, const tm_block *b, size_t i)
{
    size_t at;
    if (!cm_map_find(&s->by_id, b->columns[TM_sample_counter][i], &at) ||
        s->samples >= AN_JOIN_MAX_SAMPLES)
        return CM_OK;
    series *n = &s->series[at];
    sample *samples = an_grow(n->samples, &n->capacity, n->count, sizeof *samples);
    if (!samples)
        return an_no_memory();
    n->samples = samples;
    samples[n->count++] = (sample){b->columns[TM_sample_time][i], b->columns[TM_sample_value][i],
                                   b->columns[TM_sample_known][i] != 0};
    s->samples++;
    return CM_OK;
}

static cm_status take_samples(void *context, const tm_reader *r, const tm_block *b)
{
    (void)r;
    for (size_t i = 0; i < b->row_count; i++) {
        if (b->kind == TM_KIND_sampling)
            add_sampling(context, b, i);
        else
            CM_TRY(add_sample(context, b, i));
    }
    return CM_OK;
}

static int by_time(const void *a, const void *b)
{
    const sample *x = a, *y = b;
    return (x->time > y->time) - (x->time < y->time);
}

// ------------------------------------------------------------------------------------------ asking

// The place of the first sample later than `time`.
static size_t after(const series *n, int64_t time)
{
    size_t low = 0, high = n->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (n->samples[middle].time <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// What of [from, to] lies in the run.
static double overlap(double from, double to, double begin, double end)
{
    double a = from > begin ? from : begin, b = to < end ? to : end;
    return b > a ? b - a : 0;
}

// The mean of a level over the run.
static double level(const series *n, const an_join_run *run)
{
    double begin = (double)run->begin_ns, end = (double)an_join_end(run), area = 0, known = 0;
    end = end > begin ? end : begin + 1;
    size_t at = after(n, run->begin_ns);
    for (size_t i = at > 0 ? at - 1 : 0; i < n->count && (double)n->samples[i].time < end; i++) {
        const sample *s = &n->samples[i], *next = i + 1 < n->count ? s + 1 : NULL;
        double to = next ? (double)next->time : end;
        double turn = next ? to - n->interval_ns * LATE_INTERVAL : to;
        turn = turn > (double)s->time ? turn : (double)s->time;
        double own = s->known ? overlap((double)s->time, turn, begin, end) : 0;
        double its = next && next->known ? overlap(turn, to, begin, end) : 0;
        area += own * (double)s->value + (its > 0 ? its * (double)next->value : 0);
        known += own + its;
    }
    return known > 0 && n->per_unit > 0 ? area / known / (double)n->per_unit : (double)NAN;
}

// How much a total grew from the sample before the run to the one after it; `seconds`: in which
// time.
static double growth(const series *n, const an_join_run *run, double *seconds)
{
    int64_t end_ns = an_join_end(run);
    size_t before = after(n, run->begin_ns), then = after(n, end_ns);
    double late = n->interval_ns * LATE_INTERVAL, to = (double)end_ns;
    if (before == 0)
        return (double)NAN;
    const sample *from = &n->samples[before - 1], *until = &n->samples[then - 1];
    if (then < n->count && (double)n->samples[then].time - (double)end_ns <= late) {
        until = &n->samples[then];
        to = (double)until->time;
    }
    double since = (double)from->time, earliest = (double)run->begin_ns - late;
    *seconds = (to - (since > earliest ? since : earliest)) / 1e9;
    return from->known && until->known && n->per_unit > 0
               ? ((double)until->value - (double)from->value) / (double)n->per_unit
               : (double)NAN;
}

static void keep_greater(double *best, double value)
{
    if (!an_known(*best) || value > *best)
        *best = value;
}

typedef struct facts_of_run {
    double percent[2], mhz[2]; // of its core, of the machine
    double cores[2];           // user, kernel
} facts_of_run;

static double first_known(const double values[2])
{
    return !an_known(values[0]) ? values[1] : values[0];
}

static void join_one(const series *n, const an_join_run *run, int64_t process, int64_t cpu,
                     an_joined *out, facts_of_run *facts)
{
    double seconds = 0;
    bool of_core = n->about == AN_ABOUT_CORE;
    if ((n->about == AN_ABOUT_PROCESS && n->process != process) || (of_core && n->number != cpu))
        return;
    switch (n->role) {
    case ROLE_PERFORMANCE:
        facts->percent[!of_core] = level(n, run);
        break;
    case ROLE_FREQUENCY:
        facts->mhz[!of_core] = level(n, run);
        break;
    case ROLE_GPU:
        keep_greater(&out->gpu_percent, level(n, run));
        break;
    case ROLE_NPU:
        keep_greater(&out->npu_percent, level(n, run));
        break;
    case ROLE_CPU_USER:
    case ROLE_CPU_KERNEL: {
        double cores = growth(n, run, &seconds) / seconds;
        facts->cores[n->role == ROLE_CPU_KERNEL] = cores;
        break;
    }
    case ROLE_FAULTS:
    case ROLE_HARD_FAULTS:
        if (out->fault_source != AN_FAULTS_EVENTS) {
            double *to = n->role == ROLE_FAULTS ? &out->page_faults : &out->hard_faults;
            *to = growth(n, run, &seconds);
            out->fault_source = !an_known(*to) ? out->fault_source : AN_FAULTS_COUNTERS;
        }
        break;
    case ROLE_NONE:
        break;
    }
}

static void join_run(const sampler *s, size_t run)
{
    an_join *j = s->j;
    an_joined *out = &j->joined[run];
    const double none = (double)NAN;
    facts_of_run facts = {{none, none}, {none, none}, {none, none}};
    for (size_t i = 0; i < s->count; i++)
        if (s->series[i].count)
            join_one(&s->series[i], &j->runs[run], j->states[run].process, j->states[run].cpu, out,
                     &facts);
    out->process_cpu = facts.cores[0] + facts.cores[1]; // both, or it is not known
    if (!__builtin_isfinite(out->process_cpu) || out->process_cpu < 0)
        out->process_cpu = (double)NAN;
    // The frequency that Windows tells is the nominal one; how far from it a core is, the other
    // says.
    out->clock_percent = first_known(facts.percent);
    out->clock_mhz = first_known(facts.mhz) * out->clock_percent / 100;
}

cm_status an_join_counters(an_join *j, const an_source *source)
{
    sampler s = {.j = j};
    cm_map_init(&s.by_id);
    cm_status status = an_source_read(source, TM_BIT(counter), &s, take_counters);
    if (status == CM_OK && s.count)
        status = an_source_read(source, TM_BIT(sample) | TM_BIT(sampling), &s, take_samples);
    for (size_t i = 0; i < s.count; i++)
        if (s.series[i].count)
            qsort(s.series[i].samples, s.series[i].count, sizeof(sample), by_time);
    for (size_t i = 0; status == CM_OK && s.count && i < j->count; i++)
        join_run(&s, i);
    for (size_t i = 0; i < s.count; i++)
        free(s.series[i].samples);
    free(s.series);
    cm_map_deinit(&s.by_id);
    return status;
}
