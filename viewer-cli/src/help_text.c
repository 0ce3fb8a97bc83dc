// SPDX-License-Identifier: MIT
// The help of a command, made from its table entry and set to the width of the terminal.
#include "common/text.h"
#include "options.h"

#include <stdio.h>
#include <string.h>

#define HELP_COLUMN 27u // where the help of an option begins

static const char blanks[] = " \n";

void vw_fill(vw_io *io, const char *text, size_t indent, size_t column)
{
    cm_out *out = &io->out;
    bool first = true;
    for (text += strspn(text, blanks); *text; text += strspn(text, blanks)) {
        char word[128];
        size_t len = strcspn(text, blanks);
        snprintf(word, sizeof word, "%.*s", (int)len, text);
        size_t width = cm_text_width(word);
        if (!first && column + 1 + width > io->width) {
            cm_out_char(out, '\n');
            column = 0;
            first = true;
        }
        if (column < indent) {
            cm_out_repeat(out, " ", indent - column);
            column = indent;
        }
        cm_out_text(out, first ? "" : " ");
        cm_out_bytes(out, text, len);
        column += width + !first;
        first = false;
        text += len;
    }
    cm_out_char(out, '\n');
}

static void print_option(vw_io *io, const vw_option *o)
{
    char left[96];
    snprintf(left, sizeof left, "  %c%c%s--%s%s%s", o->letter ? '-' : ' ',
             o->letter ? o->letter : ' ', o->letter ? ", " : "  ", o->name, o->value ? " " : "",
             o->value ? o->value : "");
    size_t width = strlen(left);
    cm_out_text(&io->out, left);
    if (width + 1 > HELP_COLUMN) {
        cm_out_char(&io->out, '\n');
        width = 0;
    }
    vw_fill(io, o->help, HELP_COLUMN, width);
}

// A paragraph ends at an empty line or where a line begins with a blank.
static void print_details(vw_io *io, const char *text)
{
    cm_out paragraph;
    cm_out_init_memory(&paragraph);
    while (*text) {
        const char *line = text;
        size_t len = strcspn(text, "\n");
        bool as_is = len == 0 || text[0] == ' ';
        if (!as_is) {
            cm_out_bytes(&paragraph, line, len);
            cm_out_char(&paragraph, ' ');
        }
        text += len + (text[len] == '\n');
        bool ends = as_is || !*text || *text == ' ' || *text == '\n';
        if (ends && paragraph.buf.len) {
            vw_fill(io, cm_out_string(&paragraph), 0, 0);
            cm_out_clear(&paragraph);
        }
        if (as_is)
            cm_out_printf(&io->out, "%.*s\n", (int)len, line);
    }
    cm_out_deinit(&paragraph);
}

static void print_title(vw_io *io, const char *title)
{
    cm_out_char(&io->out, '\n');
    vw_styled(io, VW_BOLD, title);
    cm_out_char(&io->out, '\n');
}

static void print_examples(vw_io *io, const char *text)
{
    print_title(io, "Examples:");
    while (*text) {
        size_t len = strcspn(text, "\n"), command = len;
        const char *comment = strstr(text, "  #");
        if (comment && comment < text + len)
            command = (size_t)(comment - text);
        cm_out_printf(&io->out, "  %.*s", (int)command, text);
        vw_style_on(io, VW_DIM);
        cm_out_printf(&io->out, "%.*s", (int)(len - command), text + command);
        vw_style_off(io, VW_DIM);
        cm_out_char(&io->out, '\n');
        text += len + (text[len] == '\n');
    }
}

void vw_print_command_help(vw_io *io, const vw_command *c)
{
    static const vw_option help = {.name = "help", .letter = 'h', .help = "print this text"};
    vw_fit_lines(io);
    vw_style_on(io, VW_BOLD);
    cm_out_printf(&io->out, "ortscope %s %s", c->name, c->usage);
    vw_style_off(io, VW_BOLD);
    cm_out_char(&io->out, '\n');
    vw_fill(io, c->one_line, 0, 0);
    if (c->details) {
        cm_out_char(&io->out, '\n');
        print_details(io, c->details);
    }
    print_title(io, "Options:");
    for (size_t i = 0; i < c->option_count; i++)
        print_option(io, &c->options[i]);
    for (size_t i = 0; i < vw_common_option_count && !c->raw; i++)
        print_option(io, &vw_common_options[i]);
    print_option(io, &help);
    if (c->examples)
        print_examples(io, c->examples);
}
