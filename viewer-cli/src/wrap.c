// SPDX-License-Identifier: MIT
// See wrap.h.
#include "wrap.h"

#include "common/text.h"
#include "common/utf.h"

#include <string.h>

#define HANGING 2u

// The columns of what stands at *pos, a character or a sequence that changes the colour, and behind
// it.
static size_t take(const char *text, size_t len, size_t *pos)
{
    bool valid;
    if (text[*pos] == '\x1b') {
        while (*pos < len && text[*pos] != 'm')
            ++*pos;
        *pos += *pos < len;
        return 0;
    }
    return cm_code_width(cm_utf8_take(text, len, pos, &valid));
}

static void put(cm_out *out, const char *text, size_t len)
{
    while (len > 0 && text[len - 1] == ' ')
        len--;
    cm_out_bytes(out, text, len);
}

void vw_wrap_line(cm_out *out, const char *line, unsigned width)
{
    size_t len = strlen(line), first = strspn(line, " ");
    size_t indent = first + HANGING < width / 2 ? first + HANGING : width / 2;
    // Of the line under way; `begin` for those that are not there. A part ends with its comma.
    size_t begin = 0, blank = 0, part = 0, column = 0;
    for (size_t pos = 0; width && pos < len;) {
        size_t at = pos, columns = take(line, len, &pos);
        if (line[at] == ' ' && at >= first)
            blank = at;
        if (blank == at && at > 0 && strchr(",;:", line[at - 1]) && column > width / 2)
            part = at;
        if (column + columns <= width) {
            column += columns;
            continue;
        }
        size_t end = part > begin ? part : blank > begin ? blank : at;
        put(out, line + begin, end - begin);
        pos = begin = blank = part = end + strspn(line + end, " ");
        column = indent;
        if (begin == len)
            return; // only blanks were too much
        cm_out_char(out, '\n');
        cm_out_repeat(out, " ", indent);
    }
    cm_out_text(out, line + begin);
}
