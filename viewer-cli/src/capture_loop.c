// SPDX-License-Identifier: MIT
#include "capture_loop.h"

#include "capture_follow.h"
#include "capture_live.h"
#include "capture_stop.h"
#include "collector/facts.h"
#include "common/os.h"
#include "output.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <windows.h>

#define FLUSH_MS     200u // the file promises 250
#define POLL_BUSY_MS 1u
#define POLL_MIN_MS  4u
#define POLL_MAX_MS  16u
#define BUSY_EVENTS  2000u // since the last look: a tenth of what one thread's ring holds

// ---------------------------------------------------------------------------------------- the loop

static void show_progress(vw_loop *l, uint64_t now)
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

static cm_status flush_when_due(vw_loop *l)
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

static bool time_is_over(const vw_loop *l)
{
    double seconds = (double)(cm_monotonic_ns() - l->begin_ns) / 1e9;
    return l->options->duration_s > 0 && seconds >= l->options->duration_s;
}

// Once the program has ended there is nobody whom Ctrl+C is meant for before us.
static bool is_stopped(const vw_loop *l)
{
    if (vw_live_wants_end(l->options->live))
        return true;
    if (l->launched && l->root_ended)
        return vw_stop_presses() > l->presses_at_root_end || vw_stop_presses() == LONG_MAX;
    return vw_stop_requested(l->launched);
}

// Once the target runs: asking takes some milliseconds, which nobody has to wait for.
static void note_machine(vw_loop *l)
{
    co_facts *facts = calloc(1, sizeof *facts); // too large for the stack
    if (!facts)
        return;
    co_facts_gather(facts);
    co_capture_facts(l->capture, facts);
    free(facts);
}

// Idle targets are asked less and less often; a wake-up or an event brings us back. Those that say
// much are asked often, since the hook waits for nobody; others not: each look costs the machine.
static uint32_t next_poll(uint32_t last_ms, size_t events)
{
    if (events)
        return events >= BUSY_EVENTS ? POLL_BUSY_MS : POLL_MIN_MS;
    return last_ms * 2 < POLL_MAX_MS ? last_ms * 2 : POLL_MAX_MS;
}

static cm_status capture_until_end(vw_loop *l)
{
    size_t turn = 0;
    co_capture_drain(l->capture); // a busy target has filled much of its rings by now
    note_machine(l);
    while (l->count && !is_stopped(l) && !time_is_over(l)) {
        size_t events = co_capture_drain(l->capture) + co_etw_drain(l->etw);
        l->poll_ms = next_poll(l->poll_ms, events);
        for (size_t i = l->count; i-- > 0;) {
            vw_follow_children(l, i);
            vw_follow_check_end(l, i);
        }
        vw_live_turn(l->options->live, l->capture, l->counters);
        CM_TRY(flush_when_due(l));
        if (l->count)
            inj_target_wait_or(l->followed[turn++ % l->count].target, co_etw_arrival(l->etw),
                               l->poll_ms);
    }
    return CM_OK;
}

static void disarm_all(vw_loop *l)
{
    l->ending = true;
    while (l->count) {
        inj_target *target = l->followed[0].target;
        if (vw_follow_check_end(l, 0))
            continue;
        if (inj_disarm(target) != CM_OK)
            vw_message("%s", cm_error_text(CM_FAILED));
        if (!vw_follow_check_end(l, 0))
            vw_follow_end(l, 0, END_DETACHED, -1);
    }
}

// ---------------------------------------------------------------------------------- begin and end

// Before the program has run there is nothing to record.
static cm_status check_not_stopped(const vw_loop *l)
{
    if (vw_stop_presses() == 0)
        return CM_OK;
    return cm_fail(CM_FAILED, l->launched
                                  ? "Stopped by Ctrl+C before the program ran; it was not started."
                                  : "Stopped by Ctrl+C before anything was recorded.");
}

static void say_of_etw(void *context, int level, const char *sentence)
{
    const vw_loop *l = context;
    vw_message("%s", sentence);
    co_capture_log(l->capture, 0, level, sentence);
}

