// SPDX-License-Identifier: MIT
// `--speed` of the commands that replay a recording.
#pragma once

#include "common/status.h"

// NULL: 1, as it was. "max" is 0: as fast as it goes.
cm_status vw_read_speed(const char *text, double *out);
