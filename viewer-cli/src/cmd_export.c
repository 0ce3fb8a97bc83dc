// SPDX-License-Identifier: MIT
// `ortscope export`: a timeline in the formats of other tools. What the formats hold is decided in
// export/; here are the options, the name of the output and what is said at the end.
#include "commands.h"
#include "export/export.h"
#include "timeline_input.h"

#include "common/text.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct export_args {
    const char *format, *output, *table, *split;
    bool gzip, quiet;
    vw_number session, from, to;
} export_args;

typedef struct export_format {
    const char *name, *extension;
    bool takes_table;
    cm_status (*run)(vw_ex_job *job);
} export_format;

static const export_format formats[VW_EX_FORMAT_COUNT] = {
    [VW_EX_CHROME] = {"chrome", ".chrome.json", false, vw_ex_run_trace},
    [VW_EX_PERFETTO] = {"perfetto", ".pftrace", false, vw_ex_run_trace},
    [VW_EX_CSV] = {"csv", ".csv", true, vw_ex_run_tables},
    [VW_EX_JSON] = {"json", ".json", true, vw_ex_run_tables},
    [VW_EX_PARQUET] = {"parquet", ".parquet", true, vw_ex_run_tables},
    [VW_EX_SPEEDSCOPE] = {"speedscope", ".speedscope.json", false, vw_ex_run_speedscope},
};

// ---------------------------------------------------------------------------------------- options

// The place of `word` among names that stand at the start of items; a failure names the nearest.
static cm_status choose(const char *what, const char *word, const void *names, size_t count,
                        size_t stride, size_t *out)
{
    char all[160] = "";
    for (size_t i = 0; i < count; i++) {
        const char *name;
        memcpy(&name, (const char *)names + i * stride, sizeof name);
        if (strcmp(name, word) == 0) {
            *out = i;
            return CM_OK;
        }
        size_t len = strlen(all);
        snprintf(all + len, sizeof all - len, "%s%s", i ? ", " : "", name);
    }
    const char *near = vw_nearest(word, names, count, stride);
    return cm_fail(CM_USAGE, "There is no %s \"%s\"%s%s%s; there are %s.", what, word,
                   near ? " (did you mean " : "", near ? near : "", near ? "?)" : "", all);
}

// "100MB", "2GB", "1500000"; 0 where it is none.
static uint64_t parse_size(const char *text)
{
    static const struct {
        const char *unit;
        double bytes;
    } units[] = {{"", 1},     {"B", 1},    {"kB", 1e3},   {"KB", 1e3},
                 {"MB", 1e6}, {"GB", 1e9}, {"KiB", 1024}, {"MiB", 1048576},
                 {"k", 1e3},  {"M", 1e6},  {"G", 1e9},    {"GiB", 1073741824}};
    char *end;
    if (strspn(text, "0123456789.") == 0)
        return 0;
    double value = strtod(text, &end);
    if (strcspn(text, "xXeE") < (size_t)(end - text) || !(value < 1e12))
        return 0;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(end, units[i].unit) == 0 && value * units[i].bytes < 1e18)
            return (uint64_t)(value * units[i].bytes);
    return 0;
}

static bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text), end_len = strlen(end);
    return len > end_len && strcmp(text + len - end_len, end) == 0;
}

// The format that a name asks for: "x.parquet", "x.csv.gz".
static bool format_of_name(const char *name, size_t *out)
{
    static const struct {
        const char *end;
        vw_ex_format format;
    } ends[] = {{".pftrace", VW_EX_PERFETTO},
                {".perfetto-trace", VW_EX_PERFETTO},
                {".csv", VW_EX_CSV},
                {".csv.gz", VW_EX_CSV},
                {".parquet", VW_EX_PARQUET},
                {".speedscope.json", VW_EX_SPEEDSCOPE},
                {".chrome.json", VW_EX_CHROME},
                {".chrome.json.gz", VW_EX_CHROME}};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        if (ends_with(name, ends[i].end)) {
            *out = ends[i].format;
            return true;
        }
    }
    return false;
}

static int64_t to_ns(const vw_number *time, int64_t otherwise)
{
    if (!time->given)
        return otherwise;
    return time->seconds < 9e9 ? (int64_t)(time->seconds * 1e9 + 0.5) : INT64_MAX;
}

