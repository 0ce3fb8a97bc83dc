// SPDX-License-Identifier: MIT
// The sampling threads: one for each source, each at its own pace. Nothing here waits for a source
// while it holds the lock, and the capture's thread never waits for a source before the very end.
#include "counters_internal.h"

#include "common/os.h"

#include <stdio.h>
#include <stdlib.h>

#define END_MS 3000u // for the last round of all sources

static uint64_t ticks_now(void)
{
    return __builtin_ia32_rdtsc();
}

// ----------------------------------------------------------------------------------- the processes

static size_t list_followed(void *context, co_followed *out, size_t capacity)
{
    co_counters *c = context;
    size_t count = 0;
    AcquireSRWLockShared(&c->lock);
    for (size_t i = 0; i < c->target_count && count < capacity; i++)
        if (!c->targets[i].ended)
            out[count++] = c->targets[i].followed;
    ReleaseSRWLockShared(&c->lock);
    return count;
}

size_t co_counters_targets(co_counters *c, co_live_target *out, size_t capacity)
{
    AcquireSRWLockShared(&c->lock);
    size_t count = c->target_count < capacity ? c->target_count : capacity;
    for (size_t i = 0; i < count; i++)
        out[i] = c->targets[i];
    ReleaseSRWLockShared(&c->lock);
    return count;
}

static void remove_target(co_counters *c, uint32_t target_id)
{
    for (size_t i = 0; i < c->target_count; i++) {
        if (c->targets[i].followed.id == target_id) {
            CloseHandle(c->targets[i].process);
            c->targets[i] = c->targets[--c->target_count];
            return;
        }
    }
}

void co_counters_release(co_counters *c, uint32_t target_id)
{
    AcquireSRWLockExclusive(&c->lock);
    remove_target(c, target_id);
    ReleaseSRWLockExclusive(&c->lock);
}

void co_counters_follow(co_counters *c, uint32_t target_id, uint32_t pid, void *process)
{
    HANDLE self = GetCurrentProcess(), own;
    if (!c || !DuplicateHandle(self, process, self, &own, 0, FALSE, DUPLICATE_SAME_ACCESS))
        return;
    AcquireSRWLockExclusive(&c->lock);
    if (c->target_count == c->target_capacity) {
        size_t capacity = c->target_capacity ? c->target_capacity * 2 : 16;
        co_live_target *larger = realloc(c->targets, capacity * sizeof *larger);
        if (larger) {
            c->targets = larger;
            c->target_capacity = capacity;
        }
    }
    bool room = c->target_count < c->target_capacity;
    if (room)
        c->targets[c->target_count++] = (co_live_target){{target_id, pid}, own, false};
    ReleaseSRWLockExclusive(&c->lock);
    if (!room)
        CloseHandle(own);
}

void co_counters_unfollow(co_counters *c, uint32_t target_id)
{
    if (!c)
        return;
    bool last_round = c->options.sources & CO_COUNTERS_PROCESS;
    AcquireSRWLockExclusive(&c->lock);
    for (size_t i = 0; i < c->target_count; i++)
        if (c->targets[i].followed.id == target_id)
            c->targets[i].ended = true;
    if (!last_round)
        remove_target(c, target_id);
    ReleaseSRWLockExclusive(&c->lock);
}

// -------------------------------------------------------------------------------------- one source

static void publish(co_runner *r)
{
    AcquireSRWLockExclusive(&r->owner->lock);
    co_readings_move(&r->owner->ready, &r->readings);
    ReleaseSRWLockExclusive(&r->owner->lock);
}

static double allowance_of(const co_runner *r)
{
    double others = 0;
    for (unsigned i = 0; i < r->owner->runner_count; i++)
        if (&r->owner->runners[i] != r)
            others += atomic_load(&r->owner->runners[i].share_ppm) / 1e6;
    return co_pace_allowance(r->owner->options.max_overhead, r->owner->runner_count, others);
}

static double rate_of(const co_runner *r)
{
    double hz = atomic_load(&r->owner->wished_hz);
    return r->source->max_hz > 0 && r->source->max_hz < hz ? r->source->max_hz : hz;
}

static void follow_wish(co_runner *r)
{
    double hz = rate_of(r);
    if (hz == r->hz)
        return;
    r->hz = hz;
    co_pace_wish(&r->pace, hz);
    co_readings_pace(&r->readings, ticks_now(), r->source->name, r->pace.interval_ns,
                     CO_PACE_WISHED);
}

// One round and what it means for the pace; false if the source has ended.
static bool sample(co_runner *r, void *state, bool last)
{
    uint64_t begin = cm_monotonic_ns();
    bool alive = r->source->sample(state, ticks_now());
    atomic_fetch_add(&r->rounds, 1);
    uint64_t cost = cm_monotonic_ns() - begin, before = r->pace.interval_ns;
    if (alive && !last && co_pace_note(&r->pace, cost, allowance_of(r)))
        co_readings_pace(&r->readings, ticks_now(), r->source->name, r->pace.interval_ns,
                         r->pace.interval_ns > before ? CO_PACE_SLOWER : CO_PACE_FASTER);
    atomic_store(&r->share_ppm, (unsigned)(co_pace_share(&r->pace) * 1e6));
    return alive;
}

