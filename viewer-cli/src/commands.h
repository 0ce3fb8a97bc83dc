// SPDX-License-Identifier: MIT
// All commands of `ortscope`. Each lives in its own cmd_*.c, which defines its table entry; the
// list in commands.c gives the order in the help.
#pragma once

#include "options.h"

extern const vw_command vw_command_summary;
extern const vw_command vw_command_ops;
extern const vw_command vw_command_runs;
extern const vw_command vw_command_diff;
extern const vw_command vw_command_report;
extern const vw_command vw_command_timeline;
extern const vw_command vw_command_dump;
extern const vw_command vw_command_import;
extern const vw_command vw_command_export;
extern const vw_command vw_command_serve;
extern const vw_command vw_command_top;
extern const vw_command vw_command_list;
extern const vw_command vw_command_doctor;
extern const vw_command vw_command_completion;
extern const vw_command vw_command_help;
extern const vw_command vw_command_version;
// cmd_capture.c on Windows; elsewhere cmd_elsewhere.c says that they need Windows
extern const vw_command vw_command_run;
extern const vw_command vw_command_attach;
extern const vw_command vw_command_detach;

// NULL-terminated, in the order of the help.
extern const vw_command *const vw_commands[];

// NULL if there is none of that name.
const vw_command *vw_find_command(const char *name);
// Says which name is near and returns the exit code.
int vw_unknown_command(const char *name);

// argv[0] is the program's name.
int vw_main(vw_io *io, int argc, char **argv);

void vw_print_help(vw_io *io);
