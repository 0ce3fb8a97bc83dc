// SPDX-License-Identifier: MIT
// See put_number.h.
#include "put_number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

// Writes digits up to `end` and returns where they begin.
static char *digits(char *end, uint64_t value)
{
    do {
        *--end = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    return end;
}

static uint64_t magnitude(int64_t value)
{
    return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

void vw_put_int(cm_out *out, int64_t value)
{
    char text[24], *end = text + sizeof text, *at = digits(end, magnitude(value));
    if (value < 0)
        *--at = '-';
    cm_out_bytes(out, at, (size_t)(end - at));
}

void vw_put_us(cm_out *out, int64_t ns)
{
    char text[32], *end = text + sizeof text, *at = end;
    uint64_t value = magnitude(ns), rest = value % 1000;
    if (rest) {
        *--at = (char)('0' + rest % 10);
        *--at = (char)('0' + rest / 10 % 10);
        *--at = (char)('0' + rest / 100);
        while (end[-1] == '0')
            end--;
        *--at = '.';
    }
    at = digits(at, value / 1000);
    if (ns < 0)
        *--at = '-';
    cm_out_bytes(out, at, (size_t)(end - at));
}

void vw_put_real(cm_out *out, double value)
{
    char text[40];
    int len = 0;
    if (!vw_is_finite(value)) {
        cm_out_text(out, "null");
        return;
    }
    if (value == floor(value) && fabs(value) < 1e15) {
        vw_put_int(out, (int64_t)value);
        return;
    }
    for (int precision = 15; precision <= 17; precision++) {
        len = snprintf(text, sizeof text, "%.*g", precision, value);
        if (strtod(text, NULL) == value)
            break;
    }
    cm_out_bytes(out, text, (size_t)len);
}
