// SPDX-License-Identifier: MIT
// `ortscope diff --json`: everything that was compared. Keys are a promise, as in summary_data.c.
#include "common/json.h"
#include "diff_view.h"
#include "op_view.h"

#include <math.h>

// Parts of 1 into percents; what is not known or has no end is null.
static void key_percent(cm_json *j, const char *key, double part)
{
    cm_json_key_number(j, key, part * 100, 4);
}

static const char *const unit_names[] = {"us", "bytes", "1/s", "J"};

static double in_unit(double value, an_unit unit)
{
    return unit == AN_UNIT_NS ? value / 1e3 : value;
}

static void json_value(cm_json *j, const char *key, an_interval v, an_unit unit)
{
    int decimals = unit == AN_UNIT_JOULES ? 9 : 3;
    cm_json_key(j, key);
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    cm_json_key_number(j, "value", in_unit(v.value, unit), decimals);
    cm_json_key_number(j, "low", in_unit(v.low, unit), decimals);
    cm_json_key_number(j, "high", in_unit(v.high, unit), decimals);
    cm_json_end(j);
}

static void json_change(cm_json *j, const an_change *c, an_unit unit)
{
    cm_json_key_text(j, "unit", unit_names[unit]);
    json_value(j, "old", c->old_value, unit);
    json_value(j, "new", c->new_value, unit);
    json_value(j, "change", c->shift, unit);
    cm_json_key(j, "change_percent");
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    key_percent(j, "value", c->ratio.value - 1);
    key_percent(j, "low", c->ratio.low > 0 ? c->ratio.low - 1 : (double)NAN);
    key_percent(j, "high", c->ratio.high - 1);
    cm_json_end(j);
    cm_json_key_text(j, "verdict", an_change_verdict_name(c->verdict));
}

static void json_part(cm_json *j, const char *key, const an_diff_part *p)
{
    cm_json_key(j, key);
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    cm_json_key_text(j, "model", p->session_count ? p->sessions[0]->model : NULL);
    cm_json_key_uint(j, "sessions", p->session_count);
    cm_json_key_uint(j, "runs", p->runs);
    cm_json_key_uint(j, "failed_runs", p->failed_runs);
    cm_json_key_uint(j, "warmup_runs", p->warmup_runs);
    cm_json_end(j);
}

static void json_ops(cm_json *j, const char *key, const an_diff_ops *ops)
{
    cm_json_key(j, key);
    cm_json_begin_array(j, ops->count ? CM_JSON_INDENTED : CM_JSON_ONE_LINE);
    for (size_t i = 0; i < ops->count; i++) {
        const an_diff_op *op = &ops->items[i];
        cm_json_begin_object(j, CM_JSON_ONE_LINE);
        cm_json_key_text(j, "node", op->identity.node);
        vw_json_op_type(j, op->identity.op_type, op->identity.domain);
        cm_json_key_number(j, "old_calls_per_run", op->calls[0], 3);
        cm_json_key_number(j, "new_calls_per_run", op->calls[1], 3);
        json_change(j, &op->change, AN_UNIT_NS);
        cm_json_end(j);
    }
    cm_json_end(j);
}

static void json_group(cm_json *j, const an_diff_group *g)
{
    cm_json_begin_object(j, CM_JSON_INDENTED);
    cm_json_key_text(j, "model", g->name);
    cm_json_key_text(j, "verdict", an_change_verdict_name(g->verdict));
    json_part(j, "old", &g->parts[0]);
    json_part(j, "new", &g->parts[1]);
    cm_json_key(j, "metrics");
    cm_json_begin_object(j, CM_JSON_INDENTED);
    for (int m = 0; m < AN_METRIC_COUNT; m++) {
        cm_json_key(j, an_metric_name((an_metric)m));
        cm_json_begin_object(j, CM_JSON_ONE_LINE);
        json_change(j, &g->changes[m], an_metric_unit((an_metric)m));
        cm_json_end(j);
    }
    cm_json_end(j);
    json_ops(j, "types", &g->types);
    json_ops(j, "nodes", &g->nodes);
    cm_json_end(j);
}

static void json_notes(cm_json *j, const an_diff *d)
{
    cm_json_key(j, "differences");
    cm_json_begin_array(j, d->note_count ? CM_JSON_INDENTED : CM_JSON_ONE_LINE);
    for (size_t i = 0; i < d->note_count; i++) {
        const an_diff_note *n = &d->notes[i];
        cm_json_begin_object(j, CM_JSON_ONE_LINE);
        cm_json_key_text(j, "model", n->group ? n->group->name : NULL);
        cm_json_key_text(j, "what", n->what);
        cm_json_key_text(j, "old", n->texts[0]);
        cm_json_key_text(j, "new", n->texts[1]);
        cm_json_key(j, "caveat");
        cm_json_bool(j, n->caveat);
        cm_json_end(j);
    }
    cm_json_end(j);
}

