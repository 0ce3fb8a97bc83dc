// SPDX-License-Identifier: MIT
// `--warmup N|auto`, of the commands that have it.
#pragma once

#include "analysis/diff.h"

#define VW_WARMUP_HELP "leave out the first N runs of each session, or those of warming up"

// Reads the file to find the last run of warming up of each session, if `warmup` is AUTO. The map
// is the caller's, as is its end.
cm_status vw_find_warmup(const char *path, an_warmup warmup, cm_map *ends);

// CM_USAGE if it is neither a number nor "auto".
cm_status vw_read_warmup(const char *text, an_warmup *out);
