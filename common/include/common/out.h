// SPDX-License-Identifier: MIT
// Bytes on their way out: a buffer that either grows in memory or empties itself into a function.
// Everything that makes text (JSON, tables, CSV) writes into one of these and never into a file.
// Errors are sticky: after the first failure nothing more is written; ask cm_out_flush() once at
// the end, or cm_out_failed() now and then to stop a long loop early.
#pragma once

#include "common/buf.h"
#include "common/status.h"

#include <stdbool.h>
#include <stddef.h>

// Takes all of the bytes or fails.
typedef cm_status (*cm_write_fn)(void *context, const void *bytes, size_t len);

typedef struct cm_out {
    cm_buf buf;        // everything so far, or what the sink has not got yet
    cm_write_fn write; // NULL: grows in memory
    void *context;
    cm_status status;
} cm_out;

void cm_out_init_memory(cm_out *out);
void cm_out_init_sink(cm_out *out, cm_write_fn write, void *context);

// Frees the buffer; does not flush.
void cm_out_deinit(cm_out *out);

void cm_out_bytes(cm_out *out, const void *bytes, size_t len);
void cm_out_text(cm_out *out, const char *text);
void cm_out_char(cm_out *out, char c);
void cm_out_repeat(cm_out *out, const char *text, size_t times);
void cm_out_printf(cm_out *out, const char *fmt, ...) CM_PRINTF(2, 3);

// Empties a sink's buffer and tells the first error there was.
cm_status cm_out_flush(cm_out *out);
bool cm_out_failed(const cm_out *out);

// What a memory buffer holds, "" if nothing; borrowed until the next write.
const char *cm_out_string(cm_out *out);
// Forgets what a memory buffer holds and keeps its storage.
void cm_out_clear(cm_out *out);
