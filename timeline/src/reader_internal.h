// SPDX-License-Identifier: MIT
// The reader in its parts:
//   reader.c          the public functions: which block comes next, what is skipped
//   reader_header.c   the file's first object: who wrote it, which columns its kinds have
//   reader_block.c    one block: its head, its checksum, its columns or strings
//   reader_column.c   the integers of a column
//   reader_index.c    the index at the end, when it is there and fits
//
// Everything in a file may be wrong by accident or by intent. Whatever is read from it is checked
// against the limits of format.h before it is used as a size, a count, an offset or a place.
#pragma once

#include "encode.h" // tm_index_entry
#include "format.h"
#include "mp_token.h"
#include "source.h"

#include "common/buf.h"

// The columns that a kind has in this file, in the file's order.
typedef struct tm_file_kind {
    bool known; // the file's header names it
    unsigned column_count;
    struct {
        int8_t ours; // place in kinds.h, -1: not known to us
        bool delta;
    } columns[TM_FILE_COLUMNS_MAX];
} tm_file_kind;

typedef struct tm_string_chunk {
    struct tm_string_chunk *next;
    char text[];
} tm_string_chunk;

struct tm_reader {
    tm_source source;
    tm_header header; // points to the texts below
    char ortscope_version[64], os[256], cpu[256];
    tm_file_kind kinds[TM_KIND_COUNT];

    uint64_t begin;    // of the first block
    uint64_t position; // of the next block to look at
    uint64_t mask;
    tm_wanted *wanted; // NULL: all times
    void *wanted_context;

    tm_string_chunk *chunks;
    cm_buf strings; // const char *, place = id - 1
    size_t string_bytes;

    tm_index_entry *index; // NULL: read block by block
    size_t index_count, index_next;
    uint64_t index_offset; // where the index itself stands: the end of the last block

    cm_buf values; // int64_t, the columns of the last block
    char damage[256];
    bool unfinished; // the damage is no more than a missing end
};

// ------------------------------------------------------------------------------- reader_header.c

// Reads the header and sets `begin`. `name` is for the sentences.
cm_status tm_reader_load_header(tm_reader *r, const char *name);

// -------------------------------------------------------------------------------- reader_block.c

typedef enum tm_special {
    TM_SPECIAL_NONE,
    TM_SPECIAL_STRING,
    TM_SPECIAL_INDEX,
    TM_SPECIAL_END,
    TM_SPECIAL_UNKNOWN,
} tm_special;

typedef struct tm_head {
    tm_special special;
    tm_kind kind; // TM_SPECIAL_NONE
    char name[64];
    size_t name_len;
    unsigned column_count;
    uint64_t rows, bytes, first;
    uint32_t crc;
    uint64_t offset;     // of the block
    uint64_t data;       // of its columns
    uint64_t end;        // of the block: where the next one starts
    uint64_t index_link; // TM_SPECIAL_END
} tm_head;

// What reading at a place came to. Only TM_STEP_ERROR is a failure of the caller's business (the
// file cannot be read, no memory); cut and damaged data end the timeline with a remark.
typedef enum tm_step {
    TM_STEP_OK,
    TM_STEP_EOF,   // exactly at the end of the file
    TM_STEP_STOP,  // cut or damaged: r->damage says so
    TM_STEP_ERROR, // *out_status and its sentence
} tm_step;

tm_step tm_reader_head(tm_reader *r, uint64_t offset, tm_head *out, cm_status *out_status);

// The checked bytes of the columns of the block.
tm_step tm_reader_columns(tm_reader *r, const tm_head *head, mp_input *out, cm_status *out_status);

tm_step tm_reader_take_rows(tm_reader *r, const tm_head *head, tm_block *out,
                            cm_status *out_status);
tm_step tm_reader_take_strings(tm_reader *r, const tm_head *head, cm_status *out_status);

// Checks a block that is of no use to us. A damaged name looks like a kind of a later version; the
// checksum tells them apart.
tm_step tm_reader_pass_over(tm_reader *r, const tm_head *head, cm_status *out_status);

// Stores the remark and returns TM_STEP_STOP.
tm_step tm_reader_stop(tm_reader *r, const char *fmt, ...) CM_PRINTF(2, 3);

// ------------------------------------------------------------------------------- reader_column.c

// One column of `rows` integers into `out`; false if it is none.
bool tm_take_column(mp_input *in, uint64_t rows, bool delta, int64_t *out);

// -------------------------------------------------------------------------------- reader_index.c

// Loads the index if there is one that fits the file; else leaves r->index NULL.
void tm_reader_load_index(tm_reader *r);

// ---------------------------------------------------------------------------------------- tests

// As tm_reader_open, from memory that is borrowed until close.
cm_status tm_reader_open_memory(const void *data, size_t len, tm_reader **out);
