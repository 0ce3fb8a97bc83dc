// SPDX-License-Identifier: MIT
// The way of rows from the thread of a capture to the figures: a queue of fixed size that one
// thread fills and another one empties. The capture's thread never waits: it copies a row, or
// counts it as dropped where there is no room (the file has it all the same). The last quarter of
// the room is kept for rows that say who is who, since all figures hang on them.
#pragma once

#include "dashboard/live.h"

typedef struct da_feed da_feed;

// Starts the thread that empties it into `live`, which is borrowed.
cm_status da_feed_start(da_live *live, da_feed **out);

// Only on the capture's thread. A tm_row_watcher: `context` is the feed.
void da_feed_row(void *context, const tm_writer *w, tm_kind kind, const int64_t *values);
// How far the capture's clock and its file have come; utc_ns is the same moment since 1970.
void da_feed_progress(da_feed *f, int64_t now_ns, uint64_t utc_ns, uint64_t file_bytes);

// What is in the queue is still told; then the thread ends.
void da_feed_stop(da_feed *f);
