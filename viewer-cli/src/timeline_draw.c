// SPDX-License-Identifier: MIT
// One run drawn as text: a line per operator with a bar where it lies in the run, or as JSON.
#include "common/text.h"
#include "next_command.h"
#include "run_timeline.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_INDENT 10
#define LEAST_NAME 14u // of an operator, with the blanks behind it

static const char *string_of(const vw_timeline *t, int64_t id)
{
    return tm_reader_string(t->reader, id);
}

static const vw_timeline_kernel *kernel_of(const vw_timeline *t, const vw_timeline_op *op)
{
    return &t->kernels[op->kernel];
}

static const char *type_of(const vw_timeline *t, const vw_timeline_kernel *k)
{
    return k->by_class.text[0] ? k->by_class.text : string_of(t, k->op_type);
}

// Of hostile numbers, too: the difference as a double.
static double offset_ns(const vw_timeline *t, const vw_timeline_op *op)
{
    return (double)op->begin_ns - (double)t->begin_ns;
}

// -------------------------------------------------------------------------------------------- text

static double at_most(double value, double limit)
{
    return value < 0 ? 0 : value > limit ? limit : value;
}

// Blanks up to where it begins, then its length in eighths of a column. What is shorter than a
// column stands where its middle is.
static void draw_bar(cm_out *out, const vw_timeline *t, const vw_timeline_op *op, bool unicode,
                     size_t columns)
{
    double whole = t->duration_ns > 0 ? (double)t->duration_ns : 1, width = (double)columns;
    double from = at_most(offset_ns(t, op) / whole, 1) * width;
    double to = at_most((offset_ns(t, op) + (double)op->duration_ns) / whole, 1) * width;
    double length = to - from;
    size_t first = (size_t)(length < 1 ? (from + to) / 2 : from + 0.5);
    if (first >= columns)
        first = columns - 1;
    if (length >= 1)
        length = to - (double)first;
    cm_out_repeat(out, " ", first);
    vw_draw_share(out, unicode, length > 0.01 ? length / width : 0.01 / width, columns);
}

static size_t thread_count(const vw_timeline *t)
{
    size_t count = 0;
    for (size_t i = 0; i < t->op_count; i++)
        count += i == 0 || t->ops[i].thread != t->ops[i - 1].thread;
    return count;
}

// "51 allocations of 3.200 MB, at most 1.200 MB at once, 4.100 kB left"
static void write_allocs(vw_io *io, const vw_timeline *t)
{
    const vw_run_allocs *a = &t->allocs;
    char count[32];
    if (a->count == 0)
        return;
    cm_format_count(count, sizeof count, a->allocations);
    cm_out_printf(&io->out, "%s allocation%s of %s, at most %s at once, %s left\n", count,
                  a->allocations == 1 ? "" : "s", vw_byte_text(a->allocated_bytes).text,
                  vw_byte_text(a->peak_bytes).text,
                  vw_byte_text(a->allocated_bytes - a->released_bytes).text);
}

static void write_runless(vw_io *io, const vw_timeline *t)
{
    if (t->ambiguous)
        cm_out_printf(&io->out, "%s\n", vw_runless_ops(t->ambiguous, " in this time").text);
    if (t->not_in_file)
        cm_out_printf(&io->out, "%s\n", vw_runless_ops(t->not_in_file, " left out").text);
}

static void write_head(vw_io *io, const vw_timeline *t)
{
    cm_out *out = &io->out;
    char text[32];
    double self = 0;
    size_t threads = thread_count(t);
    for (size_t i = 0; i < t->op_count; i++)
        self += (double)t->ops[i].self_ns;
    vw_style_on(io, VW_BOLD);
    cm_out_printf(out, "Run %lld of session %lld", (long long)t->run, (long long)t->session);
    vw_style_off(io, VW_BOLD);
    cm_format_ns(text, sizeof text, (double)t->duration_ns);
    cm_out_printf(out, ": %s on thread %lld, begun at %.6f s", text, (long long)t->thread,
                  (double)t->begin_ns / 1e9);
    if (t->status) {
        cm_out_text(out, ", ");
        vw_styled(io, VW_BAD, "failed");
    }
    cm_out_char(out, '\n');
    if (t->op_count == 0) {
        write_runless(io, t);
        write_allocs(io, t);
        return;
    }
    cm_format_count(text, sizeof text, t->op_count);
    cm_out_printf(out, "%s operator%s", text, t->op_count == 1 ? "" : "s");
    if (threads > 1)
        cm_out_printf(out, " on %zu threads", threads);
    cm_format_ns(text, sizeof text, self);
    cm_out_printf(out, ", %s", text);
    if (t->duration_ns > 0 && threads == 1) // several can work more than the run lasts
        cm_out_printf(out, " (%.1f %% of the run)", self / (double)t->duration_ns * 100);
    cm_out_char(out, '\n');
    write_runless(io, t);
    write_allocs(io, t);
    cm_out_char(out, '\n');
}

