// SPDX-License-Identifier: MIT
// The figures of all captures, pushed to an OpenTelemetry receiver: OTLP over HTTP, in JSON. What
// /metrics has, again and again, and once more at the end. docs/fleet.md tells how to use it.
#pragma once

#include <stddef.h>

typedef struct da_otlp_options {
    const char *url; // NULL: nothing is pushed
    double interval_s;
    const char *const *headers; // "NAME=VALUE"
    size_t header_count;
} da_otlp_options;

#define DA_OTLP_INTERVAL_S 10.0
