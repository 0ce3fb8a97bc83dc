// SPDX-License-Identifier: MIT
// Captures that clients of `ortscope serve` begin: each on a thread of its own (Windows).
#pragma once

#include "dashboard/server.h"

typedef struct vw_serve_captures vw_serve_captures;

// Fills in what the server needs to list and attach. CM_USAGE where nothing can be attached.
cm_status vw_serve_captures_create(vw_serve_captures **out, da_host *host);
void vw_serve_captures_show_on(vw_serve_captures *c, da_server *server);
// Ends all and waits until their files are whole.
void vw_serve_captures_end(vw_serve_captures *c);
// After the server has stopped.
void vw_serve_captures_destroy(vw_serve_captures *c);
