// SPDX-License-Identifier: MIT
// Reading and writing .ortl files: docs/timeline-format.md describes the bytes.
//
// Rows are arrays of int64_t in the column order of kinds.h. The writer gathers rows per kind and
// puts them out as blocks on tm_writer_flush(); errors are sticky and told by flush and close.
// The reader hands out whole, checksummed blocks and stops at the first damaged or missing byte;
// tm_reader_damage() then says what is missing.
#pragma once

#include "common/status.h"
#include "timeline/kinds.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum tm_kind {
#define K(name) TM_KIND_##name,
    TM_KINDS(K)
#undef K
        TM_KIND_COUNT
} tm_kind;

typedef enum tm_type { TM_TIME, TM_DUR, TM_INT, TM_ID, TM_STR, TM_U64 } tm_type;

// Column numbers: TM_run_begin, TM_session_model, ...
#define TM_ENUM_COLUMNS(kind)       enum { TM_COLUMNS_##kind(TM_ENUM_##kind) TM_##kind##_COUNT };
#define TM_ENUM_process(c, t)       TM_process_##c,
#define TM_ENUM_process_end(c, t)   TM_process_end_##c,
#define TM_ENUM_module(c, t)        TM_module_##c,
#define TM_ENUM_module_end(c, t)    TM_module_end_##c,
#define TM_ENUM_env(c, t)           TM_env_##c,
#define TM_ENUM_session(c, t)       TM_session_##c,
#define TM_ENUM_session_end(c, t)   TM_session_end_##c,
#define TM_ENUM_shape(c, t)         TM_shape_##c,
#define TM_ENUM_tensor(c, t)        TM_tensor_##c,
#define TM_ENUM_run(c, t)           TM_run_##c,
#define TM_ENUM_log(c, t)           TM_log_##c,
#define TM_ENUM_lost(c, t)          TM_lost_##c,
#define TM_ENUM_clock(c, t)         TM_clock_##c,
#define TM_ENUM_overhead(c, t)      TM_overhead_##c,
#define TM_ENUM_mark(c, t)          TM_mark_##c,
#define TM_ENUM_kernel(c, t)        TM_kernel_##c,
#define TM_ENUM_kernel_shape(c, t)  TM_kernel_shape_##c,
#define TM_ENUM_kernel_end(c, t)    TM_kernel_end_##c,
#define TM_ENUM_op(c, t)            TM_op_##c,
#define TM_ENUM_allocator(c, t)     TM_allocator_##c,
#define TM_ENUM_alloc(c, t)         TM_alloc_##c,
#define TM_ENUM_memory(c, t)        TM_memory_##c,
#define TM_ENUM_run_memory(c, t)    TM_run_memory_##c,
#define TM_ENUM_ort_event(c, t)     TM_ort_event_##c,
#define TM_ENUM_phase(c, t)         TM_phase_##c,
#define TM_ENUM_op_choice(c, t)     TM_op_choice_##c,
#define TM_ENUM_counter(c, t)       TM_counter_##c,
#define TM_ENUM_sample(c, t)        TM_sample_##c,
#define TM_ENUM_sampling(c, t)      TM_sampling_##c,
#define TM_ENUM_bystander(c, t)     TM_bystander_##c,
#define TM_ENUM_thread(c, t)        TM_thread_##c,
#define TM_ENUM_image(c, t)         TM_image_##c,
#define TM_ENUM_sched(c, t)         TM_sched_##c,
#define TM_ENUM_ready(c, t)         TM_ready_##c,
#define TM_ENUM_profile(c, t)       TM_profile_##c,
#define TM_ENUM_fault(c, t)         TM_fault_##c,
#define TM_ENUM_disk(c, t)          TM_disk_##c,
#define TM_ENUM_interrupt(c, t)     TM_interrupt_##c,
#define TM_ENUM_kernel_memory(c, t) TM_kernel_memory_##c,
#define TM_ENUM_fact(c, t)          TM_fact_##c,
#define TM_ENUM_profiling(c, t)     TM_profiling_##c,
#define TM_ENUM_kernel_tensor(c, t) TM_kernel_tensor_##c,
TM_KINDS(TM_ENUM_COLUMNS)

#define TM_MAX_COLUMNS 24

