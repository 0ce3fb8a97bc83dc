// SPDX-License-Identifier: MIT
// The histogram in the terminal: bars of round width from the fastest run to p99, and one for
// everything slower, so that a single outlier does not squeeze all others into one bar. Gaps are
// shortened to one line.
#include "bar.h"
#include "common/text.h"
#include "summary_view.h"

#include <stdio.h>
#include <string.h>

#define BAR_COLUMNS 40
#define MAX_BARS    14 // between minimum and p99
#define FEWEST_RUNS 10 // fewer say nothing as bars

static void draw_bar(vw_io *io, uint64_t count, uint64_t most)
{
    vw_style_on(io, VW_MARK);
    size_t used = vw_draw_share(&io->out, io->unicode, (double)count / (double)most, BAR_COLUMNS);
    vw_style_off(io, VW_MARK);
    cm_out_repeat(&io->out, " ", BAR_COLUMNS + 1 - used);
}

typedef struct scale {
    double unit_ns;
    const char *unit;
    int decimals;
    int width; // of the largest number
} scale;

// The unit in which `high` has at least one digit before the point, and the digits that `step`
// needs.
static scale scale_for(uint64_t high, uint64_t step)
{
    scale s = high >= 1000000000 ? (scale){1e9, "s", 0, 0}
              : high >= 1000000  ? (scale){1e6, "ms", 0, 0}
              : high >= 1000     ? (scale){1e3, "us", 0, 0}
                                 : (scale){1, "ns", 0, 0};
    for (double digit = s.unit_ns; digit > (double)step * 1.0000001 && s.decimals < 9; digit /= 10)
        s.decimals++;
    s.width = snprintf(NULL, 0, "%.*f", s.decimals, (double)high / s.unit_ns);
    return s;
}

static void draw_row(vw_io *io, const char *prefix, const scale *s, uint64_t from, uint64_t count,
                     uint64_t most)
{
    char number[32];
    cm_format_count(number, sizeof number, count);
    cm_out_printf(&io->out, "%s%*.*f %s  ", prefix, s->width, s->decimals,
                  (double)from / s->unit_ns, s->unit);
    draw_bar(io, count, most);
    cm_out_printf(&io->out, "%s\n", number);
}

typedef struct bars {
    uint64_t low, step, count[MAX_BARS], beyond, most;
    size_t bar_count;
} bars;

static bool count_bars(const cm_histogram *h, bars *b)
{
    uint64_t p99 = cm_histogram_percentile(h, 990000);
    uint64_t top = p99 > h->min ? p99 : h->max;
    memset(b, 0, sizeof *b);
    b->step = cm_round_step(h->min, top, MAX_BARS);
    if (b->step == 0 || top > UINT64_MAX / 4)
        return false;
    b->low = h->min / b->step * b->step;
    for (uint64_t at = b->low; at <= top; at += b->step) {
        // A bucket counts where its middle lies, and that may be a little below the minimum.
        uint64_t from = b->bar_count ? at : 0;
        uint64_t count = cm_histogram_count_between(h, from, at + b->step);
        b->count[b->bar_count++] = count;
        b->most = count > b->most ? count : b->most;
    }
    b->beyond = cm_histogram_count_between(h, b->low + b->bar_count * b->step, UINT64_MAX);
    b->most = b->beyond > b->most ? b->beyond : b->most;
    return b->most > 0;
}

void vw_latency_bars(vw_io *io, const cm_histogram *h)
{
    bars b;
    if (h->count < FEWEST_RUNS || h->min == h->max || !count_bars(h, &b))
        return;
    uint64_t end = b.low + b.bar_count * b.step;
    scale s = scale_for(end, b.step);
    cm_out_char(&io->out, '\n');
    for (size_t i = 0; i < b.bar_count; i++) {
        size_t gap = 0;
        while (i + gap < b.bar_count && b.count[i + gap] == 0)
            gap++;
        if (gap > 2) {
            cm_out_printf(&io->out, "    %*s\n", s.width, "...");
            i += gap - 1;
        } else {
            draw_row(io, "    ", &s, b.low + i * b.step, b.count[i], b.most);
        }
    }
    if (b.beyond)
        draw_row(io, io->unicode ? "  \xe2\x89\xa5 " : "  >=", &s, end, b.beyond, b.most);
}
