// SPDX-License-Identifier: MIT
// See output.h. The only file of the viewer that touches the standard streams.
#include "output.h"

#include "common/text.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cm_status write_stream(void *context, const void *bytes, size_t len)
{
    vw_io *io = context;
    cm_status status = cm_stream_write(io->stream, bytes, len);
    if (status != CM_END)
        return status;
    io->reader_gone = true;
    return cm_fail(CM_IO, "Whoever read the output has closed it.");
}

static bool is_set(const char *variable)
{
    const char *value = getenv(variable);
    return value && value[0];
}

void vw_io_init(vw_io *io)
{
#ifdef SIGPIPE
    signal(SIGPIPE, SIG_IGN); // told by the failing write instead
#endif
    cm_console_init();
    vw_io_init_for(io, CM_STDOUT);
}

void vw_io_init_for(vw_io *io, cm_stream stream)
{
    memset(io, 0, sizeof *io);
    io->stream = stream;
    cm_out_init_sink(&io->out, write_stream, io);
    io->is_terminal = cm_is_terminal(stream);
    const char *term = getenv("TERM");
    bool dumb = term && strcmp(term, "dumb") == 0;
    io->color = io->is_terminal && !is_set("NO_COLOR") && !dumb;
    io->unicode = !io->is_terminal || cm_terminal_is_utf8();
    io->width = cm_terminal_width(stream);
    if (io->width == 0)
        io->width = 100;
}

int vw_io_end(vw_io *io, int exit_code)
{
    cm_status status = cm_out_flush(&io->out);
    cm_out_deinit(&io->out);
    if (status == CM_OK || io->reader_gone)
        return exit_code;
    int code = vw_failure(status);
    return exit_code ? exit_code : code;
}

static const char *style_code(vw_style style)
{
    static const char *const codes[] = {"", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[33m"};
    return codes[style];
}

void vw_style_on(vw_io *io, vw_style style)
{
    if (io->color && style != VW_PLAIN)
        cm_out_text(&io->out, style_code(style));
}

void vw_style_off(vw_io *io, vw_style style)
{
    if (io->color && style != VW_PLAIN)
        cm_out_text(&io->out, "\x1b[0m");
}

void vw_styled(vw_io *io, vw_style style, const char *text)
{
    vw_style_on(io, style);
    cm_out_text(&io->out, text);
    vw_style_off(io, style);
}

void vw_message(const char *fmt, ...)
{
    char sentence[2048];
    va_list args;
    va_start(args, fmt);
    vsnprintf(sentence, sizeof sentence, fmt, args);
    va_end(args);
    cm_out clean;
    cm_out_init_memory(&clean);
    cm_text_clean(&clean, sentence, 0);
    char line[2400];
    int len = snprintf(line, sizeof line, "ortscope: %s\n", cm_out_string(&clean));
    cm_stream_write(CM_STDERR, line, (size_t)len < sizeof line ? (size_t)len : sizeof line - 1);
    cm_out_deinit(&clean);
}

int vw_failure(cm_status status)
{
    vw_message("%s", cm_error_text(status));
    return cm_exit_code(status);
}
