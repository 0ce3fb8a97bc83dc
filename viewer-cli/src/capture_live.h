// SPDX-License-Identifier: MIT
// A capture in the live view: its rows go to the figures as they are made, and what clients ask
// for is done between two turns of the capture's loop. The capture's thread waits for nobody here.
#pragma once

#include "collector/capture.h"
#include "collector/counters.h"
#include "dashboard/server.h"

typedef struct vw_live_capture vw_live_capture;

// `server` is borrowed; NULL: only vw_live_capture_shown tells. `counters_hz`: 0: there are none.
// The capture is not seen before vw_live_begin.
cm_status vw_live_capture_create(da_server *server, double counters_hz, vw_live_capture **out);
// After the server has stopped, or has let go of it.
void vw_live_capture_destroy(vw_live_capture *l);
// Its number in the live view; 0 before vw_live_begin, and when there was no room for it.
uint32_t vw_live_capture_number(vw_live_capture *l);
// Whether vw_live_begin found no room for it.
bool vw_live_capture_unseen(vw_live_capture *l);

// For those who show it themselves, on any thread; false before vw_live_begin. Valid until it is
// destroyed.
bool vw_live_capture_shown(vw_live_capture *l, da_capture *out);

// Ends the capture soon; any thread.
void vw_live_request_end(vw_live_capture *l);

// The following are called by the capture's thread; all take NULL.
void vw_live_begin(vw_live_capture *l, co_capture *capture, const char *path);
void vw_live_turn(vw_live_capture *l, co_capture *capture, co_counters *counters);
bool vw_live_wants_end(const vw_live_capture *l);
// Before the capture is closed.
void vw_live_end(vw_live_capture *l, co_capture *capture);
// After that: clients learn of the end, and why it came before its time (NULL: it did not). The
// figures stay.
void vw_live_tell_end(vw_live_capture *l, const char *failure);
