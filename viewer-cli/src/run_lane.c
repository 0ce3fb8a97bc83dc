// SPDX-License-Identifier: MIT
#include "run_lane.h"

#include "around_view.h"
#include "common/text.h"
#include "op_view.h"
#include "timeline_input.h"

#include <math.h>
#include <stdlib.h>

static const struct {
    const char *unicode, *ascii, *words;
} looks[AN_DOING_COUNT] = {
    [AN_DOING_UNKNOWN] = {"?", "?", "not known"}, [AN_DOING_RUN] = {"█", "#", "on CPU"},
    [AN_DOING_READY] = {"▒", "r", "ready"},       [AN_DOING_PREEMPTED] = {"░", "p", "preempted"},
    [AN_DOING_WAIT] = {"·", ".", "waiting"},
};

static void add_piece(void *context, size_t run, const an_piece *piece)
{
    (void)run;
    vw_run_lane *l = context;
    if (l->count == l->capacity && l->count < VW_LANE_MAX_PIECES) {
        size_t capacity = l->capacity ? l->capacity * 2 : 64;
        an_piece *larger = realloc(l->pieces, capacity * sizeof *larger);
        if (larger) {
            l->pieces = larger;
            l->capacity = capacity;
        }
    }
    if (l->count < l->capacity)
        l->pieces[l->count++] = *piece;
    else
        l->left_out++;
}

cm_status vw_run_lane_read(vw_run_lane *l, const char *path, const an_join_run *run)
{
    an_source source = vw_source_of(path);
    *l = (vw_run_lane){.begin_ns = run->begin_ns, .duration_ns = run->duration_ns};
    CM_TRY(an_join_create(&l->join));
    if (!an_join_add(l->join, run))
        return cm_fail(CM_NO_MEMORY, "There is not enough memory for this run.");
    an_join_tell_pieces(l->join, l, add_piece);
    return an_join_read(l->join, &source);
}

void vw_run_lane_deinit(vw_run_lane *l)
{
    an_join_destroy(l->join);
    free(l->pieces);
    *l = (vw_run_lane){0};
}

// Where in the run a time lies, in columns.
static double place(const vw_run_lane *l, int64_t time, size_t columns)
{
    double whole = l->duration_ns > 0 ? (double)l->duration_ns : 1;
    return ((double)time - (double)l->begin_ns) / whole * (double)columns;
}

static double overlap(double from, double to, double column)
{
    double a = from > column ? from : column, b = to < column + 1 ? to : column + 1;
    return b > a ? b - a : 0;
}

void vw_run_lane_draw(cm_out *out, const vw_run_lane *l, bool unicode, size_t columns)
{
    size_t next = 0;
    for (size_t c = 0; c < columns; c++) {
        double parts[AN_DOING_COUNT] = {0}, known = 0;
        an_doing most = AN_DOING_UNKNOWN;
        while (next < l->count && place(l, l->pieces[next].end_ns, columns) <= (double)c)
            next++;
        for (size_t i = next; i < l->count; i++) {
            double from = place(l, l->pieces[i].begin_ns, columns);
            if (from >= (double)(c + 1))
                break;
            double part = overlap(from, place(l, l->pieces[i].end_ns, columns), (double)c);
            parts[l->pieces[i].doing] += part;
            known += part;
        }
        parts[AN_DOING_UNKNOWN] = 1 - known;
        for (int d = 0; d < AN_DOING_COUNT; d++)
            most = parts[d] > parts[most] ? (an_doing)d : most;
        cm_out_text(out, unicode ? looks[most].unicode : looks[most].ascii);
    }
}

void vw_run_lane_legend(vw_io *io, const vw_run_lane *l)
{
    const an_joined *n = an_join_get(l->join, 0);
    const double parts[AN_DOING_COUNT] = {n->unknown_ns, n->on_cpu_ns, n->ready_ns, n->preempted_ns,
                                          n->waiting_ns};
    static const an_doing order[] = {AN_DOING_RUN, AN_DOING_READY, AN_DOING_PREEMPTED,
                                     AN_DOING_WAIT, AN_DOING_UNKNOWN};
    const char *separator = "its thread: ";
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        double ns = parts[order[i]];
        char text[32];
        if (!an_known(ns) || ns <= 0)
            continue;
        cm_format_ns(text, sizeof text, ns);
        cm_out_printf(&io->out, "%s%s %s %s", separator,
                      io->unicode ? looks[order[i]].unicode : looks[order[i]].ascii,
                      looks[order[i]].words, text);
        separator = "   ";
        const char *by = order[i] == AN_DOING_PREEMPTED && n->preempted_by.count
                             ? an_join_process_name(l->join, n->preempted_by.of[0].key)
                             : "";
        if (by[0]) {
            cm_out_text(&io->out, " by ");
            cm_text_clean(&io->out, by, 32);
        }
        if (order[i] == AN_DOING_WAIT && n->waits.count)
            cm_out_printf(&io->out, " (%s)", an_wait_reason_name(n->waits.of[0].key));
    }
    cm_out_char(&io->out, '\n');
}

static void json_piece(cm_json *j, const vw_run_lane *l, const an_piece *p)
{
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    cm_json_key_text(j, "state", an_doing_name(p->doing));
    cm_json_key_number(j, "begin_us", ((double)p->begin_ns - (double)l->begin_ns) / 1e3, 3);
    cm_json_key_number(j, "duration_us", ((double)p->end_ns - (double)p->begin_ns) / 1e3, 3);
    cm_json_key_number(j, "cpu", p->doing == AN_DOING_RUN ? (double)p->detail : (double)NAN, 0);
    cm_json_key_text(j, "preempted_by",
                     p->doing == AN_DOING_PREEMPTED ? an_join_process_name(l->join, p->detail)
                                                    : "");
    cm_json_key_text(j, "reason", p->doing == AN_DOING_WAIT ? an_wait_reason_name(p->detail) : "");
    cm_json_end(j);
}

void vw_run_lane_json(cm_json *j, const vw_run_lane *l)
{
    vw_run_machine_json(j, l->join, an_join_get(l->join, 0));
    cm_json_key(j, "thread_states");
    if (!l->count) {
        cm_json_null(j);
        return;
    }
    cm_json_begin_array(j, CM_JSON_INDENTED);
    for (size_t i = 0; i < l->count; i++)
        json_piece(j, l, &l->pieces[i]);
    cm_json_end(j);
}
