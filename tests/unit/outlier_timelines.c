// SPDX-License-Identifier: MIT
// See outlier_timelines.h. Session 1 of app.exe runs on thread 7; its runs are made of pieces in
// which the thread has its processor or has not. What a file tells depends on what it recorded:
// switches with faults and disks (as with event tracing), counters, operators.
#include "outlier_timelines.h"

#include "timeline/timeline.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unity.h>

#define US      1000.0
#define MS      1000000.0
#define THREAD  7
#define KERNELS 6
#define SAMPLE  (20 * MS)

typedef struct maker {
    tm_writer *w;
    uint64_t random;
    plan *plan;
    bool switches, ready, clocks, counters, ops; // what was recorded
    bool always_idle, always_other;              // decoys
    double base_ns, now_ns;
    double process_s, cores_s[2], faults, sampled_ns; // totals of counters, at the last sample
    int64_t run, other_run, shape, slow_kernel;
} maker;

// One run in the making.
typedef struct making {
    an_cause_kind kind[2];
    double part_ns[2]; // what each cost
    size_t count;
    bool soft; // page faults that read nothing
    double usual_ns, begin_ns, end_ns;
} making;

// ------------------------------------------------------------------------------------------ chance

static double uniform(maker *m) // [0, 1)
{
    m->random ^= m->random << 13;
    m->random ^= m->random >> 7;
    m->random ^= m->random << 17;
    return (double)(m->random >> 11) / 9007199254740992.0;
}

static double between(maker *m, double low, double high)
{
    return low + uniform(m) * (high - low);
}

static bool chance(maker *m, double probability)
{
    return uniform(m) < probability;
}

// -------------------------------------------------------------------------------------------- rows

