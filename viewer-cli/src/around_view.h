// SPDX-License-Identifier: MIT
// What the machine did around runs, for people and as JSON: of one run, of a session, of threads.
// The keys are the same wherever they stand; what nobody told is null.
#pragma once

#include "analysis/around.h"
#include "analysis/join.h"
#include "analysis/summary.h"
#include "analysis/threads.h"
#include "common/json.h"
#include "output.h"

// The object "machine" of a run.
void vw_run_machine_json(cm_json *j, const an_join *join, const an_joined *n);
// The same as cells of CSV, each with a comma in front; and their titles.
void vw_run_machine_csv(cm_out *out, const an_join *join, const an_joined *n);
extern const char vw_run_machine_csv_titles[];

// Of a session: one or two lines; the object "machine".
void vw_session_machine_text(vw_io *io, const an_summary *s, const an_session *n);
void vw_session_machine_json(cm_json *j, const an_summary *s, const an_session *n);

// FLOPs a run and by joule: a line; the keys "flops_per_run" and "flop_per_joule".
void vw_session_flops_text(vw_io *io, const an_summary *s, const an_session *n);
void vw_session_flops_json(cm_json *j, const an_summary *s, const an_session *n);

// Where the processors' time went: a table; the object "threads".
void vw_threads_text(vw_io *io, const an_summary *s);
void vw_threads_json(cm_json *j, const an_summary *s, size_t most);
