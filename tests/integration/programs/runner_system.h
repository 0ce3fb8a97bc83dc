// SPDX-License-Identifier: MIT
// What model_runner asks of Windows.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <wchar.h>

typedef struct runner_memory {
    size_t private_bytes;
    size_t other_heaps_bytes; // in use in heaps that are neither the process's nor the C library's
} runner_memory;

runner_memory runner_measure(void);

// Writes the PID file (NULL: none), then waits until the go file is there. False: can't write.
bool runner_await_go(const wchar_t *pid_file, const wchar_t *go_file);

// The file PREFIXnumber, empty; NULL if there is no prefix.
FILE *runner_open_progress(const wchar_t *prefix, size_t number);

// ORT's messages, as ort_log_fn, to stderr.
void runner_log(void *param, int severity, const char *category, const char *log_id,
                const char *location, const char *message);
