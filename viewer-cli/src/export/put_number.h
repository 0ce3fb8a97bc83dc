// SPDX-License-Identifier: MIT
// Numbers as text, fast: an export of ten million rows spends most of its time here.
#pragma once

#include "common/out.h"

#include <stdbool.h>
#include <stdint.h>

// isfinite() of mingw-w64 warns of a conversion.
static inline bool vw_is_finite(double value)
{
    return value - value == 0;
}

void vw_put_int(cm_out *out, int64_t value);
// Nanoseconds as microseconds with up to three decimals: exact.
void vw_put_us(cm_out *out, int64_t ns);
// The shortest text that reads back as the same number; "null" if it is not finite.
void vw_put_real(cm_out *out, double value);
