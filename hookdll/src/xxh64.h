// SPDX-License-Identifier: MIT
// The 64-bit xxHash with seed 0 of a model's bytes, so that a user can check it with xxhsum.
#pragma once

#include <stddef.h>
#include <stdint.h>

uint64_t hk_xxh64(const void *data, size_t len);