typedef struct tm_column {
    const char *name;
    tm_type type;
} tm_column;

typedef struct tm_kind_info {
    const char *name;
    unsigned column_count;
    const tm_column *columns;
} tm_kind_info;

const tm_kind_info *tm_kind_get(tm_kind kind);

typedef struct tm_header {
    const char *ortscope_version;
    uint64_t start_utc_ns; // wall clock at time 0
    const char *os;        // e.g. "Windows 10.0.19045"
    const char *cpu;       // brand string
    int cpu_count;
} tm_header;

// ---------------------------------------------------------------------------------------- writing

typedef struct tm_writer tm_writer;

cm_status tm_writer_create(const char *path, const tm_header *header, tm_writer **out);

// Interns `len` bytes of UTF-8 and returns their id; the same bytes give the same id. Empty: 0.
// What is not valid becomes U+FFFD, what is longer than 1 MiB is cut. 0 also when the file has as
// many strings as the format allows (4 million or 256 MiB): a target must not fill our memory.
int64_t tm_writer_string(tm_writer *w, const char *text, size_t len);

// Copies one row of tm_kind_get(kind)->column_count values. Flushes by itself when a block is full.
void tm_writer_row(tm_writer *w, tm_kind kind, const int64_t *values);

// Sees every row that is handed to the writer, on the thread that does; must not take long.
typedef void (*tm_row_watcher)(void *context, const tm_writer *w, tm_kind kind,
                               const int64_t *values);
void tm_writer_watch(tm_writer *w, tm_row_watcher watcher, void *context);

// What an id of tm_writer_string stands for, without a NUL; valid until the next string comes. ""
// with *out_len 0 for ids that it did not give.
const char *tm_writer_text(const tm_writer *w, int64_t id, size_t *out_len);

// Puts every gathered row into the file and hands the bytes to the operating system.
cm_status tm_writer_flush(tm_writer *w);

uint64_t tm_writer_file_bytes(const tm_writer *w);

// Flushes, adds the index, closes. Frees `w` also when it fails.
cm_status tm_writer_close(tm_writer *w);

// ---------------------------------------------------------------------------------------- reading

typedef struct tm_reader tm_reader;

typedef struct tm_block {
    tm_kind kind;
    size_t row_count;
    // One array of row_count values per column of tm_kind_get(kind); a column that an older file
    // lacks is all zero. Valid until the next call on the reader.
    const int64_t *columns[TM_MAX_COLUMNS];
} tm_block;

cm_status tm_reader_open(const char *path, tm_reader **out);
void tm_reader_close(tm_reader *r);

// Borrowed until close.
const tm_header *tm_reader_header(const tm_reader *r);

// The next block of a known kind, CM_END after the last whole one. May be called again after
// CM_END: it goes on when the file has grown meanwhile.
cm_status tm_reader_next(tm_reader *r, tm_block *out);

// Only blocks of these kinds (bit = 1u << kind) are read from now on; others are skipped unread,
// by the file's index when it has a good one. Damage in blocks that are not read stays unnoticed.
#define TM_BIT(kind) ((uint64_t)1 << TM_KIND_##kind)
void tm_reader_only(tm_reader *r, uint64_t kind_mask);

// Blocks for whose times `wanted` says false are skipped unread, too, where the file has a good
// index: only a saving, others may come all the same. After tm_reader_only(), which forgets it.
typedef bool tm_wanted(void *context, int64_t first_time, int64_t last_time);
void tm_reader_only_times(tm_reader *r, void *context, tm_wanted *wanted);

// NUL-terminated valid UTF-8, borrowed until close; "" for 0 and for ids that the file does not
// define (up to the last block read).
const char *tm_reader_string(const tm_reader *r, int64_t id);

// How far the reading has come, in bytes of the file as it is now.
void tm_reader_progress(tm_reader *r, uint64_t *out_done, uint64_t *out_total);

// After CM_END: NULL if the file was complete, else one sentence ("the file ends in the middle of
// a block at byte 5120; everything before it was read").
const char *tm_reader_damage(const tm_reader *r);

// After CM_END: whether nothing is wrong but that the end is missing: the file is still being
// written, or its capture was cut off.
bool tm_reader_is_unfinished(const tm_reader *r);
