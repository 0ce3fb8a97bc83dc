// SPDX-License-Identifier: MIT
// What the files of a comparison share: diff.c puts it together, diff_match.c finds the models,
// diff_metrics.c the numbers, diff_ops.c the operators, diff_notes.c what else differs,
// diff_machine.c of that the machine.
#pragma once

#include "analysis/diff.h"

// The models of both recordings, matched; names and sessions only.
cm_status an_diff_match(an_diff *d);

// Runs that count, and all changes of a group that is on both sides; `error` for each interval.
cm_status an_diff_gather(an_diff_part *part, an_warmup warmup);
cm_status an_diff_measure(an_diff_group *g, double margin, double error);

// Operators of both sides.
cm_status an_diff_compare_ops(const an_diff *d, an_diff_group *g, double error);
void an_diff_ops_deinit(an_diff_ops *ops);
// What is known about an operator with this error.
cm_status an_diff_op_change(const an_diff_op *op, double margin, double error, an_change *out);

// Notes it if the texts differ; NULL is "".
cm_status an_diff_note_texts(an_diff *d, const an_diff_group *g, const char *what,
                             const char *old_text, const char *new_text, bool caveat);
cm_status an_diff_note_machine(an_diff *d);
cm_status an_diff_find_notes(an_diff *d, const tm_header *old_header, const tm_header *new_header);

an_change_verdict an_judge_ratio(an_interval ratio, double margin, bool higher_is_better);
// Part of a path behind the last slash of either sort.
const char *an_file_name(const char *path);
