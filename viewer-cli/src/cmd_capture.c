// SPDX-License-Identifier: MIT
// `ortscope run`, `ortscope attach`, `ortscope detach` (Windows).
#include "capture_counters.h"
#include "capture_live.h"
#include "capture_loop.h"
#include "capture_stop.h"
#include "commands.h"
#include "etw_words.h"
#include "live_server.h"
#include "summary_view.h"
#include "timeline_input.h"

#include "tracelogging/channel.h"
#include "tracelogging/hook_contract.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef struct capture_args {
    const char *output, *ops, *alloc, *ort_events, *etw;
    bool quiet, strict, no_children, no_hooks, command_line;
    vw_number duration, rings, ring_kib, etw_buffers;
    vw_counter_args counters;
    bool live;
    vw_live_args live_args;
} capture_args;
_Static_assert(sizeof(capture_args) <= VW_MAX_ARGS_SIZE, "room for the options");

// "sample:3" is `word` and a number from 1 to 65535.
static bool read_every(const char *text, const char *word, uint32_t *out)
{
    size_t len = strlen(word);
    const char *number = text + len + 1;
    if (strncmp(text, word, len) != 0 || text[len] != ':' || *number < '1' || *number > '9')
        return false;
    char *end;
    unsigned long every = strtoul(number, &end, 10);
    *out = (uint32_t)every;
    return !*end && every <= 65535;
}

// "slow", "slow:1%" or "slow:50ms".
static bool read_slow(const char *text, co_op_choice *out)
{
    if (strcmp(text, "slow") == 0)
        text = "slow:1%";
    if (strncmp(text, "slow:", 5) != 0)
        return false;
    size_t number = strspn(text + 5, "0123456789.");
    const char *unit = text + 5 + number;
    double value;
    if (strcmp(unit, "%") == 0 && number) {
        value = strtod(text + 5, NULL) * 1e4;
        *out = (co_op_choice){CO_OPS_SLOWEST, (int64_t)value};
        return value >= 1 && value <= 1e6;
    }
    if (!*unit || !vw_parse_duration(text + 5, &value))
        return false;
    *out = (co_op_choice){CO_OPS_LONGER, (int64_t)(value * 1e9)};
    return value <= 1e9;
}

// `--ops all|off|sample:N|slow[:LIMIT]|shim|shim:N` to flags for the hook and what the file gets.
static cm_status read_ops(const char *text, uint32_t *flags, co_op_choice *out)
{
    uint32_t every = 0;
    if (text && strcmp(text, "off") == 0) {
        out->mode = CO_OPS_OFF;
        return CM_OK;
    }
    if (text && (strcmp(text, "shim") == 0 || read_every(text, "shim", &every)))
        *flags |= ORT_HOOK_OPS_SHIM;
    else if (text && strcmp(text, "all") != 0 && !read_every(text, "sample", &every) &&
             !read_slow(text, out))
        return cm_fail(CM_USAGE,
                       "--ops takes all, off, sample:N (operators of every Nth run, N from 1 to "
                       "65535), slow:TIME (of runs longer than that: 50ms), slow:N%% (of the "
                       "slowest; slow is slow:1%%), shim or shim:N, not \"%s\".",
                       text);
    *flags |= ORT_HOOK_OPS | every << ORT_HOOK_OPS_EVERY_SHIFT;
    if (every > 1)
        *out = (co_op_choice){CO_OPS_EVERY, every};
    return CM_OK;
}

// `--alloc off|stats|all` to flags for the hook.
static cm_status read_alloc(const char *text, uint32_t *flags)
{
    if (text && strcmp(text, "off") == 0)
        return CM_OK;
    *flags |= ORT_HOOK_ALLOC_STATS;
    if (!text || strcmp(text, "stats") == 0)
        return CM_OK;
    *flags |= ORT_HOOK_ALLOC_ALL;
    if (strcmp(text, "all") == 0)
        return CM_OK;
    return cm_fail(CM_USAGE, "--alloc takes off, stats or all, not \"%s\".", text);
}

static cm_status read_ort_events(const char *text, uint32_t *flags)
{
    if (!text || strcmp(text, "on") == 0)
        *flags |= ORT_HOOK_ORT_EVENTS;
    else if (strcmp(text, "log") == 0)
        *flags |= ORT_HOOK_ORT_EVENTS | ORT_HOOK_ORT_LOG;
    else if (strcmp(text, "off") != 0)
        return cm_fail(CM_USAGE, "--ort-events takes on, off or log, not \"%s\".", text);
    return CM_OK;
}