// The axis: "0" at its left and the run's latency at its right end.
static void axis_title(char *out, size_t size, const vw_timeline *t, size_t columns)
{
    char length[32];
    cm_format_ns(length, sizeof length, (double)t->duration_ns);
    snprintf(out, size, "0%*s", (int)columns - 1, length);
}

static void write_line(vw_io *io, vw_table *table, const vw_timeline *t, const vw_timeline_op *op,
                       size_t bar_columns, bool with_thread)
{
    const vw_timeline_kernel *k = kernel_of(t, op);
    cm_out cell;
    char text[32];
    cm_out_init_memory(&cell);
    double offset = offset_ns(t, op);
    cm_format_ns(text, sizeof text, offset < 0 ? -offset : offset);
    vw_table_cell(table, "%s%s", offset < 0 ? "-" : "", text);
    cm_format_ns(text, sizeof text, (double)op->duration_ns);
    vw_table_text(table, text);
    if (with_thread)
        vw_table_cell(table, "%lld", (long long)op->thread);
    if (t->allocs.count)
        vw_table_text(table, op->allocations ? vw_byte_text(op->allocated_bytes).text : "");
    cm_out_repeat(&cell, "  ", op->depth < MAX_INDENT ? (size_t)op->depth : MAX_INDENT);
    vw_op_type_name(&cell, type_of(t, k), string_of(t, k->domain));
    cm_out_text(&cell, k->submits ? ", submits" : "");
    cm_out_text(&cell, op->failed ? ", failed" : "");
    vw_table_text(table, cm_out_string(&cell));
    vw_table_text(table, string_of(t, k->node));
    cm_out_clear(&cell);
    draw_bar(&cell, t, op, io->unicode, bar_columns);
    vw_table_text(table, cm_out_string(&cell));
    cm_out_deinit(&cell);
}

// The first line: what the run's thread did.
static void write_lane_line(vw_io *io, vw_table *table, const vw_timeline *t, size_t bar_columns,
                            bool with_thread)
{
    cm_out cell;
    cm_out_init_memory(&cell);
    vw_table_text(table, "");
    vw_table_text(table, "");
    if (with_thread)
        vw_table_cell(table, "%lld", (long long)t->thread);
    if (t->allocs.count)
        vw_table_text(table, "");
    vw_table_text(table, "its thread");
    vw_table_text(table, "");
    vw_run_lane_draw(&cell, &t->lane, io->unicode, bar_columns);
    vw_table_text(table, cm_out_string(&cell));
    cm_out_deinit(&cell);
}

// The last line: what the run has of its own, on the same axis.
static void write_memory_line(vw_io *io, vw_table *table, const vw_timeline *t, size_t bar_columns,
                              bool with_thread)
{
    cm_out cell;
    cm_out_init_memory(&cell);
    vw_table_text(table, "");
    vw_table_text(table, "");
    if (with_thread)
        vw_table_text(table, "");
    vw_table_text(table, vw_byte_text(t->allocs.peak_bytes).text);
    vw_table_text(table, "memory, peak");
    vw_table_text(table, "");
    vw_run_allocs_draw(&cell, &t->allocs, t->begin_ns, t->duration_ns, io->unicode, bar_columns);
    vw_table_text(table, cm_out_string(&cell));
    cm_out_deinit(&cell);
}

static bool shows_threads(const vw_timeline *t)
{
    return thread_count(t) > 1 || (t->op_count && t->ops[0].thread != t->thread);
}

// Of the columns before the names, with the blanks behind them.
static size_t fixed_columns(const vw_timeline *t)
{
    return 2u * (8 + 2) + (shows_threads(t) ? 8u : 0u) + (t->allocs.count ? 10u : 0u);
}

