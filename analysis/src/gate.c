// SPDX-License-Identifier: MIT
// See analysis/gate.h.
#include "analysis/gate.h"

#include "diff_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *an_gate_result_name(an_gate_result result)
{
    static const char *const names[] = {"ok", "inconclusive", "regression"};
    return names[result];
}

// ------------------------------------------------------------------------------------------ words

static const struct {
    const char *name;
    an_unit unit;
    double worth;
} units[] = {
    {"ns", AN_UNIT_NS, 1},        {"us", AN_UNIT_NS, 1e3},    {"ms", AN_UNIT_NS, 1e6},
    {"s", AN_UNIT_NS, 1e9},       {"B", AN_UNIT_BYTES, 1},    {"kB", AN_UNIT_BYTES, 1e3},
    {"MB", AN_UNIT_BYTES, 1e6},   {"GB", AN_UNIT_BYTES, 1e9}, {"/s", AN_UNIT_PER_S, 1},
    {"mJ", AN_UNIT_JOULES, 1e-3}, {"J", AN_UNIT_JOULES, 1},
};

#define METRICS                                                                                    \
    "latency, p50, p90, p95, p99, p99.9, mean, max, throughput, load, memory_peak, "               \
    "memory_growth, joules, op:NAME"

static cm_status read_metric(const char *text, size_t len, an_gate *out)
{
    if (len > 3 && memcmp(text, "op:", 3) == 0 && len - 3 < sizeof out->op) {
        out->metric = AN_METRIC_OP;
        memcpy(out->op, text + 3, len - 3);
        return CM_OK;
    }
    for (an_metric m = 0; m <= AN_METRIC_JOULES; m++) {
        const char *name = an_metric_name(m);
        if (strlen(name) == len && memcmp(name, text, len) == 0) {
            out->metric = m;
            return CM_OK;
        }
    }
    return cm_fail(CM_USAGE, "--fail-if knows no metric \"%.*s\". Metrics: " METRICS ".",
                   (int)(len < 200 ? len : 200), text);
}

static const char *unit_words(an_unit unit)
{
    static const char *const words[] = {"ns, us, ms or s", "B, kB, MB or GB", "/s", "mJ or J"};
    return words[unit];
}

static cm_status read_limit(const char *condition, const char *text, an_gate *out)
{
    const char *digits = text + (*text == '+' || *text == '-');
    char *unit;
    double value = strtod(digits, &unit);
    an_unit wanted = an_metric_unit(out->metric);
    size_t number_len = (size_t)(unit - digits);
    if (number_len == 0 || strspn(digits, "0123456789.") != number_len || !(value < 1e18))
        return cm_fail(CM_USAGE, "--fail-if \"%.300s\": \"%.100s\" is no number with a unit.",
                       condition, text);
    while (*unit == ' ')
        unit++;
    out->form = *text == '+' || *text == '-' ? AN_GATE_CHANGE : AN_GATE_VALUE;
    out->limit = *text == '-' ? -value : value;
    if (strcmp(unit, "%") == 0) {
        // "throughput<5%" and "throughput<-5%" both mean: fell by more than 5 %.
        out->limit = (out->above ? out->limit : -value) / 100;
        out->form = AN_GATE_PERCENT;
        if (out->metric == AN_METRIC_MEMORY_GROWTH)
            return cm_fail(CM_USAGE,
                           "--fail-if \"%.300s\": growth is around 0, where percents say "
                           "nothing; give bytes a run: memory_growth>1kB.",
                           condition);
        return CM_OK;
    }
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(unit, units[i].name) == 0 && units[i].unit == wanted) {
            out->limit *= units[i].worth;
            return CM_OK;
        }
    }
    return cm_fail(CM_USAGE, "--fail-if \"%.300s\": a limit of %s is in %% or %s.", condition,
                   out->metric == AN_METRIC_OP ? "op:NAME" : an_metric_name(out->metric),
                   unit_words(wanted));
}

cm_status an_gate_parse(const char *text, an_gate *out)
{
    an_gate gate = {.text = text};
    size_t sign = strlen(text); // the last one: names of operators may hold others
    while (sign > 0 && text[sign - 1] != '>' && text[sign - 1] != '<')
        sign--;
    if (sign < 2)
        return cm_fail(CM_USAGE,
                       "--fail-if \"%.300s\" is no condition such as \"p99>5%%\", \"p99>20ms\" or "
                       "\"throughput<5%%\". Metrics: " METRICS ".",
                       text);
    size_t len = sign - 1;
    while (len > 0 && text[len - 1] == ' ')
        len--;
    gate.above = text[sign - 1] == '>';
    const char *limit = text + sign + strspn(text + sign, " ");
    CM_TRY(read_metric(text, len, &gate));
    CM_TRY(read_limit(text, limit, &gate));
    *out = gate;
    return CM_OK;
}

// ---------------------------------------------------------------------------------------- checking

typedef struct check {
    const an_gate *gate;
    void (*found)(void *, const an_gate_finding *);
    void *context;
    an_gate_result worst;
    size_t findings;
} check;

static an_gate_result result_of(const an_gate *gate, an_interval v)
{
    if (!an_known(v.value))
        return AN_GATE_UNSURE;
    if (gate->above ? v.low > gate->limit : v.high < gate->limit)
        return AN_GATE_MET;
    return (gate->above ? v.high <= gate->limit : v.low >= gate->limit) ? AN_GATE_OK
                                                                        : AN_GATE_UNSURE;
}

static void tell(check *c, const char *subject, an_interval value)
{
    an_gate_finding f = {c->gate, subject, value, result_of(c->gate, value)};
    c->worst = f.result > c->worst ? f.result : c->worst;
    c->findings++;
    c->found(c->context, &f);
}

static void check_change(check *c, const char *subject, const an_change *change)
{
    an_interval v = change->new_value;
    if (c->gate->form == AN_GATE_CHANGE)
        v = change->shift;
    if (c->gate->form == AN_GATE_PERCENT)
        v = (an_interval){change->ratio.value - 1, change->ratio.low - 1, change->ratio.high - 1};
    tell(c, subject, v);
}

static const an_diff_op *find_op(const an_diff_group *g, const char *name)
{
    for (size_t i = 0; i < g->types.count; i++)
        if (strcmp(g->types.items[i].identity.op_type, name) == 0)
            return &g->types.items[i];
    for (size_t i = 0; i < g->nodes.count; i++)
        if (strcmp(g->nodes.items[i].identity.node, name) == 0)
            return &g->nodes.items[i];
    return NULL;
}

static void check_group(check *c, const an_diff *d, const an_diff_group *g)
{
    if (c->gate->metric != AN_METRIC_OP) {
        check_change(c, g->name, &g->changes[c->gate->metric]);
        return;
    }
    // Asked for by name: no others are compared with it.
    const an_diff_op *op = find_op(g, c->gate->op);
    an_change change;
    if (op &&
        an_diff_op_change(op, d->margin, d->error / (double)d->matched_count, &change) == CM_OK)
        check_change(c, g->name, &change);
}

an_gate_result an_gate_check(const an_gate *gate, const an_diff *d,
                             void (*found)(void *, const an_gate_finding *), void *context)
{
    check c = {gate, found, context, AN_GATE_OK, 0};
    if (gate->metric == AN_METRIC_JOULES)
        for (size_t i = 0; i < d->meter_count; i++)
            check_change(&c, d->meters[i].name, &d->meters[i].change);
    else
        for (size_t i = 0; i < d->matched_count; i++)
            check_group(&c, d, &d->groups[i]);
    if (c.findings == 0)
        tell(&c, "", an_no_interval);
    return c.worst;
}
