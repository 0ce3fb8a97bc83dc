// SPDX-License-Identifier: MIT
// The thread that pushes. Nobody waits for it but da_push_stop, and that for two seconds.
#pragma once

#include "dashboard/otlp.h"
#include "handle.h"

typedef struct da_push da_push;

// Borrows `core` until da_push_stop has returned; options are copied. CM_USAGE: what is wrong with
// them.
cm_status da_push_start(da_core *core, const da_otlp_options *options, da_push **out);
// Pushes once more. NULL is allowed.
void da_push_stop(da_push *p);
