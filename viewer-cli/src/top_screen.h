// SPDX-License-Identifier: MIT
// The loop of `ortscope top`: figures on the screen five times a second, keys at once.
#pragma once

#include "dashboard/server.h"
#include "output.h"

// `capture` may be paused and sped up if it is a replay. `stopped` ends the loop when it says so;
// NULL: only keys do. Returns after q, Ctrl+C, or that.
cm_status vw_top_screen(vw_io *io, const da_capture *capture, bool (*stopped)(void *context),
                        void *context);

// One picture without a terminal.
void vw_top_once(vw_io *io, const da_capture *capture);
