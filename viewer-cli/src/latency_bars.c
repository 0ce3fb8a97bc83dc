// SPDX-License-Identifier: MIT
// The histogram in the terminal: about ten bars of round width from the fastest run to p99, and one
// for everything slower, so that a single outlier does not squeeze all others into one bar.
#include "common/text.h"
#include "summary_view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define BAR_COLUMNS 40
#define AIM         9 // bars between minimum and p99

// 1, 2 or 5 times a power of ten, at least `width`.
static uint64_t round_up_nicely(double width)
{
    double power = 1;
    while (power * 10 <= width)
        power *= 10;
    double nice = width <= power ? 1 : width <= power * 2 ? 2 : width <= power * 5 ? 5 : 10;
    return (uint64_t)(nice * power);
}

static void draw_bar(vw_io *io, uint64_t count, uint64_t most)
{
    static const char *const eighths[] = {"",
                                          "\xe2\x96\x8f",
                                          "\xe2\x96\x8e",
                                          "\xe2\x96\x8d",
                                          "\xe2\x96\x8c",
                                          "\xe2\x96\x8b",
                                          "\xe2\x96\x8a",
                                          "\xe2\x96\x89"};
    double columns = (double)count / (double)most * BAR_COLUMNS;
    size_t steps = (size_t)(columns * 8 + 0.5);
    if (count > 0 && steps == 0)
        steps = 1; // something is there: show it
    if (io->unicode) {
        cm_out_repeat(&io->out, "\xe2\x96\x88", steps / 8);
        cm_out_text(&io->out, eighths[steps % 8]);
    } else {
        cm_out_repeat(&io->out, "#", (steps + 7) / 8);
    }
    cm_out_repeat(&io->out, " ", BAR_COLUMNS + 1 - (steps + 7) / 8);
}

typedef struct scale {
    double unit_ns;
    const char *unit;
    int decimals;
} scale;

// The unit in which `high` has at least one digit before the point, and the digits that `step`
// needs.
static scale scale_for(uint64_t high, uint64_t step)
{
    scale s = high >= 1000000000 ? (scale){1e9, "s", 0}
              : high >= 1000000  ? (scale){1e6, "ms", 0}
              : high >= 1000     ? (scale){1e3, "us", 0}
                                 : (scale){1, "ns", 0};
    for (double digit = s.unit_ns; digit > (double)step * 1.0000001 && s.decimals < 9; digit /= 10)
        s.decimals++;
    return s;
}

static void draw_row(vw_io *io, const char *label, uint64_t count, uint64_t most)
{
    char number[32];
    cm_format_count(number, sizeof number, count);
    cm_out_text(&io->out, label);
    draw_bar(io, count, most);
    cm_out_printf(&io->out, "%s\n", number);
}

void vw_latency_bars(vw_io *io, const char *indent, const cm_histogram *h)
{
    if (h->count < 2 || h->min == h->max)
        return;
    uint64_t p99 = cm_histogram_percentile(h, 990000);
    uint64_t top = p99 > h->min ? p99 : h->max;
    uint64_t step = round_up_nicely((double)(top - h->min) / AIM);
    if (step == 0 || top > UINT64_MAX / 4)
        return;
    uint64_t low = h->min / step * step;
    uint64_t counts[AIM + 4];
    size_t bars = 0;
    for (uint64_t at = low; at <= top && bars < AIM + 3; at += step, bars++)
        counts[bars] = cm_histogram_count_between(h, bars ? at : 0, at + step);
    uint64_t end = low + bars * step;
    uint64_t beyond = cm_histogram_count_between(h, end, UINT64_MAX), most = beyond;
    for (size_t i = 0; i < bars; i++)
        most = counts[i] > most ? counts[i] : most;
    if (most == 0)
        return;
    scale s = scale_for(end, step);
    char digits[32], label[96];
    int width = snprintf(digits, sizeof digits, "%.*f", s.decimals, (double)end / s.unit_ns);
    for (size_t i = 0; i < bars; i++) {
        snprintf(label, sizeof label, "%s%*.*f %s  ", indent, width + 2, s.decimals,
                 (double)(low + i * step) / s.unit_ns, s.unit);
        draw_row(io, label, counts[i], most);
    }
    snprintf(label, sizeof label, "%s%s%*.*f %s  ", indent,
             io->unicode ? "\xe2\x89\xa5 " : ">=", width, s.decimals, (double)end / s.unit_ns,
             s.unit);
    if (beyond)
        draw_row(io, label, beyond, most);
}