// What is seen from outside, and what can't be.
static cm_status read_watching(const capture_args *a, vw_capture_options *out)
{
    CM_TRY(vw_read_etw(a->etw, &out->etw.parts));
    if (a->etw_buffers.given && (a->etw_buffers.count < 2 || a->etw_buffers.count > 1024))
        return cm_fail(CM_USAGE, "--etw-buffers takes 2 to 1024, not %lld.",
                       (long long)a->etw_buffers.count);
    out->etw.buffers = (uint32_t)a->etw_buffers.count;
    out->no_hooks = a->no_hooks;
    if (!a->no_hooks)
        return CM_OK;
    if (a->ops || a->alloc || a->ort_events)
        return cm_fail(CM_USAGE,
                       "--no-hooks stays out of the process, where --ops, --alloc and --ort-events "
                       "would have to look; leave them out, or leave out --no-hooks.");
    if (!out->etw.parts && !out->counters.sources)
        return cm_fail(CM_USAGE,
                       "With --no-hooks and without --etw and --counters there is nothing "
                       "to record; add --etw ort (runs and sessions) or --counters all.");
    return CM_OK;
}

static cm_status read_options(const capture_args *a, vw_capture_options *out)
{
    *out = (vw_capture_options){.output = a->output,
                                .hook_flags = a->no_children ? 0 : ORT_HOOK_FOLLOW_CHILDREN,
                                .duration_s = a->duration.seconds,
                                .command_line = a->command_line,
                                .channel = {TL_RINGS_DEFAULT, TL_RING_BYTES_DEFAULT}};
    CM_TRY(read_ops(a->ops, &out->hook_flags, &out->ops));
    CM_TRY(read_alloc(a->alloc, &out->hook_flags));
    CM_TRY(vw_read_counters(&a->counters, &out->counters));
    CM_TRY(read_ort_events(a->ort_events, &out->hook_flags));
    CM_TRY(read_watching(a, out));
    if (a->rings.given)
        out->channel.ring_count = (uint32_t)(a->rings.count < 65536 ? a->rings.count : 65536);
    if (a->ring_kib.given)
        out->channel.ring_bytes =
            (uint32_t)(a->ring_kib.count < 1048576 ? a->ring_kib.count : 1048576) * 1024u;
    if (tl_section_bytes(out->channel.ring_count, out->channel.ring_bytes) == 0)
        return cm_fail(CM_USAGE,
                       "--rings takes 1 to %u and --ring-size a power of two from %u to %u (KiB).",
                       TL_RINGS_MAX, TL_RING_BYTES_MIN / 1024, TL_RING_BYTES_MAX / 1024);
    return CM_OK;
}

cm_status vw_capture_defaults(vw_capture_options *out)
{
    return read_options(&(capture_args){0}, out);
}

static void print_summary(const char *path)
{
    vw_io io;
    tm_reader *reader = NULL;
    an_summary *summary = NULL;
    vw_summary_choice choice = {.grams_per_kwh = (double)NAN, .path = path};
    cm_status status = vw_open_timeline(path, &reader);
    if (status == CM_OK)
        status = an_summarize(reader, &summary);
    an_source source = vw_source_of(path);
    if (status == CM_OK)
        status = an_summary_join(summary, &source);
    if (status == CM_OK) {
        vw_io_init_for(&io, CM_STDERR);
        vw_summary_text(&io, summary, tm_reader_header(reader), &choice);
        vw_io_end(&io, 0);
    } else {
        vw_failure(status);
    }
    an_summary_destroy(summary);
    tm_reader_close(reader);
}

// The exit code of the capture alone, with its summary or what went wrong.
static int finish(const capture_args *a, const vw_capture_result *result, cm_status status)
{
    vw_stop_done(); // the file is whole; nobody reads a summary in a console that closes
    if (status == CM_OK && !a->quiet)
        print_summary(result->path);
    if (status != CM_OK) {
        int code = vw_failure(status);
        if (status == CM_IO && result->stats.runs)
            vw_message("What was recorded before that can be read: \"%s\"", result->path);
        return code;
    }
    if (a->strict && result->stats.lost_events)
        return vw_failure(cm_fail(CM_DATA_LOST,
                                  "%llu events were lost; the summary says why. A larger "
                                  "--ring-size or more --rings may help.",
                                  (unsigned long long)result->stats.lost_events));
    return 0;
}

