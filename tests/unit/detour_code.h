// SPDX-License-Identifier: MIT
// Hand-assembled functions for the tests of the detour engine: every prologue form with what it
// returns, and executable memory to put them in.
#pragma once

#include "hookdll/detour.h"

#include <stdint.h>

typedef int64_t (*code_fn)(int64_t a, int64_t b);

typedef struct code_form {
    const char *name;
    const char *hex;  // %helper: the address of its helper
    int64_t result_0; // for (a, b) = (0, 70)
    int64_t result_3; // for (a, b) = (3, 70)
} code_form;

extern const code_form code_forms[];
extern const unsigned code_form_count;
enum { CODE_FORMS_MAX = 28 };

// Executable memory (PAGE_EXECUTE_READ) filled with int3. Never freed.
uint8_t *code_memory(uint32_t len);
// Writes the bytes of `hex` to `at`, whatever its protection; returns how many.
uint32_t code_write(uint8_t *at, const char *hex);
// The form's function in fresh memory, its helper (returns a + b) 64 bytes before it.
uint8_t *code_make(const code_form *form);
