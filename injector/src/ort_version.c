// SPDX-License-Identifier: MIT
// Two functions of one instruction each are read instead of called: both return the address of a
// constant, which every build of 1.15 to 1.30 at hand does by `lea rax, [rip+x]; ret`.
#include "ort_version.h"

#include <string.h>

enum { LEA_BYTES = 7, CODE_BYTES = 8, GET_VERSION_STRING = 8 /* offset in OrtApiBase */ };

// The RVA that the function at `function` returns.
static bool returned_constant(inj_read_image_fn *read, void *context, uint32_t function,
                              uint32_t *out)
{
    static const uint8_t lea_rax[3] = {0x48, 0x8d, 0x05};
    uint8_t code[CODE_BYTES];
    if (!read(context, function, code, sizeof code) || memcmp(code, lea_rax, 3) != 0 ||
        code[LEA_BYTES] != 0xc3)
        return false;
    uint32_t offset;
    memcpy(&offset, code + 3, sizeof offset);
    *out = function + LEA_BYTES + offset; // modulo 2^32, so negative offsets come out right
    return true;
}

static bool is_version_character(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
           c == '-' || c == '+';
}

bool inj_ort_version(inj_read_image_fn *read, void *context, uint64_t base, char *out,
                     size_t out_bytes)
{
    uint32_t function, api_base, text;
    uint64_t get_version;
    if (!inj_image_find_export(read, context, INJ_ORT_EXPORT, &function) ||
        !returned_constant(read, context, function, &api_base) ||
        !read(context, api_base + GET_VERSION_STRING, &get_version, sizeof get_version) ||
        get_version < base || get_version - base > UINT32_MAX ||
        !returned_constant(read, context, (uint32_t)(get_version - base), &text))
        return false;
    char version[32];
    for (size_t i = 0; i < sizeof version && i < out_bytes; i++) {
        if (!read(context, text + (uint32_t)i, &version[i], 1))
            return false;
        if (version[i] == '\0' && i > 0) {
            memcpy(out, version, i + 1);
            return true;
        }
        if (!is_version_character(version[i]))
            return false;
    }
    return false;
}
