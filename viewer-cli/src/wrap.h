// SPDX-License-Identifier: MIT
// Lines that are wider than the terminal, broken where there are blanks.
#pragma once

#include "common/out.h"

// Writes `line` (which has no line end) in lines of at most `width` columns, 0 = as it is; colours
// in it take no column. What continues a line is indented by two more. A blank behind a comma is
// preferred, so that numbers stay with their units; where there is no blank, a word is broken.
void vw_wrap_line(cm_out *out, const char *line, unsigned width);
