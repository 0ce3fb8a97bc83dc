// SPDX-License-Identifier: MIT
// Each source on a set of sampling threads of its own, so that its remarks can be told apart; all
// at once, since some take their time.
#include "counters_internal.h"
#include "probe.h"

#include "common/os.h"

#define PROBE_HZ 20 // rates need a second sample some time after the first
#define ROUNDS   3u
#define LIMIT_NS 10000000000ull
#define LEAVE_MS 1000u
#define OWN_ID   1u

static bool has_ended(const co_runner *r)
{
    return !r->thread || WaitForSingleObject(r->thread, 0) == WAIT_OBJECT_0;
}

static void wait_for_rounds(co_counters *const *all, size_t count)
{
    uint64_t end = cm_monotonic_ns() + LIMIT_NS;
    for (size_t i = 0; i < count;) {
        bool done = !all[i] || atomic_load(&all[i]->runners[0].rounds) >= ROUNDS ||
                    has_ended(&all[i]->runners[0]);
        if (done)
            i++;
        else if (cm_monotonic_ns() > end)
            return;
        else
            cm_sleep_ms(5);
    }
}

static void finish(co_counters *c, co_probe *out)
{
    co_probe_source *source = &out->sources[out->source_count++];
    co_runner *r = &c->runners[0];
    bool stopped_itself = has_ended(r);
    SetEvent(c->stop);
    unsigned rounds = atomic_load(&r->rounds);
    bool ended = !r->thread || WaitForSingleObject(r->thread, LEAVE_MS) == WAIT_OBJECT_0;
    *source = (co_probe_source){.name = r->source->name,
                                .opened = rounds || !stopped_itself,
                                .answered = ended && (rounds || stopped_itself)};
    AcquireSRWLockExclusive(&c->lock);
    co_probe_read(out, source, &c->ready);
    ReleaseSRWLockExclusive(&c->lock);
    if (ended) // else its thread may still use it all
        co_counters_free(c);
}

void co_probe_run(co_probe *out)
{
    static const unsigned bits[CO_PROBE_SOURCES] = {CO_COUNTERS_PROCESS, CO_COUNTERS_SYSTEM,
                                                    CO_COUNTERS_PDH, CO_COUNTERS_NVML};
    co_counters *all[CO_PROBE_SOURCES];
    *out = (co_probe){0};
    for (size_t i = 0; i < CO_PROBE_SOURCES; i++) {
        all[i] = co_counters_start(
            &(co_counters_options){.sources = bits[i], .hz = PROBE_HZ, .max_overhead = 1});
        co_counters_follow(all[i], OWN_ID, GetCurrentProcessId(), GetCurrentProcess());
    }
    wait_for_rounds(all, CO_PROBE_SOURCES);
    for (size_t i = 0; i < CO_PROBE_SOURCES; i++)
        if (all[i])
            finish(all[i], out);
}
