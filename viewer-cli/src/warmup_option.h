// SPDX-License-Identifier: MIT
// `--warmup N|auto`, of the commands that have it.
#pragma once

#include "analysis/diff.h"

// CM_USAGE if it is neither a number nor "auto".
cm_status vw_read_warmup(const char *text, an_warmup *out);
