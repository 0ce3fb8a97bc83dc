// SPDX-License-Identifier: MIT
// The three faces of a summary. All of them show the same numbers; none computes any.
#pragma once

#include "analysis/summary.h"
#include "output.h"

typedef struct vw_summary_choice {
    bool has_session;
    int64_t session; // only this one
    bool all;        // every session in full
} vw_summary_choice;

void vw_summary_text(vw_io *io, const an_summary *s, const tm_header *header,
                     const vw_summary_choice *choice);
void vw_summary_json(vw_io *io, const an_summary *s);
void vw_summary_csv(vw_io *io, const an_summary *s);

// One session in full, and the bars of its latencies.
void vw_session_text(vw_io *io, const an_summary *s, const an_session *n);
void vw_latency_bars(vw_io *io, const cm_histogram *h);

// ORT refused to create it: it has no runs and is told among the failures.
bool vw_session_failed(const an_session *n);
