// SPDX-License-Identifier: MIT
// What `ortscope list --json` and the live view's list of processes say alike.
#pragma once

#include "common/json.h"
#include "injector/injector.h"

// The keys from "ort_version" to "attached_by_pid".
void vw_process_json(cm_json *j, const inj_process *process);