// Until `due_ns` or the end; true at the end.
static bool wait_until(const co_runner *r, HANDLE timer, uint64_t due_ns)
{
    uint64_t now = cm_monotonic_ns();
    if (due_ns <= now)
        return WaitForSingleObject(r->owner->stop, 0) == WAIT_OBJECT_0;
    LARGE_INTEGER due = {.QuadPart = -(LONGLONG)((due_ns - now) / 100)};
    HANDLE both[] = {r->owner->stop, timer};
    if (timer && SetWaitableTimer(timer, &due, 0, NULL, NULL, FALSE))
        return WaitForMultipleObjects(2, both, FALSE, INFINITE) == WAIT_OBJECT_0;
    DWORD ms = (DWORD)((due_ns - now + 999999) / 1000000);
    return WaitForSingleObject(r->owner->stop, ms) == WAIT_OBJECT_0;
}

static void sample_until_end(co_runner *r, void *state)
{
    HANDLE timer =
        CreateWaitableTimerExW(NULL, NULL, CREATE_WAITABLE_TIMER_HIGH_RESOLUTION, TIMER_ALL_ACCESS);
    if (!timer) // Windows 10 before 1803
        timer = CreateWaitableTimerExW(NULL, NULL, 0, TIMER_ALL_ACCESS);
    uint64_t due = cm_monotonic_ns();
    for (bool end = false, alive = true; alive && !end;) {
        end = wait_until(r, timer, due);
        follow_wish(r);
        alive = sample(r, state, end);
        publish(r);
        // What was missed is not made up for: that would cost more, just when time is short.
        uint64_t now = cm_monotonic_ns();
        due =
            due + r->pace.interval_ns > now ? due + r->pace.interval_ns : now + r->pace.interval_ns;
    }
    if (timer)
        CloseHandle(timer);
}

static DWORD WINAPI run_source(void *context)
{
    co_runner *r = context;
    void *state = r->source->open(&r->env);
    if (state) {
        co_readings_pace(&r->readings, ticks_now(), r->source->name, r->pace.interval_ns,
                         CO_PACE_BEGIN);
        sample_until_end(r, state);
        r->source->close(state);
        atomic_store(&r->share_ppm, 0);
        co_readings_pace(&r->readings, ticks_now(), r->source->name, 0, CO_PACE_END);
        char text[CO_REMARK_BYTES];
        snprintf(text, sizeof text, "The counters of %s were asked %u times.", r->source->name,
                 atomic_load(&r->rounds));
        co_readings_remark(&r->readings, ticks_now(), 5, text);
    }
    publish(r);
    return 0;
}

// ----------------------------------------------------------------------------------- begin and end

static void add_runner(co_counters *c, const co_source *source)
{
    co_runner *r = &c->runners[c->runner_count++];
    *r = (co_runner){.owner = c, .source = source};
    r->env = (co_source_env){&r->readings, &c->last_id, c, list_followed};
    r->hz = rate_of(r);
    co_pace_init(&r->pace, r->hz);
}

co_counters *co_counters_start(const co_counters_options *options)
{
    static const struct {
        unsigned bit;
        const co_source *source;
    } sources[] = {{CO_COUNTERS_PROCESS, &co_process_source},
                   {CO_COUNTERS_SYSTEM, &co_snapshot_source},
                   {CO_COUNTERS_PDH, &co_pdh_source},
                   {CO_COUNTERS_NVML, &co_nvml_source}};
    co_counters *c = options->sources ? calloc(1, sizeof *c) : NULL;
    if (!c)
        return NULL;
    c->options = *options;
    atomic_init(&c->wished_hz, options->hz);
    InitializeSRWLock(&c->lock);
    c->stop = CreateEventW(NULL, TRUE, FALSE, NULL);
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        if (options->sources & sources[i].bit)
            add_runner(c, sources[i].source);
    for (unsigned i = 0; i < c->runner_count; i++)
        c->runners[i].thread = CreateThread(NULL, 0, run_source, &c->runners[i], 0, NULL);
    return c;
}

void co_counters_rate(co_counters *c, double hz)
{
    if (c)
        atomic_store(&c->wished_hz, hz);
}

void co_counters_drain(co_counters *c, co_capture *capture)
{
    if (!c)
        return;
    co_readings taken = {0};
    AcquireSRWLockExclusive(&c->lock);
    co_readings ready = c->ready;
    c->ready = taken;
    ReleaseSRWLockExclusive(&c->lock);
    co_capture_readings(capture, &ready);
    co_readings_deinit(&ready);
}

// True if all threads have ended.
static bool join(co_counters *c, co_capture *capture)
{
    uint64_t end = cm_monotonic_ns() + END_MS * 1000000ull;
    bool all = true;
    for (unsigned i = 0; i < c->runner_count; i++) {
        uint64_t now = cm_monotonic_ns();
        DWORD ms = now < end ? (DWORD)((end - now) / 1000000) : 0;
        if (!c->runners[i].thread || WaitForSingleObject(c->runners[i].thread, ms) == WAIT_OBJECT_0)
            continue;
        all = false;
        char text[CO_REMARK_BYTES];
        snprintf(text, sizeof text,
                 "The counters of %s did not come back in time; the last of them are missing.",
                 c->runners[i].source->name);
        co_capture_log(capture, 0, 3, text);
    }
    return all;
}

void co_counters_free(co_counters *c)
{
    for (unsigned i = 0; i < c->runner_count; i++) {
        if (c->runners[i].thread)
            CloseHandle(c->runners[i].thread);
        co_readings_deinit(&c->runners[i].readings);
    }
    for (size_t i = 0; i < c->target_count; i++)
        CloseHandle(c->targets[i].process);
    free(c->targets);
    co_readings_deinit(&c->ready);
    CloseHandle(c->stop);
    free(c);
}

void co_counters_stop(co_counters *c, co_capture *capture)
{
    if (!c)
        return;
    SetEvent(c->stop);
    bool all = join(c, capture);
    co_counters_drain(c, capture);
    if (all) // else a thread may still use it all
        co_counters_free(c);
}
