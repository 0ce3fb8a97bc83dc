// SPDX-License-Identifier: MIT
// Events of a session in real time, as rows of a capture: by the same code as those of recordings,
// but for the processes that the capture follows. Of others only the name of the program gets into
// the file, and only if one of theirs took a processor from, or gave one to, a followed one.
//
// What is told twice counts once: of a process that has our hook in it, ONNX Runtime's own events
// are left out, since the hook tells more; but QNN's measurements where the hook told none.
#pragma once

#include "capture_internal.h"
#include "collector/etl.h"
#include "etw_session.h"

typedef struct etw_live etw_live;

// `qpc_hz`: how fast the session's clock is. `listener` may be NULL. Returns NULL: no memory.
etw_live *co_etw_live_create(co_capture *c, int64_t qpc_hz, const co_etw_listener *listener);
void co_etw_live_event(etw_live *l, const co_etl_event *event);
// Some events are missing here.
void co_etw_live_gap(etw_live *l);
// Events were lost at some time between these two; before any event that is later than `begin`.
void co_etw_live_loss_between(etw_live *l, int64_t begin, int64_t end);
// Rows for what was lost since the last time; `queue_full`: events that our own queue had no room
// for.
void co_etw_live_losses(etw_live *l, const etw_losses *now, uint64_t queue_full);
// Remarks at the end. `whole`: the session was read to its end.
void co_etw_live_end(etw_live *l, bool whole);
void co_etw_live_destroy(etw_live *l);
