// SPDX-License-Identifier: MIT
#include "etl_text.h"

#include "common/utf.h"
#include "etl_bytes.h"

#include <string.h>

size_t co_etl_text_utf8(etl_text text, char *out, size_t cap)
{
    if (!text.wide) {
        size_t len = text.len < cap ? text.len : cap - 1;
        if (len)
            memcpy(out, text.bytes, len);
        out[len] = 0;
        return len;
    }
    uint16_t units[2048];
    size_t count = text.len / 2 < 2048 ? text.len / 2 : 2048;
    for (size_t i = 0; i < count; i++)
        units[i] = etl_u16(text.bytes + 2 * i);
    return cm_utf16_to_utf8(units, count, out, cap);
}

const char *co_etl_base_name(const char *path)
{
    const char *name = path;
    for (const char *p = path; *p; p++)
        if (*p == '/' || *p == '\\')
            name = p + 1;
    return name;
}
