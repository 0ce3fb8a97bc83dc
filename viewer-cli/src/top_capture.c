// SPDX-License-Identifier: MIT
// The capture has this thread, the screen one of its own: keys and pictures never hold up the
// capture. Leaving the screen ends the capture; when the capture ends first, the last figures stay
// until somebody leaves.
#include "top_capture.h"

#include "capture_counters.h"
#include "capture_live.h"
#include "capture_loop.h"
#include "capture_stop.h"
#include "common/os.h"
#include "top_screen.h"
#include "tracelogging/channel.h"
#include "tracelogging/hook_contract.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#define ONCE_S 2.0 // without --duration

typedef struct watcher {
    vw_io *io;
    vw_live_capture *live;
    atomic_bool over; // the capture
    cm_status status;
} watcher;

static void *watch(void *context)
{
    watcher *w = context;
    da_capture shown;
    while (!vw_live_capture_shown(w->live, &shown)) {
        if (atomic_load(&w->over))
            return NULL; // it never began
        cm_sleep_ms(5);
    }
    w->status = vw_top_screen(w->io, &shown, NULL, NULL);
    shown.control(shown.context, &(da_control){.action = DA_DETACH});
    return NULL;
}

typedef struct only {
    uint32_t pid;
    size_t count;
} only;

static bool on_process(void *context, const inj_process *process)
{
    only *o = context;
    if (process->ort_module[0] && process->can_attach == CM_OK) {
        o->pid = process->pid;
        o->count++;
    }
    return true;
}

static cm_status find(const char *who, uint32_t *out_pid)
{
    only o = {0};
    if (who)
        return inj_resolve(who, out_pid);
    CM_TRY(inj_list(on_process, &o));
    if (o.count == 0)
        return cm_fail(CM_NOT_FOUND, "No process uses ONNX Runtime now; start one, or show a "
                                     "recording: `ortscope top FILE`.");
    if (o.count > 1)
        return cm_fail(CM_USAGE,
                       "%zu processes use ONNX Runtime: `ortscope list` shows them; say "
                       "which, `ortscope top PID`.",
                       o.count);
    *out_pid = o.pid;
    return CM_OK;
}

static cm_status capture(vw_io *io, inj_target *target, const vw_top_capture_args *args,
                         vw_capture_options *options, vw_capture_result *result)
{
    static watcher w;
    pthread_t thread;
    w = (watcher){.io = io, .live = options->live};
    if (!args->once && pthread_create(&thread, NULL, watch, &w) != 0) {
        inj_target_close(target);
        return cm_fail(CM_FAILED, "The system did not start another thread.");
    }
    cm_status status = vw_capture(target, false, options, result);
    char sentence[1024]; // of this thread; the other one may put its own
    snprintf(sentence, sizeof sentence, "%s", cm_error_text(status));
    atomic_store(&w.over, true);
    da_capture shown;
    if (!args->once)
        pthread_join(thread, NULL);
    else if (status == CM_OK && vw_live_capture_shown(options->live, &shown))
        vw_top_once(io, &shown);
    if (status != CM_OK)
        return cm_fail(status, "%s", sentence);
    return w.status == CM_OK ? CM_OK
                             : cm_fail(w.status, "The screen could not be used; is this a console? "
                                                 "--once prints the numbers without one.");
}

cm_status vw_top_capture(vw_io *io, const char *who, const vw_top_capture_args *args)
{
    uint32_t pid = 0;
    inj_target *target = NULL;
    vw_capture_result result = {0};
    vw_capture_options options = {
        .output = args->output,
        .hook_flags =
            ORT_HOOK_FOLLOW_CHILDREN | ORT_HOOK_OPS | ORT_HOOK_ALLOC_STATS | ORT_HOOK_ORT_EVENTS,
        .duration_s = args->once && args->duration_s <= 0 ? ONCE_S : args->duration_s,
        .channel = {TL_RINGS_DEFAULT, TL_RING_BYTES_DEFAULT}};
    vw_stop_install();
    CM_TRY(find(who, &pid));
    CM_TRY(vw_read_counters(&(vw_counter_args){0}, &options.counters));
    CM_TRY(vw_live_capture_create(NULL, vw_counters_hz(&options.counters), &options.live));
    cm_status status = inj_open(pid, &target);
    if (status == CM_OK)
        status = capture(io, target, args, &options, &result);
    vw_live_capture_destroy(options.live);
    if (status == CM_OK)
        vw_message("recorded %s", result.path);
    vw_stop_done();
    return status;
}
