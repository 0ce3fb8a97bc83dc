// SPDX-License-Identifier: MIT
// What a client may ask a capture to do: docs/api.md, POST /api/v1/control.
#pragma once

#include "common/status.h"
#include "dashboard/live.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum da_action {
    DA_PAUSE,
    DA_RESUME,
    DA_MARK,
    DA_DETACH,
    DA_RATES,
    DA_SPEED,
    DA_SEEK,
    DA_ATTACH,
    DA_ACTION_COUNT
} da_action;

#define DA_MARK_BYTES 200u

typedef struct da_control {
    da_action action;
    uint32_t capture; // 0: the newest
    uint32_t pid;
    double hz, counters_hz, speed, to_s, window_s; // NAN: not given
    char text[DA_MARK_BYTES + 1];
} da_control;

const char *da_action_name(da_action action);

// A flat JSON object of at most 4 KiB; unknown members are passed over. CM_USAGE says what is
// wrong. `needs_action` false: messages of the WebSocket have none.
cm_status da_control_parse(const char *text, size_t len, bool needs_action, da_control *out);
