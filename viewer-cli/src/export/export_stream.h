// SPDX-License-Identifier: MIT
// An export as a stream of bytes, for clients of the live view.
#pragma once

#include "export.h"

// `table`: NULL: the format's own choice. `given_up`: when that becomes true it ends. CM_USAGE:
// there is no such format, table or session.
cm_status vw_ex_stream(const char *input, const char *format, const char *table, vw_ex_range range,
                       const atomic_bool *given_up, cm_write_fn write, void *to);
