// SPDX-License-Identifier: MIT
// See op_keep.h.
#include "op_keep.h"

#include <stdlib.h>
#include <string.h>

#define HELD_MAX         (1024u * 1024u) // op rows, 64 MB; a run that never ends must not cost more
#define ROW_BYTES        sizeof(int64_t[TM_op_COUNT])
#define FLUSHES_TO_SPARE 8u // how long a decision is remembered at least

void co_op_keep_deinit(co_op_keep *k)
{
    co_keep_sessions_deinit(&k->sessions);
    free(k->held.values);
    free(k->ended);
    cm_map_deinit(&k->decided);
    cm_map_deinit(&k->decided_before);
}

bool co_op_keep_waits(const co_op_keep *k)
{
    return k->choice.mode == CO_OPS_LONGER || k->choice.mode == CO_OPS_SLOWEST;
}

// ---------------------------------------------------------------------------------------- waiting

static int64_t *held_row(const co_op_keep *k, size_t i)
{
    return k->held.values + i * TM_op_COUNT;
}

// Too many: those that wait longest probably wait for a run whose own row was lost.
static void forget_older_half(co_op_keep *k, co_pending *pending)
{
    size_t half = k->held.count / 2;
    memmove(held_row(k, 0), held_row(k, half), (k->held.count - half) * ROW_BYTES);
    k->held.count -= half;
    k->in_time -= k->in_time < half ? k->in_time : half;
    pending->unstored += half;
}

void co_op_keep_hold(co_op_keep *k, co_pending *pending, const int64_t *op)
{
    if (op[TM_op_run] <= 0) { // nobody knows whose: never known to be a slow one's
        k->left_out++;
        return;
    }
    if (k->held.count == HELD_MAX)
        forget_older_half(k, pending);
    pending->unstored += !co_rows_add(&k->held, TM_KIND_op, op);
}

void co_op_keep_run_ended(co_op_keep *k, co_pending *pending, co_ended_run run)
{
    if (k->ended_count == k->ended_capacity) {
        size_t capacity = k->ended_capacity ? k->ended_capacity * 2 : 256;
        co_ended_run *larger = realloc(k->ended, capacity * sizeof *larger);
        if (!larger) {
            pending->unstored++;
            return;
        }
        k->ended = larger;
        k->ended_capacity = capacity;
    }
    k->ended[k->ended_count++] = run;
}

void co_op_keep_end(co_op_keep *k)
{
    k->ending = true;
}

void co_op_keep_session_ended(co_op_keep *k, int64_t session)
{
    co_keep_sessions_ended(&k->sessions, session);
}

// --------------------------------------------------------------------------------------- deciding

static int64_t key_of(int64_t session, int64_t run)
{
    return (int64_t)((uint64_t)session << 32 | (uint32_t)run);
}

// NULL if memory is short.
static co_slowest *slowest_of(co_op_keep *k, int64_t session)
{
    co_keep_session *s = co_keep_sessions_get(&k->sessions, session);
    if (s && !s->slowest && (s->slowest = malloc(sizeof *s->slowest)))
        co_slowest_init(s->slowest);
    return s ? s->slowest : NULL;
}

static bool is_slow(co_op_keep *k, int64_t session, int64_t ns)
{
    if (k->choice.mode == CO_OPS_LONGER)
        return ns > k->choice.value;
    co_slowest *s = slowest_of(k, session);
    return s && co_slowest_add(s, (uint64_t)ns, (uint32_t)k->choice.value);
}

static void decide_runs(co_op_keep *k, co_pending *pending, const co_clock *clock)
{
    for (size_t i = 0; i < k->ended_count; i++) {
        const co_ended_run *run = &k->ended[i];
        int64_t ns =
            co_clock_span_until(clock, (uint64_t)run->end, (uint64_t)run->duration).duration_ns;
        if (!cm_map_put(&k->decided, key_of(run->session, run->run), is_slow(k, run->session, ns)))
            pending->unstored++;
    }
    k->ended_count = 0;
}

static bool find_decision(const co_op_keep *k, int64_t key, size_t *slow)
{
    return cm_map_find(&k->decided, key, slow) || cm_map_find(&k->decided_before, key, slow);
}

// Runs that have not ended, by the time since their first operator. What finds no memory stays
// undecided, and is kept.
static void decide_unended(co_op_keep *k, const co_clock *clock)
{
    int64_t now = co_clock_time(clock, UINT64_MAX);
    size_t since, slow;
    cm_map begins;
    cm_map_init(&begins);
    for (size_t i = 0; i < k->held.count; i++) { // what is around others comes after them
        const int64_t *op = held_row(k, i);
        int64_t key = key_of(op[TM_op_session], op[TM_op_run]), begin = op[TM_op_begin];
        size_t from = begin > 0 ? (size_t)begin : 0;
        if (!cm_map_find(&begins, key, &since) || from < since)
            (void)cm_map_put(&begins, key, from);
    }
    for (size_t i = 0; i < k->held.count; i++) {
        const int64_t *op = held_row(k, i);
        int64_t key = key_of(op[TM_op_session], op[TM_op_run]);
        if (!find_decision(k, key, &slow) && cm_map_find(&begins, key, &since))
            (void)cm_map_put(&k->decided, key, is_slow(k, op[TM_op_session], now - (int64_t)since));
    }
    cm_map_deinit(&begins);
}

static void forget_decisions(co_op_keep *k, const co_clock *clock)
{
    if (++k->flushes % FLUSHES_TO_SPARE)
        return;
    k->known_from = k->decided_from;
    k->decided_from = co_clock_time(clock, UINT64_MAX);
    co_keep_sessions_age(&k->sessions);
    cm_map_deinit(&k->decided_before);
    k->decided_before = k->decided;
    cm_map_init(&k->decided);
}

// A kernel that threw on a thread of a pool is told when that thread has something else to do. By
// then nobody may know any more whether its run was slow.
static bool comes_too_late(const co_op_keep *k, const int64_t *op)
{
    return op[TM_op_begin] + op[TM_op_duration] < k->known_from;
}

// The clock forgets: what waits for long gets its times now.
static void times_of_new(co_op_keep *k, const co_clock *clock)
{
    for (; k->in_time < k->held.count; k->in_time++)
        co_row_to_nanoseconds(TM_KIND_op, held_row(k, k->in_time), clock);
}

void co_op_keep_write(co_op_keep *k, co_pending *pending, const co_clock *clock, tm_writer *writer)
{
    size_t waiting = 0, first_new = k->in_time;
    times_of_new(k, clock);
    decide_runs(k, pending, clock);
    if (k->ending)
        decide_unended(k, clock);
    for (size_t i = 0; i < k->held.count; i++) {
        const int64_t *op = held_row(k, i);
        int64_t key = key_of(op[TM_op_session], op[TM_op_run]);
        size_t slow;
        bool decided = find_decision(k, key, &slow);
        if (!decided && i >= first_new && comes_too_late(k, op))
            k->left_out++;
        else if (!decided && !k->ending)
            memmove(held_row(k, waiting++), op, ROW_BYTES);
        else if (!decided || slow)
            tm_writer_row(writer, TM_KIND_op, op);
    }
    k->held.count = k->in_time = waiting;
    forget_decisions(k, clock);
}
