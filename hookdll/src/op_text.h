// SPDX-License-Identifier: MIT
// What names tell (portable).
#pragma once

#include <stdbool.h>
#include <stddef.h>

// Whether a provider hands work to a device and returns before it is done.
bool hk_provider_submits(const char *name);

// The decorated class name as people write it; returns the length.
size_t hk_class_text(const char *decorated, char *out, size_t capacity);
