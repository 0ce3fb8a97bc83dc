// SPDX-License-Identifier: MIT
// See output.h. The only file of the viewer that touches the standard streams.
#include "output.h"

#include "common/text.h"
#include "wrap.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NARROWEST 40u // no layout can do with less
#define USUAL     80u

static cm_status write_bytes(vw_io *io, const void *bytes, size_t len)
{
    cm_status status = cm_stream_write(io->stream, bytes, len);
    if (status != CM_END)
        return status;
    io->reader_gone = true;
    return cm_fail(CM_IO, "Whoever read the output has closed it.");
}

// Whole lines are passed on; the begin of the last one waits in io->line.
static cm_status write_lines(vw_io *io, const char *bytes, size_t len)
{
    cm_out lines;
    cm_out_init_memory(&lines);
    while (len > 0) {
        const char *end = memchr(bytes, '\n', len);
        size_t part = end ? (size_t)(end - bytes) : len;
        cm_buf_append(&io->line, bytes, part);
        if (!end)
            break;
        vw_wrap_line(&lines, cm_buf_text(&io->line), io->width);
        cm_out_char(&lines, '\n');
        cm_buf_clear(&io->line);
        bytes += part + 1;
        len -= part + 1;
    }
    cm_status status = cm_buf_status(&io->line);
    if (status == CM_OK)
        status = cm_buf_status(&lines.buf);
    if (status == CM_OK && lines.buf.len)
        status = write_bytes(io, lines.buf.data, lines.buf.len);
    cm_out_deinit(&lines);
    return status;
}

static cm_status write_stream(void *context, const void *bytes, size_t len)
{
    vw_io *io = context;
    return io->fits ? write_lines(io, bytes, len) : write_bytes(io, bytes, len);
}

static bool is_set(const char *variable)
{
    const char *value = getenv(variable);
    return value && value[0];
}

// What the terminal has, or says COLUMNS where there is none.
static unsigned choose_width(cm_stream stream)
{
    unsigned width = cm_terminal_width(stream);
    const char *columns = getenv("COLUMNS");
    if (width == 0 && columns && strspn(columns, "0123456789") == strlen(columns))
        width = (unsigned)strtoul(columns, NULL, 10);
    if (width == 0 || width > 100000)
        width = USUAL;
    return width < NARROWEST ? NARROWEST : width;
}

void vw_io_init(vw_io *io)
{
#ifdef SIGPIPE
    signal(SIGPIPE, SIG_IGN); // told by the failing write instead
#endif
#ifdef SIGXFSZ
    signal(SIGXFSZ, SIG_IGN); // the same: a file that may not grow further
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
    io->width = choose_width(stream);
}

void vw_fit_lines(vw_io *io)
{
    cm_out_flush(&io->out);
    io->fits = true;
}

cm_status vw_io_choose(vw_io *io, const char *color, bool ascii)
{
    if (ascii)
        io->unicode = false;
    if (!color || strcmp(color, "auto") == 0)
        return CM_OK;
    io->color = strcmp(color, "always") == 0;
    if (!io->color && strcmp(color, "never") != 0)
        return cm_fail(CM_USAGE, "--color is auto, always or never, not \"%s\".", color);
    return CM_OK;
}

int vw_io_end(vw_io *io, int exit_code)
{
    cm_status status = cm_out_flush(&io->out);
    if (status == CM_OK && io->line.len)
        status = write_bytes(io, io->line.data, io->line.len);
    cm_buf_deinit(&io->line);
    cm_out_deinit(&io->out);
    if (status == CM_OK || io->reader_gone)
        return exit_code;
    int code = vw_failure(status);
    return exit_code ? exit_code : code;
}

static const char *style_code(vw_style style)
{
    static const char *const codes[] = {"",         "\x1b[1m",  "\x1b[2m", "\x1b[31m",
                                        "\x1b[33m", "\x1b[32m", "\x1b[36m"};
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
    cm_out line;
    cm_out_init_memory(&line);
    cm_out_text(&line, "ortscope: ");
    cm_out_text(&line, cm_out_string(&clean));
    cm_out_clear(&clean);
    unsigned width = cm_terminal_width(CM_STDERR); // 0: no terminal, and a message stays one line
    vw_wrap_line(&clean, cm_out_string(&line), width && width < NARROWEST ? NARROWEST : width);
    cm_out_char(&clean, '\n');
    cm_stream_write(CM_STDERR, clean.buf.data, clean.buf.len);
    cm_out_deinit(&line);
    cm_out_deinit(&clean);
}

int vw_failure(cm_status status)
{
    vw_message("%s", cm_error_text(status));
    return cm_exit_code(status);
}
