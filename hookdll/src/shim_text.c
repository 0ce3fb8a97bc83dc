// SPDX-License-Identifier: MIT
// The text comes from ORT, which escapes nothing: whatever does not look exactly as expected is
// not read at all.
#include "shim_text.h"

// By ONNXTensorElementDataType, as ORT's DataTypeImpl::ToString writes them.
static const char *const element_names[] = {
    "",
    "float",
    "uint8",
    "int8",
    "uint16",
    "int16",
    "int32",
    "int64",
    "string",
    "bool",
    "float16",
    "double",
    "uint32",
    "uint64",
    "",
    "",
    "bfloat16",
    "Float8E4M3FN",
    "Float8E4M3FNUZ",
    "Float8E5M2",
    "Float8E5M2FNUZ",
    "UInt4x2",
    "Int4x2",
    "Float4E2M1",
    "UInt2x4",
    "Int2x4",
    "Float8E8M0",
};

static int element_type(const char *name, size_t len)
{
    for (size_t i = 1; i < sizeof element_names / sizeof *element_names; i++) {
        size_t n = 0;
        while (n < len && element_names[i][n] == name[n] && name[n])
            n++;
        if (n == len && !element_names[i][n] && len)
            return (int)i;
    }
    return 0;
}

// The number at `*at`, which is left behind it.
static bool take_number(const char **at, int64_t *out)
{
    const char *p = *at;
    bool negative = *p == '-';
    int64_t value = 0;
    p += negative;
    if (*p < '0' || *p > '9')
        return false;
    for (; *p >= '0' && *p <= '9'; p++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, *p - '0', &value))
            return false;
    *out = negative ? -value : value;
    *at = p;
    return true;
}

static bool take(const char **at, char c)
{
    bool there = **at == c;
    *at += there;
    return there;
}

// 1,3,48,192 or nothing, and the bracket behind it
static bool take_dims(const char **at, hk_shim_tensor *out)
{
    out->rank = 0;
    if (take(at, ']'))
        return true;
    do {
        if (out->rank == HK_SHIM_RANK_MAX || !take_number(at, &out->dims[out->rank]))
            return false;
        out->rank++;
    } while (take(at, ','));
    return take(at, ']');
}

// {"float":[1,3,48,192]}
static bool take_tensor(const char **at, hk_shim_tensor *out)
{
    if (!take(at, '{') || !take(at, '"'))
        return false;
    const char *name = *at;
    while (**at && **at != '"')
        ++*at;
    out->element_type = element_type(name, (size_t)(*at - name));
    return take(at, '"') && take(at, ':') && take(at, '[') && take_dims(at, out) && take(at, '}');
}

// Reads until `last` or the end; returns how many, -1 if the text is of another form.
static int walk(const char *text, int last, int max, hk_shim_tensor *out)
{
    int count = 0;
    if (!take(&text, '['))
        return -1;
    if (take(&text, ']'))
        return *text ? -1 : 0;
    do {
        if (count == max || !take_tensor(&text, out))
            return -1;
        if (count++ == last)
            return count;
    } while (take(&text, ','));
    return take(&text, ']') && !*text ? count : -1;
}

int hk_shim_count(const char *text, int max)
{
    hk_shim_tensor ignored;
    return text ? walk(text, -1, max, &ignored) : -1;
}

void hk_shim_read(const char *text, int index, hk_shim_tensor *out)
{
    walk(text, index, index + 1, out);
}

bool hk_shim_number(const char *text, int64_t *out)
{
    int64_t value;
    if (!text || !take_number(&text, &value) || *text)
        return false;
    *out = value;
    return true;
}
