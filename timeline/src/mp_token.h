// SPDX-License-Identifier: MIT
// MessagePack, token by token, from bytes that nobody vouches for.
//
// Why not msgpack-c, which packs our files: its unpacker builds a tree of objects and allocates by
// the counts that the input claims, before the input has shown that it holds that much, and
// recurses or keeps a stack as deep as the input asks. Here nothing is allocated and nothing
// recurses; each token costs at least one byte of input, so every loop over tokens ends.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum mp_type {
    MP_NIL,
    MP_BOOL,
    MP_INT,
    MP_FLOAT, // value is not given: no number of ours is one
    MP_STR,
    MP_BIN,
    MP_EXT,
    MP_ARRAY,
    MP_MAP,
} mp_type;

typedef struct mp_token {
    mp_type type;
    bool negative;       // MP_INT below zero
    uint64_t value;      // MP_INT: modulo 2^64; MP_BOOL: 0 or 1; MP_ARRAY, MP_MAP: entries;
                         // MP_STR, MP_BIN, MP_EXT: bytes
    const uint8_t *data; // MP_STR, MP_BIN, MP_EXT: the bytes, inside the input
} mp_token;

typedef struct mp_input {
    const uint8_t *at, *end;
} mp_input;

typedef enum mp_result {
    MP_OK,
    MP_CUT, // the input ends inside the object: with more bytes it may be whole
    MP_BAD, // never a valid object, or not what was asked for
} mp_result;

// Takes one token; of an array or a map only the mark. On failure the input has not moved.
mp_result mp_next(mp_input *in, mp_token *out);

// Takes one whole object, with everything in it.
mp_result mp_skip(mp_input *in);

// Takes one token that must be of this type: MP_BAD if it is another.
mp_result mp_expect(mp_input *in, mp_type type, mp_token *out);

// Takes one integer that is not negative.
mp_result mp_unsigned(mp_input *in, uint64_t *out);

bool mp_text_is(const mp_token *token, const char *text);
