// SPDX-License-Identifier: MIT
// Runs far slower than usual, as the page tells them: the worst ones, with their causes in words.
#include "op_view.h"
#include "report.h"

#include <math.h>

static double times_usual(const an_outlier *o)
{
    return o->usual_ns > 0 ? (double)o->duration_ns / o->usual_ns : 0;
}

size_t vw_rp_worst_outliers(const an_summary *s, int64_t session, const an_outlier **out,
                            size_t most)
{
    const an_session_outliers *of = an_outliers_of(s->outliers, session);
    size_t count = 0;
    for (size_t i = 0; of && i < of->explained; i++) {
        const an_outlier *o = &s->outliers->items[of->first + i];
        size_t at = count;
        while (at > 0 && times_usual(out[at - 1]) < times_usual(o))
            at--;
        if (at == most)
            continue;
        count = count < most ? count + 1 : most;
        for (size_t k = count - 1; k > at; k--)
            out[k] = out[k - 1];
        out[at] = o;
    }
    return count;
}

static void json_phrase(cm_json *j, an_cause_kind kind, const char *who)
{
    char words[300];
    an_cause_phrase(kind, who, words, sizeof words);
    cm_json_key_text(j, "words", words);
}

static void json_outlier(cm_json *j, const an_outlier *o)
{
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    cm_json_key(j, "run");
    cm_json_int(j, o->run);
    cm_json_key_number(j, "ms", (double)o->begin_ns / 1e6, 3);
    cm_json_key_number(j, "us", (double)o->duration_ns / 1e3, 3);
    cm_json_key_number(j, "usual_us", o->usual_ns / 1e3, 3);
    cm_json_key_number(j, "unexplained", o->unexplained, 4);
    cm_json_key(j, "causes");
    cm_json_begin_array(j, CM_JSON_ONE_LINE);
    for (size_t i = 0; i < o->cause_count; i++) {
        const an_cause *c = &o->causes[i];
        cm_json_begin_object(j, CM_JSON_ONE_LINE);
        cm_json_key_text(j, "cause", an_cause_name(c->kind));
        json_phrase(j, c->kind, c->who);
        cm_json_key_number(j, "share", c->share, 4);
        cm_json_key(j, "measured");
        cm_json_bool(j, c->measured);
        cm_json_key_number(j, "amount", c->amount, 3);
        cm_json_end(j);
    }
    cm_json_end(j);
    cm_json_end(j);
}

void vw_rp_outliers_json(cm_json *j, const an_summary *s, int64_t session, size_t most)
{
    const an_session_outliers *of = an_outliers_of(s->outliers, session);
    const an_outlier *worst[VW_RP_OUTLIERS];
    size_t count = vw_rp_worst_outliers(s, session, worst, most);
    cm_json_key(j, "outliers");
    cm_json_begin_array(j, CM_JSON_ONE_LINE);
    for (size_t i = 0; i < count; i++)
        json_outlier(j, worst[i]);
    cm_json_end(j);
    cm_json_key(j, "outlier_groups");
    cm_json_begin_array(j, CM_JSON_ONE_LINE);
    for (size_t i = 0; of && i < of->group_count && i < 50; i++) {
        cm_json_begin_object(j, CM_JSON_ONE_LINE);
        cm_json_key_text(j, "cause", an_cause_name(of->groups[i].kind));
        json_phrase(j, of->groups[i].kind, of->groups[i].who);
        cm_json_key_uint(j, "runs", of->groups[i].runs);
        cm_json_end(j);
    }
    cm_json_end(j);
}
