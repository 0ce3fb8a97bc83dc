// SPDX-License-Identifier: MIT
// `--otlp URL` and what belongs to it.
#pragma once

#include "dashboard/otlp.h"
#include "options.h"

typedef struct vw_otlp_args {
    const char *url;
    vw_number interval;
    vw_list headers;
} vw_otlp_args;

#define VW_OTLP_OPTIONS(type, field)                                                               \
    {"otlp",  0,                                                                                   \
     VW_TEXT, offsetof(type, field.url),                                                           \
     "URL",   "push the figures to an OpenTelemetry collector: http://127.0.0.1:4318"},            \
        {"otlp-interval", 0,                                                                       \
         VW_DURATION,     offsetof(type, field.interval),                                          \
         "TIME",          "between two pushes, 1s to 1h (default 10s)"},                           \
    {                                                                                              \
        "otlp-header", 0, VW_LIST, offsetof(type, field.headers), "NAME=VALUE",                    \
            "a header for each push; may be given several times"                                   \
    }

// Whether any of them was given.
bool vw_otlp_given(const vw_otlp_args *args);

// Borrows from `args`.
cm_status vw_read_otlp(const vw_otlp_args *args, da_otlp_options *out);
