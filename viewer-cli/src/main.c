// SPDX-License-Identifier: MIT
// The start of `ortscope`: arguments in UTF-8, standard streams, one command, exit code.
#include "commands.h"

int main(int argc, char *argv[])
{
    vw_io io;
    int count;
    char **args;
    vw_io_init(&io);
    cm_status status = cm_args_utf8(argc, argv, &count, &args);
    int exit_code = status == CM_OK ? vw_main(&io, count, args) : vw_failure(status);
    return vw_io_end(&io, exit_code);
}