// Half of the line at most, and what the names leave of it, but not less than a fourth.
static size_t room_for_bars(const vw_io *io, const vw_timeline *t)
{
    size_t type = 8, node = 4, least = io->width / 4, most = io->width / 2;
    cm_out name;
    cm_out_init_memory(&name);
    for (size_t i = 0; i < t->op_count; i++) {
        const vw_timeline_kernel *k = kernel_of(t, &t->ops[i]);
        if (!t->ops[i].shown)
            continue;
        size_t indent = 2 * (size_t)(t->ops[i].depth < MAX_INDENT ? t->ops[i].depth : MAX_INDENT);
        cm_out_clear(&name);
        vw_op_type_name(&name, type_of(t, k), string_of(t, k->domain));
        size_t width = cm_text_width(cm_out_string(&name)) + indent;
        type = width > type ? width : type;
        width = cm_text_width(string_of(t, k->node));
        node = width > node ? width : node;
    }
    cm_out_deinit(&name);
    size_t others = fixed_columns(t) + (type < 48 ? type : 48) + 2 + (node < 32 ? node : 32) + 2;
    size_t left = io->width > others ? io->width - others : 0;
    return left < least ? least : left > most ? most : left;
}

// Whether any operator that is shown has allocated.
static bool any_allocates(const vw_timeline *t)
{
    for (size_t i = 0; i < t->op_count; i++)
        if (t->ops[i].shown && t->ops[i].allocations)
            return true;
    return false;
}

static void write_lines(vw_io *io, const vw_timeline *t, size_t bar_columns)
{
    char axis[512];
    bool with_thread = shows_threads(t);
    vw_table_column columns[7];
    size_t count = 0;
    vw_table table;
    axis_title(axis, sizeof axis, t, bar_columns);
    columns[count++] = (vw_table_column){"begin", true, 0};
    columns[count++] = (vw_table_column){"duration", true, 0};
    if (with_thread)
        columns[count++] = (vw_table_column){"thread", true, 0};
    if (t->allocs.count)
        columns[count++] = (vw_table_column){"bytes", true, 0};
    columns[count++] = (vw_table_column){"operator", false, 48};
    columns[count++] = (vw_table_column){"node", false, 32};
    columns[count++] = (vw_table_column){axis, false, 0};
    vw_table_begin(&table, io, "", columns, count);
    vw_table_may_shrink(&table, count - 2, 8);
    vw_table_may_leave_out(&table, count - 2, 1);
    if (t->allocs.count && !any_allocates(t))
        vw_table_may_leave_out(&table, count - 4, 9);
    vw_table_style(&table, count - 1, VW_MARK);
    if (t->lane.count)
        write_lane_line(io, &table, t, bar_columns, with_thread);
    for (size_t i = 0; i < t->op_count && !cm_out_failed(&io->out); i++)
        if (t->ops[i].shown)
            write_line(io, &table, t, &t->ops[i], bar_columns, with_thread);
    if (t->allocs.count)
        write_memory_line(io, &table, t, bar_columns, with_thread);
    vw_table_end(&table);
}

// The run and a little around it, in a viewer that zooms.
static void write_next(vw_io *io, const vw_timeline *t, const char *path)
{
    double begin = (double)t->begin_ns / 1e9, end = begin + (double)t->duration_ns / 1e9;
    vw_next_command(io, "to zoom in", "export", path, "--format chrome --from %.3f --to %.3f",
                    floor(begin * 1e3) / 1e3, ceil(end * 1e3) / 1e3);
}

