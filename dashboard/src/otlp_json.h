// SPDX-License-Identifier: MIT
// The figures as an OTLP request, in JSON.
#pragma once

#include "handle.h"

// Who tells: this ortscope, not the processes that it looks at (those are attributes of points).
typedef struct da_otlp_resource {
    char host[256];
    const char *os; // "windows", "linux"
    unsigned pid;
} da_otlp_resource;

void da_write_otlp(da_core *core, const da_otlp_resource *resource, cm_out *out);
