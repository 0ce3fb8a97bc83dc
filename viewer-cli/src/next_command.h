// SPDX-License-Identifier: MIT
// The last line of a command's text: what to ask next.
#pragma once

#include "output.h"

// "Next: ortscope COMMAND PATH REST  # why". The path is quoted where a shell needs
// it, the reason left out where the line has no room for it.
void vw_next_command(vw_io *io, const char *why, const char *command, const char *path,
                     const char *rest, ...) CM_PRINTF(5, 6);
