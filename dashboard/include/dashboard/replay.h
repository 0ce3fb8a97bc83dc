// SPDX-License-Identifier: MIT
// A finished recording, fed to the figures as if it happened now: at its own speed, faster, slower,
// paused, or from another moment on. On a thread of its own.
#pragma once

#include "dashboard/server.h"

typedef struct da_replay da_replay;

// speed 0: as fast as it goes.
cm_status da_replay_start(const char *path, double speed, da_replay **out);
void da_replay_stop(da_replay *r);

// For da_server_add; borrowed from `r`.
da_capture da_replay_capture(da_replay *r);
// True once everything was told.
bool da_replay_is_over(da_replay *r);
