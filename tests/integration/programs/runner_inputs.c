// SPDX-License-Identifier: MIT
#include "runner_inputs.h"

#include "ort_calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fill(runner_tensor *t, size_t count, long long value)
{
    uint32_t state = 12345;
    t->data = calloc(count ? count : 1, 8);
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525 + 1013904223;
        if (t->type == ORT_INT64)
            ((int64_t *)t->data)[i] = value;
        else
            ((float *)t->data)[i] = (float)state / 4294967296.0f - 0.5f;
    }
}

bool runner_read_input(runner_tensor *t, const wchar_t *text, size_t times)
{
    char spec[256], *colon, *type;
    snprintf(spec, sizeof spec, "%ls", text);
    if (!(type = strchr(spec, '=')) || !(colon = strchr(type, ':')))
        return false;
    *type++ = *colon++ = 0;
    snprintf(t->name, sizeof t->name, "%s", spec);
    t->type = strcmp(type, "int64") == 0 ? ORT_INT64 : ORT_FLOAT;
    t->count = 1;
    while (*colon && *colon != ':') {
        t->dims[t->rank] = strtoll(colon, &colon, 10);
        t->count *= (size_t)t->dims[t->rank++];
        colon += *colon == ',';
    }
    fill(t, t->count * times, *colon == ':' ? strtoll(colon + 1, NULL, 10) : 0);
    return true;
}
