// SPDX-License-Identifier: MIT
// The one list of commands, and how a command line finds its way to one of them.
#include "commands.h"

#include <stdlib.h>
#include <string.h>

// One a line: several people add theirs.
// clang-format off
const vw_command *const vw_commands[] = {
    // clang-format off
    &vw_command_run,
    &vw_command_attach,
    &vw_command_detach,
    &vw_command_list,
    &vw_command_doctor,
    &vw_command_summary,
    &vw_command_ops,
    &vw_command_runs,
    &vw_command_timeline,
    &vw_command_diff,
    &vw_command_report,
    &vw_command_dump,
    &vw_command_export,
    &vw_command_serve,
    &vw_command_top,
    &vw_command_import,
    &vw_command_completion,
    &vw_command_version,
    &vw_command_help,
    NULL,
    // clang-format on
};
// clang-format on

const vw_command *vw_find_command(const char *name)
{
    for (size_t i = 0; vw_commands[i]; i++)
        if (strcmp(vw_commands[i]->name, name) == 0)
            return vw_commands[i];
    return NULL;
}

int vw_unknown_command(const char *name)
{
    const char *names[sizeof vw_commands / sizeof *vw_commands];
    size_t count = 0;
    for (; vw_commands[count]; count++)
        names[count] = vw_commands[count]->name;
    const char *near = vw_nearest(name, names, count, sizeof *names);
    if (near)
        return vw_failure(cm_fail(CM_USAGE,
                                  "There is no command \"%s\" (did you mean `ortscope %s`?); "
                                  "`ortscope help` lists the commands.",
                                  name, near));
    return vw_failure(
        cm_fail(CM_USAGE, "There is no command \"%s\"; `ortscope help` lists the commands.", name));
}

static int run_command(vw_io *io, const vw_command *command, int argc, char **argv)
{
    _Alignas(16) char args[VW_MAX_ARGS_SIZE] = {0};
    vw_parsed parsed;
    if (command->args_size > sizeof args)
        abort(); // VW_MAX_ARGS_SIZE has to grow with the command's options
    cm_status status = vw_parse(command, argc, argv, args, &parsed);
    if (status != CM_OK)
        return vw_failure(status);
    if (parsed.help) {
        vw_print_command_help(io, command);
        return 0;
    }
    status = vw_io_choose(io, parsed.common.color, parsed.common.ascii);
    if (status != CM_OK)
        return vw_failure(status);
    return command->run(io, args, parsed.operand_count, parsed.operands);
}

int vw_main(vw_io *io, int argc, char **argv)
{
    if (argc < 2) {
        vw_print_help(io);
        return 0;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        name = "help";
    else if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0)
        name = "version";
    else if (name[0] == '-')
        return vw_failure(cm_fail(CM_USAGE,
                                  "\"%s\" is no command; options stand behind the "
                                  "command. `ortscope help` lists the commands.",
                                  name));
    const vw_command *command = vw_find_command(name);
    return command ? run_command(io, command, argc - 2, argv + 2) : vw_unknown_command(name);
}
