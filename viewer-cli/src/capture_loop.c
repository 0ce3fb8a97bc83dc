// SPDX-License-Identifier: MIT
#include "capture_loop.h"

#include "capture_stop.h"
#include "child_resume.h"
#include "collector/facts.h"
#include "common/os.h"
#include "output.h"
#include "tracelogging/channel.h"
#include "tracelogging/hook_contract.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <windows.h>

#define FOLLOWED_MAX 256u
#define FLUSH_MS     200u // the file promises 250
#define POLL_MIN_MS  1u
#define POLL_MAX_MS  16u

// timeline/kinds.h
enum { HOW_LAUNCHED = 0, HOW_ATTACHED = 1, HOW_CHILD = 2 };
enum { END_EXITED = 0, END_DETACHED = 1 };

typedef struct followed {
    inj_target *target;
    uint32_t id; // in the timeline
    bool root;   // the one that was launched or attached
    uint32_t child_requests_seen;
} followed;

typedef struct loop {
    co_capture *capture;
    co_counters *counters;
    co_etw *etw;
    const vw_capture_options *options;
    vw_capture_result *result;
    bool launched, root_ended, ending;
    long presses_at_root_end;
    uint64_t begin_ns, last_flush_ns;
    uint64_t shown_runs, shown_ns; // at the last progress line
    unsigned poll_ms;
    size_t count;
    followed followed[FOLLOWED_MAX];
} loop;

static tl_section_header *header_of(const followed *f)
{
    return f->target->section_view;
}

// ----------------------------------------------------------------------------------- following one

// Keeps the sentence of the failure that comes first.
static cm_status disarm_after(inj_target *target, cm_status status)
{
    char sentence[1024];
    snprintf(sentence, sizeof sentence, "%s", cm_error_text(status));
    inj_disarm(target);
    return cm_fail(status, "%s", sentence);
}

static cm_status attach(const loop *l, inj_target *target)
{
    if (l->count == FOLLOWED_MAX)
        return cm_fail(CM_UNSUPPORTED, "More than %u processes at once can't be followed.",
                       FOLLOWED_MAX);
    return l->options->no_hooks ? CM_OK
                                : inj_attach(target, l->options->channel, l->options->hook_flags);
}

// A target that was attached; disarms it on failure.
static cm_status record(loop *l, inj_target *target, int how, uint32_t parent_id)
{
    char *command_line = l->options->command_line ? inj_command_line_of(target) : NULL;
    co_target facts = {.section = target->section_view,
                       .ring_count = target->channel.ring_count,
                       .ring_bytes = target->channel.ring_bytes,
                       .pid = target->pid,
                       .parent_id = parent_id,
                       .how = how,
                       .program = target->program,
                       .command_line = command_line};
    followed f = {.target = target, .root = how != HOW_CHILD};
    cm_status status = co_target_add(l->capture, &facts, &f.id);
    free(command_line);
    if (status != CM_OK)
        return disarm_after(target, status);
    l->followed[l->count++] = f;
    co_counters_follow(l->counters, f.id, target->pid, target->process);
    return CM_OK;
}

static void unfollow(loop *l, size_t i, int reason, int64_t exit_code)
{
    co_counters_unfollow(l->counters, l->followed[i].id);
    co_target_end(l->capture, l->followed[i].id, reason, exit_code);
    inj_target_close(l->followed[i].target);
    l->followed[i] = l->followed[--l->count];
}

// Whoever started the child and died meanwhile can't let it run any more.
static void run_orphan(loop *l, const followed *parent, inj_target *child)
{
    uint32_t exit_code;
    if (inj_target_exit_code(parent->target, &exit_code) && vw_child_resume(child) != CM_OK)
        co_capture_log(l->capture, parent->id, 3, cm_error_text(CM_FAILED));
}

// From outside, by event tracing.
static void watch_child(loop *l, const followed *parent, uint32_t pid)
{
    inj_target *child = NULL;
    cm_status status = inj_open_to_watch(pid, parent->target, &child);
    if (status == CM_OK && l->count < FOLLOWED_MAX)
        status = record(l, child, HOW_CHILD, parent->id);
    if (status != CM_OK)
        co_capture_log(l->capture, parent->id, 3, cm_error_text(status));
    if (child && (status != CM_OK || l->followed[l->count - 1].target != child))
        inj_target_close(child);
}

static void on_etw_child(void *context, uint32_t parent_id, uint32_t pid)
{
    loop *l = context;
    for (size_t i = 0; i < l->count && l->options->no_hooks; i++) {
        if (l->followed[i].id != parent_id || !(l->options->hook_flags & ORT_HOOK_FOLLOW_CHILDREN))
            continue;
        followed parent = l->followed[i];
        watch_child(l, &parent, pid);
        return;
    }
}

