// SPDX-License-Identifier: MIT
// `--etw` of the capture commands.
#pragma once

#include "common/status.h"

// "kernel,ort" to CO_ETW_*; "" (no list): kernel and ort. NULL (not given): none.
cm_status vw_read_etw(const char *text, unsigned *out_parts);
