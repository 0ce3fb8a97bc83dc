// SPDX-License-Identifier: MIT
// The keys "most_variable", "sessions", "other_threads" and "lost_events" of `ortscope ops --json`.
#include "analysis/fusion.h"
#include "op_view.h"

#include <math.h>

static double us(double ns)
{
    return ns / 1000.0;
}

static void us_key(cm_json *j, const char *key, uint64_t ns)
{
    cm_json_key_number(j, key, us((double)ns), 3);
}

static void share_key(cm_json *j, const char *key, uint64_t part, uint64_t whole)
{
    cm_json_key_number(j, key, whole ? (double)part / (double)whole : (double)NAN, 6);
}

static void begin(cm_json *j, const char *key, cm_json_layout layout)
{
    cm_json_key(j, key);
    cm_json_begin_object(j, layout);
}

static void begin_list(cm_json *j, const char *key, size_t count)
{
    cm_json_key(j, key);
    cm_json_begin_array(j, count ? CM_JSON_INDENTED : CM_JSON_ONE_LINE);
}

static void json_identity(cm_json *j, const char *node, const char *op_type, const char *domain,
                          const char *provider)
{
    cm_json_key_text(j, "node", node);
    vw_json_op_type(j, op_type, domain);
    cm_json_key_text(j, "provider", provider);
}

static void json_in_flight(cm_json *j, const an_flow_session *s)
{
    begin(j, "in_flight", CM_JSON_ONE_LINE);
    us_key(j, "none_us", s->none_ns);
    us_key(j, "one_us", s->one_ns);
    us_key(j, "several_us", s->several_ns);
    cm_json_key_number(j, "parallel_share", an_flow_parallel_share(s), 6);
    cm_json_key_uint(j, "most", s->most);
    cm_json_end(j);
}

static void json_path(cm_json *j, const an_flow_session *s)
{
    begin(j, "critical_path", CM_JSON_INDENTED);
    cm_json_key_text(j, "based_on", an_flow_basis());
    us_key(j, "total_us", s->path_ns);
    us_key(j, "gaps_us", s->run_ns > s->path_ns ? s->run_ns - s->path_ns : 0);
    cm_json_key_number(j, "share", an_flow_path_share(s), 6);
    cm_json_key_uint(j, "executions", s->path_count);
    begin_list(j, "heaviest", s->path_kept);
    for (size_t i = 0; i < s->path_kept; i++) {
        const an_path_op *p = &s->path[i];
        cm_json_begin_object(j, CM_JSON_ONE_LINE);
        json_identity(j, p->node, p->op_type, p->domain, p->provider);
        cm_json_key_uint(j, "executions", p->count);
        us_key(j, "total_us", p->path_ns);
        share_key(j, "share", p->path_ns, s->path_ns);
        cm_json_end(j);
    }
    cm_json_end(j);
    cm_json_end(j);
}

static void json_pool(cm_json *j, const an_flow_session *s)
{
    begin(j, "inter_op_threads", CM_JSON_INDENTED);
    us_key(j, "runs_cover_us", s->covered_ns);
    us_key(j, "busy_us", s->pool_busy_ns);
    cm_json_key_number(j, "idle_us", us(an_flow_pool_idle_ns(s)), 3);
    cm_json_key_number(j, "idle_share", an_flow_pool_idle_share(s), 6);
    begin_list(j, "threads", s->pool_count);
    for (size_t i = 0; i < s->pool_count; i++) {
        cm_json_begin_object(j, CM_JSON_ONE_LINE);
        cm_json_key(j, "thread");
        cm_json_int(j, s->pool[i].thread);
        cm_json_key_uint(j, "runs", s->pool[i].runs);
        us_key(j, "busy_us", s->pool[i].busy_ns);
        cm_json_end(j);
    }
    cm_json_end(j);
    cm_json_end(j);
}

static void json_providers(cm_json *j, const an_flow_session *s)
{
    begin(j, "provider_changes", CM_JSON_INDENTED);
    cm_json_key_uint(j, "count", s->changes);
    cm_json_key_number(j, "per_run", (double)s->changes / (double)s->runs, 3);
    us_key(j, "gap_us", s->change_gap_ns);
    begin_list(j, "between", s->transition_count);
    for (size_t i = 0; i < s->transition_count; i++) {
        cm_json_begin_object(j, CM_JSON_ONE_LINE);
        cm_json_key_text(j, "from", s->transitions[i].from);
        cm_json_key_text(j, "to", s->transitions[i].to);
        cm_json_key_uint(j, "count", s->transitions[i].count);
        us_key(j, "gap_us", s->transitions[i].gap_ns);
        cm_json_end(j);
    }
    cm_json_end(j);
    cm_json_end(j);
    begin(j, "copies", CM_JSON_ONE_LINE);
    cm_json_key_uint(j, "to_host", s->copies_to_host);
    cm_json_key_uint(j, "from_host", s->copies_from_host);
    us_key(j, "to_host_us", s->to_host_ns);
    us_key(j, "from_host_us", s->from_host_ns);
    cm_json_key_number(j, "us_per_run", us((double)an_flow_copy_ns(s)) / (double)s->runs, 3);
    cm_json_end(j);
}

