// SPDX-License-Identifier: MIT
#include "timeline_sample.h"

#include "common/os.h"

#include <stdlib.h>
#include <string.h>

uint64_t sample_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u; // splitmix64
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static const int64_t extremes[] = {
    INT64_MIN,
    INT64_MAX,
    -1,
    0,
    1,
    INT64_MIN + 1,
    INT64_MAX - 1,
    127,
    128,
    255,
    256,
    -32,
    -33,
    -128,
    -129,
    65535,
    65536,
    -32768,
    -32769,
    INT32_MIN,
    INT32_MAX,
    (int64_t)INT32_MIN - 1,
    UINT32_MAX,
    (int64_t)UINT32_MAX + 1,
};
enum { EXTREME_COUNT = sizeof extremes / sizeof *extremes };

static void write_rows(tm_writer *w, tm_kind kind, size_t count, uint64_t *state)
{
    const tm_kind_info *info = tm_kind_get(kind);
    for (size_t row = 0; row < count; row++) {
        int64_t values[TM_MAX_COLUMNS];
        for (unsigned i = 0; i < info->column_count; i++)
            values[i] = (i + (unsigned)kind) % 3 == 0 ? 42 // constant
                        : info->columns[i].type == TM_STR
                            ? (int64_t)(sample_random(state) % 6)
                            : extremes[sample_random(state) % EXTREME_COUNT];
        tm_writer_row(w, kind, values);
    }
}

cm_status sample_write(const char *path)
{
    static const char *const texts[] = {"model.onnx", "gr\xc3\xbc\xc3\x9f \xe6\xbc\xa2\xe5\xad\x97",
                                        "line\nbreak", "broken \xff\xed\xa0\x80 text",
                                        "model.onnx"};
    tm_header header = {"0.1.0-test", 1790000000123456789u, "Windows 10.0.19045",
                        "A processor @ 3.00GHz", 8};
    tm_writer *w;
    uint64_t state = 1;
    CM_TRY(tm_writer_create(path, &header, &w));
    for (unsigned flush = 0; flush < 3; flush++) {
        tm_writer_string(w, texts[flush], strlen(texts[flush]));
        tm_writer_string(w, texts[flush + 2], strlen(texts[flush + 2]));
        for (tm_kind kind = 0; kind < TM_KIND_COUNT; kind++)
            if (flush == 0 || (kind + flush) % 3 == 0)
                write_rows(w, kind, kind == TM_KIND_run ? 20 : 1 + (kind + flush) % 4, &state);
        tm_writer_flush(w);
    }
    return tm_writer_close(w);
}

cm_status sample_read(tm_reader *r, sample_content *out)
{
    *out = (sample_content){0};
    for (;;) {
        tm_block block;
        cm_status status = tm_reader_next(r, &block);
        if (status == CM_END)
            break;
        if (status != CM_OK)
            return status;
        unsigned columns = tm_kind_get(block.kind)->column_count;
        sample_block copy = {block.kind, block.row_count,
                             malloc(columns * block.row_count * sizeof(int64_t))};
        for (unsigned i = 0; i < columns; i++)
            memcpy(copy.values + i * block.row_count, block.columns[i],
                   block.row_count * sizeof(int64_t));
        out->blocks = realloc(out->blocks, (out->count + 1) * sizeof copy);
        out->blocks[out->count++] = copy;
    }
    if (tm_reader_damage(r)) {
        size_t size = strlen(tm_reader_damage(r)) + 1;
        out->damage = memcpy(malloc(size), tm_reader_damage(r), size);
    }
    return CM_OK;
}

void sample_free(sample_content *c)
{
    for (size_t i = 0; i < c->count; i++)
        free(c->blocks[i].values);
    free(c->blocks);
    free(c->damage);
    *c = (sample_content){0};
}

bool sample_same_block(const sample_block *a, const sample_block *b)
{
    return a->kind == b->kind && a->rows == b->rows &&
           memcmp(a->values, b->values,
                  tm_kind_get(a->kind)->column_count * a->rows * sizeof(int64_t)) == 0;
}

cm_buf sample_load(const char *path)
{
    cm_buf out = CM_BUF_INIT;
    cm_file *f;
    uint64_t size = 0;
    size_t got = 0;
    if (cm_file_open(path, &f) != CM_OK) {
        out.failed = true;
        return out;
    }
    cm_file_size(f, &size);
    void *data = cm_buf_extend(&out, (size_t)size);
    if (!data || cm_file_read_at(f, 0, data, (size_t)size, &got) != CM_OK || got != size)
        out.failed = true;
    cm_file_close(f);
    return out;
}
