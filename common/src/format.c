// SPDX-License-Identifier: MIT
// Numbers as text (see text.h). The same bytes on every system: no locale, no platform formats.
#include "common/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// What printf would print, several times as fast, for the numbers that documents are full of. False
// where the rounding could go the other way, or the number is large: printf must see to it.
static bool format_quickly(char *out, size_t size, double value, int decimals)
{
    static const double powers[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};
    if (decimals < 0 || decimals > 9 || size < 32)
        return false;
    double scaled = fabs(value) * powers[decimals];
    if (!(scaled < 1e12)) // up to there the product is wrong by less than a thousandth
        return false;
    uint64_t whole = (uint64_t)scaled;
    double rest = scaled - (double)whole;
    if (fabs(rest - 0.5) < 1e-3)
        return false;
    whole += rest > 0.5;
    char digits[24], *at = digits + sizeof digits;
    bool negative = value < 0 && whole > 0, in_tail = true;
    for (int i = 0; i < decimals; i++, whole /= 10) {
        in_tail = in_tail && whole % 10 == 0;
        if (!in_tail)
            *--at = (char)('0' + whole % 10);
    }
    if (!in_tail)
        *--at = '.';
    do {
        *--at = (char)('0' + whole % 10);
        whole /= 10;
    } while (whole);
    if (negative)
        *--at = '-';
    size_t len = (size_t)(digits + sizeof digits - at);
    memcpy(out, at, len);
    out[len] = '\0';
    return true;
}

void cm_format_number(char *out, size_t size, double value, int decimals)
{
    if (format_quickly(out, size, value, decimals))
        return;
    snprintf(out, size, "%.*f", decimals, value);
    if (strchr(out, '.')) {
        char *end = out + strlen(out);
        while (end[-1] == '0')
            end--;
        if (end[-1] == '.')
            end--;
        *end = '\0';
    }
    if (strcmp(out, "-0") == 0)
        snprintf(out, size, "0");
}

typedef struct unit {
    double size;
    const char *name;
} unit;

// Four significant digits in the largest unit that leaves at least 1 before the point.
static void format_scaled(char *out, size_t size, double value, const unit *units, size_t count)
{
    size_t i = count - 1;
    // 999.95 of a unit would print as 1000: the next larger one takes over from there
    while (i > 0 && fabs(value) < units[i].size * 0.99995)
        i--;
    double scaled = value / units[i].size;
    int decimals = fabs(scaled) >= 999.95   ? 0
                   : fabs(scaled) >= 99.995 ? 1
                   : fabs(scaled) >= 9.9995 ? 2
                                            : 3;
    snprintf(out, size, "%.*f %s", i == 0 && value == floor(value) ? 0 : decimals, scaled,
             units[i].name);
}

void cm_format_ns(char *out, size_t size, double ns)
{
    static const unit units[] = {{1, "ns"},  {1e3, "us"},   {1e6, "ms"},
                                 {1e9, "s"}, {60e9, "min"}, {3600e9, "h"}};
    format_scaled(out, size, ns, units, sizeof units / sizeof *units);
}

void cm_format_bytes(char *out, size_t size, uint64_t bytes)
{
    static const unit units[] = {{1, "B"}, {1e3, "kB"}, {1e6, "MB"}, {1e9, "GB"}, {1e12, "TB"}};
    format_scaled(out, size, (double)bytes, units, sizeof units / sizeof *units);
}

void cm_format_count(char *out, size_t size, uint64_t value)
{
    char digits[24], grouped[32];
    int len = snprintf(digits, sizeof digits, "%llu", (unsigned long long)value);
    size_t to = 0;
    for (int i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            grouped[to++] = ',';
        grouped[to++] = digits[i];
    }
    grouped[to] = '\0';
    snprintf(out, size, "%s", grouped);
}

// Days since 1970 to a date of the Gregorian calendar; years start in March to put the leap day
// last.
static void civil_from_days(int64_t days, int64_t *year, unsigned *month, unsigned *day)
{
    int64_t shifted = days + 719468; // days since 0000-03-01
    int64_t era = shifted / 146097;
    unsigned of_era = (unsigned)(shifted - era * 146097);
    unsigned y = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    unsigned of_year = of_era - (365 * y + y / 4 - y / 100);
    unsigned m = (5 * of_year + 2) / 153;
    *day = of_year - (153 * m + 2) / 5 + 1;
    *month = m < 10 ? m + 3 : m - 9;
    *year = (int64_t)y + era * 400 + (*month <= 2);
}

void cm_format_utc(char *out, size_t size, uint64_t utc_ns)
{
    uint64_t seconds = utc_ns / 1000000000u;
    unsigned of_day = (unsigned)(seconds % 86400), month, day;
    int64_t year;
    civil_from_days((int64_t)(seconds / 86400), &year, &month, &day);
    snprintf(out, size, "%04lld-%02u-%02uT%02u:%02u:%02u.%09uZ", (long long)year, month, day,
             of_day / 3600, of_day / 60 % 60, of_day % 60, (unsigned)(utc_ns % 1000000000u));
}