// With --live or --otlp: the server, before anything is started, and the capture's place in it.
static cm_status open_live(const capture_args *a, vw_capture_options *options, da_server **out)
{
    const da_host host = vw_live_host();
    const vw_otlp_args *otlp = &a->live_args.otlp;
    if (!a->live && !vw_otlp_given(otlp))
        return CM_OK;
    CM_TRY(vw_live_start(&a->live_args, &host, !a->live, out));
    if (a->live)
        vw_live_announce(&a->live_args, *out);
    return vw_live_capture_create(*out, vw_counters_hz(&options->counters), &options->live);
}

static void close_live(vw_capture_options *options, da_server *server)
{
    if (da_server_stop(server)) // else an answer is still made of it; the process ends anyway
        vw_live_capture_destroy(options->live);
}

static int run_run(vw_io *io, const void *args, int operand_count, char **operands)
{
    (void)io;
    const capture_args *a = args;
    vw_capture_options options;
    vw_capture_result result;
    inj_target *target = NULL;
    da_server *server = NULL;
    vw_stop_install();
    cm_status status = read_options(a, &options);
    if (status == CM_OK)
        status = open_live(a, &options, &server);
    if (status == CM_OK)
        status = inj_launch(operand_count, operands, &target);
    if (status != CM_OK) {
        int code = vw_failure(status);
        close_live(&options, server);
        return code;
    }
    // The program writes to our terminal: a moving line would get in its way.
    options.progress = !a->quiet && cm_is_terminal(CM_STDERR) && !cm_is_terminal(CM_STDOUT);
    status = vw_capture(target, true, &options, &result);
    int code = finish(a, &result, status);
    vw_await_program(&result);
    close_live(&options, server);
    return code || !result.target_exited ? code : (int)result.exit_code;
}

static int run_attach(vw_io *io, const void *args, int operand_count, char **operands)
{
    (void)io;
    (void)operand_count;
    const capture_args *a = args;
    vw_capture_options options;
    vw_capture_result result;
    inj_target *target = NULL;
    uint32_t pid = 0;
    da_server *server = NULL;
    vw_stop_install();
    cm_status status = read_options(a, &options);
    if (status == CM_OK)
        status = inj_resolve(operands[0], &pid);
    if (status == CM_OK)
        status = open_live(a, &options, &server);
    if (status == CM_OK)
        status = a->no_hooks ? inj_open_to_watch(pid, NULL, &target) : inj_open(pid, &target);
    if (status != CM_OK) {
        int code = vw_failure(status);
        close_live(&options, server);
        return code;
    }
    options.progress = !a->quiet && cm_is_terminal(CM_STDERR);
    status = vw_capture(target, false, &options, &result);
    int code = finish(a, &result, status);
    close_live(&options, server);
    return code;
}

static int run_detach(vw_io *io, const void *args, int operand_count, char **operands)
{
    (void)io;
    (void)args;
    (void)operand_count;
    uint32_t pid = 0;
    cm_status status = inj_resolve(operands[0], &pid);
    if (status == CM_OK)
        status = inj_detach_pid(pid);
    if (status != CM_OK)
        return vw_failure(status);
    vw_message("detached from process %u", pid);
    return 0;
}

