// SPDX-License-Identifier: MIT
#pragma once

#include "collector/probe.h"
#include "readings.h"

// Adds what a source's readings tell; `source` gets its first remark.
void co_probe_read(co_probe *out, co_probe_source *source, const co_readings *readings);