static void json_alone(cm_json *j, const an_diff *d, const char *key, int side)
{
    cm_json_key(j, key);
    cm_json_begin_array(j, CM_JSON_ONE_LINE);
    for (size_t i = d->matched_count; i < d->group_count; i++) {
        const an_diff_part *p = &d->groups[i].parts[side];
        if (!p->session_count)
            continue;
        cm_json_begin_object(j, CM_JSON_ONE_LINE);
        cm_json_key_text(j, "model", d->groups[i].name);
        cm_json_key_uint(j, "sessions", p->session_count);
        cm_json_key_uint(j, "runs", p->runs);
        cm_json_end(j);
    }
    cm_json_end(j);
}

static void json_meters(cm_json *j, const an_diff *d)
{
    cm_json_key(j, "energy_per_run");
    cm_json_begin_array(j, d->meter_count ? CM_JSON_INDENTED : CM_JSON_ONE_LINE);
    for (size_t i = 0; i < d->meter_count; i++) {
        cm_json_begin_object(j, CM_JSON_ONE_LINE);
        cm_json_key_text(j, "source", d->meters[i].source);
        cm_json_key_text(j, "meter", d->meters[i].name);
        json_change(j, &d->meters[i].change, AN_UNIT_JOULES);
        cm_json_end(j);
    }
    cm_json_end(j);
}

static void json_findings(cm_json *j, const vw_diff *v)
{
    cm_json_key(j, "conditions");
    cm_json_begin_array(j, v->finding_count ? CM_JSON_INDENTED : CM_JSON_ONE_LINE);
    for (size_t i = 0; i < v->finding_count; i++) {
        const vw_diff_finding *f = &v->findings[i];
        bool percent = f->gate->form == AN_GATE_PERCENT;
        an_unit unit = an_metric_unit(f->gate->metric);
        double scale = percent ? 100 : unit == AN_UNIT_NS ? 1e-3 : 1;
        cm_json_begin_object(j, CM_JSON_ONE_LINE);
        cm_json_key_text(j, "condition", f->gate->text);
        cm_json_key_text(j, "subject", f->subject);
        cm_json_key_text(j, "result", an_gate_result_name(f->result));
        cm_json_key_text(j, "unit", percent ? "%" : unit_names[unit]);
        cm_json_key_number(j, "limit", f->gate->limit * scale, 6);
        cm_json_key_number(j, "value", f->value.value * scale, 6);
        cm_json_key_number(j, "low", f->value.low * scale, 6);
        cm_json_key_number(j, "high", f->value.high * scale, 6);
        cm_json_end(j);
    }
    cm_json_end(j);
}

void vw_diff_json(vw_io *io, const vw_diff *v)
{
    const an_diff *d = v->diff;
    cm_json json, *j = &json;
    cm_json_init(j, &io->out);
    cm_json_begin_object(j, CM_JSON_INDENTED);
    cm_json_key_uint(j, "schema_version", 1);
    cm_json_key_text(j, "ortscope_version", ORTSCOPE_VERSION);
    cm_json_key_text(j, "old", v->paths[0]);
    cm_json_key_text(j, "new", v->paths[1]);
    cm_json_key_text(j, "verdict", an_change_verdict_name(d->verdict));
    cm_json_key_number(j, "confidence", 1 - d->error, 4);
    cm_json_key_number(j, "margin_percent", d->margin * 100, 4);
    json_notes(j, d);
    cm_json_key(j, "sessions");
    cm_json_begin_array(j, d->matched_count ? CM_JSON_INDENTED : CM_JSON_ONE_LINE);
    for (size_t i = 0; i < d->matched_count; i++)
        json_group(j, &d->groups[i]);
    cm_json_end(j);
    json_alone(j, d, "only_old", 0);
    json_alone(j, d, "only_new", 1);
    json_meters(j, d);
    cm_json_key(j, "process_memory");
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    json_change(j, &d->process_memory, AN_UNIT_BYTES);
    cm_json_end(j);
    json_findings(j, v);
    cm_json_key(j, "exit_code");
    cm_json_int(j, v->exit_code);
    cm_json_end(j);
}