static const vw_option capture_options[] = {
    {"output", 'o', VW_TEXT, offsetof(capture_args, output), "FILE",
     "where the recording goes (default: ortscope-PROGRAM-PID.ortl)"},
    {"duration", 0, VW_DURATION, offsetof(capture_args, duration), "TIME",
     "stop recording after this time: 10s, 250ms, 5m"},
    {"ops", 0, VW_TEXT, offsetof(capture_args, ops), "all|off|shim|MODE:X",
     "operators: all (default), off, sample:N (of every Nth run), slow:50ms (of longer runs), "
     "slow:1% (of the slowest runs); shim, shim:N: by ORT's own profiler"},
    {"alloc", 0, VW_TEXT, offsetof(capture_args, alloc), "stats|all|off",
     "memory: stats (default, per run and arena), all (every allocation), or off"},
    {"ort-events", 0, VW_TEXT, offsetof(capture_args, ort_events), "on|off|log",
     "what ONNX Runtime itself tells: on (default), off, or log: also its log and arena growth "
     "(slower; before 1.30 until the program ends)"},
    {"counters", 0, VW_TEXT, offsetof(capture_args, counters.counters), "all|off|LIST",
     "all (default), off, or some of process,system,pdh,nvml"},
    {"hz", 0, VW_COUNT, offsetof(capture_args, counters.hz), "N",
     "samples of the counters a second, 1 to 1000 (default 50)"},
    {"max-overhead", 0, VW_TEXT, offsetof(capture_args, counters.max_overhead), "PERCENT",
     "sample less often rather than take more of a core (default 1)"},
    {"etw", 0, VW_WORDS, offsetof(capture_args, etw), "LIST",
     "Windows' event tracing: some of kernel,ort,gpu (kernel,ort without a list); needs "
     "administrator rights, or for ort and gpu membership in the group Performance Log Users"},
    {"etw-buffers", 0, VW_COUNT, offsetof(capture_args, etw_buffers), "N",
     "buffers of 128 KiB for event tracing (default: at least 64, as needed)"},
    {"no-hooks", 0, VW_FLAG, offsetof(capture_args, no_hooks), NULL,
     "stay out of the process: only what --etw and --counters see from outside"},
    {"no-children", 0, VW_FLAG, offsetof(capture_args, no_children), NULL,
     "do not follow the processes that it starts"},
    {"command-line", 0, VW_FLAG, offsetof(capture_args, command_line), NULL,
     "also record the command lines of the followed processes"},
    {"quiet", 'q', VW_FLAG, offsetof(capture_args, quiet), NULL,
     "no progress, no summary at the end"},
    {"strict", 0, VW_FLAG, offsetof(capture_args, strict), NULL,
     "exit with 12 if an event was lost"},
    {"rings", 0, VW_COUNT, offsetof(capture_args, rings), "N",
     "threads that can be recorded at the same time (default 64)"},
    {"ring-size", 0, VW_COUNT, offsetof(capture_args, ring_kib), "KIB",
     "memory per thread in KiB, a power of two (default 1024)"},
    {"live", 0, VW_FLAG, offsetof(capture_args, live), NULL,
     "show it in the browser while it is recorded"},
    VW_LIVE_OPTIONS(capture_args, live_args),
    VW_OTLP_OPTIONS(capture_args, live_args.otlp),
};
#define CAPTURE_OPTIONS                                                                            \
    .options = capture_options, .option_count = sizeof capture_options / sizeof *capture_options,  \
    .args_size = sizeof(capture_args)

const vw_command vw_command_run = {
    .name = "run",
    .one_line = "Launches a program and records it.",
    .usage = "[options] -- PROGRAM [ARGS...]",
    .details =
        "The program keeps its own input, output, working directory and environment; ortscope\n"
        "exits with its exit code, also if the recording ends before it (--duration). Processes\n"
        "that it starts are recorded too, until they end; when only they are left, ortscope says\n"
        "so, and Ctrl+C ends the recording. Messages and the summary go to standard error. Ctrl+C\n"
        "reaches the program; a second one stops the recording and leaves the program running.",
    .examples = "ortscope run -- app.exe --fast\n"
                "ortscope run -o trace.ortl --duration 30s -- python.exe serve.py\n"
                "ortscope run --ops slow:1% --alloc all -- node.exe classify.js\n"
                "ortscope run --etw -- app.exe  # context switches, as administrator",
    CAPTURE_OPTIONS,
    .min_operands = 1,
    .max_operands = 1 << 20,
    .operands_end_options = true,
    .run = run_run,
};

const vw_command vw_command_attach = {
    .name = "attach",
    .one_line = "Records a running process.",
    .usage = "[options] PID|NAME",
    .details = "Records until Ctrl+C, --duration, `ortscope detach`, or the end of the process, "
               "and leaves\n"
               "the process as it was. `ortscope list` shows which processes use ONNX Runtime.",
    .examples = "ortscope attach 4242\n"
                "ortscope attach app.exe --duration 10s -o trace.ortl",
    CAPTURE_OPTIONS,
    .min_operands = 1,
    .max_operands = 1,
    .run = run_attach,
};

const vw_command vw_command_detach = {
    .name = "detach",
    .one_line = "Ends the recording of a process.",
    .usage = "PID|NAME",
    .details = "Takes ortscope out of the process, also if the ortscope that recorded it has died.",
    .examples = "ortscope detach 4242",
    .min_operands = 1,
    .max_operands = 1,
    .run = run_detach,
};
