// SPDX-License-Identifier: MIT
// UTF-8 inside, UTF-16 towards Windows; the only place of this layer where the two meet.
#include "common/utf.h"

#include "win_internal.h"

#include <stdlib.h>

_Static_assert(sizeof(wchar_t) == sizeof(uint16_t), "Windows text is UTF-16");

wchar_t *inj_wide(const char *utf8)
{
    // A repaired name would be that of another file.
    if (!cm_utf8_valid(utf8, CM_UTF_NUL))
        return NULL;
    size_t count = cm_utf8_to_utf16(utf8, CM_UTF_NUL, NULL, 0) + 1;
    wchar_t *wide = malloc(count * sizeof *wide);
    if (wide != NULL)
        cm_utf8_to_utf16(utf8, CM_UTF_NUL, (uint16_t *)wide, count);
    return wide;
}

void inj_utf8(const wchar_t *wide, char *out, size_t out_bytes)
{
    cm_utf16_to_utf8((const uint16_t *)wide, CM_UTF_NUL, out, out_bytes);
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