static cm_status choose_format(const export_args *a, size_t *out)
{
    if (a->format)
        return choose("format", a->format, formats, VW_EX_FORMAT_COUNT, sizeof *formats, out);
    if (a->output && format_of_name(a->output, out))
        return CM_OK;
    return cm_fail(CM_USAGE, "Which format? Add for example --format chrome; `ortscope help "
                             "export` lists them.");
}

static cm_status read_options(const export_args *a, vw_ex_job *job)
{
    size_t format, table;
    CM_TRY(choose_format(a, &format));
    job->format = (vw_ex_format)format;
    if (a->table) {
        CM_TRY(choose("table", a->table, vw_ex_tables, vw_ex_table_count, sizeof *vw_ex_tables,
                      &table));
        if (!formats[format].takes_table)
            return cm_fail(CM_USAGE, "--table is for csv, json and parquet; %s holds no tables.",
                           formats[format].name);
        job->table = &vw_ex_tables[table];
    }
    job->range = (vw_ex_range){to_ns(&a->from, INT64_MIN), to_ns(&a->to, INT64_MAX),
                               a->session.given, a->session.count};
    if (job->range.from_ns >= job->range.to_ns)
        return cm_fail(CM_USAGE, "--from must be before --to.");
    return CM_OK;
}

// ----------------------------------------------------------------------------------------- output

// The recording's name with the format's extension, in the current folder, as `import` has it.
static void default_output(const char *input, const char *table, const char *extension, bool gzip,
                           char *out, size_t size)
{
    const char *name = vw_ex_file_name(input);
    size_t len = strlen(name);
    if (ends_with(name, ".ortl"))
        len -= 5;
    snprintf(out, size, "%.*s%s%s%s%s", (int)(len < size - 80 ? len : size - 80), name,
             table ? "." : "", table ? table : "", extension, gzip ? ".gz" : "");
}

static cm_status choose_output(vw_io *io, const export_args *a, vw_ex_job *job, char *name,
                               size_t size)
{
    const export_format *f = &formats[job->format];
    uint64_t split = a->split ? parse_size(a->split) : 0;
    bool is_parquet = job->format == VW_EX_PARQUET;
    bool gzip = (a->gzip || (a->output && ends_with(a->output, ".gz"))) && !is_parquet;
    const char *path = a->output;
    job->gzip = a->gzip && is_parquet;
    if (a->split && split < 1000)
        return cm_fail(CM_USAGE,
                       "--split-size needs a size of at least 1kB, like 100MB, not \"%s\".",
                       a->split);
    if (path && strcmp(path, "-") == 0)
        path = NULL;
    else if (!path)
        default_output(job->input, a->table, f->extension, gzip, name, size), path = name;
    if (!path && split)
        return cm_fail(CM_USAGE, "--split-size makes files; it does not go with -o -.");
    if (split && job->format == VW_EX_SPEEDSCOPE)
        return cm_fail(CM_USAGE, "A flame graph is small; --split-size is for other formats.");
    if (!path && io->is_terminal && (gzip || is_parquet || job->format == VW_EX_PERFETTO))
        return cm_fail(CM_USAGE, "This format is not for a terminal; send it to a file with -o.");
    if (path)
        CM_TRY(vw_ex_refuse_recording(path));
    if (path && !split)
        CM_TRY(vw_file_failure(cm_file_can_create(path)));
    vw_ex_output_init(&job->output, io, path, f->extension, split, gzip);
    return CM_OK;
}

static void tell_end(const vw_ex_job *job)
{
    const vw_ex_output *o = &job->output;
    char rows[32], bytes[32];
    cm_format_count(rows, sizeof rows, job->rows);
    cm_format_bytes(bytes, sizeof bytes, o->total_bytes);
    if (o->part > 1)
        vw_message("%s %s, %s in %u files, the last one \"%s\"", rows,
                   formats[job->format].takes_table ? "rows" : "events", bytes, o->part, o->name);
    else
        vw_message("%s %s, %s in \"%s\"", rows,
                   formats[job->format].takes_table ? "rows" : "events", bytes, o->name);
}

