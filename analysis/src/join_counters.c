// SPDX-License-Identifier: MIT
// Samples of counters to the runs around which they lie: which counters matter to a run, and how.
#include "analysis/counters.h"
#include "analysis/summary.h"
#include "analysis_util.h"
#include "join_samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SERIES     4096
#define USUAL_INTERVAL 20000000 // ns, of a source that does not say
#define TICKS          32e6     // ns: user and kernel time are counted in ticks of up to 15.6 ms

typedef enum role {
    ROLE_NONE,
    ROLE_PERFORMANCE,
    ROLE_FREQUENCY,
    ROLE_GPU,
    ROLE_NPU,
    ROLE_CPU_USER,
    ROLE_CPU_KERNEL,
    ROLE_FAULTS,
    ROLE_HARD_FAULTS,
    ROLE_LIMIT,
    ROLE_CORE
} role;

typedef struct sampler {
    an_join *j;
    an_samples *series;
    size_t count, capacity;
    cm_map by_id;
    size_t samples;  // in all
    an_samples busy; // all cores together, nanoseconds: memory for one series, not for each core
    double cores;
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
        {"performance_limit", AN_ABOUT_CORE, ROLE_LIMIT},
        {"performance_limit", AN_ABOUT_MACHINE, ROLE_LIMIT},
        {"passive_limit", AN_ABOUT_MACHINE, ROLE_LIMIT},
        {"cpu_user", AN_ABOUT_CORE, ROLE_CORE},
        {"cpu_kernel", AN_ABOUT_CORE, ROLE_CORE},
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
    s->cores += found == ROLE_CORE ? 0.5 : 0; // each has two
    an_samples *all = an_grow(s->series, &s->capacity, s->count, sizeof *all);
    if (!all)
        return an_no_memory();
    s->series = all;
    if (!cm_map_put(&s->by_id, b->columns[TM_counter_counter][i], s->count))
        return an_no_memory();
    all[s->count++] = (an_samples){.role = found,
                                   .about = about,
                                   .process = process,
                                   .id = b->columns[TM_counter_counter][i],
                                   .number = b->columns[TM_counter_number][i],
                                   .per_unit = b->columns[TM_counter_per_unit][i],
                                   .source = b->columns[TM_counter_source][i],
                                   .interval_ns = USUAL_INTERVAL,
                                   .asked_until_ns = INT64_MIN};
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

static cm_status keep_sample(sampler *s, an_samples *n, an_sample value)
{
    if (s->samples >= AN_JOIN_MAX_SAMPLES)
        return CM_OK;
    an_sample *samples = an_grow(n->samples, &n->capacity, n->count, sizeof *samples);
    if (!samples)
        return an_no_memory();
    n->samples = samples;
    samples[n->count++] = value;
    s->samples++;
    return CM_OK;
}

// Adds what a core was busy since its last sample to what all were.
static cm_status add_core_sample(sampler *s, an_samples *core, an_sample value)
{
    an_samples *busy = &s->busy;
    double ns = 0;
    if (!value.known || core->per_unit <= 0)
        return CM_OK;
    if (core->has_last)
        ns = ((double)value.value - (double)core->last) / (double)core->per_unit * 1e9;
    core->last = value.value;
    core->has_last = true;
    an_sample *before = busy->count ? &busy->samples[busy->count - 1] : NULL;
    double total = (before ? (double)before->value : 0) + (ns > 0 ? ns : 0);
    value.value = total < 9e18 ? (int64_t)total : INT64_MAX;
    if (!before || value.time > before->time)
        return keep_sample(s, busy, value);
    before->value = value.value; // asked at once
    return CM_OK;
}

static cm_status add_sample(sampler *s, const tm_block *b, size_t i)
{
    size_t at;
    const an_sample value = {b->columns[TM_sample_time][i], b->columns[TM_sample_value][i],
                             b->columns[TM_sample_known][i] != 0};
    if (!cm_map_find(&s->by_id, b->columns[TM_sample_counter][i], &at))
        return CM_OK;
    an_samples *n = &s->series[at];
    return n->role == ROLE_CORE ? add_core_sample(s, n, value) : keep_sample(s, n, value);
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
    const an_sample *x = a, *y = b;
    return (x->time > y->time) - (x->time < y->time);
}

// ------------------------------------------------------------------------------------------ asking

static double cores_busy(const sampler *s, const an_join_run *run)
{
    const an_sample *from, *until;
    if (s->cores < 1 || !an_samples_around(&s->busy, run, &from, &until))
        return (double)NAN;
    double time = ((double)until->time - (double)from->time) * s->cores;
    return time > 0 ? ((double)until->value - (double)from->value) / time : (double)NAN;
}

static void keep_lesser(double *best, double value)
{
    if (an_known(value) && !(value >= *best))
        *best = value;
}

static void keep_greater(double *best, double value)
{
    if (!an_known(*best) || value > *best)
        *best = value;
}

typedef struct facts_of_run {
    double percent[2], mhz[2]; // of its core, of the machine
    double cores[2];           // user, kernel
    double used_s[2];          // the same, from the sample before the run to the one after it
} facts_of_run;

static double first_known(const double values[2])
{
    return !an_known(values[0]) ? values[1] : values[0];
}

static void join_one(const an_samples *n, const an_join_run *run, int64_t process, int64_t cpu,
                     an_joined *out, facts_of_run *facts)
{
    double seconds = 0;
    bool of_core = n->about == AN_ABOUT_CORE;
    if ((n->about == AN_ABOUT_PROCESS && n->process != process) || (of_core && n->number != cpu))
        return;
    switch (n->role) {
    case ROLE_PERFORMANCE:
        facts->percent[!of_core] = an_samples_level(n, run);
        break;
    case ROLE_FREQUENCY:
        facts->mhz[!of_core] = an_samples_level(n, run);
        break;
    case ROLE_GPU:
        keep_greater(&out->gpu_percent, an_samples_level(n, run));
        break;
    case ROLE_NPU:
        keep_greater(&out->npu_percent, an_samples_level(n, run));
        break;
    case ROLE_CPU_USER:
    case ROLE_CPU_KERNEL: {
        double cores = an_samples_growth(n, run, &seconds) / seconds;
        facts->cores[n->role == ROLE_CPU_KERNEL] = cores;
        facts->used_s[n->role == ROLE_CPU_KERNEL] = an_samples_growth_around(n, run);
        break;
    }
    case ROLE_FAULTS:
    case ROLE_HARD_FAULTS:
        if (out->fault_source != AN_FAULTS_EVENTS) {
            double *to = n->role == ROLE_FAULTS ? &out->page_faults : &out->hard_faults;
            *to = an_samples_growth(n, run, &seconds);
            out->fault_source = !an_known(*to) ? out->fault_source : AN_FAULTS_COUNTERS;
            out->fault_window_ns = an_known(*to) ? seconds * 1e9 : out->fault_window_ns;
        }
        break;
    case ROLE_LIMIT:
        keep_lesser(&out->limit_percent, an_samples_level(n, run));
        break;
    case ROLE_CORE: // summed up over all of them
    case ROLE_NONE:
        break;
    }
}

static void join_run(const sampler *s, size_t run)
{
    an_join *j = s->j;
    an_joined *out = &j->joined[run];
    const double none = (double)NAN;
    facts_of_run facts = {{none, none}, {none, none}, {none, none}, {none, none}};
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
    double off = (double)j->runs[run].duration_ns - (facts.used_s[0] + facts.used_s[1]) * 1e9;
    if (an_known(off))
        out->off_cpu_ns = off > TICKS ? off - TICKS : 0;
    out->cores_busy = cores_busy(s, &j->runs[run]);
}

static int64_t last_time(const an_samples *n)
{
    return n->count ? n->samples[n->count - 1].time : INT64_MIN;
}

static void find_ends(sampler *s)
{
    for (size_t i = 0; i < s->count; i++)
        for (size_t k = 0; k < s->count; k++)
            if (s->series[k].source == s->series[i].source &&
                last_time(&s->series[k]) >= s->series[i].asked_until_ns)
                s->series[i].asked_until_ns = last_time(&s->series[k]);
}

cm_status an_join_counters(an_join *j, const an_source *source)
{
    sampler s = {.j = j, .busy.asked_until_ns = INT64_MIN};
    cm_map_init(&s.by_id);
    cm_status status = an_source_read(source, TM_BIT(counter), &s, take_counters);
    if (status == CM_OK && s.count)
        status = an_source_read(source, TM_BIT(sample) | TM_BIT(sampling), &s, take_samples);
    for (size_t i = 0; i < s.count; i++)
        if (s.series[i].count)
            qsort(s.series[i].samples, s.series[i].count, sizeof(an_sample), by_time);
    find_ends(&s);
    for (size_t i = 0; status == CM_OK && s.count && i < j->count; i++)
        join_run(&s, i);
    for (size_t i = 0; i < s.count; i++)
        free(s.series[i].samples);
    free(s.series);
    free(s.busy.samples);
    cm_map_deinit(&s.by_id);
    return status;
}
