// SPDX-License-Identifier: MIT
// Gathers rows, puts them out in blocks. Decides when a block is full and in which order blocks
// stand: strings first, then kinds in the order of kinds.h, where what is referred to comes before
// what refers to it. After the first failed write nothing more is written: a block behind a half
// block could never be read.
#include "encode.h"

#include "common/os.h"
#include "common/utf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tm_writer {
    cm_file *file;
    uint64_t file_bytes;
    cm_buf pending[TM_KIND_COUNT]; // int64_t, row by row
    size_t pending_rows[TM_KIND_COUNT];
    tm_intern strings;
    size_t strings_written;
    cm_buf index; // tm_index_entry
    bool index_given_up;
    cm_buf out, scratch;
    tm_row_watcher watcher;
    void *watcher_context;
    cm_status status; // the first failure, kept
    char sentence[640];
};

static cm_status keep_failure(tm_writer *w, cm_status status)
{
    if (w->status == CM_OK) {
        w->status = status;
        snprintf(w->sentence, sizeof w->sentence, "%s", cm_error_text(status));
    }
    return cm_fail(w->status, "%s", w->sentence);
}

static cm_status write_out(tm_writer *w)
{
    cm_status status = cm_buf_status(&w->out);
    if (status == CM_OK)
        status = cm_file_write(w->file, w->out.data, w->out.len);
    if (status != CM_OK)
        return keep_failure(w, status);
    w->file_bytes += w->out.len;
    cm_buf_clear(&w->out);
    return CM_OK;
}

static void free_writer(tm_writer *w)
{
    for (unsigned i = 0; i < TM_KIND_COUNT; i++)
        cm_buf_deinit(&w->pending[i]);
    tm_intern_deinit(&w->strings);
    cm_buf_deinit(&w->index);
    cm_buf_deinit(&w->out);
    cm_buf_deinit(&w->scratch);
    free(w);
}

cm_status tm_writer_create(const char *path, const tm_header *header, tm_writer **out)
{
    tm_writer *w = calloc(1, sizeof *w);
    if (!w)
        return cm_fail(CM_NO_MEMORY, "There is not enough memory to write \"%s\".", path);
    tm_intern_init(&w->strings);
    cm_status status = cm_file_create(path, &w->file);
    if (status != CM_OK) {
        free_writer(w);
        return status;
    }
    tm_encode_header(&w->out, header);
    status = write_out(w);
    if (status != CM_OK) {
        cm_file_close(w->file);
        cm_file_discard(path);
        cm_fail(status, "%s", w->sentence); // closing may have put another sentence
        free_writer(w);
        return status;
    }
    *out = w;
    return CM_OK;
}

int64_t tm_writer_string(tm_writer *w, const char *text, size_t len)
{
    if (len == 0 || w->status != CM_OK)
        return 0;
    if (len <= TM_STRING_BYTES_MAX && cm_utf8_valid(text, len))
        return tm_intern_add(&w->strings, text, len);
    // Rare: make it valid, and cut it where it is too long.
    size_t cap = cm_utf8_repair(text, len, NULL, 0) + 1;
    if (cap > TM_STRING_BYTES_MAX + 1)
        cap = TM_STRING_BYTES_MAX + 1;
    char *repaired = malloc(cap);
    if (!repaired)
        return 0;
    size_t repaired_len = cm_utf8_repair(text, len, repaired, cap);
    int64_t id = tm_intern_add(&w->strings, repaired, repaired_len);
    free(repaired);
    return id;
}

void tm_writer_watch(tm_writer *w, tm_row_watcher watcher, void *context)
{
    w->watcher = watcher;
    w->watcher_context = context;
}

const char *tm_writer_text(const tm_writer *w, int64_t id, size_t *out_len)
{
    *out_len = 0;
    if (id < 1 || (uint64_t)id > tm_intern_count(&w->strings))
        return "";
    const tm_intern_ref *ref = tm_intern_get(&w->strings, (size_t)id - 1);
    *out_len = ref->len;
    return (const char *)w->strings.text.data + ref->offset;
}

