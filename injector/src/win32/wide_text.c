// SPDX-License-Identifier: MIT
// UTF-8 inside, UTF-16 towards Windows; the only place of this layer where the two meet.
#include "win_internal.h"

#include <stdlib.h>

wchar_t *inj_wide(const char *utf8)
{
    int chars = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, utf8, -1, NULL, 0);
    if (chars <= 0)
        return NULL;
    wchar_t *wide = malloc((size_t)chars * sizeof *wide);
    if (wide != NULL)
        MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, utf8, -1, wide, chars);
    return wide;
}

void inj_utf8(const wchar_t *wide, char *out, size_t out_bytes)
{
    size_t len = 0;
    for (const wchar_t *p = wide; *p != 0;) {
        int units = IS_HIGH_SURROGATE(p[0]) && IS_LOW_SURROGATE(p[1]) ? 2 : 1;
        char bytes[8];
        int count = WideCharToMultiByte(CP_UTF8, 0, p, units, bytes, sizeof bytes, NULL, NULL);
        if (count <= 0 || len + (size_t)count >= out_bytes)
            break;
        for (int i = 0; i < count; i++)
            out[len++] = bytes[i];
        p += units;
    }
    out[len] = '\0';
}

const wchar_t *inj_file_name(const wchar_t *path)
{
    const wchar_t *name = path;
    for (; *path != 0; path++)
        if (*path == L'\\' || *path == L'/')
            name = path + 1;
    return name;
}

bool inj_same_text(const wchar_t *a, const wchar_t *b)
{
    return CompareStringOrdinal(a, -1, b, -1, TRUE) == CSTR_EQUAL;
}
