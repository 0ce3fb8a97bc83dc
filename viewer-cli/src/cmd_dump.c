// SPDX-License-Identifier: MIT
// `ortscope dump FILE`: every row as it stands in the file, nothing left out and nothing computed;
// only strings are put in place of their ids. Blocks come in the order of the file, the rows of a
// block in order of time. Streams: files of any size need little memory.
#include "commands.h"
#include "common/json.h"
#include "common/text.h"
#include "timeline_input.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct dump_args {
    bool json, csv;
    const char *kinds;
} dump_args;

typedef struct dump {
    vw_io *io;
    tm_reader *reader;
    cm_json json;
    size_t *order; // of the rows of a block
    size_t order_capacity;
    char keys[TM_MAX_COLUMNS][48]; // names of a block's columns, with units
} dump;

// ----------------------------------------------------------------------------------- order of rows

typedef struct sort_key {
    int64_t time;
    size_t row;
} sort_key;

static int by_time(const void *a, const void *b)
{
    const sort_key *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static const int64_t *time_column(const tm_block *b)
{
    const tm_kind_info *kind = tm_kind_get(b->kind);
    for (unsigned c = 0; c < kind->column_count; c++)
        if (kind->columns[c].type == TM_TIME)
            return b->columns[c];
    return NULL;
}

static cm_status no_memory(void)
{
    return cm_fail(CM_NO_MEMORY, "There is not enough memory for a block of this timeline.");
}

static cm_status find_order(dump *d, const tm_block *b)
{
    if (b->row_count > d->order_capacity) {
        size_t *order = realloc(d->order, b->row_count * sizeof *order);
        if (!order)
            return no_memory();
        d->order = order;
        d->order_capacity = b->row_count;
    }
    const int64_t *times = time_column(b);
    bool sorted = true;
    for (size_t row = 0; row < b->row_count; row++) {
        d->order[row] = row;
        sorted = sorted && (!times || row == 0 || times[row - 1] <= times[row]);
    }
    if (sorted)
        return CM_OK;
    sort_key *keys = malloc(b->row_count * sizeof *keys);
    if (!keys)
        return no_memory();
    for (size_t row = 0; row < b->row_count; row++)
        keys[row] = (sort_key){times[row], row};
    qsort(keys, b->row_count, sizeof *keys, by_time);
    for (size_t row = 0; row < b->row_count; row++)
        d->order[row] = keys[row].row;
    free(keys);
    return CM_OK;
}

// ----------------------------------------------------------------------------------------- formats

// "begin" of type TIME is "begin_ns" for programs: units stand in the names.
static void name_columns(dump *d, const tm_kind_info *kind)
{
    for (unsigned c = 0; c < kind->column_count; c++) {
        const tm_column *column = &kind->columns[c];
        bool ns = column->type == TM_TIME || column->type == TM_DUR;
        snprintf(d->keys[c], sizeof d->keys[c], "%s%s", column->name, ns ? "_ns" : "");
    }
}

static void row_as_text(dump *d, const tm_block *b, size_t row)
{
    cm_out *out = &d->io->out;
    const tm_kind_info *kind = tm_kind_get(b->kind);
    const int64_t *times = time_column(b);
    char text[48];
    if (times)
        snprintf(text, sizeof text, "%.9f", (double)times[row] / 1e9);
    cm_out_printf(out, "%16s  %-12s", times ? text : "-", kind->name);
    for (unsigned c = 0; c < kind->column_count; c++) {
        int64_t value = b->columns[c][row];
        if (b->columns[c] == times)
            continue;
        cm_out_printf(out, " %s=", kind->columns[c].name);
        if (kind->columns[c].type == TM_STR) {
            cm_json quoted;
            cm_json_init(&quoted, out);
            cm_json_string(&quoted, tm_reader_string(d->reader, value));
        } else if (kind->columns[c].type == TM_U64) {
            cm_out_printf(out, "%llu", (unsigned long long)value);
        } else {
            bool ns = kind->columns[c].type == TM_DUR || kind->columns[c].type == TM_TIME;
            cm_out_printf(out, "%lld%s", (long long)value, ns ? "ns" : "");
        }
    }
    cm_out_char(out, '\n');
}

static void row_as_json(dump *d, const tm_block *b, size_t row)
{
    const tm_kind_info *kind = tm_kind_get(b->kind);
    cm_json *j = &d->json;
    char text[48];
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    cm_json_key(j, "kind");
    cm_json_string(j, kind->name);
    for (unsigned c = 0; c < kind->column_count; c++) {
        int64_t value = b->columns[c][row];
        cm_json_key(j, d->keys[c]);
        if (kind->columns[c].type == TM_STR) {
            cm_json_string(j, tm_reader_string(d->reader, value));
        } else if (kind->columns[c].type == TM_U64) {
            // As text: many JSON readers keep only 53 bits of a number.
            snprintf(text, sizeof text, "%llu", (unsigned long long)value);
            cm_json_string(j, text);
        } else {
            cm_json_int(j, value);
        }
    }
    cm_json_end(j);
}

static void row_as_csv(dump *d, const tm_block *b, size_t row)
{
    cm_out *out = &d->io->out;
    const tm_kind_info *kind = tm_kind_get(b->kind);
    for (unsigned c = 0; c < kind->column_count; c++) {
        int64_t value = b->columns[c][row];
        if (kind->columns[c].type == TM_STR)
            cm_csv_text(out, tm_reader_string(d->reader, value), c == 0);
        else if (kind->columns[c].type == TM_U64)
            cm_out_printf(out, "%s%llu", c ? "," : "", (unsigned long long)value);
        else
            cm_out_printf(out, "%s%lld", c ? "," : "", (long long)value);
    }
    cm_out_char(out, '\n');
}

static void begin_text(dump *d, const tm_header *h)
{
    cm_out *out = &d->io->out;
    char date[48];
    cm_format_utc(date, sizeof date, h->start_utc_ns);
    cm_out_printf(out, "# ortscope_version=%s start_utc=%s os=\"", h->ortscope_version, date);
    cm_text_clean(out, h->os, 0);
    cm_out_text(out, "\" cpu=\"");
    cm_text_clean(out, h->cpu, 0);
    cm_out_printf(out, "\" cpu_count=%d\n", h->cpu_count);
}

static void begin_json(dump *d, const tm_header *h)
{
    cm_json *j = &d->json;
    char date[48];
    cm_format_utc(date, sizeof date, h->start_utc_ns);
    cm_json_init(j, &d->io->out);
    cm_json_begin_object(j, CM_JSON_INDENTED);
    cm_json_key(j, "schema_version");
    cm_json_int(j, 1);
    cm_json_key(j, "header");
    cm_json_begin_object(j, CM_JSON_INDENTED);
    cm_json_key(j, "ortscope_version");
    cm_json_string(j, h->ortscope_version);
    cm_json_key(j, "start_utc");
    cm_json_string(j, date);
    cm_json_key(j, "os");
    cm_json_string(j, h->os);
    cm_json_key(j, "cpu");
    cm_json_string(j, h->cpu);
    cm_json_key(j, "cpu_count");
    cm_json_int(j, h->cpu_count);
    cm_json_end(j);
    cm_json_key(j, "rows");
    cm_json_begin_array(j, CM_JSON_INDENTED);
}

static void begin_csv(dump *d, tm_kind kind_number)
{
    const tm_kind_info *kind = tm_kind_get(kind_number);
    name_columns(d, kind);
    for (unsigned c = 0; c < kind->column_count; c++)
        cm_csv_text(&d->io->out, d->keys[c], c == 0);
    cm_out_char(&d->io->out, '\n');
}

// -------------------------------------------------------------------------------------- which rows

// "run,session" to bits; 0 kinds named means all.
static cm_status parse_kinds(const char *text, uint64_t *out_mask)
{
    const char *names[TM_KIND_COUNT];
    uint64_t mask = 0;
    for (unsigned k = 0; k < TM_KIND_COUNT; k++)
        names[k] = tm_kind_get((tm_kind)k)->name;
    while (text && *text) {
        char word[32] = "";
        size_t len = strcspn(text, ",");
        uint64_t found = 0;
        if (len < sizeof word)
            memcpy(word, text, len);
        for (unsigned k = 0; k < TM_KIND_COUNT; k++)
            if (strcmp(names[k], word) == 0)
                found = (uint64_t)1 << k;
        if (!found) {
            const char *near = vw_nearest(word, names, TM_KIND_COUNT, sizeof *names);
            return cm_fail(CM_USAGE,
                           "There is no kind of row \"%.*s\"%s%s%s; `ortscope help dump` "
                           "lists them.",
                           (int)len, text, near ? " (did you mean " : "", near ? near : "",
                           near ? "?)" : "");
        }
        mask |= found;
        text += len + (text[len] == ',');
    }
    *out_mask = mask ? mask : UINT64_MAX;
    return CM_OK;
}

static cm_status dump_rows(dump *d, void (*print)(dump *, const tm_block *, size_t))
{
    tm_block block;
    cm_status status;
    while ((status = tm_reader_next(d->reader, &block)) == CM_OK) {
        name_columns(d, tm_kind_get(block.kind));
        status = find_order(d, &block);
        if (status != CM_OK)
            return status;
        for (size_t i = 0; i < block.row_count && !cm_out_failed(&d->io->out); i++)
            print(d, &block, d->order[i]);
        if (cm_out_failed(&d->io->out))
            return CM_OK; // told at the end
    }
    return status == CM_END ? CM_OK : status;
}

static cm_status dump_file(dump *d, const dump_args *a, uint64_t mask)
{
    cm_status status;
    if (a->json) {
        begin_json(d, tm_reader_header(d->reader));
        status = dump_rows(d, row_as_json);
        cm_json_end(&d->json);
        cm_json_end(&d->json);
    } else if (a->csv) {
        begin_csv(d, (tm_kind)__builtin_ctzll(mask));
        status = dump_rows(d, row_as_csv);
    } else {
        if (d->io->is_terminal)
            vw_fit_lines(d->io); // elsewhere a row is a line
        begin_text(d, tm_reader_header(d->reader));
        status = dump_rows(d, row_as_text);
    }
    return status;
}

static int run_dump(vw_io *io, const void *args, int operand_count, char **operands)
{
    (void)operand_count;
    const dump_args *a = args;
    dump d = {.io = io};
    uint64_t mask = 0;
    cm_status status = parse_kinds(a->kinds, &mask);
    if (status == CM_OK && a->json && a->csv)
        status = cm_fail(CM_USAGE, "--json and --csv exclude each other.");
    if (status == CM_OK && a->csv && (mask & (mask - 1)) != 0)
        status = cm_fail(CM_USAGE, "CSV needs one kind of row, since each has its own columns: "
                                   "add for example --kind run.");
    if (status == CM_OK)
        status = vw_open_timeline(operands[0], &d.reader);
    if (status == CM_OK) {
        tm_reader_only(d.reader, mask);
        status = dump_file(&d, a, mask);
        cm_out_flush(&io->out);
        if (status == CM_OK && !cm_out_failed(&io->out))
            vw_warn_of_damage(operands[0], tm_reader_damage(d.reader));
    }
    free(d.order);
    tm_reader_close(d.reader);
    return status == CM_OK ? 0 : vw_failure(status);
}

static const vw_option dump_options[] = {
    {"kind", 'k', VW_TEXT, offsetof(dump_args, kinds), "KINDS",
     "only rows of these kinds, separated by commas"},
    {"json", 0, VW_FLAG, offsetof(dump_args, json), NULL, "print one JSON document"},
    {"csv", 0, VW_FLAG, offsetof(dump_args, csv), NULL, "print CSV (needs --kind with one kind)"},
};

#define K(name) #name " "
const vw_command vw_command_dump = {
    .name = "dump",
    .one_line = "Prints every row of a recording as it stands in the file.",
    .usage = "[options] FILE",
    .details = "Kinds of rows: " TM_KINDS(K) "\nBlocks come in the order of the file, the rows of "
                                             "a block in order of time.",
    .examples = "ortscope dump trace.ortl --kind run,session\n"
                "ortscope dump trace.ortl --kind op --csv > ops.csv\n"
                "ortscope dump trace.ortl | head -20",
    .options = dump_options,
    .option_count = sizeof dump_options / sizeof *dump_options,
    .args_size = sizeof(dump_args),
    .min_operands = 1,
    .max_operands = 1,
    .run = run_dump,
};
#undef K
