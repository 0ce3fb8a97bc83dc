// SPDX-License-Identifier: MIT
// Runs that took far longer than usual, and why: in a session's summary, and as a list.
#pragma once

#include "analysis/outliers.h"
#include "common/json.h"
#include "output.h"
#include "run_list.h"

#define VW_OUTLIERS_HELP "runs over X times the usual time are outliers (3)"

// "3", "2.5"; "" is the default. Usage failure for what is no number over 1.
cm_status vw_read_factor(const char *text, double *out);

// Of a session: a sentence; the keys "outliers" (at most so many) and "outlier_causes".
void vw_session_outliers_text(vw_io *io, const an_summary *s, const an_session *n);
void vw_session_outliers_json(cm_json *j, const an_summary *s, const an_session *n, size_t most);

// `runs --outliers`: all of them.
void vw_outliers_list(vw_io *io, const an_outliers *o, const char *path, vw_run_format format,
                      uint64_t limit);

void vw_outlier_json(cm_json *j, const an_outlier *o);
