// SPDX-License-Identifier: MIT
#include "mp_token.h"

#include <string.h>

static uint64_t big_endian(const uint8_t *bytes, size_t len)
{
    uint64_t value = 0;
    for (size_t i = 0; i < len; i++)
        value = value << 8 | bytes[i];
    return value;
}

// What a first byte from 0xc0 to 0xdf announces.
typedef struct form {
    mp_type type;
    uint8_t number_bytes; // of the value or the length
    uint8_t extra_bytes;  // of payload that is always there (the type byte of an ext)
    uint8_t fixed;        // value or length where number_bytes is 0
    bool is_signed;
    bool valid;
} form;

static const form forms[32] = {
    [0x00] = {.type = MP_NIL, .valid = true},
    // 0xc1 is never used
    [0x02] = {.type = MP_BOOL, .fixed = 0, .valid = true},
    [0x03] = {.type = MP_BOOL, .fixed = 1, .valid = true},
    [0x04] = {.type = MP_BIN, .number_bytes = 1, .valid = true},
    [0x05] = {.type = MP_BIN, .number_bytes = 2, .valid = true},
    [0x06] = {.type = MP_BIN, .number_bytes = 4, .valid = true},
    [0x07] = {.type = MP_EXT, .number_bytes = 1, .extra_bytes = 1, .valid = true},
    [0x08] = {.type = MP_EXT, .number_bytes = 2, .extra_bytes = 1, .valid = true},
    [0x09] = {.type = MP_EXT, .number_bytes = 4, .extra_bytes = 1, .valid = true},
    [0x0a] = {.type = MP_FLOAT, .number_bytes = 4, .valid = true},
    [0x0b] = {.type = MP_FLOAT, .number_bytes = 8, .valid = true},
    [0x0c] = {.type = MP_INT, .number_bytes = 1, .valid = true},
    [0x0d] = {.type = MP_INT, .number_bytes = 2, .valid = true},
    [0x0e] = {.type = MP_INT, .number_bytes = 4, .valid = true},
    [0x0f] = {.type = MP_INT, .number_bytes = 8, .valid = true},
    [0x10] = {.type = MP_INT, .number_bytes = 1, .is_signed = true, .valid = true},
    [0x11] = {.type = MP_INT, .number_bytes = 2, .is_signed = true, .valid = true},
    [0x12] = {.type = MP_INT, .number_bytes = 4, .is_signed = true, .valid = true},
    [0x13] = {.type = MP_INT, .number_bytes = 8, .is_signed = true, .valid = true},
    [0x14] = {.type = MP_EXT, .fixed = 1, .extra_bytes = 1, .valid = true},
    [0x15] = {.type = MP_EXT, .fixed = 2, .extra_bytes = 1, .valid = true},
    [0x16] = {.type = MP_EXT, .fixed = 4, .extra_bytes = 1, .valid = true},
    [0x17] = {.type = MP_EXT, .fixed = 8, .extra_bytes = 1, .valid = true},
    [0x18] = {.type = MP_EXT, .fixed = 16, .extra_bytes = 1, .valid = true},
    [0x19] = {.type = MP_STR, .number_bytes = 1, .valid = true},
    [0x1a] = {.type = MP_STR, .number_bytes = 2, .valid = true},
    [0x1b] = {.type = MP_STR, .number_bytes = 4, .valid = true},
    [0x1c] = {.type = MP_ARRAY, .number_bytes = 2, .valid = true},
    [0x1d] = {.type = MP_ARRAY, .number_bytes = 4, .valid = true},
    [0x1e] = {.type = MP_MAP, .number_bytes = 2, .valid = true},
    [0x1f] = {.type = MP_MAP, .number_bytes = 4, .valid = true},
};

static bool has_payload(mp_type type)
{
    return type == MP_STR || type == MP_BIN || type == MP_EXT;
}

// The mark alone: type, value, and how many bytes it took.
static mp_result take_mark(const mp_input *in, mp_token *token, size_t *out_len, size_t *out_extra)
{
    size_t left = (size_t)(in->end - in->at);
    if (left == 0)
        return MP_CUT;
    uint8_t mark = in->at[0];
    *token = (mp_token){.type = MP_INT, .value = mark};
    *out_len = 1;
    *out_extra = 0;
    if (mark < 0x80)
        return MP_OK;
    if (mark >= 0xe0) {
        token->value = (uint64_t)(int64_t)(int8_t)mark;
        token->negative = true;
        return MP_OK;
    }
    if (mark < 0xc0) { // fixmap, fixarray, fixstr
        token->type = mark < 0x90 ? MP_MAP : mark < 0xa0 ? MP_ARRAY : MP_STR;
        token->value = mark & (mark < 0xa0 ? 0x0fu : 0x1fu);
        return MP_OK;
    }
    const form *f = &forms[mark & 0x1f];
    if (!f->valid)
        return MP_BAD;
    if (left - 1 < f->number_bytes)
        return MP_CUT;
    token->type = f->type;
    token->value = f->number_bytes ? big_endian(in->at + 1, f->number_bytes) : f->fixed;
    if (f->is_signed && in->at[1] & 0x80) {
        token->negative = true;
        if (f->number_bytes < 8)
            token->value |= UINT64_MAX << 8 * f->number_bytes;
    }
    *out_len = 1u + f->number_bytes;
    *out_extra = f->extra_bytes;
    return MP_OK;
}

mp_result mp_next(mp_input *in, mp_token *out)
{
    mp_token token;
    size_t len, extra;
    mp_result result = take_mark(in, &token, &len, &extra);
    if (result != MP_OK)
        return result;
    if (has_payload(token.type)) {
        // At most 2^32 + 1, so the sum cannot overflow.
        if ((uint64_t)(in->end - in->at) - len < token.value + extra)
            return MP_CUT;
        token.data = in->at + len + extra;
        len += (size_t)token.value + extra;
    }
    in->at += len;
    *out = token;
    return MP_OK;
}

mp_result mp_skip(mp_input *in)
{
    mp_input scan = *in;
    // Objects still to come. Each takes a byte at least, so more of them than bytes is a cut; that
    // also keeps the count from overflowing.
    for (uint64_t pending = 1; pending > 0; pending--) {
        mp_token token;
        mp_result result = mp_next(&scan, &token);
        if (result != MP_OK)
            return result;
        if (token.type == MP_ARRAY)
            pending += token.value;
        else if (token.type == MP_MAP)
            pending += 2 * token.value;
        if (pending - 1 > (uint64_t)(scan.end - scan.at))
            return MP_CUT;
    }
    in->at = scan.at;
    return MP_OK;
}

mp_result mp_expect(mp_input *in, mp_type type, mp_token *out)
{
    mp_input scan = *in;
    mp_token token;
    mp_result result = mp_next(&scan, &token);
    if (result != MP_OK)
        return result;
    if (token.type != type)
        return MP_BAD;
    *in = scan;
    *out = token;
    return MP_OK;
}

mp_result mp_unsigned(mp_input *in, uint64_t *out)
{
    mp_token token;
    mp_result result = mp_expect(in, MP_INT, &token);
    if (result != MP_OK)
        return result;
    if (token.negative)
        return MP_BAD;
    *out = token.value;
    return MP_OK;
}

bool mp_text_is(const mp_token *token, const char *text)
{
    size_t len = strlen(text);
    return token->type == MP_STR && token->value == len && memcmp(token->data, text, len) == 0;
}
