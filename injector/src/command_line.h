// SPDX-License-Identifier: MIT
// Argument lists to Windows command lines. A Windows process gets one string and splits it itself;
// this writes the string that CommandLineToArgvW and the C runtimes split back into what we were
// given. Works on UTF-8: every character that matters is ASCII.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// Writes the command line, NUL-terminated, into `out` and returns its length. If `out_bytes` is too
// small nothing useful is in `out` and the length that it needs (without the NUL) is returned all
// the same. argv[0] has no quote in it (no file name can).
size_t inj_command_line(int argc, char *const argv[], char *out, size_t out_bytes);
