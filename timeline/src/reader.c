// SPDX-License-Identifier: MIT
// The public side of the reader: walks from block to block, or from one index entry to the next,
// and decides what a caller gets to see. `position` only ever moves forward, but for one step back
// to the last block that was read when the index turns out wrong; so every walk ends.
#include "reader_internal.h"

#include <stdlib.h>

#define ALL_KINDS (((uint64_t)1 << TM_KIND_COUNT) - 1)

static cm_status open_source(tm_source source, const char *name, tm_reader **out)
{
    tm_reader *r = calloc(1, sizeof *r);
    if (!r) {
        tm_source_close(&source);
        return cm_fail(CM_NO_MEMORY, "There is not enough memory to open \"%s\".", name);
    }
    r->source = source;
    r->mask = ALL_KINDS;
    cm_status status = tm_reader_load_header(r, name);
    if (status != CM_OK) {
        tm_reader_close(r);
        return status;
    }
    r->position = r->begin;
    *out = r;
    return CM_OK;
}

cm_status tm_reader_open(const char *path, tm_reader **out)
{
    tm_source source = {0};
    CM_TRY(cm_file_open(path, &source.file));
    return open_source(source, path, out);
}

cm_status tm_reader_open_memory(const void *data, size_t len, tm_reader **out)
{
    return open_source((tm_source){.memory = data, .memory_len = len}, "memory", out);
}

static void drop_index(tm_reader *r)
{
    free(r->index);
    r->index = NULL;
}

void tm_reader_close(tm_reader *r)
{
    if (!r)
        return;
    tm_source_close(&r->source);
    drop_index(r);
    while (r->chunks) {
        tm_string_chunk *next = r->chunks->next;
        free(r->chunks);
        r->chunks = next;
    }
    cm_buf_deinit(&r->strings);
    cm_buf_deinit(&r->values);
    free(r);
}

const tm_header *tm_reader_header(const tm_reader *r)
{
    return &r->header;
}

static bool is_wanted(const tm_reader *r, int32_t kind)
{
    return kind >= 0 && (r->mask >> kind & 1) != 0;
}

// 0, -1: the kind has no time.
static bool is_wanted_time(const tm_reader *r, const tm_index_entry *entry)
{
    return !r->wanted || entry->last_time < entry->first_time ||
           r->wanted(r->wanted_context, entry->first_time, entry->last_time);
}

void tm_reader_only_times(tm_reader *r, void *context, tm_wanted *wanted)
{
    r->wanted = wanted;
    r->wanted_context = context;
}

void tm_reader_only(tm_reader *r, uint64_t kind_mask)
{
    r->mask = kind_mask & ALL_KINDS;
    r->wanted = NULL;
    drop_index(r);
    // Who wants everything reads every block anyway, and learns so whether all are good.
    if (r->mask == ALL_KINDS)
        return;
    tm_reader_load_index(r);
    r->damage[0] = 0; // looking for an index that is not there is no damage
    while (r->index && r->index_next < r->index_count &&
           r->index[r->index_next].offset < r->position)
        r->index_next++;
}

const char *tm_reader_string(const tm_reader *r, int64_t id)
{
    const char *const *strings = (const char *const *)(const void *)r->strings.data;
    if (id < 1 || (uint64_t)id > r->strings.len / sizeof *strings)
        return "";
    return strings[id - 1];
}

void tm_reader_progress(tm_reader *r, uint64_t *out_done, uint64_t *out_total)
{
    uint64_t size;
    *out_done = r->position;
    *out_total = tm_source_size(&r->source, &size) == CM_OK ? size : r->position;
}

const char *tm_reader_damage(const tm_reader *r)
{
    return r->damage[0] ? r->damage : NULL;
}

bool tm_reader_is_unfinished(const tm_reader *r)
{
    return r->damage[0] && r->unfinished;
}

