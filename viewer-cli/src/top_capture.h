// SPDX-License-Identifier: MIT
// `ortscope top` of a running process: it is attached to and recorded, as by `ortscope attach`.
#pragma once

#include "output.h"

typedef struct vw_top_capture_args {
    const char *output; // NULL: as of `ortscope attach`
    bool once;          // no screen: the numbers at the end
    double duration_s;  // 0: until somebody ends it
} vw_top_capture_args;

// who: a PID or a name; NULL: the only process with ONNX Runtime. CM_UNSUPPORTED where there is no
// Windows.
cm_status vw_top_capture(vw_io *io, const char *who, const vw_top_capture_args *args);
