// SPDX-License-Identifier: MIT
// Numbers and sentences that the text and the Markdown of `ortscope diff` share.
#include "common/text.h"
#include "diff_view.h"
#include "op_view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

vw_words vw_metric_title(an_metric metric)
{
    vw_words w;
    snprintf(w.text, sizeof w.text, "%s", an_metric_name(metric));
    for (char *p = w.text; *p; p++)
        if (*p == '_')
            *p = ' ';
    return w;
}

static vw_words dash(void)
{
    return (vw_words){"-"};
}

vw_words vw_value_words(double value, an_unit unit)
{
    vw_words w = dash();
    char number[48];
    if (!an_known(value) || __builtin_isinf(value))
        return w;
    const char *sign = value < 0 ? "-" : "";
    switch (unit) {
    case AN_UNIT_NS:
        cm_format_ns(number, sizeof number, fabs(value));
        snprintf(w.text, sizeof w.text, "%s%s", sign, number);
        break;
    case AN_UNIT_BYTES:
        snprintf(w.text, sizeof w.text, "%s%s", fabs(value) < 0.5 ? "" : sign,
                 vw_byte_text(fabs(value)).text);
        break;
    case AN_UNIT_PER_S:
        cm_format_number(number, sizeof number, value, fabs(value) < 100 ? 2 : 0);
        snprintf(w.text, sizeof w.text, "%s/s", number);
        break;
    case AN_UNIT_JOULES:
        snprintf(w.text, sizeof w.text, "%.4g J", value);
        break;
    }
    return w;
}

static void percent(char *out, size_t size, double part, const char *unit)
{
    double value = part * 100;
    int decimals = fabs(value) < 99.95 ? 1 : 0;
    if (fabs(value) < 0.05)
        snprintf(out, size, "0.0%s", unit); // neither +0.0 nor -0.0
    else
        snprintf(out, size, "%+.*f%s", decimals, value, unit);
}

vw_words vw_percent_words(double part)
{
    vw_words w = dash();
    if (an_known(part) && !__builtin_isinf(part))
        percent(w.text, sizeof w.text, part, " %");
    return w;
}

vw_words vw_interval_words(an_interval part)
{
    vw_words w = dash();
    char low[40], high[40];
    bool has_low = an_known(part.low) && part.low > -1,
         has_high = an_known(part.high) && !__builtin_isinf(part.high);
    if (!an_known(part.value))
        return w;
    percent(low, sizeof low, has_low ? part.low : 0, has_high ? "" : " %");
    percent(high, sizeof high, has_high ? part.high : 0, " %");
    if (has_low && has_high)
        snprintf(w.text, sizeof w.text, "%s to %s", low, high);
    else if (has_low || has_high)
        snprintf(w.text, sizeof w.text, "%s %s", has_low ? "over" : "under", has_low ? low : high);
    return w;
}

an_interval vw_part_of(an_interval ratio)
{
    return (an_interval){ratio.value - 1, ratio.low - 1, ratio.high - 1};
}

vw_words vw_change_words(an_metric m, const an_change *c)
{
    if (m == AN_METRIC_MEMORY_GROWTH) {
        vw_words w = vw_value_words(c->shift.value, an_metric_unit(m));
        return w;
    }
    return vw_percent_words(c->ratio.value - 1);
}

vw_words vw_change_interval_words(an_metric m, const an_change *c)
{
    if (m != AN_METRIC_MEMORY_GROWTH)
        return vw_interval_words(vw_part_of(c->ratio));
    vw_words w = dash();
    if (an_interval_bounded(c->shift) && an_known(c->shift.low))
        snprintf(w.text, sizeof w.text, "%.40s to %.40s",
                 vw_value_words(c->shift.low, an_metric_unit(m)).text,
                 vw_value_words(c->shift.high, an_metric_unit(m)).text);
    return w;
}

const char *vw_change_verdict_words(const an_change *c)
{
    bool known = an_known(c->old_value.value) && an_known(c->new_value.value);
    an_interval i = an_known(c->ratio.value) ? c->ratio : c->shift;
    if (!known)
        return "";
    if (c->verdict == AN_INCONCLUSIVE && (!an_interval_bounded(i) || i.low <= 0))
        return "too few";
    return an_change_verdict_name(c->verdict);
}

const an_diff_note *vw_next_caveat(const an_diff *d, size_t *at)
{
    while (d->matched_count && *at < d->note_count)
        if (d->notes[(*at)++].caveat)
            return &d->notes[*at - 1];
    return NULL;
}

void vw_headline(cm_out *out, const an_diff_group *g)
{
    const an_change *c = &g->changes[AN_METRIC_LATENCY];
    double part = c->ratio.value - 1;
    const char *longer = part > 0 ? "longer" : "less time";
    char low[40], high[40];
    if (!an_known(c->ratio.value)) {
        cm_out_text(out, "there are no successful runs to compare");
        return;
    }
    if (!an_interval_bounded(c->ratio) || !(c->ratio.low > 0)) {
        cm_out_text(out, "too few runs to say");
        return;
    }
    percent(low, sizeof low, c->ratio.low - 1, "");
    percent(high, sizeof high, c->ratio.high - 1, " %");
    if (fabs(part) < 0.0005)
        cm_out_text(out, "a typical run takes as long");
    else
        cm_out_printf(out, "a typical run takes %.*f %% %s", fabs(part) < 0.9995 ? 1 : 0,
                      fabs(part) * 100, longer);
    cm_out_printf(out, " (95 %% sure of %s to %s)", low, high);
}

void vw_finding_words(cm_out *out, const vw_diff_finding *f)
{
    an_unit unit = an_metric_unit(f->gate->metric);
    cm_text_clean(out, f->gate->text, 60);
    cm_out_printf(out, ": %s", an_gate_result_name(f->result));
    if (!f->subject[0]) {
        cm_out_text(out, ", nothing to compare");
        return;
    }
    cm_out_text(out, " in ");
    cm_text_clean(out, f->subject, 60);
    if (!an_known(f->value.value)) {
        cm_out_text(out, ", not known");
        return;
    }
    if (f->gate->form == AN_GATE_PERCENT) {
        cm_out_printf(out, ", %s", vw_percent_words(f->value.value).text);
        vw_words interval = vw_interval_words(f->value);
        cm_out_printf(out, " (%s)",
                      interval.text[0] == '-' && !interval.text[1] ? "too few to say how sure"
                                                                   : interval.text);
        return;
    }
    cm_out_printf(out, ", %s", vw_value_words(f->value.value, unit).text);
    if (an_interval_bounded(f->value))
        cm_out_printf(out, " (%s to %s)", vw_value_words(f->value.low, unit).text,
                      vw_value_words(f->value.high, unit).text);
    else
        cm_out_text(out, " (too few to say how sure)");
}
