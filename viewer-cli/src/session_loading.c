// SPDX-License-Identifier: MIT
// How one session was loaded, in `ortscope summary`: the phases of its creation, loading the same
// model again, the devices of its providers. What nobody told is not shown.
#include "common/text.h"
#include "op_view.h"
#include "summary_view.h"

#include <math.h>
#include <string.h>

static double known_ns(int64_t ns)
{
    return ns >= 0 ? (double)ns : (double)NAN;
}

// "loading: 12.10 ms reading, 30.20 ms optimising, 35.00 ms kernels and weights"
static void write_phases(cm_out *out, const an_loading *l)
{
    const struct {
        int64_t ns;
        const char *name;
    } phases[] = {{l->read_ns, "reading"},
                  {l->optimise_ns, "optimising"},
                  {l->kernels_ns, "kernels and weights"}};
    const char *separator = "  loading: ";
    char time[32];
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++) {
        if (phases[i].ns < 0)
            continue;
        cm_format_ns(time, sizeof time, (double)phases[i].ns);
        cm_out_printf(out, "%s%s %s", separator, time, phases[i].name);
        separator = ", ";
    }
    if (separator[0] == ',')
        cm_out_char(out, '\n');
}

// "devices: GPU by AMD for Dml (226 nodes), NPU by Intel for OpenVINO (3 nodes)"
static void write_devices(vw_io *io, const an_summary *s, const an_session *n)
{
    const char *separator = "  devices: ";
    for (size_t i = 0; i < s->device_count; i++) {
        const an_device *d = &s->devices[i];
        if (d->session != n->id || strcmp(d->type, "CPU") == 0)
            continue;
        cm_out_text(&io->out, separator);
        cm_text_clean(&io->out, d->type[0] ? d->type : "unknown", 20);
        if (d->vendor[0]) {
            cm_out_text(&io->out, " by ");
            cm_text_clean(&io->out, d->vendor, 30);
        }
        cm_out_text(&io->out, " for ");
        cm_text_clean(&io->out, vw_provider_name(d->provider).text, 30);
        if (d->nodes >= 0)
            cm_out_printf(&io->out, " (%lld nodes)", (long long)d->nodes);
        separator = ", ";
    }
    if (separator[0] == ',')
        cm_out_char(&io->out, '\n');
}

void vw_session_loading_text(vw_io *io, const an_summary *s, const an_session *n)
{
    const an_repeats *r = &n->repeats;
    char first[32], later[32];
    write_devices(io, s, n);
    write_phases(&io->out, &n->loading);
    if (r->loads == 0)
        return;
    cm_format_ns(first, sizeof first, (double)r->first_ns);
    cm_format_ns(later, sizeof later, r->later_median_ns);
    cm_out_printf(&io->out, "  load %llu of %llu of this model: %s first, then %s",
                  (unsigned long long)r->number, (unsigned long long)r->loads, first, later);
    if (r->loads > 2)
        cm_out_printf(&io->out, " (median of %llu)", (unsigned long long)r->loads - 1);
    cm_out_char(&io->out, '\n');
}

// -------------------------------------------------------------------------------------------- JSON

static void json_repeats(cm_json *j, const an_repeats *r)
{
    cm_json_key(j, "same_model");
    if (r->loads == 0) {
        cm_json_null(j);
        return;
    }
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    cm_json_key_uint(j, "loads", r->loads);
    cm_json_key_uint(j, "number", r->number);
    cm_json_key_number(j, "first_ms", (double)r->first_ns / 1e6, 6);
    cm_json_key_number(j, "later_median_ms", r->later_median_ns / 1e6, 6);
    cm_json_end(j);
}

void vw_session_loading_json(cm_json *j, const an_session *n)
{
    static const char *const sources[] = {NULL, "ort_events", "kernels", "functions"};
    const an_loading *l = &n->loading;
    cm_json_key(j, "loading");
    cm_json_begin_object(j, CM_JSON_INDENTED);
    cm_json_key_number(j, "total_ms", an_session_load_ns(n) / 1e6, 6);
    cm_json_key_number(j, "read_ms", known_ns(l->read_ns) / 1e6, 6);
    cm_json_key_number(j, "optimise_ms", known_ns(l->optimise_ns) / 1e6, 6);
    cm_json_key_number(j, "kernels_ms", known_ns(l->kernels_ns) / 1e6, 6);
    cm_json_key_number(j, "first_run_ms", an_session_first_ns(n) / 1e6, 6);
    cm_json_key_text(j, "source", sources[l->source >= 1 && l->source <= 3 ? l->source : 0]);
    json_repeats(j, &n->repeats);
    cm_json_end(j);
}
