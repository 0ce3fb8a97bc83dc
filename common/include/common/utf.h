// SPDX-License-Identifier: MIT
// UTF-16 and UTF-8, in both directions, on any input: what is not valid (lone surrogates, overlong
// or cut sequences) becomes U+FFFD, never an error. Freestanding: no heap, no C library, no locale,
// so that the hook DLL can use it too.
//
// All functions write whole characters only, end the output with a NUL and return the length
// without it. With `out` NULL they write nothing and return the length that the whole input needs;
// the capacity to give is then one more, for the NUL. With `out` and a capacity of 0 nothing is
// written and 0 returned.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// As the input's length: it ends at its NUL.
#define CM_UTF_NUL SIZE_MAX

size_t cm_utf16_to_utf8(const uint16_t *in, size_t in_count, char *out, size_t out_cap);
size_t cm_utf8_to_utf16(const char *in, size_t in_len, uint16_t *out, size_t out_cap);

// Copies UTF-8, repaired: the result is always valid.
size_t cm_utf8_repair(const char *in, size_t in_len, char *out, size_t out_cap);
bool cm_utf8_valid(const char *in, size_t in_len);

// Takes the character at in[*pos] and moves *pos behind it; *pos must be below in_len. Broken text
// gives U+FFFD and *valid false, and *pos then stands behind the bytes that it replaces.
uint32_t cm_utf8_take(const char *in, size_t in_len, size_t *pos, bool *valid);
