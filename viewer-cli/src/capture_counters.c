// SPDX-License-Identifier: MIT
#include "capture_counters.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    unsigned sources;
} words[] = {{"all", CO_COUNTERS_ALL},         {"off", 0},
             {"process", CO_COUNTERS_PROCESS}, {"system", CO_COUNTERS_SYSTEM},
             {"pdh", CO_COUNTERS_PDH},         {"nvml", CO_COUNTERS_NVML}};
#define WORD_COUNT (sizeof words / sizeof *words)

static cm_status read_sources(const char *text, unsigned *out)
{
    unsigned sources = 0;
    for (const char *at = text; *at;) {
        size_t len = strcspn(at, ","), i = 0;
        while (i < WORD_COUNT &&
               (strlen(words[i].name) != len || memcmp(words[i].name, at, len) != 0))
            i++;
        if (i == WORD_COUNT)
            return cm_fail(
                CM_USAGE,
                "--counters takes all, off, or some of process, system, pdh, nvml separated by "
                "commas, not \"%s\".",
                text);
        sources |= words[i].sources;
        at += len + (at[len] == ',');
    }
    *out = sources;
    return CM_OK;
}

static cm_status read_overhead(const char *text, double *out_share)
{
    char *end;
    double percent = strtod(text, &end);
    bool plain = strspn(text, "0123456789.") == (size_t)(end - text) && end != text;
    if (!plain || (*end && strcmp(end, "%") != 0) || !(percent > 0 && percent <= 100))
        return cm_fail(CM_USAGE,
                       "--max-overhead takes a part of one core in percent, above 0 and at most "
                       "100, not \"%s\".",
                       text);
    *out_share = percent / 100;
    return CM_OK;
}

cm_status vw_read_counters(const vw_counter_args *args, co_counters_options *out)
{
    co_counters_options options = {CO_COUNTERS_ALL, CO_COUNTERS_HZ, CO_COUNTERS_OVERHEAD};
    if (args->counters)
        CM_TRY(read_sources(args->counters, &options.sources));
    if (args->max_overhead)
        CM_TRY(read_overhead(args->max_overhead, &options.max_overhead));
    if (args->hz.given && (args->hz.count < 1 || args->hz.count > CO_COUNTERS_HZ_MAX))
        return cm_fail(CM_USAGE, "--hz takes 1 to %d samples a second, not %lld.",
                       CO_COUNTERS_HZ_MAX, (long long)args->hz.count);
    if (args->hz.given)
        options.hz = (double)args->hz.count;
    *out = options;
    return CM_OK;
}
