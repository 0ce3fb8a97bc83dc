// SPDX-License-Identifier: MIT
#include "sched_states.h"

#include "analysis_util.h"

#include <stdlib.h>
#include <string.h>

#define NOBODY SIZE_MAX

// KTHREAD_STATE and KWAIT_REASON
enum { READY = 1, STANDBY = 3, TERMINATED = 4, WAITING = 5, TRANSITION = 6, DEFERRED_READY = 7 };
enum { GATE_WAIT = 8, WAITING_FOR_IN_SWAP = 9, REASON_YIELD = 33 };

cm_status an_sched_states_init(an_sched_states *s)
{
    memset(s, 0, sizeof *s);
    s->first_ns = INT64_MAX;
    s->last_ns = INT64_MIN;
    cm_map_init(&s->by_number);
    s->running = calloc(AN_MAX_SCHED_CPUS, sizeof *s->running);
    return s->running ? CM_OK : an_no_memory();
}

void an_sched_states_deinit(an_sched_states *s)
{
    cm_map_deinit(&s->by_number);
    free(s->threads);
    free(s->running);
    memset(s, 0, sizeof *s);
}

// Every processor has an idle thread, and all of them are number 0.
static int64_t key_of(int64_t thread, int64_t cpu)
{
    return thread == 0 ? -2 - cpu : thread;
}

static cm_status add_thread(an_sched_states *s, int64_t key, const an_sched_thread *thread,
                            size_t *out)
{
    *out = NOBODY;
    if (s->count == AN_MAX_SCHED_THREADS)
        return CM_OK;
    an_sched_thread *threads = an_grow(s->threads, &s->capacity, s->count, sizeof *threads);
    if (!threads)
        return an_no_memory();
    s->threads = threads;
    if (!cm_map_put(&s->by_number, key, s->count))
        return an_no_memory();
    threads[s->count] = *thread;
    *out = s->count++;
    return CM_OK;
}

cm_status an_sched_states_started(an_sched_states *s, int64_t thread, int64_t process, int64_t time)
{
    size_t place;
    if (thread <= 0 || cm_map_find(&s->by_number, thread, &place))
        return CM_OK;
    return add_thread(s, thread,
                      &(an_sched_thread){.thread = thread, .process = process, .since_ns = time},
                      &place);
}

// The time until `time` was spent as `doing` says.
static void tell(an_sched_states *s, size_t place, int64_t time, an_doing doing)
{
    an_sched_thread *t = &s->threads[place];
    if (time > t->since_ns && !t->gone) {
        const an_piece piece = {.begin_ns = t->since_ns,
                                .end_ns = time,
                                .doing = doing,
                                .detail = doing == AN_DOING_UNKNOWN ? 0 : t->detail};
        s->piece(s->context, place, &piece);
    }
    if (time > t->since_ns)
        t->since_ns = time;
}

static void become(an_sched_thread *t, an_doing doing, int64_t detail)
{
    t->doing = doing;
    t->detail = detail;
    t->gone = false;
}

// NOBODY: not told, or no room.
static cm_status find_thread(an_sched_states *s, int64_t thread, int64_t process, int64_t cpu,
                             size_t *out)
{
    int64_t key = key_of(thread, cpu);
    *out = NOBODY;
    if (thread < 0)
        return CM_OK;
    bool known = cm_map_find(&s->by_number, key, out);
    an_sched_thread *t = known ? &s->threads[*out] : NULL;
    bool other = t && process && t->process && t->process != process; // its number is used again
    if (t && !other) {
        if (!t->process)
            t->process = process;
        return CM_OK;
    }
    int64_t since = s->first_ns;
    if (other) {
        since = s->last_ns;
        tell(s, *out, since, AN_DOING_UNKNOWN);
        t->gone = true;
    }
    CM_TRY(add_thread(
        s, key, &(an_sched_thread){.thread = thread, .process = process, .since_ns = since}, out));
    s->left_out += *out == NOBODY;
    return CM_OK;
}

static void switch_out(an_sched_states *s, size_t place, const an_sched_row *row)
{
    an_sched_thread *t = &s->threads[place];
    bool ran_here = t->doing == AN_DOING_RUN && t->cpu == row->cpu;
    tell(s, place, row->time, ran_here ? AN_DOING_RUN : AN_DOING_UNKNOWN);
    switch (row->state) {
    case READY:
    case STANDBY:
    case DEFERRED_READY:
        if (row->reason == REASON_YIELD) // it gave way by itself
            become(t, AN_DOING_READY, 0);
        else
            become(t, AN_DOING_PREEMPTED, row->new_process);
        break;
    case WAITING:
    case TRANSITION:
    case GATE_WAIT:
    case WAITING_FOR_IN_SWAP:
        become(t, AN_DOING_WAIT, row->reason);
        break;
    default:
        become(t, AN_DOING_UNKNOWN, 0);
        t->gone = row->state == TERMINATED;
    }
}

static cm_status add_switch(an_sched_states *s, const an_sched_row *row)
{
    size_t old_one, new_one;
    if (row->cpu < 0 || row->cpu >= AN_MAX_SCHED_CPUS) {
        s->left_out++;
        return CM_OK;
    }
    CM_TRY(find_thread(s, row->old_thread, row->old_process, row->cpu, &old_one));
    CM_TRY(find_thread(s, row->new_thread, row->new_process, row->cpu, &new_one));
    size_t *running = &s->running[row->cpu];
    if (*running && *running - 1 != old_one) { // a switch was lost
        size_t lost = *running - 1;
        if (s->threads[lost].doing == AN_DOING_RUN && s->threads[lost].cpu == row->cpu) {
            tell(s, lost, row->time, AN_DOING_UNKNOWN);
            become(&s->threads[lost], AN_DOING_UNKNOWN, 0);
        }
    }
    if (old_one != NOBODY && old_one != new_one)
        switch_out(s, old_one, row);
    *running = new_one == NOBODY ? 0 : new_one + 1;
    if (new_one == NOBODY)
        return CM_OK;
    an_sched_thread *t = &s->threads[new_one];
    bool ran = t->doing == AN_DOING_RUN && t->cpu == row->cpu && old_one == new_one;
    tell(s, new_one, row->time, t->doing != AN_DOING_RUN || ran ? t->doing : AN_DOING_UNKNOWN);
    become(t, AN_DOING_RUN, row->cpu);
    t->cpu = row->cpu;
    return CM_OK;
}

static cm_status add_ready(an_sched_states *s, const an_sched_row *row)
{
    size_t place;
    if (row->new_thread <= 0)
        return CM_OK;
    CM_TRY(find_thread(s, row->new_thread, row->new_process, 0, &place));
    if (place == NOBODY)
        return CM_OK;
    an_sched_thread *t = &s->threads[place];
    if (t->doing != AN_DOING_WAIT && t->doing != AN_DOING_UNKNOWN)
        return CM_OK;
    tell(s, place, row->time, t->doing);
    become(t, AN_DOING_READY, 0);
    return CM_OK;
}

cm_status an_sched_states_add(an_sched_states *s, const an_sched_row *row)
{
    if (s->first_ns == INT64_MAX)
        s->first_ns = row->time;
    s->last_ns = row->time;
    return row->is_ready ? add_ready(s, row) : add_switch(s, row);
}

void an_sched_states_finish(an_sched_states *s)
{
    for (size_t i = 0; i < s->count; i++)
        tell(s, i, s->last_ns, AN_DOING_UNKNOWN);
}
