// SPDX-License-Identifier: MIT
#pragma once

#include "etw/etw_session.h"

// False where the system has no event tracing.
bool co_etw_library(etw_api *out);
etw_identity co_etw_self(void);
