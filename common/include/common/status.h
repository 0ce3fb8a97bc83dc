// SPDX-License-Identifier: MIT
// The one way errors travel: a function that can fail returns cm_status, leaves its outputs alone
// on failure, and has put one sentence for the user into the thread's message with cm_fail().
// The command line prints that sentence and turns the status into an exit code; nothing in between
// formats or prints.
#pragma once

#include <stdint.h>

// name, exit code, what it means where no better sentence was given
#define CM_STATUS_MAP(XX)                                                                          \
    XX(OK, 0, "success")                                                                           \
    XX(END, 0, "no more data")                                                                     \
    XX(FAILED, 1, "the operation failed")                                                          \
    XX(IO, 1, "a file could not be read or written")                                               \
    XX(CORRUPT, 1, "the data is damaged")                                                          \
    XX(NO_MEMORY, 1, "out of memory")                                                              \
    XX(USAGE, 2, "wrong usage")                                                                    \
    XX(NOT_FOUND, 3, "the target was not found or is gone")                                        \
    XX(ACCESS_DENIED, 4, "access denied")                                                          \
    XX(UNSUPPORTED, 5, "the target is not supported")                                              \
    XX(DATA_LOST, 12, "events were lost")

typedef enum cm_status {
#define XX(name, exit_code, text) CM_##name,
    CM_STATUS_MAP(XX)
#undef XX
} cm_status;

#if defined(__MINGW32__)
#define CM_PRINTF(fmt, args) __attribute__((format(gnu_printf, fmt, args)))
#else
#define CM_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#endif

// Stores the sentence (at most 1023 bytes, thread-local) and returns `status`.
cm_status cm_fail(cm_status status, const char *fmt, ...) CM_PRINTF(2, 3);

// The last sentence stored on this thread, or the generic text of `status` if there is none.
const char *cm_error_text(cm_status status);

int cm_exit_code(cm_status status);
const char *cm_status_name(cm_status status);

// Passes a failure on: `CM_TRY(file_open(...));`. Use `goto done` by hand where there is cleanup.
#define CM_TRY(expr)                                                                               \
    do {                                                                                           \
        cm_status cm_try_status = (expr);                                                          \
        if (cm_try_status != CM_OK)                                                                \
            return cm_try_status;                                                                  \
    } while (0)