// What to do with the block whose head was read: *out_give when it is for the caller.
static tm_step take_block(tm_reader *r, const tm_head *head, tm_block *out, bool *out_give,
                          cm_status *out_status)
{
    tm_step step = TM_STEP_OK;
    *out_give = false;
    if (head->special == TM_SPECIAL_STRING)
        step = tm_reader_take_strings(r, head, out_status);
    else if (head->special == TM_SPECIAL_NONE && is_wanted(r, (int32_t)head->kind)) {
        step = tm_reader_take_rows(r, head, out, out_status);
        *out_give = step == TM_STEP_OK;
    } else if (head->special == TM_SPECIAL_UNKNOWN || head->special == TM_SPECIAL_INDEX) {
        step = tm_reader_pass_over(r, head, out_status);
    }
    if (step == TM_STEP_OK)
        r->position = head->end;
    return step;
}

// The next block by the index. TM_STEP_EOF: there is none; TM_STEP_STOP: the index is wrong.
static tm_step step_by_index(tm_reader *r, tm_block *out, bool *out_give, cm_status *out_status)
{
    *out_give = false;
    while (r->index_next < r->index_count && r->index[r->index_next].kind != TM_INDEX_STRING &&
           (!is_wanted(r, r->index[r->index_next].kind) ||
            !is_wanted_time(r, &r->index[r->index_next])))
        r->index_next++;
    if (r->index_next == r->index_count)
        return TM_STEP_EOF;
    const tm_index_entry *entry = &r->index[r->index_next++];
    uint64_t next =
        r->index_next < r->index_count ? r->index[r->index_next].offset : r->index_offset;
    tm_head head;
    tm_step step = tm_reader_head(r, entry->offset, &head, out_status);
    if (step != TM_STEP_OK)
        return step == TM_STEP_ERROR ? step : TM_STEP_STOP;
    int32_t kind = head.special == TM_SPECIAL_STRING ? TM_INDEX_STRING
                   : head.special == TM_SPECIAL_NONE ? (int32_t)head.kind
                                                     : TM_INDEX_UNKNOWN;
    if (kind != entry->kind || head.rows != entry->rows || head.end != next)
        return TM_STEP_STOP;
    return take_block(r, &head, out, out_give, out_status);
}

// The next block in the file, whatever it is. TM_STEP_EOF: the file is complete and at its end.
static tm_step step_by_scan(tm_reader *r, tm_block *out, bool *out_give, cm_status *out_status)
{
    tm_head head;
    *out_give = false;
    tm_step step = tm_reader_head(r, r->position, &head, out_status);
    if (step == TM_STEP_EOF) {
        r->unfinished = true;
        return tm_reader_stop(r,
                              "The file has no end mark: it is still being written, or its capture "
                              "was cut off. All its %llu bytes were read.",
                              (unsigned long long)r->position);
    }
    if (step != TM_STEP_OK)
        return step;
    if (head.special != TM_SPECIAL_END)
        return take_block(r, &head, out, out_give, out_status);
    uint64_t size;
    if ((*out_status = tm_source_size(&r->source, &size)) != CM_OK)
        return TM_STEP_ERROR;
    if (size != head.end)
        return tm_reader_stop(r,
                              "The file goes on behind its end mark at byte %llu; what follows was "
                              "not read.",
                              (unsigned long long)r->position);
    return TM_STEP_EOF;
}

cm_status tm_reader_next(tm_reader *r, tm_block *out)
{
    for (;;) {
        bool give, by_index = r->index != NULL;
        cm_status status = CM_OK;
        r->damage[0] = 0;
        r->unfinished = false;
        tm_step step =
            by_index ? step_by_index(r, out, &give, &status) : step_by_scan(r, out, &give, &status);
        if (step == TM_STEP_ERROR)
            return status;
        if (step == TM_STEP_OK && give)
            return CM_OK;
        if (step == TM_STEP_STOP && by_index)
            drop_index(r); // `position` is still behind the last block that was good
        else if (step != TM_STEP_OK)
            return CM_END;
    }
}
