// SPDX-License-Identifier: MIT
#pragma once

#include "op_scan.h"

// The state block of the TraceLogging provider that is called `name`: its RVA and that of the
// provider's description. Returns how many there are.
unsigned hk_tap_find(const hk_scan *s, const char *name, uint32_t *block, uint32_t *description);
