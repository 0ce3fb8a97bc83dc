// SPDX-License-Identifier: MIT
// `ortscope top`: the live view in a terminal.
#include "commands.h"
#include "common/os.h"
#include "dashboard/replay.h"
#include "speed_option.h"
#include "timeline_input.h"
#include "top_capture.h"
#include "top_screen.h"

#include <stddef.h>
#include <string.h>

typedef struct top_args {
    bool once;
    const char *speed, *output;
    vw_number duration;
} top_args;

static cm_status show_replay(vw_io *io, const top_args *a, const char *path)
{
    double speed;
    da_replay *replay = NULL;
    CM_TRY(vw_read_speed(a->once && !a->speed ? "max" : a->speed, &speed));
    CM_TRY(vw_file_failure(da_replay_start(path, speed, &replay)));
    da_capture capture = da_replay_capture(replay);
    cm_status status = CM_OK;
    if (a->once) {
        while (!da_replay_is_over(replay))
            cm_sleep_ms(10);
        vw_top_once(io, &capture);
    } else {
        status = vw_top_screen(io, &capture, NULL, NULL);
    }
    da_replay_stop(replay);
    return status;
}

// A file, or what can only be meant as one: a name without any of this is a process's.
static bool is_file(const char *path)
{
    cm_file *file;
    size_t len = strlen(path);
    if (strpbrk(path, "/\\") || (len > 5 && strcmp(path + len - 5, ".ortl") == 0))
        return true;
    if (cm_file_open(path, &file) != CM_OK)
        return false;
    cm_file_close(file);
    return true;
}

static int run_top(vw_io *io, const void *args, int operand_count, char **operands)
{
    const top_args *a = args;
    const char *what = operand_count ? operands[0] : NULL;
    const vw_top_capture_args capture = {a->output, a->once, a->duration.seconds};
    cm_status status =
        what && is_file(what) ? show_replay(io, a, what) : vw_top_capture(io, what, &capture);
    return status == CM_OK ? 0 : vw_failure(status);
}

static const vw_option top_options[] = {
    {"once", 0, VW_FLAG, offsetof(top_args, once), NULL,
     "no screen: print the numbers at the end (of a process: after 2 s, or --duration)"},
    {"speed", 0, VW_TEXT, offsetof(top_args, speed), "N",
     "how fast a recording is replayed: 0.1 to 1000, or max (default 1)"},
    {"output", 'o', VW_TEXT, offsetof(top_args, output), "FILE",
     "where the recording of a process goes (default: ortscope-PROGRAM-PID.ortl)"},
    {"duration", 0, VW_DURATION, offsetof(top_args, duration), "TIME",
     "stop recording a process after this time: 10s, 5m"},
};

const vw_command vw_command_top = {
    .name = "top",
    .one_line = "Shows a process or a recording in the terminal, live.",
    .usage = "[options] [PID|NAME|FILE]",
    .details =
        "Sessions with their latencies, operators by their time, and the process, five times a\n"
        "second. A process is attached to and recorded, as by `ortscope attach` (Windows); "
        "without\n"
        "an operand it is the only one that uses ONNX Runtime. A file is replayed. Keys: q quits, "
        "p\n"
        "pauses, s goes from session to session, n shows nodes instead of types, w changes the\n"
        "time over which latencies are taken, + and - the speed, the arrows scroll.",
    .examples = "ortscope top 4242\n"
                "ortscope top trace.ortl --speed 10\n"
                "ortscope top trace.ortl --once  # no screen, for a script",
    .options = top_options,
    .option_count = sizeof top_options / sizeof *top_options,
    .args_size = sizeof(top_args),
    .min_operands = 0,
    .max_operands = 1,
    .run = run_top,
};
