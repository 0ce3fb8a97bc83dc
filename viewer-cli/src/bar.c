// SPDX-License-Identifier: MIT
#include "bar.h"

size_t vw_draw_share(cm_out *out, bool unicode, double fraction, size_t columns)
{
    static const char *const eighths[] = {"",
                                          "\xe2\x96\x8f",
                                          "\xe2\x96\x8e",
                                          "\xe2\x96\x8d",
                                          "\xe2\x96\x8c",
                                          "\xe2\x96\x8b",
                                          "\xe2\x96\x8a",
                                          "\xe2\x96\x89"};
    if (!(fraction > 0))
        return 0;
    if (fraction > 1)
        fraction = 1;
    size_t steps = (size_t)(fraction * (double)columns * 8 + 0.5);
    if (steps == 0)
        steps = 1;
    if (unicode) {
        cm_out_repeat(out, "\xe2\x96\x88", steps / 8);
        cm_out_text(out, eighths[steps % 8]);
    } else {
        cm_out_repeat(out, "#", (steps + 7) / 8);
    }
    return (steps + 7) / 8;
}