static void json_unfused(cm_json *j, const an_flow_session *s)
{
    begin_list(j, "not_joined", s->unfused_count);
    for (size_t i = 0; i < s->unfused_count; i++) {
        const an_unfused *u = &s->unfused[i];
        cm_json_begin_object(j, CM_JSON_ONE_LINE);
        cm_json_key_text(j, "first", u->first);
        cm_json_key_text(j, "second", u->second);
        vw_json_domain(j, u->first_domain, u->first);
        cm_json_key_uint(j, "pairs", u->pairs);
        cm_json_key_uint(j, "pairs_with_fitting_shapes", u->shapes_known);
        cm_json_key_uint(j, "calls", u->calls);
        us_key(j, "first_us", u->first_ns);
        us_key(j, "second_us", u->second_ns);
        share_key(j, "second_share", u->second_ns, s->busy_ns);
        cm_json_key_text(j, "first_node", u->example_first);
        cm_json_key_text(j, "second_node", u->example_second);
        cm_json_end(j);
    }
    cm_json_end(j);
}

void vw_fusion_json(cm_json *j, const an_op_table *table)
{
    an_fusion f = {0};
    if (table)
        f = an_fusion_of(table);
    begin(j, "fusion", CM_JSON_INDENTED);
    for (int kind = 0; kind < AN_KIND_COUNT; kind++) {
        const an_kind_sums *k = &f.kinds[kind];
        begin(j, an_op_kind_name((an_op_kind)kind), CM_JSON_ONE_LINE);
        cm_json_key_uint(j, "nodes", k->nodes);
        cm_json_key_uint(j, "calls", k->calls);
        us_key(j, "self_us", k->self_ns);
        cm_json_key_number(j, "share", an_fusion_share(&f, (an_op_kind)kind), 6);
        cm_json_end(j);
    }
    cm_json_end(j);
}

static void json_fusion(cm_json *j, const an_ops *ops, const an_flow_session *s)
{
    an_op_table *types = NULL;
    an_op_choice choice = {.by = AN_BY_TYPE, .has_session = true, .session = s->session};
    if (an_ops_table(ops, &choice, &types) != CM_OK)
        types = NULL;
    vw_fusion_json(j, types);
    an_op_table_destroy(types);
}

static void json_session(cm_json *j, const an_ops *ops, const an_flow_session *s)
{
    cm_json_begin_object(j, CM_JSON_INDENTED);
    cm_json_key(j, "session");
    cm_json_int(j, s->session);
    cm_json_key_uint(j, "runs", s->runs);
    cm_json_key_uint(j, "left_out_runs", s->left_out);
    cm_json_key_uint(j, "runs_without_ops", s->without_ops);
    us_key(j, "run_us", s->run_ns);
    us_key(j, "busy_us", s->busy_ns);
    json_in_flight(j, s);
    json_path(j, s);
    json_pool(j, s);
    json_providers(j, s);
    json_fusion(j, ops, s);
    json_unfused(j, s);
    cm_json_end(j);
}

static void json_variable(cm_json *j, const vw_ops *v)
{
    begin_list(j, "most_variable", v->variable_count);
    for (size_t i = 0; i < v->variable_count; i++) {
        const an_variable_op *o = &v->variable[i];
        cm_json_begin_object(j, CM_JSON_ONE_LINE);
        cm_json_key(j, "session");
        cm_json_int(j, o->row->session);
        json_identity(j, o->row->node, o->row->op_type, o->row->domain, o->row->provider);
        cm_json_key_uint(j, "calls", o->row->sums.calls);
        cm_json_key_number(j, "p50_us", us(o->p50_ns), 3);
        cm_json_key_number(j, "p99_us", us(o->p99_ns), 3);
        cm_json_key_number(j, "p99_by_p50", o->ratio, 3);
        cm_json_key_number(j, "variation", an_op_variation(o->row), 6);
        cm_json_end(j);
    }
    cm_json_end(j);
}

static void json_helpers(cm_json *j, const an_helpers *h)
{
    if (!h->known) {
        cm_json_key(j, "other_threads");
        cm_json_null(j);
        return;
    }
    begin(j, "other_threads", CM_JSON_INDENTED);
    cm_json_key_number(j, "idle_at_least_us", us(an_helpers_idle_ns(h)), 3);
    cm_json_key_number(j, "idle_at_least_share", an_helpers_idle_share(h), 6);
    begin_list(j, "threads", h->count);
    for (size_t i = 0; i < h->count; i++) {
        cm_json_begin_object(j, CM_JSON_ONE_LINE);
        cm_json_key(j, "process");
        cm_json_int(j, h->items[i].process);
        cm_json_key(j, "thread");
        cm_json_int(j, h->items[i].thread);
        cm_json_key_number(j, "cpu_at_most_us", us(h->items[i].cpu_ns), 3);
        cm_json_key_number(j, "runs_cover_us", us(h->items[i].runs_ns), 3);
        cm_json_end(j);
    }
    cm_json_end(j);
    cm_json_end(j);
}

void vw_ops_flow_json(cm_json *j, const vw_ops *v)
{
    size_t count = an_flow_count(v->flow);
    json_variable(j, v);
    begin_list(j, "sessions", count);
    for (size_t i = 0; i < count; i++)
        json_session(j, v->ops, an_flow_get(v->flow, i));
    cm_json_end(j);
    json_helpers(j, &v->helpers);
    cm_json_key_uint(j, "lost_events", an_flow_lost(v->flow));
}
