// SPDX-License-Identifier: MIT
// Everything that portable code asks of the operating system; src/win32/ and src/posix/ implement
// it. Not for the hook DLL, which has its own rules.
//
// For all functions:
// - Paths and arguments are UTF-8 with either slash that the system takes.
// - Failures follow common/status.h: CM_NOT_FOUND when the path does not exist, CM_ACCESS_DENIED
//   when the system forbids it, CM_IO for the rest; the sentence names the path and the system's
//   own reason. Outputs are untouched on failure.
// - Different files may be used on different threads at once; one file by one thread at a time,
//   but cm_file_read_at, which any number of threads may call on the same file.
#pragma once

#include "common/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// ------------------------------------------------------------------------------------------ files

typedef struct cm_file cm_file;

// Opens an existing file for cm_file_read_at. Others may go on writing to it, rename or remove it.
// A directory is refused.
cm_status cm_file_open(const char *path, cm_file **out);

// Makes a new file for cm_file_write, or empties the one that is there. Others may read it
// meanwhile.
cm_status cm_file_create(const char *path, cm_file **out);

// Opens a file for cm_file_write at its end, whatever others add meanwhile, or makes a new one: on
// POSIX for its owner's eyes only.
cm_status cm_file_append(const char *path, cm_file **out);

// Whether cm_file_create would work, without a trace: a file that is there is not touched, none is
// left behind where there was none.
cm_status cm_file_can_create(const char *path);

// The size at this moment: it grows while somebody writes.
cm_status cm_file_size(cm_file *f, uint64_t *out_bytes);

// Reads up to `len` bytes from `offset` on. *out_len is less than `len` only where the file ends;
// reading at or past the end gives 0 bytes and CM_OK.
cm_status cm_file_read_at(cm_file *f, uint64_t offset, void *buffer, size_t len, size_t *out_len);

// Appends all `len` bytes. After CM_OK they are with the operating system: they survive the end of
// this process and other processes see them. After a failure any part of them may be in the file.
cm_status cm_file_write(cm_file *f, const void *data, size_t len);

// Waits until everything written is on the device, so that it survives a loss of power too.
cm_status cm_file_sync(cm_file *f);

// Closes and frees, also when it fails. NULL is allowed.
cm_status cm_file_close(cm_file *f);

// Removes a file, not a directory.
cm_status cm_file_remove(const char *path);

// Removes what was begun to be written and could not be finished. Only files: devices and pipes
// stay.
void cm_file_discard(const char *path);

// Whether both are the same file, whatever it is called. False where either does not exist.
bool cm_file_is_same(const char *a, const char *b);

// ------------------------------------------------------------------------------------------- time

// Nanoseconds since some fixed moment; never goes back.
uint64_t cm_monotonic_ns(void);

// Nanoseconds since 1970 UTC by the wall clock.
uint64_t cm_utc_ns(void);

// At least this long, as far as the system's timer tells; 0 gives up the rest of the time slice.
void cm_sleep_ms(uint32_t ms);
// While it is on, sleeps and waits end a millisecond late at most. Windows rounds them up to its
// clock's 15.6 ms else, and keeps its processors awake more for it.
void cm_fine_timer(bool on);

// --------------------------------------------------------------------------------------- terminal

typedef enum cm_stream { CM_STDOUT = 1, CM_STDERR = 2 } cm_stream;

// Writes all bytes at once, past the C library's buffers: a console takes characters and escape
// sequences only whole. CM_END: whoever read them has closed the other end.
cm_status cm_stream_write(cm_stream stream, const void *bytes, size_t len);

bool cm_is_terminal(cm_stream stream);

// Columns of the terminal; 0 where `stream` is none or it does not tell.
unsigned cm_terminal_width(cm_stream stream);

// Whether a terminal of this process shows UTF-8: by the locale, or on Windows by the console's
// code page (cm_console_init asks for UTF-8 there; old consoles may refuse).
bool cm_terminal_is_utf8(void);

// Call once at the start of main, before anything is printed: makes stdout and stderr pass bytes on
// as they are (no CR before LF, so that output is the same on every system) and a Windows console
// show them as UTF-8 and obey escape sequences. What belongs to the console is put back at exit.
void cm_console_init(void);

// The arguments of this process in UTF-8. Call with main's own; Windows ignores them and asks the
// system, since main's have lost what the code page lacks. The result is one allocation that lives
// to the end of the process, with a NULL behind the last argument.
cm_status cm_args_utf8(int argc, char *argv[], int *out_argc, char ***out_argv);
