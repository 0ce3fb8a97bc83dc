// SPDX-License-Identifier: MIT
// The commands that go into processes, on systems where they can't: each says so and where to go.
#include "commands.h"

static int needs_windows(vw_io *io, const void *args, int operand_count, char **operands)
{
    (void)io;
    (void)args;
    (void)operand_count;
    (void)operands;
    return vw_failure(cm_fail(CM_FAILED, "This needs Windows: here ortscope reads timelines "
                                         "(summary, runs, dump) but can't look into processes. "
                                         "Record with ortscope.exe on Windows and bring the .ortl "
                                         "file here."));
}

#define ELSEWHERE(command, text)                                                                   \
    const vw_command vw_command_##command = {                                                      \
        .name = #command,                                                                          \
        .one_line = text,                                                                          \
        .usage = "(on Windows only)",                                                              \
        .max_operands = 1 << 20,                                                                   \
        .raw = true,                                                                               \
        .run = needs_windows,                                                                      \
    }

ELSEWHERE(run, "Launches a program and records it (Windows only).");
ELSEWHERE(attach, "Records a running process (Windows only).");
ELSEWHERE(detach, "Ends the recording of a process (Windows only).");
ELSEWHERE(doctor, "Says which sources work here (Windows only).");
ELSEWHERE(list, "Lists the processes that use ONNX Runtime (Windows only).");
