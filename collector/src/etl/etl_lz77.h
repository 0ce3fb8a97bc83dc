// SPDX-License-Identifier: MIT
// Plain LZ77 of [MS-XCA], as compressed buffers of WPR and of merged recordings hold it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Fills `out` with `out_cap` bytes. False if the input ends before they are there (*out_len tells
// how many are) or is damaged: then *out_len is 0, since nobody knows from where on.
bool co_etl_lz77(const uint8_t *in, size_t in_len, uint8_t *out, size_t out_cap, size_t *out_len);