void vw_timeline_text(vw_io *io, const vw_timeline *t, const char *path, size_t bar_columns,
                      size_t hidden)
{
    char text[32];
    vw_fit_lines(io);
    size_t most = io->width - fixed_columns(t) - LEAST_NAME;
    if (bar_columns == 0)
        bar_columns = t->op_count ? room_for_bars(io, t) : io->width / 2;
    bar_columns = bar_columns < most ? bar_columns : most;
    write_head(io, t);
    if (t->op_count == 0) {
        if (t->lane.count) {
            vw_run_lane_draw(&io->out, &t->lane, io->unicode, bar_columns);
            cm_out_char(&io->out, '\n');
            vw_run_lane_legend(io, &t->lane);
        }
        cm_out_flush(&io->out);
        if (t->nearest)
            vw_message("No operators of this run were recorded; the nearest run that has some is "
                       "%lld.",
                       (long long)t->nearest);
        else if (t->any_ops && t->ambiguous == 0)
            vw_message("No operators of this run were recorded, only of other sessions, or at "
                       "other times.");
        else if (!t->any_ops)
            vw_message("No operators were recorded; record with `ortscope run --ops all` or "
                       "`ortscope attach --ops all`.");
        return;
    }
    write_lines(io, t, bar_columns);
    if (t->lane.count)
        vw_run_lane_legend(io, &t->lane);
    if (hidden + t->ops_left_out) {
        cm_format_count(text, sizeof text, hidden + t->ops_left_out);
        cm_out_printf(&io->out, "%s more operators\n", text);
    }
    write_next(io, t, path);
}

// -------------------------------------------------------------------------------------------- JSON

static void json_op(cm_json *j, const vw_timeline *t, const vw_timeline_op *op)
{
    const vw_timeline_kernel *k = kernel_of(t, op);
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    cm_json_key_text(j, "node", string_of(t, k->node));
    vw_json_op_type(j, type_of(t, k), string_of(t, k->domain));
    cm_json_key_text(j, "provider", string_of(t, k->provider));
    cm_json_key_int(j, "thread", op->thread);
    cm_json_key_int(j, "depth", op->depth);
    cm_json_key_number(j, "begin_us", offset_ns(t, op) / 1e3, 3);
    cm_json_key_number(j, "duration_us", (double)op->duration_ns / 1e3, 3);
    cm_json_key_number(j, "self_us", (double)op->self_ns / 1e3, 3);
    bool counted = t->allocs.count > 0;
    cm_json_key_number(j, "allocations", counted ? (double)op->allocations : (double)NAN, 0);
    cm_json_key_number(j, "allocated_bytes", counted ? op->allocated_bytes : (double)NAN, 0);
    cm_json_key(j, "failed");
    cm_json_bool(j, op->failed);
    cm_json_key_text(j, "time",
                     an_op_time_name(k->submits ? AN_TIME_SUBMISSION : AN_TIME_EXECUTION));
    cm_json_end(j);
}

static void json_memory(cm_json *j, const vw_run_allocs *a)
{
    cm_json_key(j, "memory");
    if (a->count == 0) {
        cm_json_null(j);
        return;
    }
    cm_json_begin_object(j, CM_JSON_INDENTED);
    cm_json_key_uint(j, "allocations", a->allocations);
    cm_json_key_uint(j, "releases", a->releases);
    cm_json_key_number(j, "allocated_bytes", a->allocated_bytes, 0);
    cm_json_key_number(j, "released_bytes", a->released_bytes, 0);
    cm_json_key_number(j, "peak_bytes", a->peak_bytes, 0);
    cm_json_key_number(j, "left_bytes", a->allocated_bytes - a->released_bytes, 0);
    cm_json_end(j);
}

void vw_timeline_json(vw_io *io, const vw_timeline *t, size_t hidden)
{
    cm_json json, *j = &json;
    cm_json_init(j, &io->out);
    cm_json_begin_object(j, CM_JSON_INDENTED);
    cm_json_key_int(j, "schema_version", 1);
    cm_json_key_int(j, "session", t->session);
    cm_json_key_int(j, "run", t->run);
    cm_json_key_number(j, "begin_s", (double)t->begin_ns / 1e9, 9);
    cm_json_key_number(j, "latency_us", (double)t->duration_ns / 1e3, 3);
    cm_json_key_int(j, "status", t->status);
    cm_json_key_int(j, "thread", t->thread);
    json_memory(j, &t->allocs);
    vw_run_lane_json(j, &t->lane);
    cm_json_key(j, "ops");
    cm_json_begin_array(j, CM_JSON_INDENTED);
    for (size_t i = 0; i < t->op_count; i++)
        if (t->ops[i].shown)
            json_op(j, t, &t->ops[i]);
    cm_json_end(j);
    cm_json_key_uint(j, "more", hidden + t->ops_left_out);
    cm_json_key_uint(j, "ambiguous", t->ambiguous);
    cm_json_key_uint(j, "left_out", t->not_in_file);
    cm_json_end(j);
}
