// SPDX-License-Identifier: MIT
// A bar of text: a share of `columns` in eighths of a column, or in whole ones without Unicode.
#pragma once

#include "common/out.h"

#include <stdbool.h>
#include <stddef.h>

// Nothing for a share of 0, at least a sliver for anything above. Returns the columns that it took.
size_t vw_draw_share(cm_out *out, bool unicode, double fraction, size_t columns);
