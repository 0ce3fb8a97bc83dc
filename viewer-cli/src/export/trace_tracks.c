// SPDX-License-Identifier: MIT
// Tracks of a trace: which there are, their names and numbers (see trace.h).
#include "common/utf.h"
#include "trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TRACKS (1024 * 1024)

int64_t vw_ex_process_of_session(const vw_ex_trace *t, int64_t session)
{
    const vw_ex_session *s = vw_ex_find_session(&t->job->facts, session);
    return s && s->process ? s->process : t->first_process;
}

// ---------------------------------------------------------------------------------------- names

const char *vw_ex_short_provider(const char *provider, size_t *len)
{
    static const char tail[] = "ExecutionProvider";
    *len = strlen(provider);
    if (*len > sizeof tail - 1 && strcmp(provider + *len - (sizeof tail - 1), tail) == 0)
        *len -= sizeof tail - 1;
    return provider;
}

// A long name is cut, but never inside a character.
static void name_thread(const char *program, int64_t thread, char *out, size_t size)
{
    char text[128];
    int len = snprintf(text, sizeof text, "%.90s %lld", program, (long long)thread);
    cm_utf8_repair(text, (size_t)len, out, size);
}

const char *vw_ex_slice_name(const vw_ex_facts *f, const vw_ex_slice *s, char *scratch, size_t size)
{
    static const char *const phases[] = {"reading", "optimising", "kernels and weights"};
    const vw_ex_process *process;
    switch ((vw_ex_what)s->what) {
    case VW_EX_SLICE_OP:
        return vw_ex_op_name(vw_ex_find_kernel(f, s->subject));
    case VW_EX_SLICE_LOAD:
        return "loading";
    case VW_EX_SLICE_PHASE:
        return s->subject >= 1 && s->subject <= 3 ? phases[s->subject - 1] : "phase";
    case VW_EX_SLICE_SCHED:
        process = vw_ex_find_process(f, s->session);
        name_thread(process ? vw_ex_file_name(process->program) : "thread", s->subject, scratch,
                    size);
        return scratch;
    case VW_EX_SLICE_RUN:
        break;
    }
    snprintf(scratch, size, "%s %lld", s->status ? "failed run" : "run", (long long)s->run);
    return scratch;
}

static void name_counter(const vw_ex_counter *c, cm_out *out)
{
    static const char *const abouts[] = {"", "process", "thread", "core", "device"};
    bool named = c->about > 0 && c->about < 5;
    cm_out_text(out, c->name);
    if (c->subject[0])
        cm_out_printf(out, " %.200s", c->subject);
    else if (named && c->about != 1 && c->number >= 0)
        cm_out_printf(out, " %s %lld", abouts[c->about], (long long)c->number);
    if (c->total)
        cm_out_printf(out, " (%.40s/s)", c->unit);
    else if (c->unit[0] && strcmp(c->unit, "1") != 0)
        cm_out_printf(out, " (%.40s)", c->unit);
}

static void name_arena(const vw_ex_trace *t, const vw_ex_track *track, cm_out *out)
{
    const vw_ex_allocator *a = vw_ex_find_allocator(&t->job->facts, track->number);
    cm_out_printf(out, "arena %lld %.200s%s%s (B)", (long long)track->number, a ? a->name : "",
                  a && a->name[0] ? " " : "",
                  track->kind == VW_EX_TRACK_ARENA_USED ? "in use" : "held");
}

static void name_track(const vw_ex_trace *t, const vw_ex_track *track, cm_out *out)
{
    const vw_ex_facts *f = &t->job->facts;
    const vw_ex_session *session = vw_ex_find_session(f, track->number);
    const vw_ex_counter *counter;
    const char *name;
    switch (track->kind) {
    case VW_EX_TRACK_PROCESS:
        cm_out_text(out, "events");
        break;
    case VW_EX_TRACK_THREAD:
        name = vw_ex_thread_name(f, track->process, track->number);
        cm_out_printf(out, "%.200s%sthread %lld", name ? name : "", name ? ", " : "",
                      (long long)track->number);
        break;
    case VW_EX_TRACK_SESSION:
        cm_out_printf(out, "session %lld %.200s", (long long)track->number,
                      session && session->name ? session->name : "");
        if (track->lane)
            cm_out_printf(out, " (%u)", track->lane + 1);
        break;
    case VW_EX_TRACK_CPU:
        cm_out_printf(out, "processor %lld", (long long)track->number);
        break;
    case VW_EX_TRACK_COUNTER:
        counter = vw_ex_find_counter(f, track->number);
        if (counter)
            name_counter(counter, out);
        else
            cm_out_printf(out, "counter %lld", (long long)track->number);
        break;
    case VW_EX_TRACK_LIVE:
        cm_out_printf(out, "session %lld live (B)", (long long)track->number);
        break;
    case VW_EX_TRACK_ARENA_USED:
    case VW_EX_TRACK_ARENA_HELD:
        name_arena(t, track, out);
        break;
    }
}

// ---------------------------------------------------------------------------------------- tracks

static int64_t key_of(vw_ex_track_kind kind, int64_t process, int64_t number, unsigned lane)
{
    uint64_t key = (uint64_t)kind;
    key = key * 0x9E3779B97F4A7C15u + (uint64_t)process;
    key = key * 0x9E3779B97F4A7C15u + (uint64_t)number;
    return (int64_t)(key * 0x9E3779B97F4A7C15u + lane);
}