static cm_status check_session(const vw_ex_job *job)
{
    if (job->range.has_session && !vw_ex_find_session(&job->facts, job->range.session))
        return vw_no_session(job->input, job->range.session);
    return CM_OK;
}

static cm_status export_all(vw_ex_job *job)
{
    CM_TRY(check_session(job));
    cm_status status = formats[job->format].run(job);
    vw_progress_end(&job->progress);
    return status;
}

static int run_export(vw_io *io, const void *args, int operand_count, char **operands)
{
    (void)operand_count;
    const export_args *a = args;
    char name[600];
    vw_ex_job *job = calloc(1, sizeof *job);
    if (!job)
        return vw_failure(cm_fail(CM_NO_MEMORY, "There is not enough memory to export."));
    job->input = operands[0];
    job->progress = vw_progress_begin("exporting", a->quiet);
    cm_status status = read_options(a, job);
    if (status == CM_OK)
        status = vw_ex_facts_read(job->input, NULL, &job->facts);
    if (status == CM_OK)
        status = choose_output(io, a, job, name, sizeof name);
    if (status == CM_OK)
        status = export_all(job);
    if (status == CM_OK && !a->quiet && job->output.path)
        tell_end(job);
    if (status == CM_OK) {
        const char *damage = job->damage[0] ? job->damage : tm_reader_damage(job->facts.reader);
        vw_warn_of_damage(job->input, damage);
    }
    int code = vw_ex_exit_code(io, status);
    vw_ex_output_deinit(&job->output, status == CM_OK);
    vw_ex_facts_deinit(&job->facts);
    free(job);
    return code;
}

static const vw_option export_options[] = {
    {"format", 'f', VW_TEXT, offsetof(export_args, format),
     "chrome|perfetto|csv|json|parquet|speedscope", "which one, where the output's name tells not"},
    {"output", 'o', VW_TEXT, offsetof(export_args, output), "FILE",
     "where to (default: the recording's name with the format's ending), - is stdout"},
    {"table", 't', VW_TEXT, offsetof(export_args, table),
     "runs|ops|allocs|counters|sched|memory|sessions", "which one, for csv, json and parquet"},
    {"session", 0, VW_COUNT, offsetof(export_args, session), "N", "only what this session did"},
    {"from", 0, VW_DURATION, offsetof(export_args, from), "TIME",
     "only what began at or after this second"},
    {"to", 0, VW_DURATION, offsetof(export_args, to), "TIME", "only what began before it"},
    {"gzip", 'z', VW_FLAG, offsetof(export_args, gzip), NULL,
     "compress (.gz; in a Parquet file its pages)"},
    {"split-size", 0, VW_TEXT, offsetof(export_args, split), "SIZE",
     "several files of about this size (100MB), each whole by itself"},
    {"quiet", 'q', VW_FLAG, offsetof(export_args, quiet), NULL, "no progress, no text"},
};

const vw_command vw_command_export = {
    .name = "export",
    .one_line = "Writes a recording in a format of other tools.",
    .usage = "[options] FILE",
    .details =
        "  chrome      JSON for ui.perfetto.dev and chrome://tracing\n"
        "  perfetto    the same as protobuf, for large recordings\n"
        "  csv         a table, one row a run; units stand in the columns' names\n"
        "  json        all tables, or the one chosen, as one document\n"
        "  parquet     a table with typed columns, for DuckDB, pandas, Spark\n"
        "  speedscope  operators as a flame graph, for www.speedscope.app\n"
        "\n"
        "Times are since the start of the recording: seconds, or with a unit (250ms, 2m). Files\n"
        "of any size need little memory. docs/export.md says what each format holds.",
    .examples = "ortscope export trace.ortl --format chrome  # for ui.perfetto.dev\n"
                "ortscope export trace.ortl --format perfetto --from 1.5 --to 2s --session 1\n"
                "ortscope export trace.ortl --format parquet --table ops -o ops.parquet\n"
                "ortscope export trace.ortl --format csv -o - | head",
    .options = export_options,
    .option_count = sizeof export_options / sizeof *export_options,
    .args_size = sizeof(export_args),
    .min_operands = 1,
    .max_operands = 1,
    .run = run_export,
};
