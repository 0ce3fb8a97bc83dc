// SPDX-License-Identifier: MIT
// Outliers of a session in `ortscope summary`: how many, and why; as JSON one by one.
#include "common/text.h"
#include "op_view.h"
#include "outlier_view.h"
#include "summary_view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define TEXT_GROUPS 8

// -------------------------------------------------------------------------------------------- text

// Words of a sentence that begins new lines where it would be too wide.
typedef struct sentence {
    vw_io *io;
    size_t column;
} sentence;

static void say(sentence *s, const char *separator, const char *text)
{
    size_t width = cm_text_width(text), most = s->io->width > 40 ? s->io->width : 80;
    cm_out_text(&s->io->out, separator);
    s->column += strlen(separator);
    if (separator[0] && s->column + width + 1 > most) {
        cm_out_text(&s->io->out, "\n   ");
        s->column = 3;
    }
    if (separator[0]) {
        cm_out_char(&s->io->out, ' ');
        s->column++;
    }
    cm_text_clean(&s->io->out, text, 0);
    s->column += width;
}

static void say_groups(sentence *s, const an_session_outliers *o)
{
    uint64_t others = 0;
    char phrase[160], text[200], count[32];
    for (size_t i = 0; i < o->group_count; i++) {
        const an_outlier_group *g = &o->groups[i];
        if (i >= TEXT_GROUPS && g->kind != AN_CAUSE_UNEXPLAINED) {
            others += g->runs;
            continue;
        }
        an_cause_phrase(g->kind, g->who, phrase, sizeof phrase);
        cm_format_count(count, sizeof count, g->runs);
        if (o->group_count == 1 && o->outliers == g->runs)
            snprintf(text, sizeof text, "%s", phrase);
        else
            snprintf(text, sizeof text, "%s %s", count, phrase);
        say(s, i ? "," : ":", text);
    }
    if (others) {
        snprintf(text, sizeof text, "%llu for other reasons", (unsigned long long)others);
        say(s, ",", text);
    }
    if (o->outliers > o->explained) {
        snprintf(text, sizeof text, "%llu not looked into",
                 (unsigned long long)(o->outliers - o->explained));
        say(s, ",", text);
    }
}

void vw_session_outliers_text(vw_io *io, const an_summary *s, const an_session *n)
{
    const an_session_outliers *o = an_outliers_of(s->outliers, n->id);
    char text[120], count[32];
    bool only_first =
        o && o->outliers == 1 && o->group_count == 1 && o->groups[0].kind == AN_CAUSE_FIRST_RUN;
    if (!o || o->outliers == 0 || only_first) // of the first one another line tells
        return;
    sentence words = {.io = io};
    cm_format_count(count, sizeof count, o->outliers);
    snprintf(text, sizeof text, "%s run%s over %g x %s", count, o->outliers == 1 ? "" : "s",
             s->outliers->factor, n->shape_count > 1 ? "the p50 of their inputs" : "p50");
    cm_out_text(&io->out, "  ");
    words.column = 2;
    vw_style_on(io, VW_WARN);
    say(&words, "", text);
    vw_style_off(io, VW_WARN);
    say_groups(&words, o);
    say(&words, ";", "`ortscope runs --outliers` tells each");
    cm_out_char(&io->out, '\n');
}

// -------------------------------------------------------------------------------------------- JSON

static void json_cause(cm_json *j, const an_cause *c)
{
    static const struct {
        an_cause_kind kind;
        const char *key;
        double per;
        int decimals;
    } amounts[] = {
        {AN_CAUSE_ARENA_GROWTH, "bytes", 1, 0},        {AN_CAUSE_PAGE_FAULTS, "faults", 1, 0},
        {AN_CAUSE_IDLE_BEFORE, "idle_us", 1e3, 3},     {AN_CAUSE_THROTTLED, "clock_percent", 1, 1},
        {AN_CAUSE_SLOW_OPERATOR, "excess_us", 1e3, 3},
    };
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    cm_json_key_text(j, "cause", an_cause_name(c->kind));
    cm_json_key_number(j, "share", c->share, 4);
    cm_json_key(j, "measured");
    cm_json_bool(j, c->measured);
    cm_json_key_text(j, "who", c->who);
    bool other = c->kind == AN_CAUSE_OTHER_SESSION;
    cm_json_key_number(j, "session", other ? (double)c->detail : (double)NAN, 0);
    for (size_t i = 0; i < sizeof amounts / sizeof *amounts; i++)
        cm_json_key_number(j, amounts[i].key,
                           amounts[i].kind == c->kind ? c->amount / amounts[i].per : (double)NAN,
                           amounts[i].decimals);
    cm_json_end(j);
}

void vw_outlier_json(cm_json *j, const an_outlier *o)
{
    cm_json_begin_object(j, CM_JSON_INDENTED);
    cm_json_key_number(j, "session", (double)o->session, 0);
    cm_json_key_number(j, "run", (double)o->run, 0);
    cm_json_key_number(j, "begin_s", (double)o->begin_ns / 1e9, 9);
    cm_json_key_number(j, "latency_us", (double)o->duration_ns / 1e3, 3);
    cm_json_key_number(j, "usual_us", o->usual_ns / 1e3, 3);
    cm_json_key(j, "causes");
    cm_json_begin_array(j, o->cause_count ? CM_JSON_INDENTED : CM_JSON_ONE_LINE);
    for (size_t i = 0; i < o->cause_count; i++)
        json_cause(j, &o->causes[i]);
    cm_json_end(j);
    cm_json_key_number(j, "unexplained_share", o->unexplained, 4);
    cm_json_end(j);
}

static void json_groups(cm_json *j, const an_outliers *all, const an_session_outliers *o)
{
    cm_json_key(j, "outlier_causes");
    cm_json_begin_object(j, CM_JSON_INDENTED);
    cm_json_key_number(j, "factor", all ? all->factor : (double)NAN, 3);
    cm_json_key_number(j, "usual_us", o ? o->usual_ns / 1e3 : (double)NAN, 3);
    cm_json_key_uint(j, "runs", o ? o->outliers : 0);
    cm_json_key_uint(j, "explained_runs", o ? o->explained : 0);
    cm_json_key(j, "groups");
    cm_json_begin_array(j, o && o->group_count ? CM_JSON_INDENTED : CM_JSON_ONE_LINE);
    for (size_t i = 0; o && i < o->group_count; i++) {
        const an_outlier_group *g = &o->groups[i];
        cm_json_begin_object(j, CM_JSON_ONE_LINE);
        cm_json_key_text(j, "cause", an_cause_name(g->kind));
        cm_json_key_text(j, "who", g->who);
        cm_json_key_uint(j, "runs", g->runs);
        cm_json_key_number(j, "extra_us", g->extra_ns / 1e3, 3);
        cm_json_end(j);
    }
    cm_json_end(j);
    cm_json_end(j);
}

// The first ones, in the order of time; `runs --outliers --json` has all.
void vw_session_outliers_json(cm_json *j, const an_summary *s, const an_session *n, size_t most)
{
    const an_session_outliers *o = an_outliers_of(s->outliers, n->id);
    size_t count = o && o->explained < most ? o->explained : o ? most : 0;
    json_groups(j, s->outliers, o);
    cm_json_key(j, "outliers");
    cm_json_begin_array(j, count ? CM_JSON_INDENTED : CM_JSON_ONE_LINE);
    for (size_t i = 0; i < count; i++)
        vw_outlier_json(j, &s->outliers->items[o->first + i]);
    cm_json_end(j);
}
