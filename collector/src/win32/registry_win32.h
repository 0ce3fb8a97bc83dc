// SPDX-License-Identifier: MIT
// machine.h's registry, the real one.
#pragma once

#include "machine.h"

void co_registry_open(co_registry *out);
void co_registry_close(co_registry *r);
