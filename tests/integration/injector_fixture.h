// SPDX-License-Identifier: MIT
// What the injector's tests share: the programs they go into, and these programs' standard handles.
#pragma once

#include "injector/injector.h"
#include "tracelogging/channel.h"

#include <stdbool.h>
#include <windows.h>

#define FX_RING_BYTES TL_RING_BYTES_MIN
#define FX_ALL_RINGS  ((inj_channel_size){4, FX_RING_BYTES})

// Full path (UTF-8) of a file beside the test; a few buffers in turn.
char *fx_path(const char *name);
wchar_t *fx_wide_path(const char *name);

// An idle_target.exe that runs until it is told to stop.
typedef struct fx_idle {
    HANDLE process;
    HANDLE stop;
    DWORD pid;
} fx_idle;

fx_idle fx_idle_start(const char *program, const char *mode);
DWORD fx_idle_end(fx_idle *idle); // its exit code: 42 if all went well

// Between the two, our standard input is `input` and standard output goes to a pipe, as a launched
// program then finds them. `output` gets what was written.
void fx_capture_begin(const char *input);
void fx_capture_end(char *output, size_t output_bytes);

// inj_launch + inj_attach + inj_resume + wait for the end; what it printed, and its exit code.
cm_status fx_run(int argc, char *argv[], char *output, size_t output_bytes, uint32_t *exit_code);

// Copies a file beside the test to another name and stores two bytes at its PE header + offset.
void fx_copy_patched(const char *from, const char *to, unsigned pe_offset, unsigned value);

// Handles that a process has open, and bytes of private memory.
unsigned fx_handle_count(DWORD pid);
size_t fx_private_bytes(HANDLE process);

void fx_assert_sentence_has(cm_status status, const char *part);
