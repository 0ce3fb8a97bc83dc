// SPDX-License-Identifier: MIT
// CRC-32 as in zip, gzip and PNG (IEEE 802.3, reflected polynomial 0xEDB88320).
#pragma once

#include <stddef.h>
#include <stdint.h>

// Goes on from `crc`, the result of the bytes before; start with 0.
uint32_t cm_crc32(uint32_t crc, const void *data, size_t len);