void tm_writer_row(tm_writer *w, tm_kind kind, const int64_t *values)
{
    if (w->watcher)
        w->watcher(w->watcher_context, w, kind, values);
    if (w->status != CM_OK)
        return;
    cm_buf *pending = &w->pending[kind];
    cm_buf_append(pending, values, tm_kind_get(kind)->column_count * sizeof *values);
    if (pending->failed) {
        keep_failure(w, cm_buf_status(pending));
        return;
    }
    if (++w->pending_rows[kind] >= TM_WRITER_BLOCK_ROWS)
        tm_writer_flush(w); // its error is sticky
}

// Remembers the block that starts at the end of `out`.
static void note_block(tm_writer *w, tm_index_entry entry)
{
    entry.offset = w->file_bytes + w->out.len;
    if (w->index.len / sizeof entry >= TM_INDEX_ROWS_MAX)
        w->index_given_up = true; // a reader scans then
    if (!w->index_given_up)
        cm_buf_append(&w->index, &entry, sizeof entry);
}

static void put_strings(tm_writer *w)
{
    size_t total = tm_intern_count(&w->strings);
    while (w->strings_written < total) {
        size_t first = w->strings_written, count = 0, bytes = 0;
        while (first + count < total && count < TM_WRITER_BLOCK_ROWS &&
               bytes < TM_WRITER_STRING_BYTES)
            bytes += tm_intern_get(&w->strings, first + count++)->len;
        note_block(w, (tm_index_entry){.kind = TM_INDEX_STRING,
                                       .rows = (uint32_t)count,
                                       .first_time = 0,
                                       .last_time = -1});
        tm_encode_strings(&w->out, &w->scratch, &w->strings, first, count);
        w->strings_written += count;
    }
}

static void put_block(tm_writer *w, tm_kind kind, const int64_t *rows, size_t row_count)
{
    const tm_kind_info *info = tm_kind_get(kind);
    tm_index_entry entry = {
        .kind = (int32_t)kind, .rows = (uint32_t)row_count, .first_time = 0, .last_time = -1};
    unsigned time = 0;
    while (time < info->column_count && info->columns[time].type != TM_TIME)
        time++;
    if (time < info->column_count) {
        entry.first_time = entry.last_time = rows[time];
        for (size_t i = 1; i < row_count; i++) {
            int64_t value = rows[i * info->column_count + time];
            entry.first_time = value < entry.first_time ? value : entry.first_time;
            entry.last_time = value > entry.last_time ? value : entry.last_time;
        }
    }
    note_block(w, entry);
    tm_encode_rows(&w->out, &w->scratch, kind, rows, row_count);
}

static void put_rows(tm_writer *w, tm_kind kind)
{
    const int64_t *rows = (const int64_t *)(const void *)w->pending[kind].data;
    if (w->pending_rows[kind] > 0)
        put_block(w, kind, rows, w->pending_rows[kind]);
    cm_buf_clear(&w->pending[kind]);
    w->pending_rows[kind] = 0;
}

cm_status tm_writer_flush(tm_writer *w)
{
    if (w->status != CM_OK)
        return cm_fail(w->status, "%s", w->sentence);
    put_strings(w);
    for (tm_kind kind = 0; kind < TM_KIND_COUNT; kind++)
        put_rows(w, kind);
    return w->out.len || w->out.failed ? write_out(w) : CM_OK;
}

uint64_t tm_writer_file_bytes(const tm_writer *w)
{
    return w->file_bytes;
}

cm_status tm_writer_close(tm_writer *w)
{
    if (tm_writer_flush(w) == CM_OK) {
        uint64_t index_offset = 0;
        size_t count = w->index.len / sizeof(tm_index_entry);
        if (count > 0 && !w->index_given_up && !w->index.failed) {
            index_offset = w->file_bytes;
            tm_encode_index(&w->out, &w->scratch,
                            (const tm_index_entry *)(const void *)w->index.data, count);
        }
        tm_encode_end(&w->out, index_offset);
        write_out(w);
    }
    cm_status closed = cm_file_close(w->file);
    if (closed != CM_OK)
        keep_failure(w, closed);
    cm_status status = w->status;
    if (status != CM_OK)
        cm_fail(status, "%s", w->sentence);
    free_writer(w);
    return status;
}