// The file of an earlier capture is emptied only when there is something to put in its place.
static cm_status begin(vw_loop *l, inj_target *target)
{
    vw_capture_result *result = l->result;
    if (l->options->output)
        snprintf(result->path, sizeof result->path, "%s", l->options->output);
    else
        vw_default_path(target, result->path, sizeof result->path);
    CM_TRY(co_capture_check(result->path));
    CM_TRY(check_not_stopped(l));
    co_anchor start = co_anchor_now();
    CM_TRY(vw_follow_attach(l, target));
    cm_status status = check_not_stopped(l);
    if (status == CM_OK)
        status = co_capture_create(result->path, start, &l->capture);
    if (status != CM_OK)
        return l->launched ? status : vw_disarm_after(target, status);
    if (l->options->ops.mode != CO_OPS_ALL)
        co_capture_choose_ops(l->capture, l->options->ops);
    l->etw = co_etw_start(&l->options->etw, l->capture,
                          &(co_etw_listener){l, say_of_etw, vw_follow_etw_child});
    vw_live_begin(l->options->live, l->capture, result->path);
    l->counters = co_counters_start(&l->options->counters);
    int how = l->options->no_hooks ? HOW_WATCHED : l->launched ? HOW_LAUNCHED : HOW_ATTACHED;
    status = vw_follow_record(l, target, how, 0);
    if (status != CM_OK) {
        char sentence[1024];
        snprintf(sentence, sizeof sentence, "%s", cm_error_text(status));
        co_etw_stop(l->etw);
        co_counters_stop(l->counters, l->capture);
        vw_live_end(l->options->live, l->capture);
        co_capture_close(l->capture);
        cm_file_remove(result->path);
        vw_live_tell_end(l->options->live, sentence);
        return cm_fail(status, "%s", sentence);
    }
    return CM_OK;
}

// The program outlives our target: its exit code is ours also when the recording ends before it.
static cm_status let_run(vw_loop *l, inj_target *target)
{
    if (!l->launched)
        return CM_OK;
    HANDLE self = GetCurrentProcess();
    DuplicateHandle(self, target->process, self, &l->result->program, 0, FALSE,
                    DUPLICATE_SAME_ACCESS);
    return inj_resume(target);
}

// The recording of a target that was armed, to its end.
static cm_status capture(vw_loop *l, inj_target *target)
{
    cm_status status = let_run(l, target);
    if (status == CM_OK)
        status = capture_until_end(l);
    else
        TerminateProcess(target->process, 1);
    char sentence[1024]; // disarming may put another one
    snprintf(sentence, sizeof sentence, "%s", cm_error_text(status));
    disarm_all(l);
    if (l->options->progress)
        cm_stream_write(CM_STDERR, "\r\x1b[K", 4);
    co_etw_stop(l->etw);
    co_counters_stop(l->counters, l->capture);
    cm_status closed = co_capture_flush(l->capture);
    vw_live_end(l->options->live, l->capture);
    l->result->stats = co_capture_stats(l->capture);
    cm_status end = co_capture_close(l->capture);
    if (status != CM_OK)
        cm_fail(status, "%s", sentence);
    else
        status = closed != CM_OK ? closed : end;
    vw_live_tell_end(l->options->live, status == CM_OK ? NULL : cm_error_text(status));
    return status;
}

cm_status vw_capture(inj_target *target, bool launched, const vw_capture_options *options,
                     vw_capture_result *out)
{
    *out = (vw_capture_result){0};
    vw_loop *l = calloc(1, sizeof *l);
    cm_status status = CM_OK;
    if (l) {
        *l = (vw_loop){
            .options = options, .result = out, .launched = launched, .poll_ms = POLL_MIN_MS};
        l->begin_ns = l->last_flush_ns = l->shown_ns = cm_monotonic_ns();
        status = begin(l, target);
    } else {
        status = cm_fail(CM_NO_MEMORY, "There is not enough memory to record.");
    }
    if (status != CM_OK) {
        if (launched)
            TerminateProcess(target->process, 1);
        inj_target_close(target);
        free(l);
        return status;
    }
    vw_message("%s process %u (%s) in %.0f ms, writing %s",
               options->no_hooks ? "watching" : "armed", target->pid, target->program,
               (double)(cm_monotonic_ns() - l->begin_ns) / 1e6, out->path);
    status = capture(l, target);
    free(l);
    return status;
}
