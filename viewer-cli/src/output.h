// SPDX-License-Identifier: MIT
// Where the commands write: data through `out` to standard output, messages to standard error as
// "ortscope: ...". Decides once about colour, Unicode and width, so that no command asks the
// system.
#pragma once

#include "common/os.h"
#include "common/out.h"

#include <stdbool.h>

typedef enum vw_style {
    VW_PLAIN,
    VW_BOLD,
    VW_DIM,
    VW_BAD,  // failures, worse
    VW_WARN, // losses
    VW_GOOD, // better
    VW_MARK, // bars, lines, names of commands
} vw_style;

typedef struct vw_io {
    cm_out out;       // buffered
    cm_stream stream; // standard output for all data
    bool is_terminal; // the stream is one
    bool color;       // a terminal, and NO_COLOR is not set
    bool unicode;     // not a terminal, or one that shows UTF-8
    unsigned width;   // columns that text for people may take: 80 where nobody knows
    bool fits;        // lines are broken to that width
    cm_buf line;      // the begin of a line that waits for its end, where they are
    bool reader_gone; // whoever read our output has closed it
} vw_io;

// Once at the start of main: prepares the process and takes standard output.
void vw_io_init(vw_io *io);
// The same on another stream: a summary on standard error while a target owns standard output.
void vw_io_init_for(vw_io *io, cm_stream stream);

// What follows is text for people: no line of it is wider than io->width. Never for data.
void vw_fit_lines(vw_io *io);

// --color auto|always|never and --ascii, which every command has.
cm_status vw_io_choose(vw_io *io, const char *color, bool ascii);

// Writes what is left and says so if it could not. Returns the exit code: `exit_code`, or a failure
// if that was 0. A reader that went away early is no failure (`ortscope dump x | head`).
int vw_io_end(vw_io *io, int exit_code);

// Nothing where there is no colour.
void vw_style_on(vw_io *io, vw_style style);
void vw_style_off(vw_io *io, vw_style style);
void vw_styled(vw_io *io, vw_style style, const char *text);

// One sentence for the person at the keyboard; control characters in it are made harmless.
void vw_message(const char *fmt, ...) CM_PRINTF(1, 2);

// Prints the sentence of a failure and returns its exit code.
int vw_failure(cm_status status);
