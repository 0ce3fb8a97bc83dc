// SPDX-License-Identifier: MIT
// Libraries that may be there or not, and their functions into a table of pointers.
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct co_function {
    const char *name;
    size_t offset; // of the pointer in the table
    bool needed;   // else it stays NULL where it is missing
} co_function;

// From the folder of ortscope.exe (tests put pretended ones there), from the system, or from
// `folder` below the program files, if one is given. NULL where there is none.
void *co_library_open(const wchar_t *name, const wchar_t *folder);
void co_library_close(void *library);

// False if one that is needed is missing.
bool co_library_functions(void *library, const co_function *functions, size_t count, void *table);
