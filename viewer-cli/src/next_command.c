// SPDX-License-Identifier: MIT
// See next_command.h.
#include "next_command.h"

#include "common/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// What neither PowerShell nor a POSIX shell takes for anything but itself.
static bool is_plain(const char *path)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "._-+:/\\";
    return path[0] && strspn(path, plain) == strlen(path);
}

void vw_next_command(vw_io *io, const char *why, const char *command, const char *path,
                     const char *rest, ...)
{
    cm_out *out = &io->out;
    const char *quote = is_plain(path) ? "" : "\"";
    char text[256];
    va_list args;
    va_start(args, rest);
    vsnprintf(text, sizeof text, rest, args);
    va_end(args);
    vw_styled(io, VW_DIM, "\nNext: ");
    vw_style_on(io, VW_MARK);
    cm_out_printf(out, "ortscope %s %s", command, quote);
    cm_text_clean(out, path, 0);
    cm_out_printf(out, "%s%s%s", quote, text[0] ? " " : "", text);
    vw_style_off(io, VW_MARK);
    size_t width = strlen("Next: ortscope  ") + strlen(command) + cm_text_width(path) +
                   2 * strlen(quote) + strlen(text) + 1;
    if (width + strlen("  # ") + strlen(why) <= io->width) {
        vw_style_on(io, VW_DIM);
        cm_out_printf(out, "  # %s", why);
        vw_style_off(io, VW_DIM);
    }
    cm_out_char(out, '\n');
}
