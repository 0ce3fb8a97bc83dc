// SPDX-License-Identifier: MIT
// Memory of one session in `ortscope summary`: what it holds and uses, what a run allocates,
// whether that grows. Nothing is shown where nothing was recorded.
#include "common/text.h"
#include "op_view.h"
#include "summary_view.h"

#include <math.h>
#include <stdio.h>

// -------------------------------------------------------------------------------------------- text

#define SHARED_ARENA "an arena is shared by several sessions"

// "memory: 3.160 MB held, peak 1.063 MB (66.4 % unused), 14.34 kB between runs"
static void write_state(cm_out *out, const an_memory_facts *f)
{
    const char *separator = "  memory: ";
    if (an_known(f->held_bytes)) {
        cm_out_printf(out, "%s%s held", separator, vw_byte_text(f->held_bytes).text);
        separator = ", ";
    }
    if (an_known(f->peak_bytes)) {
        cm_out_printf(out, "%speak %s", separator, vw_byte_text(f->peak_bytes).text);
        separator = ", ";
    }
    if (an_known(f->unused_at_peak_share))
        cm_out_printf(out, " (%.1f %% unused)", f->unused_at_peak_share * 100);
    if (an_known(f->in_use_bytes)) {
        cm_out_printf(out, "%s%s between runs", separator, vw_byte_text(f->in_use_bytes).text);
        separator = ", ";
    }
    if (f->shared)
        cm_out_printf(out, "%s%s", separator, SHARED_ARENA);
    if (separator[0] == ',' || f->shared)
        cm_out_char(out, '\n');
}

// "1.200 MB in 3 allocations a run (at most 4.100 MB)"
static void write_run(cm_out *out, const an_memory_facts *f)
{
    char count[32];
    if (f->allocated->count) {
        uint64_t typical = cm_histogram_percentile(f->allocated, 500000);
        uint64_t number = cm_histogram_percentile(f->allocations, 500000);
        cm_format_count(count, sizeof count, number);
        cm_out_printf(out, "%s in %s allocation%s a run", vw_byte_text((double)typical).text, count,
                      number == 1 ? "" : "s");
        if (f->allocated->max > typical)
            cm_out_printf(out, " (at most %s)", vw_byte_text((double)f->allocated->max).text);
    } else {
        cm_format_number(count, sizeof count, f->allocations_per_run, 1);
        if (an_known(f->allocated_per_run))
            cm_out_printf(out, "%s in ", vw_byte_text(f->allocated_per_run).text);
        cm_out_printf(out, "%s allocations a run%s", count, f->overlapped ? ", in the mean" : "");
    }
}

// Why the numbers of a run are less than usual; empty: they are not.
static void explain(char *text, size_t size, const an_memory_facts *f)
{
    char told[32], all[32];
    text[0] = '\0';
    if (f->overlapped)
        snprintf(text, size, "runs overlapped%s: what each of them allocated is not known",
                 f->lost ? ", events were lost" : "");
    if (!f->untold_runs)
        return;
    cm_format_count(told, sizeof told, f->counted_runs);
    cm_format_count(all, sizeof all, f->counted_runs + f->untold_runs);
    snprintf(text, size, "events were lost: %s of %s runs told what they allocated", told, all);
}

static void write_growth(vw_io *io, const an_growth *g)
{
    cm_out *out = &io->out;
    switch (g->verdict) {
    case AN_TOO_FEW_RUNS:
        cm_out_text(out, "too few runs to tell growth");
        break;
    case AN_STEADY:
        cm_out_text(out, "use is steady");
        break;
    case AN_WARMING:
        cm_out_text(out, "still warming up");
        break;
    case AN_LEAK:
        vw_style_on(io, VW_WARN);
        cm_out_printf(out, "use grows by %s a run", vw_byte_text(g->bytes_per_run).text);
        vw_style_off(io, VW_WARN);
        cm_out_printf(out, "\n  (95 %% sure of %s to %s): a leak, or results that are kept",
                      vw_byte_text(g->low).text, vw_byte_text(g->high).text);
        break;
    }
}

// "a run of batch size 8 has 1.200 MB at once: 6.67 samples per MB"
static void write_samples(cm_out *out, const an_batch *b)
{
    double samples = an_batch_samples_per_mb(b);
    if (an_known(samples))
        cm_out_printf(out, "  a run of batch size %lld has %s at once: %.3g sample%s per MB\n",
                      (long long)b->size, vw_byte_text(an_batch_peak_bytes(b)).text, samples,
                      samples > 1 ? "s" : "");
}

void vw_session_memory_text(vw_io *io, const an_session *n)
{
    an_memory_facts f;
    char why[128];
    if (!n->memory)
        return;
    an_memory_get(n->memory, &f);
    write_state(&io->out, &f);
    bool runs = an_known(f.allocations_per_run), growth = !f.shared;
    if (runs || growth)
        cm_out_text(&io->out, "  ");
    if (runs)
        write_run(&io->out, &f);
    if (runs && growth)
        cm_out_text(&io->out, "; ");
    if (growth)
        write_growth(io, &f.growth);
    if (runs || growth)
        cm_out_char(&io->out, '\n');
    explain(why, sizeof why, &f);
    if (why[0])
        cm_out_printf(&io->out, "  (%s)\n", why);
    if (n->batch_count == 1) // else the table of batch sizes tells
        write_samples(&io->out, &n->batches[0]);
}

