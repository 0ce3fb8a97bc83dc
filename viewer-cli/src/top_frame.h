// SPDX-License-Identifier: MIT
// One picture of `ortscope top` as text, from plain numbers: knows neither a terminal nor where the
// numbers come from, so that it is tested as it is. What is not known is shown as "-".
#pragma once

#include "dashboard/top.h"
#include "output.h"

typedef struct vw_top_look {
    unsigned columns, rows; // rows 0: as many as it takes, and no keys
    bool paused, by_node;
    int64_t session; // whose operators are shown, 0: of all
    size_t first_op; // scrolled so far
} vw_top_look;

// Lines with an end each. With rows: that many at most, the keys in the last one, which has no end.
void vw_top_frame(vw_io *io, const da_top *state, const vw_top_look *look);
