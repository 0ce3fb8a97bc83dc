// SPDX-License-Identifier: MIT
// docs/events.md, made from the schema.
#pragma once

#include <stddef.h>

// The whole document, NUL-terminated; the caller frees it. NULL: out of memory.
char *tl_events_doc(size_t *bytes);
