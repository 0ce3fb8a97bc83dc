// SPDX-License-Identifier: MIT
// See spark.h.
#include "spark.h"

void vw_spark_level(cm_out *out, double share, bool unicode)
{
    static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const ascii[] = {" ", ".", ":", "-", "=", "+", "*", "#", "@"};
    size_t level = !(share > 0) ? 0 : share >= 1 ? 8 : (size_t)(share * 7.999) + 1;
    cm_out_text(out, unicode ? blocks[level] : ascii[level]);
}

void vw_spark_line(cm_out *out, const double *values, size_t count, double least, double most,
                   bool unicode)
{
    double range = most > least ? most - least : 1;
    for (size_t i = 0; i < count; i++) {
        double share = (values[i] - least) / range;
        vw_spark_level(out, share < 0.001 ? 0.001 : share, unicode);
    }
}
