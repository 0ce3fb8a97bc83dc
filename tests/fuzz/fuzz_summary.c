// SPDX-License-Identifier: MIT
// Any rows, in any order, with any numbers, into a summary and out of it as text, JSON and CSV, and
// into tables of operators: no crash, no endless loop, no undefined arithmetic, and JSON without a
// raw control character.
//
// Input: blocks of [kind, rows - 1, then 1 or 8 bytes a value]. A value below 0xf0 is itself (small
// ids meet each other), 0xf0.. introduces 8 bytes.
#include "analysis/flow.h"
#include "analysis/summary.h"
#include "common/os.h"
#include "summary_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct input {
    const uint8_t *at, *end;
} input;

static int64_t next_value(input *in)
{
    uint64_t value = 0;
    if (in->at == in->end)
        return 0;
    if (*in->at < 0xf0)
        return *in->at++;
    in->at++;
    for (int i = 0; i < 8 && in->at < in->end; i++)
        value = value << 8 | *in->at++;
    return (int64_t)value;
}

// A file with a few strings to refer to; written once.
static tm_reader *reader_with_strings(void)
{
    static const char *const strings[] = {"model.onnx",
                                          "\x1b[31m\xff\"\\",
                                          "1,3,-5,99999999999999999999",
                                          "CPUExecutionProvider,,x",
                                          "\xe6\xa8\xa1",
                                          "EpDeviceUsage",
                                          "ONNXRuntimeLogEvent",
                                          "a=\n=\nmessage=x\n\x1b\nerrorMessage=y=\nz",
                                          "hardwareVendor=\x1b[2J\nexecutionProviderType="};
    static tm_reader *reader;
    tm_header header = {"0", 1, "os", "cpu", 1};
    tm_writer *writer;
    char path[64];
    if (reader)
        return reader;
    snprintf(path, sizeof path, "/tmp/fuzz_summary_%d.ortl", (int)getpid());
    if (tm_writer_create(path, &header, &writer) != CM_OK)
        abort();
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) {
        int64_t row[] = {0, tm_writer_string(writer, strings[i], strlen(strings[i]))};
        tm_writer_row(writer, TM_KIND_mark, row);
    }
    if (tm_writer_close(writer) != CM_OK || tm_reader_open(path, &reader) != CM_OK)
        abort();
    tm_block block;
    while (tm_reader_next(reader, &block) == CM_OK)
        continue;
    cm_file_remove(path);
    return reader;
}

// False: there is none here.
static bool next_block(input *in, tm_block *out)
{
    static int64_t values[TM_MAX_COLUMNS][256];
    tm_block block = {.kind = (tm_kind)(next_value(in) % TM_KIND_COUNT)};
    if ((int)block.kind < 0)
        return false;
    bool small = in->at < in->end && *in->at < 0xf0;
    block.row_count = (size_t)(small ? next_value(in) : 0) + 1;
    unsigned columns = tm_kind_get(block.kind)->column_count;
    for (unsigned c = 0; c < columns; c++) {
        for (size_t row = 0; row < block.row_count; row++)
            values[c][row] = next_value(in);
        block.columns[c] = values[c];
    }
    *out = block;
    return true;
}

static void add_block(an_summary *s, an_ops *ops, const tm_reader *reader, input *in)
{
    tm_block block;
    if (!next_block(in, &block))
        return;
    if (an_summary_add(s, reader, &block) != CM_OK || an_ops_add(ops, reader, &block) != CM_OK)
        abort();
}

static void print(const an_summary *s, const tm_reader *reader)
{
    vw_summary_choice all = {.all = true, .grams_per_kwh = 400};
    vw_io io = {.stream = CM_STDOUT, .unicode = true, .width = 80};
    cm_out_init_memory(&io.out);
    vw_summary_text(&io, s, tm_reader_header(reader), &all);
    vw_summary_csv(&io, s);
    cm_out_clear(&io.out);
    vw_summary_json(&io, s, all.grams_per_kwh);
    for (const char *p = cm_out_string(&io.out); *p; p++)
        if ((unsigned char)*p < 0x20 && *p != '\n')
            abort();
    cm_out_deinit(&io.out);
}

// How the operators follow each other: parts of the runs' time must add up.
static void follow(const an_ops *ops, input in)
{
    an_flow *flow;
    tm_block block;
    if (an_flow_create(ops, NULL, &flow) != CM_OK)
        abort();
    while (in.end - in.at > 2)
        if (next_block(&in, &block) && an_flow_add(flow, &block) != CM_OK)
            abort();
    if (an_flow_finish(flow) != CM_OK)
        abort();
    for (size_t i = 0; i < an_flow_count(flow); i++) {
        const an_flow_session *s = an_flow_get(flow, i);
        uint64_t parts =
            s->none_ns + s->one_ns + s->several_ns; // of saturated sums nothing is told
        if (s->run_ns < UINT64_MAX / 4 && (parts != s->run_ns || s->path_ns > s->run_ns))
            abort();
    }
    an_flow_destroy(flow);
}

static void make_tables(an_ops *ops, input in)
{
    if (an_ops_finish(ops) != CM_OK)
        abort();
    follow(ops, in);
    for (int by = AN_BY_NODE; by <= AN_BY_THREAD; by++) {
        an_op_choice choice = {.by = (an_op_by)by, .sort = (an_op_sort)by, .filter = "o"};
        an_op_table *table;
        uint64_t self = 0;
        if (an_ops_table(ops, &choice, &table) != CM_OK || an_op_table_measure(table, 3) != CM_OK)
            abort();
        for (size_t i = 0; i < table->row_count; i++) {
            const an_op_row *row = &table->rows[i];
            self = row->sums.self_ns > self ? row->sums.self_ns : self;
            if (row->sums.calls == 0 || row->sums.self_ns > row->sums.total_ns)
                abort();
        }
        if (self > table->all.self_ns)
            abort();
        an_op_table_destroy(table);
    }
    an_ops_destroy(ops);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input in = {data, data + size};
    tm_reader *reader = reader_with_strings();
    const an_op_options everything = {true, true, true, true, true};
    an_summary *s;
    an_ops *ops;
    if (an_summary_create(&(an_summary_options){.op_batches = true}, &s) != CM_OK ||
        an_ops_create(&everything, &ops) != CM_OK)
        abort();
    while (in.end - in.at > 2)
        add_block(s, ops, reader, &in);
    if (an_summary_finish(s) != CM_OK)
        abort();
    print(s, reader);
    make_tables(ops, (input){data, data + size});
    an_summary_destroy(s);
    return 0;
}
