// SPDX-License-Identifier: MIT
// Where an export goes: one file, several parts of about a size, or standard output; compressed on
// the way if asked for. Writers of formats see only `out`. When anything fails, every part that was
// written is removed again: a cut file must not pass for a whole one.
#pragma once

#include "gzip_stream.h"
#include "output.h"

#define VW_EX_MAX_PARTS 9999

typedef struct vw_ex_output {
    cm_out out;
    vw_io *io;
    const char *path;      // NULL: standard output
    const char *extension; // of the format: the number of a part stands before it
    uint64_t split_bytes;  // 0: one file
    bool gzip;
    unsigned part; // the one that is open or was last, from 1 on
    bool is_open;
    char name[1024]; // of that part
    cm_file *file;
    vw_gzip *stream;
    uint64_t part_bytes;  // of that part, as they stand in the file
    uint64_t total_bytes; // of all parts
} vw_ex_output;

// Borrows the texts.
void vw_ex_output_init(vw_ex_output *o, vw_io *io, const char *path, const char *extension,
                       uint64_t split_bytes, bool gzip);
cm_status vw_ex_output_open(vw_ex_output *o); // the next part
cm_status vw_ex_output_close(vw_ex_output *o);
// Whether the part has its size; what has not reached the file yet counts as it is.
bool vw_ex_output_is_full(const vw_ex_output *o);
// Ends everything; removes the files unless `keep`.
void vw_ex_output_deinit(vw_ex_output *o, bool keep);

// The exit code of a command that wrote by this; says what failed, if vw_io_end does not.
int vw_ex_exit_code(const vw_io *io, cm_status status);

// Usage failure where `path` is a recording, the one that is read for example.
cm_status vw_ex_refuse_recording(const char *path);