// "Shared by several sessions: 1 arena, 25.17 MB held, 18.87 MB in use"
void vw_shared_arenas_text(vw_io *io, const an_summary *s)
{
    an_shared_bytes bytes = an_summary_shared(s);
    char count[32];
    if (s->shared_count == 0)
        return;
    cm_format_count(count, sizeof count, s->shared_count);
    cm_out_printf(&io->out, "\nShared by several sessions: %s arena%s", count,
                  s->shared_count == 1 ? "" : "s");
    if (an_known(bytes.held))
        cm_out_printf(&io->out, ", %s held", vw_byte_text(bytes.held).text);
    if (an_known(bytes.in_use))
        cm_out_printf(&io->out, ", %s in use", vw_byte_text(bytes.in_use).text);
    cm_out_char(&io->out, '\n');
}

// -------------------------------------------------------------------------------------------- JSON

static void json_spread(cm_json *j, const char *key, const cm_histogram *h, double mean)
{
    bool any = h && h->count;
    cm_json_key(j, key);
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    cm_json_key_number(j, "mean", any ? h->mean : mean, 3);
    cm_json_key_number(j, "p50", any ? (double)cm_histogram_percentile(h, 500000) : (double)NAN, 0);
    cm_json_key_number(j, "max", any ? (double)h->max : (double)NAN, 0);
    cm_json_end(j);
}

static void json_growth(cm_json *j, const an_growth *g, bool known)
{
    cm_json_key(j, "growth");
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    cm_json_key_text(j, "verdict", known ? an_verdict_name(g->verdict) : NULL);
    cm_json_key_number(j, "bytes_per_run", g->bytes_per_run, 3);
    cm_json_key_number(j, "low", g->low, 3);
    cm_json_key_number(j, "high", g->high, 3);
    cm_json_key_number(j, "runs", known ? (double)g->runs : (double)NAN, 0);
    cm_json_end(j);
}

static void json_notes(cm_json *j, const an_memory_facts *f)
{
    char why[128];
    explain(why, sizeof why, f);
    cm_json_key(j, "notes");
    cm_json_begin_array(j, CM_JSON_ONE_LINE);
    if (f->shared)
        cm_json_string(j, SHARED_ARENA);
    if (why[0])
        cm_json_string(j, why);
    cm_json_end(j);
}

void vw_session_memory_json(cm_json *j, const an_session *n)
{
    an_memory_facts f = {.held_bytes = NAN,
                         .in_use_bytes = NAN,
                         .peak_bytes = NAN,
                         .unused_bytes = NAN,
                         .unused_share = NAN,
                         .unused_at_peak_bytes = NAN,
                         .unused_at_peak_share = NAN,
                         .grown_bytes = NAN,
                         .extensions = NAN,
                         .allocated_per_run = NAN,
                         .allocations_per_run = NAN,
                         .run_peak_bytes = NAN,
                         .growth = {.bytes_per_run = NAN, .low = NAN, .high = NAN}};
    bool known = n->memory != NULL;
    if (known)
        an_memory_get(n->memory, &f);
    cm_json_key(j, "memory");
    cm_json_begin_object(j, CM_JSON_INDENTED);
    cm_json_key_number(j, "arena_bytes", f.held_bytes, 0);
    cm_json_key_number(j, "in_use_bytes", f.in_use_bytes, 0);
    cm_json_key_number(j, "peak_bytes", f.peak_bytes, 0);
    cm_json_key_number(j, "growth_bytes_per_run", f.growth.bytes_per_run, 3);
    cm_json_key_number(j, "fragmentation_bytes", f.unused_bytes, 0);
    cm_json_key_number(j, "fragmentation_share", f.unused_share, 6);
    cm_json_key_number(j, "fragmentation_at_peak_bytes", f.unused_at_peak_bytes, 0);
    cm_json_key_number(j, "fragmentation_at_peak_share", f.unused_at_peak_share, 6);
    cm_json_key_number(j, "arena_grown_bytes", f.grown_bytes, 0);
    cm_json_key_number(j, "arena_extensions", f.extensions, 0);
    json_spread(j, "allocated_bytes_per_run", f.allocated, f.allocated_per_run);
    json_spread(j, "allocations_per_run", f.allocations, f.allocations_per_run);
    cm_json_key_number(j, "run_peak_bytes", f.run_peak_bytes, 0);
    json_growth(j, &f.growth, known && !f.shared);
    cm_json_key_text(j, "source", known ? an_memory_source_name(f.source) : NULL);
    json_notes(j, &f);
    cm_json_end(j);
}

void vw_shared_arenas_json(cm_json *j, const an_summary *s)
{
    an_shared_bytes bytes = an_summary_shared(s);
    cm_json_key(j, "shared_arenas");
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    cm_json_key_uint(j, "count", s->shared_count);
    cm_json_key_number(j, "held_bytes", bytes.held, 0);
    cm_json_key_number(j, "in_use_bytes", bytes.in_use, 0);
    cm_json_end(j);
}
