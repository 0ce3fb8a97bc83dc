// SPDX-License-Identifier: MIT
// How a session's runs went over time in `ortscope summary`: warming up, drift, tokens; and their
// inputs in JSON.
#include "common/text.h"
#include "op_view.h"
#include "summary_view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define JSON_SHAPES 200

static const an_generation *generation_of(const an_session *n)
{
    return n->generation && n->generation->sequences ? n->generation : NULL;
}

// -------------------------------------------------------------------------------------------- text

static void write_stability(vw_io *io, const an_session *n)
{
    an_stability s;
    const char *separator = "  ";
    if (generation_of(n) || an_session_stability(n, &s) != CM_OK)
        return; // with each token there is more to do
    if (n->warmup_runs) {
        cm_out_printf(&io->out, "%sleft out: %llu run%s of warming up", separator,
                      (unsigned long long)n->warmup_runs, n->warmup_runs == 1 ? "" : "s");
        separator = "; ";
    } else if (s.warmup_runs) {
        cm_out_printf(&io->out, "%swarming up took %llu run%s", separator,
                      (unsigned long long)s.warmup_runs, s.warmup_runs == 1 ? "" : "s");
        separator = "; ";
    }
    if (strcmp(s.verdict, "slower") == 0 || strcmp(s.verdict, "faster") == 0) {
        cm_out_text(&io->out, separator);
        vw_style_on(io, VW_WARN);
        cm_out_printf(&io->out, "runs became %.1f %% %s", fabs(s.drift.value - 1) * 100, s.verdict);
        vw_style_off(io, VW_WARN);
        cm_out_printf(&io->out, " (95 %% sure of %+.1f to %+.1f %%)", (s.drift.low - 1) * 100,
                      (s.drift.high - 1) * 100);
        separator = "; ";
    }
    if (separator[0] == ';')
        cm_out_char(&io->out, '\n');
}

static void write_times(cm_out *out, const char *what, const cm_histogram *h)
{
    char p50[32], p99[32];
    cm_format_ns(p50, sizeof p50, (double)cm_histogram_percentile(h, 500000));
    cm_format_ns(p99, sizeof p99, (double)cm_histogram_percentile(h, 990000));
    cm_out_printf(out, "%s p50 %s, p99 %s", what, p50, p99);
}

static void write_generation(vw_io *io, const an_session *n)
{
    const an_generation *g = generation_of(n);
    char sequences[32], tokens[32];
    if (!g)
        return;
    cm_format_count(sequences, sizeof sequences, g->sequences);
    cm_format_count(tokens, sizeof tokens, g->tokens);
    cm_out_printf(&io->out, "  generation: %s tokens in %s sequence%s, %.4g tokens/s\n  ", tokens,
                  sequences, g->sequences == 1 ? "" : "s", an_generation_tokens_per_s(g));
    write_times(&io->out, "first token", &g->first_token_ns);
    write_times(&io->out, "; between tokens", &g->between_ns);
    cm_out_char(&io->out, '\n');
}

void vw_session_course_text(vw_io *io, const an_session *n)
{
    write_stability(io, n);
    write_generation(io, n);
}

// -------------------------------------------------------------------------------------------- JSON

static void json_stability(cm_json *j, const an_session *n)
{
    an_stability s = {0, {NAN, NAN, NAN}, NULL};
    bool known = n->series.count > 0 && an_session_stability(n, &s) == CM_OK;
    cm_json_key(j, "stability");
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    cm_json_key_uint(j, "warmup_runs", s.warmup_runs);
    cm_json_key_uint(j, "left_out_runs", n->warmup_runs);
    cm_json_key_number(j, "drift_percent", (s.drift.value - 1) * 100, 3);
    cm_json_key_number(j, "low", s.drift.low > 0 ? (s.drift.low - 1) * 100 : (double)NAN, 3);
    cm_json_key_number(j, "high", (s.drift.high - 1) * 100, 3);
    cm_json_key_text(j, "verdict", known ? s.verdict : NULL);
    cm_json_end(j);
    cm_json_key(j, "concurrency");
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    cm_json_key_number(j, "mean", an_session_concurrency(n), 3);
    cm_json_key_number(j, "max", n->runs ? (double)n->in_flight_max : (double)NAN, 0);
    cm_json_end(j);
}

static void json_times(cm_json *j, const char *key, const cm_histogram *h)
{
    static const struct {
        const char *key;
        uint32_t millionths;
    } percentiles[] = {{"p50", 500000}, {"p90", 900000}, {"p95", 950000}, {"p99", 990000}};
    cm_json_key(j, key);
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    cm_json_key_number(j, "mean", h->mean / 1e3, 3);
    for (size_t i = 0; i < sizeof percentiles / sizeof *percentiles; i++)
        cm_json_key_number(j, percentiles[i].key,
                           (double)cm_histogram_percentile(h, percentiles[i].millionths) / 1e3, 3);
    cm_json_key_number(j, "max", (double)h->max / 1e3, 3);
    cm_json_end(j);
}

static void json_generation(cm_json *j, const an_session *n)
{
    const an_generation *g = generation_of(n);
    cm_json_key(j, "generation");
    if (!g) {
        cm_json_null(j);
        return;
    }
    cm_json_begin_object(j, CM_JSON_INDENTED);
    cm_json_key_uint(j, "sequences", g->sequences);
    cm_json_key_uint(j, "steps", g->steps);
    cm_json_key_uint(j, "tokens", g->tokens);
    cm_json_key_number(j, "tokens_per_s", an_generation_tokens_per_s(g), 3);
    json_times(j, "first_token_us", &g->first_token_ns);
    json_times(j, "between_tokens_us", &g->between_ns);
    json_times(j, "step_run_us", &g->run_ns);
    cm_json_end(j);
}

static void json_shapes(cm_json *j, const an_summary *s, const an_session *n)
{
    cm_out text;
    cm_out_init_memory(&text);
    cm_json_key(j, "shapes");
    cm_json_begin_array(j, n->shape_count ? CM_JSON_INDENTED : CM_JSON_ONE_LINE);
    for (size_t i = 0; i < n->shape_count && i < JSON_SHAPES; i++) {
        const an_shape_use *use = &n->shapes[i];
        const an_shape *shape = an_shapes_find(&s->shapes, use->shape);
        cm_out_clear(&text);
        if (shape)
            an_shape_text(&text, shape);
        cm_json_begin_object(j, CM_JSON_ONE_LINE);
        cm_json_key_text(j, "inputs", cm_out_string(&text));
        cm_json_key_uint(j, "runs", use->latency.count);
        cm_json_key_number(j, "p50_us",
                           (double)cm_histogram_percentile(&use->latency, 500000) / 1e3, 3);
        cm_json_key_number(j, "p99_us",
                           (double)cm_histogram_percentile(&use->latency, 990000) / 1e3, 3);
        cm_json_end(j);
    }
    cm_json_end(j);
    cm_out_deinit(&text);
}

void vw_session_course_json(cm_json *j, const an_summary *s, const an_session *n)
{
    json_stability(j, n);
    json_generation(j, n);
    json_shapes(j, s, n);
}
