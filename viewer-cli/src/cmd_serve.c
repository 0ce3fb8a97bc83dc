// SPDX-License-Identifier: MIT
// `ortscope serve`: the live view of a finished recording, or of processes that are chosen there.
#include "commands.h"
#include "common/os.h"
#include "dashboard/replay.h"
#include "live_server.h"
#include "serve_attach.h"
#include "serve_system.h"
#include "speed_option.h"
#include "timeline_input.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef struct serve_args {
    const char *speed;
    vw_live_args live;
} serve_args;
_Static_assert(sizeof(serve_args) <= VW_MAX_ARGS_SIZE, "room for the options");

static cm_status serve(const serve_args *a, const char *path)
{
    double speed;
    da_server *server = NULL;
    da_replay *replay = NULL;
    const da_host host = vw_live_host();
    CM_TRY(vw_read_speed(a->speed, &speed));
    cm_status status = da_replay_start(path, speed, &replay);
    status = vw_file_failure(status);
    if (status == CM_OK)
        status = vw_live_start(&a->live, &host, false, &server);
    if (status == CM_OK) {
        da_capture capture = da_replay_capture(replay);
        da_server_add(server, &capture);
        vw_live_announce(&a->live, server);
        while (!vw_serve_stopped())
            cm_sleep_ms(100);
    }
    if (da_server_stop(server))
        da_replay_stop(replay);
    return status;
}

// Without a file: nothing is recorded before somebody attaches from there.
static cm_status serve_processes(const serve_args *a)
{
    da_server *server = NULL;
    vw_serve_captures *captures = NULL;
    da_host host = vw_live_host();
    CM_TRY(vw_serve_captures_create(&captures, &host));
    cm_status status = vw_live_start(&a->live, &host, false, &server);
    if (status == CM_OK) {
        vw_serve_captures_show_on(captures, server);
        vw_live_announce(&a->live, server);
        while (!vw_serve_stopped())
            cm_sleep_ms(100);
    }
    vw_serve_captures_end(captures);
    if (da_server_stop(server))
        vw_serve_captures_destroy(captures);
    return status;
}

static int run_serve(vw_io *io, const void *args, int operand_count, char **operands)
{
    (void)io;
    vw_serve_stop_install();
    cm_status status = operand_count ? serve(args, operands[0]) : serve_processes(args);
    return status == CM_OK ? 0 : vw_failure(status);
}

static const vw_option serve_options[] = {
    {"speed", 0, VW_TEXT, offsetof(serve_args, speed), "N",
     "how fast the recording is replayed: 0.1 to 1000, or max (default 1)"},
    VW_LIVE_OPTIONS(serve_args, live),
    VW_OTLP_OPTIONS(serve_args, live.otlp),
};

const vw_command vw_command_serve = {
    .name = "serve",
    .one_line = "Shows a recording in the browser, as if it happened now.",
    .usage = "[options] [FILE]",
    .details =
        "A page on this machine's own address, with gauges, charts and the operators of each run.\n"
        "It can be paused, sped up, and moved to any moment. Ctrl+C ends it. docs/api.md says "
        "what\n"
        "other programs can ask for there; the printed address holds the token that they need.\n"
        "Without FILE (on Windows): processes with ONNX Runtime can be attached to from there, up "
        "to\n"
        "ten at once; each is recorded into ortscope-PROGRAM-PID.ortl (-2 and so on where that is\n"
        "there). What has ended stays to be looked at until there are sixteen captures; then the\n"
        "oldest makes room, and its file stays.",
    .examples = "ortscope serve trace.ortl\n"
                "ortscope serve trace.ortl --speed 10 --port 8080 --no-open",
    .options = serve_options,
    .option_count = sizeof serve_options / sizeof *serve_options,
    .args_size = sizeof(serve_args),
    .min_operands = 0,
    .max_operands = 1,
    .run = run_serve,
};