static void number_track(const vw_ex_trace *t, vw_ex_track *track)
{
    const vw_ex_process *p = vw_ex_find_process(&t->job->facts, track->process);
    track->pid = p ? p->shown_pid : VW_EX_OWN_NUMBERS;
    track->tid = VW_EX_OWN_NUMBERS + (int64_t)track->index;
    if (track->kind == VW_EX_TRACK_THREAD && track->number > 0 && track->number < VW_EX_OWN_NUMBERS)
        track->tid = track->number;
    static const int ranks[] = {0, 1000000, 1000, 2000000, 3000000, 3000000, 3000000, 3000000};
    track->rank = ranks[track->kind];
    if (track->kind == VW_EX_TRACK_SESSION || track->kind == VW_EX_TRACK_CPU)
        track->rank += (int)(track->number & 511) * 1000 + (int)track->lane;
    const vw_ex_counter *counter = vw_ex_find_counter(&t->job->facts, track->number);
    track->is_bytes =
        track->kind > VW_EX_TRACK_COUNTER || (track->kind == VW_EX_TRACK_COUNTER && counter &&
                                              !counter->total && strcmp(counter->unit, "B") == 0);
}

// Chrome's JSON tells the counters of a process apart by their names alone. Two can have the same:
// two devices of one make, or a counter that was described twice. True for the second.
static bool is_second_of_name(vw_ex_trace *t, const vw_ex_track *track, const char *name)
{
    uint64_t key = 0xCBF29CE484222325u ^ (uint64_t)track->pid;
    for (const char *c = name; *c; c++)
        key = (key ^ (uint8_t)*c) * 0x100000001B3u;
    size_t place;
    if (cm_map_find(&t->counter_by_name, (int64_t)key, &place))
        return true; // or another with this key, which does no harm
    cm_map_put(&t->counter_by_name, (int64_t)key, track->index);
    return false;
}

static vw_ex_track *make_track(vw_ex_trace *t, const vw_ex_track *like)
{
    if (t->track_count == t->track_capacity) {
        size_t capacity = t->track_capacity ? t->track_capacity * 2 : 64;
        vw_ex_track **tracks = realloc(t->tracks, capacity * sizeof *tracks);
        if (!tracks)
            return NULL;
        t->tracks = tracks;
        t->track_capacity = capacity;
    }
    cm_out name;
    vw_ex_track *track = calloc(1, sizeof *track);
    if (!track)
        return NULL;
    *track = *like;
    track->index = t->track_count;
    track->done_ns = track->run_floor_ns = INT64_MIN;
    number_track(t, track);
    cm_out_init_memory(&name);
    name_track(t, track, &name);
    if (track->kind >= VW_EX_TRACK_COUNTER && is_second_of_name(t, track, cm_out_string(&name)))
        cm_out_printf(&name, " [%lld]", (long long)track->number);
    // Names are cut at some length, perhaps inside a character.
    const char *text = cm_out_string(&name);
    size_t size = cm_utf8_repair(text, strlen(text), NULL, 0) + 1;
    track->name = malloc(size);
    if (track->name)
        cm_utf8_repair(text, strlen(text), track->name, size);
    cm_out_deinit(&name);
    if (!track->name) {
        free(track);
        return NULL;
    }
    return t->tracks[t->track_count++] = track;
}

static bool is_track(const vw_ex_track *a, const vw_ex_track *b)
{
    return a->kind == b->kind && a->process == b->process && a->number == b->number &&
           a->lane == b->lane;
}

vw_ex_track *vw_ex_track_get(vw_ex_trace *t, vw_ex_track_kind kind, int64_t process, int64_t number,
                             unsigned lane)
{
    vw_ex_track like = {.kind = kind, .process = process, .number = number, .lane = lane};
    int64_t key = key_of(kind, process, number, lane);
    size_t place;
    for (; cm_map_find(&t->track_by_key, key, &place); key = (int64_t)((uint64_t)key + 1))
        if (is_track(t->tracks[place], &like))
            return t->tracks[place];
    cm_out *out = &t->job->output.out;
    vw_ex_track *track = t->track_count < MAX_TRACKS ? make_track(t, &like) : NULL;
    if (!track || !cm_map_put(&t->track_by_key, key, track->index)) {
        if (out->status == CM_OK)
            out->status = cm_fail(CM_NO_MEMORY, "There is not enough memory for all the threads, "
                                                "sessions and counters of this timeline.");
        return NULL;
    }
    return track;
}

vw_ex_track *vw_ex_session_lane(vw_ex_trace *t, int64_t session, int64_t *begin_ns, int64_t *end_ns)
{
    int64_t process = vw_ex_process_of_session(t, session);
    for (unsigned lane = 0;; lane++) {
        vw_ex_track *track = vw_ex_track_get(t, VW_EX_TRACK_SESSION, process, session, lane);
        if (!track)
            return NULL;
        bool taken = track->has_last && track->last_ns > *begin_ns;
        if (taken && lane + 1 < VW_EX_MAX_LANES)
            continue;
        if (taken)
            *begin_ns = track->last_ns;
        if (*end_ns < *begin_ns)
            *end_ns = *begin_ns;
        track->has_last = true;
        track->last_ns = *end_ns;
        return track;
    }
}

void vw_ex_declare(vw_ex_trace *t, vw_ex_track *track)
{
    if (track->declared_in == t->job->output.part)
        return;
    track->declared_in = t->job->output.part;
    t->writer->track(t->writer, track);
}
