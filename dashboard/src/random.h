// SPDX-License-Identifier: MIT
#pragma once

#include <stdbool.h>
#include <stddef.h>

// win32/random.c, posix/random.c: from the system's own generator. Any thread.
bool da_random(void *out, size_t len);