#define TEXT(m, s) tm_writer_string((m)->w, (s), strlen(s))
#define ROW(m, kind, ...)                                                                          \
    do {                                                                                           \
        const int64_t values_[] = {__VA_ARGS__};                                                   \
        TEST_ASSERT_EQUAL_INT(TM_##kind##_COUNT, sizeof values_ / sizeof *values_);                \
        tm_writer_row((m)->w, TM_KIND_##kind, values_);                                            \
    } while (0)

static int64_t ns(double value)
{
    return (int64_t)llround(value);
}

static const char *const strangers[] = {"chrome.exe", "MsMpEng.exe", "teams.exe"};

enum {
    COUNTER_USER = 1,
    COUNTER_KERNEL,
    COUNTER_FAULTS,
    COUNTER_CORE, // user and kernel of two cores
    COUNTER_CLOCK = COUNTER_CORE + 4
};

static void counter_row(maker *m, int64_t id, const char *source, const char *name,
                        const char *unit, int64_t per_unit, int64_t about, int64_t process,
                        int64_t number)
{
    ROW(m, counter, id, 0, TEXT(m, source), TEXT(m, name), TEXT(m, unit), per_unit,
        id != COUNTER_CLOCK, about, process, number, 0);
}

static void sample_row(maker *m, int64_t id, double time, double value)
{
    ROW(m, sample, id, ns(time), ns(value), 1);
}

static void write_people(maker *m)
{
    ROW(m, process, 1, 100, 0, 0, 0, TEXT(m, "C:\\app\\app.exe"), 0);
    ROW(m, module, 1, 1, 0, 0, 0, 0, 0, 0);
    ROW(m, session, 1, 1, 0, 1000000, 0, 0, TEXT(m, "m.onnx"), 0, 0, 0, 0, 0, 0, 0, THREAD);
    ROW(m, session, 2, 1, 0, 1000000, 0, 0, TEXT(m, "n.onnx"), 0, 0, 0, 0, 0, 0, 0, 8);
    ROW(m, bystander, 3, 0, 0, 0, TEXT(m, "Idle"));
    for (int64_t i = 0; i < 3; i++)
        ROW(m, bystander, 4 + i, 40 + i, 4, 0, TEXT(m, strangers[i]));
    ROW(m, shape, 1, 1, 0, 1, 1);
    for (int64_t k = 1; m->ops && k <= KERNELS; k++) {
        char name[16];
        snprintf(name, sizeof name, "node_%lld", (long long)k);
        ROW(m, kernel, k, 1, 1, 0, TEXT(m, name), TEXT(m, "Conv"), 0, 1, 0, 0, 1, 0);
    }
    if (m->clocks) {
        counter_row(m, COUNTER_CLOCK, "pdh", "performance", "%", 100, 0, 0, -1);
        sample_row(m, COUNTER_CLOCK, 0, 10000);
    }
    if (!m->counters)
        return;
    counter_row(m, COUNTER_USER, "process", "cpu_user", "s", 10000000, 1, 1, -1);
    counter_row(m, COUNTER_KERNEL, "process", "cpu_kernel", "s", 10000000, 1, 1, -1);
    counter_row(m, COUNTER_FAULTS, "process", "page_faults", "1", 1, 1, 1, -1);
    for (int64_t core = 0; core < 2; core++) {
        counter_row(m, COUNTER_CORE + core, "process", "cpu_user", "s", 10000000, 3, 0, core);
        counter_row(m, COUNTER_CORE + 2 + core, "process", "cpu_kernel", "s", 10000000, 3, 0, core);
        sample_row(m, COUNTER_CORE + 2 + core, 0, 0);
    }
    sample_row(m, COUNTER_KERNEL, 0, 0);
}

static void grow(maker *m, double for_ns, double process_rate, double first_core, double other_core)
{
    m->process_s += for_ns / 1e9 * process_rate;
    m->cores_s[0] += for_ns / 1e9 * first_core;
    m->cores_s[1] += for_ns / 1e9 * other_core;
}

// Time passes: the totals of counters grow, and are asked now and then.
static void pass(maker *m, double to_ns, double process_rate, double first_core, double other_core)
{
    double from = m->now_ns;
    for (double next = m->sampled_ns + SAMPLE; m->counters && next <= to_ns; next += SAMPLE) {
        grow(m, next - from, process_rate, first_core, other_core);
        from = m->sampled_ns = next;
        sample_row(m, COUNTER_USER, next, m->process_s * 1e7);
        sample_row(m, COUNTER_CORE, next, m->cores_s[0] * 1e7);
        sample_row(m, COUNTER_CORE + 1, next, m->cores_s[1] * 1e7);
        sample_row(m, COUNTER_FAULTS, next, m->faults);
    }
    grow(m, to_ns - from, process_rate, first_core, other_core);
    m->now_ns = to_ns;
}

// ---------------------------------------------------------------------------------------- switches

static void switched(maker *m, double time, int64_t new_thread, int64_t new_process,
                     int64_t old_thread, int64_t old_process, int64_t state, int64_t reason)
{
    ROW(m, sched, ns(time), 0, new_thread, new_process, old_thread, old_process, 8, 8, state,
        reason, 0, 0);
}

static void preempt(maker *m, double time, double length, int64_t stranger)
{
    switched(m, time, 20 + stranger, 4 + stranger, THREAD, 1, 1, 32);
    switched(m, time + length, THREAD, 1, 20 + stranger, 4 + stranger, 5, 6);
}

// Waits for `length`, is then ready for `ready` without getting a processor.
static void wait(maker *m, double time, double length, double ready, int64_t reason)
{
    bool crowded = ready > 0;
    switched(m, time, crowded ? 20 : 0, crowded ? 4 : 3, THREAD, 1, 5, reason);
    if (m->ready)
        ROW(m, ready, ns(time + length), 0, THREAD, 1, -1, 0, 1, 0, 0);
    switched(m, time + length + ready, THREAD, 1, crowded ? 20 : 0, crowded ? 4 : 3, 5, 6);
}

// What the thread did instead of running, `length` long.
static void lose_time(maker *m, an_cause_kind kind, double time, double length, planted_cause *told)
{
    int64_t stranger = (int64_t)(uniform(m) * 3);
    switch (kind) {
    case AN_CAUSE_PREEMPTED:
        preempt(m, time, length, stranger);
        snprintf(told->who, sizeof told->who, "%s", strangers[stranger]);
        break;
    case AN_CAUSE_WAITING_FOR_CORE:
        wait(m, time, 1 * US, length - 1 * US, 6);
        break;
    case AN_CAUSE_PAGE_FAULTS:
        wait(m, time, length, 0, 2);
        ROW(m, fault, ns(time), 0, THREAD, 1, 6, 4096, ns(length), 65536);
        ROW(m, disk, ns(time), ns(length * 0.9), THREAD, 1, 0, 0, 65536, 0); // that reads the page
        break;
    case AN_CAUSE_DISK:
        wait(m, time, length, 0, 0);
        ROW(m, disk, ns(time), ns(length), THREAD, 1, 0, 0, 65536, 0);
        break;
    case AN_CAUSE_WAITING:
        wait(m, time, length, 0, 15);
        snprintf(told->who, sizeof told->who, "WrQueue");
        break;
    default:
        break;
    }
}

static bool takes_processor(const making *r, size_t i)
{
    an_cause_kind kind = r->kind[i];
    return kind == AN_CAUSE_PREEMPTED || kind == AN_CAUSE_WAITING_FOR_CORE ||
           (kind == AN_CAUSE_PAGE_FAULTS && !r->soft) || kind == AN_CAUSE_DISK ||
           kind == AN_CAUSE_WAITING;
}

// A run of the thread: on its processor, but for what it loses. Soft faults come with every run.
static void write_switches(maker *m, const making *r, planted_run *p)
{
    planted_cause nothing = {0};
    double time = r->begin_ns + r->usual_ns * 0.2;
    switched(m, r->begin_ns - 10 * US, THREAD, 1, 0, 3, 5, 6);
    for (size_t i = 0; i < r->count; i++) {
        if (!takes_processor(r, i))
            continue;
        lose_time(m, r->kind[i], time, r->part_ns[i], &p->causes[i]);
        time += r->part_ns[i] + r->usual_ns * 0.2;
    }
    if (chance(m, 0.3)) // what happens to usual runs, too
        lose_time(m, chance(m, 0.5) ? AN_CAUSE_PREEMPTED : AN_CAUSE_WAITING, time,
                  r->usual_ns * between(m, 0.01, 0.06), &nothing);
    for (double faults = floor(between(m, 0, 4)); faults > 0; faults--)
        ROW(m, fault, ns(r->begin_ns + r->usual_ns * between(m, 0, 0.1)), 0, THREAD, 1, 1, 4096, 0,
            0);
    switched(m, r->end_ns + 10 * US, 0, 3, THREAD, 1, 5, 6);
}

// --------------------------------------------------------------------------------------- operators

// One after the other over the whole run. Time that a single one took: `slow`, 0: all took it.
static void write_ops(maker *m, const making *r, int64_t slow)
{
    double time = r->begin_ns, extra = r->end_ns - r->begin_ns - r->usual_ns;
    for (int64_t k = 1; k <= KERNELS; k++) {
        double length = r->usual_ns / KERNELS + (slow == 0   ? extra / KERNELS
                                                 : slow == k ? extra
                                                             : 0);
        ROW(m, op, k, 1, m->run, THREAD, ns(time), ns(length), 0, 0);
        time += length;
    }
}

// ----------------------------------------------------------------------------------------- one run

static void write_others(maker *m, const making *r, bool during)
{
    if (during)
        ROW(m, run, 2, ++m->other_run, 8, ns(r->begin_ns - 5 * US),
            ns(r->end_ns - r->begin_ns + 10 * US), 0, 0, 1, 0, 0);
}

static void soft_faults(maker *m, const making *r, double cost_ns)
{
    double count = floor(cost_ns / (3 * US));
    if (m->counters)
        m->faults += count;
    for (double i = 0; m->switches && i < count; i++)
        ROW(m, fault, ns(r->begin_ns + (r->end_ns - r->begin_ns) * (i + 0.5) / count), 0, THREAD, 1,
            1, 4096, 0, 0);
}

static bool has(const making *r, an_cause_kind kind)
{
    return (r->count > 0 && r->kind[0] == kind) || (r->count > 1 && r->kind[1] == kind);
}

static double part_of(const making *r, an_cause_kind kind)
{
    return r->count > 1 && r->kind[1] == kind ? r->part_ns[1] : r->part_ns[0];
}

static double gap_before(maker *m, const making *r)
{
    if (has(r, AN_CAUSE_IDLE_BEFORE) || m->always_idle)
        return between(m, 250, 1500) * MS;
    if (has(r, AN_CAUSE_THROTTLED) || chance(m, 0.02)) // a decoy: too short
        return between(m, 60, 120) * MS;
    return between(m, 0.1, 2) * MS;
}

// Runs that fill more than one interval of the counters, whoever caused them.
static double rate_of(const making *r)
{
    double length = r->end_ns - r->begin_ns, stopped = 0;
    for (size_t i = 0; i < r->count; i++)
        if (takes_processor(r, i))
            stopped += r->part_ns[i];
    return 1 - stopped / length;
}

// `slow_alone`: an operator, in a run that nobody has an explanation for.
static void write_run(maker *m, making *r, planted_run *p, int64_t slow_alone)
{
    double extra = r->count > 0 ? r->part_ns[0] : 0;
    extra += r->count > 1 ? r->part_ns[1] : 0;
    bool throttled = has(r, AN_CAUSE_THROTTLED);
    bool cold = has(r, AN_CAUSE_IDLE_BEFORE) && m->clocks && chance(m, 0.5); // no cause of its own
    pass(m, m->now_ns + gap_before(m, r), 0, 0.1, 0.1);
    r->begin_ns = m->now_ns;
    r->end_ns = r->begin_ns + r->usual_ns + extra;
    m->run++;
    if (has(r, AN_CAUSE_NEW_SHAPE)) {
        ROW(m, shape, ++m->shape, 1, 0, 1, 1);
        ROW(m, run, 1, m->run, THREAD, ns(r->begin_ns), ns(r->end_ns) - ns(r->begin_ns), 0, 0, 1,
            m->shape, 0);
    } else {
        ROW(m, run, 1, m->run, THREAD, ns(r->begin_ns), ns(r->end_ns) - ns(r->begin_ns), 0, 0, 1, 1,
            0);
    }
    if (m->switches)
        write_switches(m, r, p);
    if (m->ops)
        write_ops(m, r, has(r, AN_CAUSE_SLOW_OPERATOR) ? m->slow_kernel : slow_alone);
    if (has(r, AN_CAUSE_ARENA_GROWTH))
        ROW(m, run_memory, 1, m->run, ns(r->end_ns), 4096, 4096, 4096, 0, 1, 1,
            ns(part_of(r, AN_CAUSE_ARENA_GROWTH) / (2 * US) * 4096));
    if (has(r, AN_CAUSE_PAGE_FAULTS) && r->soft)
        soft_faults(m, r, part_of(r, AN_CAUSE_PAGE_FAULTS));
    write_others(m, r, has(r, AN_CAUSE_OTHER_SESSION) || m->always_other);
    if (throttled || cold) {
        double clock = r->usual_ns / (r->end_ns - r->begin_ns);
        sample_row(m, COUNTER_CLOCK, r->begin_ns - 1 * MS, 10000 * clock);
        sample_row(m, COUNTER_CLOCK, r->end_ns + 60 * MS, 10000);
    }
    if (has(r, AN_CAUSE_WAITING_FOR_CORE))
        pass(m, r->end_ns, rate_of(r), 1, 1);
    else
        pass(m, r->end_ns, rate_of(r), rate_of(r), 0.1);
    if (throttled || cold)
        pass(m, m->now_ns + 70 * MS, 0, 0.1, 0.1);
}

// ---------------------------------------------------------------------------------------- the plan

typedef struct wish {
    an_cause_kind kind; // AN_CAUSE_UNEXPLAINED: a slow run that nothing explains
    bool soft;
} wish;

// What this timeline can show.
static size_t list_wishes(const maker *m, wish *out)
{
    size_t count = 0;
    out[count++] = (wish){AN_CAUSE_UNEXPLAINED, false};
    out[count++] = (wish){AN_CAUSE_NEW_SHAPE, false};
    out[count++] = (wish){AN_CAUSE_ARENA_GROWTH, false};
    if (!m->always_idle)
        out[count++] = (wish){AN_CAUSE_IDLE_BEFORE, false};
    if (!m->always_other)
        out[count++] = (wish){AN_CAUSE_OTHER_SESSION, false};
    if (m->clocks && !m->always_idle)
        out[count++] = (wish){AN_CAUSE_THROTTLED, false};
    if (m->ops)
        out[count++] = (wish){AN_CAUSE_SLOW_OPERATOR, false};
    if (m->switches || m->counters)
        out[count++] = (wish){AN_CAUSE_WAITING, false};
    if ((m->switches && m->ready) || m->counters)
        out[count++] = (wish){AN_CAUSE_WAITING_FOR_CORE, false};
    if (m->counters || (m->switches && m->base_ns < 2 * MS))
        out[count++] = (wish){AN_CAUSE_PAGE_FAULTS, true};
    if (!m->switches)
        return count;
    out[count++] = (wish){AN_CAUSE_PAGE_FAULTS, false};
    out[count++] = (wish){AN_CAUSE_DISK, false};
    out[count++] = (wish){AN_CAUSE_PREEMPTED, false};
    out[count++] = (wish){AN_CAUSE_PREEMPTED, false};
    return count;
}

// So many times the usual that the cause shows beyond what its source can't tell.
static double factor_of(maker *m, wish w)
{
    if (m->counters && (w.kind == AN_CAUSE_WAITING || w.kind == AN_CAUSE_WAITING_FOR_CORE))
        return between(m, 25, 40);
    return w.soft ? between(m, 4, 6) : between(m, 4, 20);
}

static void plan_run(maker *m, making *r, planted_run *p, wish w)
{
    static const an_cause_kind second[] = {AN_CAUSE_DISK, AN_CAUSE_PREEMPTED, AN_CAUSE_WAITING};
    double extra = r->usual_ns * (factor_of(m, w) - 1);
    r->kind[0] = w.kind;
    r->part_ns[0] = extra;
    r->count = 1;
    r->soft = w.soft;
    bool circumstance = w.kind == AN_CAUSE_IDLE_BEFORE || w.kind == AN_CAUSE_NEW_SHAPE ||
                        w.kind == AN_CAUSE_OTHER_SESSION;
    if (m->switches && circumstance && chance(m, 0.3)) { // something that was measured besides
        double share = between(m, 0.3, 0.6);
        r->kind[1] = second[(size_t)(uniform(m) * 3)];
        r->part_ns[1] = extra * share;
        r->part_ns[0] = extra * (1 - share);
        r->count = 2;
    }
    p->run = m->run + 1;
    if (w.kind == AN_CAUSE_UNEXPLAINED)
        return;
    p->cause_count = r->count;
    for (size_t i = 0; i < r->count; i++) {
        p->causes[i].kind = r->kind[i];
        p->causes[i].share = r->part_ns[i] / extra;
        if (r->kind[i] == AN_CAUSE_SLOW_OPERATOR)
            snprintf(p->causes[i].who, sizeof p->causes[i].who, "node_%lld",
                     (long long)m->slow_kernel);
    }
}

static void usual_run(maker *m, making *r)
{
    double noise = (uniform(m) + uniform(m) + uniform(m) - 1.5) * 0.2;
    *r = (making){.usual_ns = m->base_ns * (1 + noise)};
    if (chance(m, 0.02))
        r->usual_ns *= 1.5;
}

// The runs in between make sure that a few slow ones are not taken for warming up.
static void write_usual(maker *m, double count)
{
    for (; count >= 1; count--) {
        making r;
        usual_run(m, &r);
        write_run(m, &r, NULL, 0);
    }
}

static void write_wish(maker *m, wish w)
{
    making r;
    usual_run(m, &r);
    r.usual_ns = m->base_ns;
    planted_run *p = &m->plan->runs[m->plan->count++];
    bool unexplained = w.kind == AN_CAUSE_UNEXPLAINED;
    // Without switches nobody can tell whether the operator was slow or was stopped.
    int64_t alone =
        unexplained && !m->switches && chance(m, 0.7) ? m->slow_kernel % KERNELS + 1 : 0;
    plan_run(m, &r, p, w);
    write_run(m, &r, p, alone);
    write_usual(m, floor(between(m, 14, 24)));
}

static void write_first(maker *m)
{
    making r;
    planted_run none = {0};
    usual_run(m, &r);
    if (chance(m, 0.5)) {
        write_run(m, &r, &none, 0);
        return;
    }
    planted_run *p = &m->plan->runs[m->plan->count++];
    r.usual_ns = m->base_ns;
    plan_run(m, &r, p, (wish){AN_CAUSE_FIRST_RUN, false});
    write_run(m, &r, p, 0);
}

static void choose_sources(maker *m)
{
    m->switches = chance(m, 0.6);
    m->ready = chance(m, 0.8);
    m->clocks = chance(m, 0.5);
    m->counters = !m->switches && chance(m, 0.5);
    m->ops = chance(m, 0.6);
    m->always_idle = chance(m, 0.15);
    m->always_other = chance(m, 0.15);
    m->slow_kernel = 1 + (int64_t)(uniform(m) * KERNELS);
    m->base_ns = m->counters ? between(m, 25, 50) * MS : exp(between(m, log(0.3), log(20))) * MS;
    snprintf(m->plan->text, sizeof m->plan->text, "%s%s%s%s%s%s%s, base %.3f ms",
             m->switches ? " switches" : "", m->ready ? " ready" : "", m->clocks ? " clocks" : "",
             m->counters ? " counters" : "", m->ops ? " operators" : "",
             m->always_idle ? " always-idle" : "", m->always_other ? " always-other" : "",
             m->base_ns / MS);
}

void make_timeline(const char *path, uint64_t seed, plan *out)
{
    const tm_header header = {"0.1.0", 1767323045000000000u, "Windows", "CPU", 2};
    maker m = {.random = seed * 0x9e3779b97f4a7c15u + 0x1234567, .plan = out, .shape = 1};
    wish wishes[16];
    memset(out, 0, sizeof *out);
    for (int i = 0; i < 8; i++)
        uniform(&m);
    choose_sources(&m);
    TEST_ASSERT_EQUAL_INT(CM_OK, tm_writer_create(path, &header, &m.w));
    write_people(&m);
    pass(&m, 100 * MS, 0, 0.1, 0.1);
    write_first(&m);
    write_usual(&m, 45);
    size_t possible = list_wishes(&m, wishes);
    for (double kinds = 1 + floor(uniform(&m) * 3); kinds >= 1; kinds--) {
        wish w = wishes[(size_t)(uniform(&m) * (double)possible)];
        // An operator that is slow by itself shows only by being slow again and again.
        bool repeated = w.kind == AN_CAUSE_SLOW_OPERATOR && !m.switches;
        for (double n = repeated ? 6 : 1 + floor(uniform(&m) * 3); n >= 1; n--)
            write_wish(&m, w);
    }
    write_usual(&m, 60);
    pass(&m, m.now_ns + 500 * MS, 0, 0.1, 0.1);
    TEST_ASSERT_EQUAL_INT(CM_OK, tm_writer_close(m.w));
}
