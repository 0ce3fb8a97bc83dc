// SPDX-License-Identifier: MIT
// `ortscope help [COMMAND]` and `ortscope version`.
#include "commands.h"

#include <stddef.h>
#include <string.h>

void vw_print_help(vw_io *io)
{
    cm_out *out = &io->out;
    vw_fit_lines(io);
    vw_styled(io, VW_BOLD, "ortscope " ORTSCOPE_VERSION);
    cm_out_text(out, ": what ONNX Runtime does inside any Windows program\n\n");
    cm_out_text(out, "  ortscope COMMAND [options] [arguments]\n\n");
    for (size_t i = 0; vw_commands[i]; i++) {
        cm_out_text(out, "  ");
        vw_style_on(io, VW_MARK);
        cm_out_printf(out, "%-11s", vw_commands[i]->name);
        vw_style_off(io, VW_MARK);
        vw_fill(io, vw_commands[i]->one_line, 14, 13);
    }
    cm_out_char(out, '\n');
    vw_fill(io,
            "`ortscope help COMMAND` tells how to use one of them. Data goes to standard output, "
            "messages to standard error. Exit codes: 0 ok, 1 failure (files among it), 2 wrong "
            "usage, 3 target not found or gone, 4 access to it denied, 5 target not supported, "
            "10 regression, 11 inconclusive (diff), 12 events lost (--strict).",
            0, 0);
}

static int run_help(vw_io *io, const void *args, int operand_count, char **operands)
{
    (void)args;
    if (operand_count == 0) {
        vw_print_help(io);
        return 0;
    }
    const vw_command *command = vw_find_command(operands[0]);
    if (!command)
        return vw_unknown_command(operands[0]);
    vw_print_command_help(io, command);
    return 0;
}

const vw_command vw_command_help = {
    .name = "help",
    .one_line = "Tells how to use ortscope or one of its commands.",
    .usage = "[COMMAND]",
    .examples = "ortscope help\n"
                "ortscope help export",
    .max_operands = 1,
    .run = run_help,
};

typedef struct version_args {
    bool json;
} version_args;

static int run_version(vw_io *io, const void *args, int operand_count, char **operands)
{
    (void)operand_count;
    (void)operands;
    const version_args *a = args;
    if (a->json)
        cm_out_text(&io->out,
                    "{\"schema_version\": 1, \"ortscope_version\": \"" ORTSCOPE_VERSION "\"}\n");
    else
        cm_out_text(&io->out, "ortscope " ORTSCOPE_VERSION "\n");
    return 0;
}

static const vw_option version_options[] = {
    {.name = "json",
     .type = VW_FLAG,
     .offset = offsetof(version_args, json),
     .help = "print one JSON document"},
};

const vw_command vw_command_version = {
    .name = "version",
    .one_line = "Prints the version of ortscope.",
    .usage = "[options]",
    .examples = "ortscope version --json",
    .options = version_options,
    .option_count = 1,
    .args_size = sizeof(version_args),
    .run = run_version,
};
