// SPDX-License-Identifier: MIT
// The faces of a comparison. All show the same numbers; none computes any.
#pragma once

#include "analysis/diff.h"
#include "analysis/gate.h"
#include "output.h"

typedef struct vw_diff_finding {
    const an_gate *gate;
    const char *subject;
    an_interval value;
    an_gate_result result;
} vw_diff_finding;

typedef struct vw_diff {
    const an_diff *diff;
    const char *paths[2];
    const vw_diff_finding *findings;
    size_t finding_count;
    an_gate_result gate_result; // the worst
    int exit_code;
} vw_diff;

void vw_diff_text(vw_io *io, const vw_diff *v);
void vw_diff_json(vw_io *io, const vw_diff *v);
void vw_diff_markdown(vw_io *io, const vw_diff *v);

// ------------------------------------------------------------------------------------------- words

typedef struct vw_words {
    char text[96];
} vw_words;

vw_words vw_metric_title(an_metric metric);                // "memory peak"
vw_words vw_value_words(double value, an_unit unit);       // "1.914 ms", "-" where it is not known
vw_words vw_percent_words(double part);                    // "+8.1 %", "-" where it is not known
vw_words vw_interval_words(an_interval part);              // of parts: "+7.0 to +9.3 %"
vw_words vw_change_words(an_metric m, const an_change *c); // as the metric is told
vw_words vw_change_interval_words(an_metric m, const an_change *c); // "+7.0 to +9.3 %"
// "worse"; "" where there is nothing to compare; "too few" where the bounds are not known.
const char *vw_change_verdict_words(const an_change *c);
// What differs in machine or runtime, so that all numbers may come from there; *at starts as 0.
// NULL: no more, or nothing was compared.
const an_diff_note *vw_next_caveat(const an_diff *d, size_t *at);
// "a typical run takes 8.1 % longer (95 % sure of 7.0 to 9.3 %)"
void vw_headline(cm_out *out, const an_diff_group *g);
// "p99>5%: regression in cls.onnx, +8.1 % (+7.0 to +9.3 %)"
void vw_finding_words(cm_out *out, const vw_diff_finding *f);

an_interval vw_part_of(an_interval ratio); // ratio less 1