static void follow_child(loop *l, const followed *parent, uint32_t pid)
{
    inj_target *child = NULL;
    cm_status status = inj_open_child(parent->target, pid, &child);
    if (status == CM_OK)
        status = attach(l, child);
    if (status == CM_OK)
        status = record(l, child, HOW_CHILD, parent->id);
    char text[1200];
    if (status != CM_OK) {
        snprintf(text, sizeof text, "Child process %u is not followed: %s", pid,
                 cm_error_text(status));
        co_capture_log(l->capture, parent->id, 3, text);
    }
    if (child)
        run_orphan(l, parent, child);
    if (child && status != CM_OK)
        inj_target_close(child);
    if (status != CM_OK && co_etw_parts(l->etw) & CO_ETW_ORT)
        watch_child(l, parent, pid);
}

// A target waits with a suspended child until it has our answer.
static void serve_children(loop *l, size_t i)
{
    if (!header_of(&l->followed[i]))
        return; // not hooked
    tl_child_mailbox *mailbox = &header_of(&l->followed[i])->child;
    uint32_t request = atomic_load(&mailbox->request);
    if (request == l->followed[i].child_requests_seen)
        return;
    l->followed[i].child_requests_seen = request;
    if (l->options->hook_flags & ORT_HOOK_FOLLOW_CHILDREN) {
        followed parent = l->followed[i];
        follow_child(l, &parent, atomic_load(&mailbox->pid));
    }
    atomic_store(&mailbox->reply, request);
    SetEvent(l->followed[i].target->wake_hook);
}

static void note_root_end(loop *l, const followed *f, uint32_t exit_code)
{
    if (!f->root)
        return;
    l->root_ended = true;
    l->presses_at_root_end = vw_stop_presses();
    l->result->target_exited = true;
    l->result->exit_code = exit_code;
    size_t others = l->count - 1;
    if (others && !l->ending)
        vw_message("process %u has ended; %zu process%s that it started %s still recorded, until "
                   "the end or Ctrl+C",
                   f->target->pid, others, others == 1 ? "" : "es", others == 1 ? "is" : "are");
}

// True if the target is no longer with us.
static bool check_end(loop *l, size_t i)
{
    inj_target *target = l->followed[i].target;
    uint32_t exit_code;
    if (inj_target_exit_code(target, &exit_code)) {
        serve_children(l, i); // it may have asked after the last time
        note_root_end(l, &l->followed[i], exit_code);
        unfollow(l, i, END_EXITED, exit_code);
        return true;
    }
    const tl_section_header *header = header_of(&l->followed[i]);
    if (header && atomic_load(&header->phase) == TL_HOOK_DETACHED) {
        unfollow(l, i, END_DETACHED, -1);
        return true;
    }
    return false;
}

// ---------------------------------------------------------------------------------------- the loop

static void show_progress(loop *l, uint64_t now)
{
    if (!l->options->progress)
        return;
    co_stats stats = co_capture_stats(l->capture);
    double seconds = (double)(now - l->begin_ns) / 1e9;
    double since = (double)(now - l->shown_ns) / 1e9;
    double rate = since > 0 ? (double)(stats.runs - l->shown_runs) / since : 0;
    char line[160];
    int len = snprintf(line, sizeof line, "\r%.1f s  %llu runs  %.0f/s  %llu lost  %.1f MB\x1b[K",
                       seconds, (unsigned long long)stats.runs, rate,
                       (unsigned long long)stats.lost_events, (double)stats.file_bytes / 1e6);
    cm_stream_write(CM_STDERR, line, (size_t)len < sizeof line ? (size_t)len : sizeof line - 1);
    l->shown_runs = stats.runs;
    l->shown_ns = now;
}

static cm_status flush_when_due(loop *l)
{
    uint64_t now = cm_monotonic_ns();
    if (now - l->last_flush_ns < FLUSH_MS * 1000000ull)
        return CM_OK;
    l->last_flush_ns = now;
    co_counters_drain(l->counters, l->capture);
    cm_status status = co_capture_flush(l->capture);
    show_progress(l, now);
    return status;
}

static bool time_is_over(const loop *l)
{
    double seconds = (double)(cm_monotonic_ns() - l->begin_ns) / 1e9;
    return l->options->duration_s > 0 && seconds >= l->options->duration_s;
}

// Once the program has ended there is nobody whom Ctrl+C is meant for before us.
static bool is_stopped(const loop *l)
{
    if (l->launched && l->root_ended)
        return vw_stop_presses() > l->presses_at_root_end || vw_stop_presses() == LONG_MAX;
    return vw_stop_requested(l->launched);
}

// Once the target runs: asking takes some milliseconds, which nobody has to wait for.
static void note_machine(loop *l)
{
    static co_facts facts; // too large for the stack
    co_facts_gather(&facts);
    co_capture_facts(l->capture, &facts);
}

