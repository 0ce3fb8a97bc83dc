// SPDX-License-Identifier: MIT
// Lines of text that show how a number went: a column is as high as its value.
#pragma once

#include "common/out.h"

#include <stdbool.h>
#include <stddef.h>

// One column: nothing for a share of 0 (or NAN), full for 1.
void vw_spark_level(cm_out *out, double share, bool unicode);

// A column for each value from `least` (the lowest step) to `most` (full); NAN leaves a blank.
void vw_spark_line(cm_out *out, const double *values, size_t count, double least, double most,
                   bool unicode);
