// SPDX-License-Identifier: MIT
// `ortscope import`: a recording of Windows' event tracing (.etl), described and turned into a
// timeline.
#include "commands.h"
#include "next_command.h"
#include "progress.h"
#include "table.h"
#include "timeline_input.h"

#include "collector/etl_census.h"
#include "collector/etl_import.h"
#include "common/json.h"
#include "common/text.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define TOP_PROVIDERS 15

typedef struct import_args {
    const char *output;
    bool json, quiet, command_line;
} import_args;

// What the first reading finds out.
typedef struct first_look {
    co_etl_census *census;
    co_etl_people *people;
    vw_progress progress;
} first_look;

static void on_buffer(void *context, const co_etl_buffer *buffer)
{
    co_etl_census_buffer(((first_look *)context)->census, buffer);
}

static bool on_event(void *context, const co_etl_event *event)
{
    first_look *l = context;
    co_etl_census_event(l->census, event);
    co_etl_people_event(l->people, event);
    return true;
}

static void on_damage(void *context, const char *sentence)
{
    co_etl_census_damage(((first_look *)context)->census, sentence);
}

static bool on_progress(void *context, uint64_t bytes, uint64_t total)
{
    vw_progress_show(&((first_look *)context)->progress, bytes, total);
    return true;
}

static cm_status look_first(co_etl *recording, const import_args *a, first_look *l)
{
    co_etl_visitor visitor = {l, on_event, on_buffer, on_damage, on_progress};
    CM_TRY(co_etl_census_create(co_etl_header_of(recording), &l->census));
    CM_TRY(co_etl_people_create(a->command_line, &l->people));
    l->progress = vw_progress_begin("reading events", a->quiet);
    cm_status status = co_etl_read(recording, CO_ETL_BY_FILE, &visitor);
    vw_progress_end(&l->progress);
    return status;
}

static void print_json(vw_io *io, const char *path, const co_etl *recording,
                       const co_etl_census *census)
{
    cm_json j;
    cm_json_init(&j, &io->out);
    cm_json_begin_object(&j, CM_JSON_INDENTED);
    cm_json_key(&j, "schema_version");
    cm_json_int(&j, 1);
    cm_json_key(&j, "ortscope_version");
    cm_json_string(&j, ORTSCOPE_VERSION);
    cm_json_key(&j, "file");
    cm_json_string(&j, path);
    cm_json_key(&j, "file_size");
    cm_json_uint(&j, co_etl_bytes(recording));
    co_etl_census_json(census, &j);
    cm_json_end(&j);
}

static void print_text(vw_io *io, const co_etl *recording, const co_etl_census *census)
{
    static const vw_table_column columns[] = {{"events", true, 0}, {"provider", false, 60}};
    const co_etl_header *h = co_etl_header_of(recording);
    co_etl_provider_count top[TOP_PROVIDERS];
    size_t count = co_etl_census_top(census, top, TOP_PROVIDERS);
    char start[40], events[32], cell[32];
    vw_table table;
    vw_fit_lines(io);
    cm_format_utc(start, sizeof start, co_etl_start_utc_ns(h));
    cm_format_count(events, sizeof events, co_etl_census_events(census));
    cm_out_printf(&io->out, "Recorded on %.10s %.8s UTC, Windows %u.%u.%u, %u processors\n", start,
                  start + 11, h->version[0], h->version[1], h->build, h->processors);
    cm_out_printf(&io->out, "%s events in %" PRIu64 " buffers, %u events and %u buffers lost\n",
                  events, co_etl_census_buffers(census), h->events_lost, h->buffers_lost);
    if (co_etl_census_damages(census)) {
        vw_style_on(io, VW_WARN);
        cm_out_printf(&io->out,
                      "%" PRIu64 " damaged or unknown parts were passed over (--json tells)",
                      co_etl_census_damages(census));
        vw_style_off(io, VW_WARN);
        cm_out_text(&io->out, "\n");
    }
    cm_out_text(&io->out, "\n");
    vw_table_begin(&table, io, "  ", columns, 2);
    for (size_t i = 0; i < count; i++) {
        cm_format_count(cell, sizeof cell, top[i].count);
        vw_table_text(&table, cell);
        vw_table_text(&table, top[i].name);
    }
    vw_table_end(&table);
}