static cm_status capture_until_end(loop *l)
{
    size_t turn = 0;
    note_machine(l);
    while (l->count && !is_stopped(l) && !time_is_over(l)) {
        // Idle targets are asked less and less often; a wake-up or an event brings us back.
        size_t events = co_capture_drain(l->capture) + co_etw_drain(l->etw);
        l->poll_ms = events ? POLL_MIN_MS : l->poll_ms * 2;
        if (l->poll_ms > POLL_MAX_MS)
            l->poll_ms = POLL_MAX_MS;
        for (size_t i = l->count; i-- > 0;) {
            serve_children(l, i);
            check_end(l, i);
        }
        CM_TRY(flush_when_due(l));
        if (l->count)
            inj_target_wait_or(l->followed[turn++ % l->count].target, co_etw_arrival(l->etw),
                               l->poll_ms);
    }
    return CM_OK;
}

static void disarm_all(loop *l)
{
    l->ending = true;
    while (l->count) {
        inj_target *target = l->followed[0].target;
        if (check_end(l, 0))
            continue;
        if (inj_disarm(target) != CM_OK)
            vw_message("%s", cm_error_text(CM_FAILED));
        if (!check_end(l, 0))
            unfollow(l, 0, END_DETACHED, -1);
    }
}

// ---------------------------------------------------------------------------------- begin and end

// Before the program has run there is nothing to record.
static cm_status check_not_stopped(const loop *l)
{
    if (vw_stop_presses() == 0)
        return CM_OK;
    return cm_fail(CM_FAILED, l->launched
                                  ? "Stopped by Ctrl+C before the program ran; it was not started."
                                  : "Stopped by Ctrl+C before anything was recorded.");
}

static void say_of_etw(void *context, int level, const char *sentence)
{
    const loop *l = context;
    vw_message("%s", sentence);
    co_capture_log(l->capture, 0, level, sentence);
}

// The file of an earlier capture is emptied only when there is something to put in its place.
static cm_status begin(loop *l, inj_target *target)
{
    vw_capture_result *result = l->result;
    if (l->options->output)
        snprintf(result->path, sizeof result->path, "%s", l->options->output);
    else
        vw_default_path(target, result->path, sizeof result->path);
    CM_TRY(co_capture_check(result->path));
    CM_TRY(check_not_stopped(l));
    co_anchor start = co_anchor_now();
    CM_TRY(attach(l, target));
    cm_status status = check_not_stopped(l);
    if (status == CM_OK)
        status = co_capture_create(result->path, start, &l->capture);
    if (status != CM_OK)
        return l->launched ? status : disarm_after(target, status);
    if (l->options->ops.mode != CO_OPS_ALL)
        co_capture_choose_ops(l->capture, l->options->ops);
    l->etw =
        co_etw_start(&l->options->etw, l->capture, &(co_etw_listener){l, say_of_etw, on_etw_child});
    l->counters = co_counters_start(&l->options->counters);
    status = record(l, target, l->launched ? HOW_LAUNCHED : HOW_ATTACHED, 0);
    if (status != CM_OK) {
        co_etw_stop(l->etw);
        co_counters_stop(l->counters, l->capture);
        co_capture_close(l->capture);
        cm_file_remove(result->path);
    }
    return status;
}

// The program outlives our target: its exit code is ours also when the recording ends before it.
static cm_status let_run(loop *l, inj_target *target)
{
    if (!l->launched)
        return CM_OK;
    HANDLE self = GetCurrentProcess();
    DuplicateHandle(self, target->process, self, &l->result->program, 0, FALSE,
                    DUPLICATE_SAME_ACCESS);
    return inj_resume(target);
}

cm_status vw_capture(inj_target *target, bool launched, const vw_capture_options *options,
                     vw_capture_result *out)
{
    static loop l; // too large for the stack, and there is one capture per ortscope
    l = (loop){.options = options, .result = out, .launched = launched, .poll_ms = POLL_MIN_MS};
    *out = (vw_capture_result){0};
    l.begin_ns = l.last_flush_ns = l.shown_ns = cm_monotonic_ns();
    cm_status status = begin(&l, target);
    if (status != CM_OK) {
        if (launched)
            TerminateProcess(target->process, 1);
        inj_target_close(target);
        return status;
    }
    vw_message("%s process %u (%s) in %.0f ms, writing %s",
               options->no_hooks ? "watching" : "armed", target->pid, target->program,
               (double)(cm_monotonic_ns() - l.begin_ns) / 1e6, out->path);
    status = let_run(&l, target);
    if (status == CM_OK)
        status = capture_until_end(&l);
    else
        TerminateProcess(target->process, 1);
    char sentence[1024]; // disarming may put another one
    snprintf(sentence, sizeof sentence, "%s", cm_error_text(status));
    disarm_all(&l);
    if (options->progress)
        cm_stream_write(CM_STDERR, "\r\x1b[K", 4);
    co_etw_stop(l.etw);
    co_counters_stop(l.counters, l.capture);
    cm_status closed = co_capture_flush(l.capture);
    out->stats = co_capture_stats(l.capture);
    cm_status end = co_capture_close(l.capture);
    if (status != CM_OK)
        return cm_fail(status, "%s", sentence);
    return closed != CM_OK ? closed : end;
}
