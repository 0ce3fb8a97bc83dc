// SPDX-License-Identifier: MIT
// Asks the system for all processes and threads at once; snapshot.c makes counters of the answer.
#include "counters_internal.h"

#include <stdlib.h>

#define ALL_PROCESSES   5 // SystemProcessInformation
#define LENGTH_MISMATCH ((LONG)0xC0000004)
#define ANSWER_MAX      (256u << 20)

typedef struct snapshot_source {
    co_snapshot snapshot;
    const co_source_env *env;
    void *answer;
    ULONG capacity;
} snapshot_source;

static void *open_source(const co_source_env *env)
{
    snapshot_source *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->env = env;
    co_snapshot_init(&s->snapshot, env->last_id, env->out);
    s->snapshot.own_pid = GetCurrentProcessId();
    s->snapshot.process_times = co_process_times_are_wrong();
    return s;
}

static void close_source(void *state)
{
    snapshot_source *s = state;
    co_snapshot_deinit(&s->snapshot);
    free(s->answer);
    free(s);
}

// The answer's length, 0 if there is none. The list may grow between two tries.
static ULONG ask(snapshot_source *s)
{
    for (int tries = 0; tries < 8; tries++) {
        ULONG len = 0;
        LONG status = NtQuerySystemInformation(ALL_PROCESSES, s->answer, s->capacity, &len);
        if (status != LENGTH_MISMATCH)
            return status >= 0 && len <= s->capacity ? len : 0;
        ULONG wanted = (len > s->capacity ? len : s->capacity) + 65536;
        void *larger = wanted <= ANSWER_MAX ? realloc(s->answer, wanted) : NULL;
        if (!larger)
            return 0;
        s->answer = larger;
        s->capacity = wanted;
    }
    return 0;
}

static bool sample(void *state, uint64_t ticks)
{
    snapshot_source *s = state;
    co_followed followed[CO_FOLLOWED_MAX];
    size_t count = s->env->followed(s->env->context, followed, CO_FOLLOWED_MAX);
    ULONG len = ask(s);
    co_snapshot_add(&s->snapshot, s->answer, len, ticks, followed, count);
    return true;
}

const co_source co_snapshot_source = {
    .name = "system", .open = open_source, .sample = sample, .close = close_source};