static void print_import(vw_io *io, const char *output, const co_etl_import_stats *s)
{
    char rows[32];
    cm_format_count(rows, sizeof rows, s->rows);
    cm_out_printf(&io->out,
                  "\n%" PRIu64 " process%s with ONNX Runtime, %" PRIu64 " session%s, %" PRIu64
                  " run%s; %" PRIu64 " context switches, %" PRIu64 " profile samples\n",
                  s->processes, s->processes == 1 ? "" : "es", s->sessions,
                  s->sessions == 1 ? "" : "s", s->runs, s->runs == 1 ? "" : "s", s->switches,
                  s->samples);
    if (s->unfinished_runs)
        cm_out_printf(&io->out, "%" PRIu64 " runs had not ended when the recording did\n",
                      s->unfinished_runs);
    cm_out_printf(&io->out, "%s rows in ", rows);
    cm_text_clean(&io->out, output, 0);
    cm_out_text(&io->out, "\n");
    vw_next_command(io, "what happened", "summary", output, "%s", "");
}

static cm_status write_timeline(vw_io *io, const import_args *a, const char *output,
                                co_etl *recording, first_look *l)
{
    co_etl_import_stats stats;
    co_etl_import_options options = {.output = output,
                                     .damages = co_etl_census_damages(l->census),
                                     .context = l,
                                     .progress = on_progress};
    l->progress = vw_progress_begin("writing the timeline", a->quiet);
    cm_status status = co_etl_import(recording, l->people, &options, &stats);
    vw_progress_end(&l->progress);
    if (status == CM_OK && !a->quiet && !a->json)
        print_import(io, output, &stats);
    return status;
}

// FILE.ortl in the current folder: recordings may lie where nobody can write.
static void default_output(const char *input, char *out, size_t size)
{
    const char *name = input;
    for (const char *p = input; *p; p++)
        if (*p == '/' || *p == '\\')
            name = p + 1;
    size_t len = strlen(name);
    if (len > 4 && (strcmp(name + len - 4, ".etl") == 0 || strcmp(name + len - 4, ".ETL") == 0))
        len -= 4;
    snprintf(out, size, "%.*s.ortl", (int)(len < size - 6 ? len : size - 6), name);
}

static cm_status import(vw_io *io, const import_args *a, const char *input, co_etl *recording,
                        first_look *l)
{
    char name[512];
    const char *output = a->output;
    if (!output && !a->json) {
        default_output(input, name, sizeof name);
        output = name;
    }
    if (output && (strcmp(output, input) == 0 || cm_file_is_same(output, input)))
        return cm_fail(CM_USAGE, "The timeline can't be written over its recording; name another "
                                 "file with -o.");
    if (output)
        CM_TRY(cm_file_can_create(output));
    CM_TRY(look_first(recording, a, l));
    if (a->json)
        print_json(io, input, recording, l->census);
    else if (!a->quiet)
        print_text(io, recording, l->census);
    return output ? write_timeline(io, a, output, recording, l) : CM_OK;
}

static int run_import(vw_io *io, const void *args, int operand_count, char **operands)
{
    (void)operand_count;
    first_look look = {0};
    co_etl *recording = NULL;
    cm_status status = co_etl_open(operands[0], &recording);
    if (status == CM_OK)
        status = import(io, args, operands[0], recording, &look);
    co_etl_census_destroy(look.census);
    co_etl_people_destroy(look.people);
    co_etl_close(recording);
    return status == CM_OK ? 0 : vw_failure(vw_file_failure(status));
}

static const vw_option import_options[] = {
    {"output", 'o', VW_TEXT, offsetof(import_args, output), "FILE",
     "the timeline to write (default: the recording's name with .ortl, in this folder)"},
    {"json", 0, VW_FLAG, offsetof(import_args, json), NULL,
     "print what is in the recording as one JSON document; write a timeline only with -o"},
    {"command-line", 0, VW_FLAG, offsetof(import_args, command_line), NULL,
     "also record the command lines of processes with ONNX Runtime"},
    {"quiet", 'q', VW_FLAG, offsetof(import_args, quiet), NULL, "no progress, no text"},
};

const vw_command vw_command_import = {
    .name = "import",
    .one_line = "Turns a recording of Windows' event tracing (.etl) into a timeline.",
    .usage = "[options] FILE.etl",
    .details = "Recordings come from wpr, xperf, PerfView or logman, on any machine; nothing of "
               "Windows is\n"
               "needed to read them. The timeline gets the runs and sessions that ONNX Runtime's "
               "own events\n"
               "tell, and what the kernel's events tell: threads, context switches, samples of the "
               "profile,\n"
               "page faults, disk transfers, interrupts. Of processes without ONNX Runtime only "
               "the name is\n"
               "kept; names of opened files never are. What is damaged or "
               "unknown in the\n"
               "recording is counted and passed over. docs/etl.md says what is read.",
    .examples = "ortscope import trace.etl  # writes trace.ortl here\n"
                "ortscope import trace.etl -o runs.ortl\n"
                "ortscope import trace.etl --json  # only says what is in it",
    .options = import_options,
    .option_count = sizeof import_options / sizeof *import_options,
    .args_size = sizeof(import_args),
    .min_operands = 1,
    .max_operands = 1,
    .run = run_import,
};
