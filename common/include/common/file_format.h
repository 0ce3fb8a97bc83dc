// SPDX-License-Identifier: MIT
// What a file is by its first bytes, for messages about files that are not what was expected.
#pragma once

#include <stddef.h>

typedef struct cm_file_format {
    const char *what;   // "a ZIP archive"
    const char *advice; // a sentence on what to do with it, "" if there is none
} cm_file_format;

// NULL: nothing that we know. A few kilobytes are enough.
const cm_file_format *cm_file_format_of(const void *bytes, size_t len);
