// SPDX-License-Identifier: MIT
// `ortscope runs --outliers`: each outlier with its causes and their shares.
#include "common/text.h"
#include "next_command.h"
#include "op_view.h"
#include "outlier_view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

cm_status vw_read_factor(const char *text, double *out)
{
    char *end = NULL;
    double factor = text[0] ? strtod(text, &end) : AN_OUTLIER_FACTOR;
    if (text[0] &&
        (*end || strspn(text, "0123456789.") != strlen(text) || !(factor > 1 && factor <= 1e6)))
        return cm_fail(CM_USAGE,
                       "--outliers takes how many times the usual time an outlier takes, a number "
                       "over 1 such as 3 or 2.5, not \"%s\".",
                       text);
    *out = factor;
    return CM_OK;
}

// -------------------------------------------------------------------------------------------- text

// "93 % preempted by chrome.exe", "85 % after 1.200 s idle"
static void write_cause(cm_out *out, const an_cause *c)
{
    char phrase[160], text[32] = "";
    an_cause_phrase(c->kind, c->who, phrase, sizeof phrase);
    cm_out_printf(out, "%.0f %% ", c->share * 100);
    if (c->kind == AN_CAUSE_IDLE_BEFORE && an_known(c->amount)) {
        cm_format_ns(text, sizeof text, c->amount);
        cm_out_printf(out, "after %s idle", text);
        return;
    }
    cm_text_clean(out, phrase, 0);
    if (!an_known(c->amount))
        return;
    if (c->kind == AN_CAUSE_ARENA_GROWTH) {
        cm_out_printf(out, " of %s", vw_byte_text(c->amount).text);
    } else if (c->kind == AN_CAUSE_PAGE_FAULTS) {
        cm_format_number(text, sizeof text, c->amount, 0);
        cm_out_printf(out, " (%s)", text);
    } else if (c->kind == AN_CAUSE_THROTTLED) {
        cm_out_printf(out, " (%.0f %% of the usual)", c->amount);
    } else if (c->kind == AN_CAUSE_SLOW_OPERATOR) {
        cm_format_ns(text, sizeof text, c->amount);
        cm_out_printf(out, " by %s", text);
    }
}

static void write_causes(cm_out *out, const an_outlier *o)
{
    for (size_t i = 0; i < o->cause_count; i++) {
        cm_out_text(out, i ? ", " : "");
        write_cause(out, &o->causes[i]);
    }
    if (o->unexplained >= 0.005)
        cm_out_printf(out, "%s%.0f %% unexplained", o->cause_count ? ", " : "",
                      o->unexplained * 100);
}

static double ratio_of(const an_outlier *o)
{
    return o->usual_ns > 0 ? (double)o->duration_ns / o->usual_ns : (double)NAN;
}

static void write_next(vw_io *io, const an_outliers *o, const char *path, uint64_t shown)
{
    const an_outlier *slowest = NULL;
    uint64_t all = 0;
    for (size_t i = 0; i < o->count; i++)
        if (!slowest || ratio_of(&o->items[i]) > ratio_of(slowest))
            slowest = &o->items[i];
    for (size_t i = 0; i < o->session_count; i++)
        all += o->sessions[i].outliers;
    if (shown < o->count)
        cm_out_printf(&io->out, "and %llu more; --limit 0 shows them all\n",
                      (unsigned long long)(o->count - shown));
    if (all > o->count)
        cm_out_printf(&io->out, "of %llu outliers the %zu slowest were looked into\n",
                      (unsigned long long)all, o->count);
    if (slowest)
        vw_next_command(io, "the slowest of them", "timeline", path, "--session %lld --run %lld",
                        (long long)slowest->session, (long long)slowest->run);
}

// A line of numbers, and below it why: causes need the whole width.
static void list_text(vw_io *io, const an_outliers *o, const char *path, uint64_t limit)
{
    cm_out *out = &io->out;
    uint64_t shown = 0;
    vw_fit_lines(io);
    if (o->count)
        vw_styled(io, VW_DIM, "       begin  session      run    latency      usual    times\n");
    for (size_t i = 0; i < o->count && (!limit || shown < limit); i++, shown++) {
        const an_outlier *n = &o->items[i];
        char latency[32], usual[32];
        cm_format_ns(latency, sizeof latency, (double)n->duration_ns);
        cm_format_ns(usual, sizeof usual, n->usual_ns);
        cm_out_printf(out, "%10.6f s  %7lld  %7lld  ", (double)n->begin_ns / 1e9,
                      (long long)n->session, (long long)n->run);
        vw_style_on(io, VW_WARN);
        cm_out_printf(out, "%9s", latency);
        vw_style_off(io, VW_WARN);
        cm_out_printf(out, "  %9s  %7.1f\n    ", usual, ratio_of(n));
        write_causes(out, n);
        cm_out_char(out, '\n');
    }
    write_next(io, o, path, shown);
}

// --------------------------------------------------------------------------------------------- CSV

static void csv_row(cm_out *out, const an_outlier *o, const char *cause, const char *who,
                    double share, const char *measured)
{
    cm_out_printf(out, "%.9f,%lld,%lld,%lld,%.3f,%.3f", (double)o->begin_ns / 1e9,
                  (long long)o->session, (long long)o->run, (long long)o->thread,
                  (double)o->duration_ns / 1e3, o->usual_ns / 1e3);
    cm_csv_text(out, cause, false);
    cm_csv_text(out, who, false);
    cm_out_printf(out, ",%.4f", share);
    cm_csv_text(out, measured, false);
    cm_out_char(out, '\n');
}

// A row for each cause.
static void list_csv(cm_out *out, const an_outliers *o, uint64_t limit)
{
    cm_out_text(out, "begin_s,session,run,thread,latency_us,usual_us,cause,who,share,measured\n");
    for (size_t i = 0; i < o->count && (!limit || i < limit); i++) {
        const an_outlier *n = &o->items[i];
        for (size_t k = 0; k < n->cause_count; k++)
            csv_row(out, n, an_cause_name(n->causes[k].kind), n->causes[k].who, n->causes[k].share,
                    n->causes[k].measured ? "true" : "false");
        if (n->unexplained >= 0.00005)
            csv_row(out, n, "unexplained", "", n->unexplained, "");
    }
}

// -------------------------------------------------------------------------------------------- JSON

static void list_json(vw_io *io, const an_outliers *o, uint64_t limit)
{
    cm_json json, *j = &json;
    cm_json_init(j, &io->out);
    cm_json_begin_object(j, CM_JSON_INDENTED);
    cm_json_key_uint(j, "schema_version", 1);
    cm_json_key_number(j, "factor", o->factor, 3);
    cm_json_key(j, "outliers");
    cm_json_begin_array(j, CM_JSON_INDENTED);
    for (size_t i = 0; i < o->count && (!limit || i < limit); i++)
        vw_outlier_json(j, &o->items[i]);
    cm_json_end(j);
    cm_json_end(j);
}

void vw_outliers_list(vw_io *io, const an_outliers *o, const char *path, vw_run_format format,
                      uint64_t limit)
{
    if (format == VW_RUNS_JSON)
        list_json(io, o, limit);
    else if (format == VW_RUNS_CSV)
        list_csv(&io->out, o, limit);
    else
        list_text(io, o, path, limit);
}
