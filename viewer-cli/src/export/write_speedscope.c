// SPDX-License-Identifier: MIT
// Operators as a flame graph for www.speedscope.app: a profile for each session, in it each type of
// operator with its nodes, as wide as their self time. Times are added up while the file is read,
// so that the result is as large as the models, however long the recording.
#include "analysis/ops.h"
#include "common/json.h"
#include "export.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct flames {
    vw_ex_job *job;
    an_ops *ops;
    int64_t *kept; // the rows of a block that are wanted, column by column
    size_t kept_capacity;
} flames;

// ------------------------------------------------------------------------------------- adding up

// The same block with fewer rows.
static cm_status keep_wanted(flames *f, const tm_block *from, tm_block *to)
{
    const vw_ex_range *r = &f->job->range;
    size_t cells = from->row_count * TM_op_COUNT, count = 0;
    if (cells > f->kept_capacity) {
        int64_t *kept = realloc(f->kept, cells * sizeof *kept);
        if (!kept)
            return cm_fail(CM_NO_MEMORY, "There is not enough memory to export.");
        f->kept = kept;
        f->kept_capacity = cells;
    }
    for (size_t row = 0; row < from->row_count; row++) {
        if (!vw_ex_in_range(r, from->columns[TM_op_begin][row]) ||
            (r->has_session && from->columns[TM_op_session][row] != r->session))
            continue;
        for (size_t c = 0; c < TM_op_COUNT; c++)
            f->kept[c * from->row_count + count] = from->columns[c][row];
        count++;
    }
    *to = *from;
    to->row_count = count;
    for (size_t c = 0; c < TM_op_COUNT; c++)
        to->columns[c] = f->kept + c * from->row_count;
    f->job->rows += count;
    return CM_OK;
}

static cm_status add_up(flames *f)
{
    tm_reader *reader;
    tm_block block, fewer;
    cm_status status;
    CM_TRY(vw_ex_open_pass(f->job, TM_BIT(kernel) | TM_BIT(session) | TM_BIT(op), &reader));
    while ((status = vw_ex_next(f->job, reader, &block)) == CM_OK) {
        if (block.kind == TM_KIND_op) {
            status = keep_wanted(f, &block, &fewer);
            block = fewer;
        }
        if (status == CM_OK && block.row_count)
            status = an_ops_add(f->ops, reader, &block);
        if (status != CM_OK)
            break;
    }
    tm_reader_close(reader);
    return status == CM_END ? an_ops_finish(f->ops) : status;
}

// --------------------------------------------------------------------------------------- writing

static int by_session_and_type(const void *a, const void *b)
{
    const an_op_row *x = a, *y = b;
    if (x->session != y->session)
        return x->session < y->session ? -1 : 1;
    int types = strcmp(x->op_type, y->op_type);
    if (types)
        return types;
    if (x->sums.self_ns != y->sums.self_ns)
        return x->sums.self_ns > y->sums.self_ns ? -1 : 1;
    int nodes = strcmp(x->node, y->node);
    return nodes ? nodes : (x->kernel > y->kernel) - (x->kernel < y->kernel);
}

static bool is_new_type(const an_op_row *rows, size_t i)
{
    return i == 0 || rows[i].session != rows[i - 1].session ||
           strcmp(rows[i].op_type, rows[i - 1].op_type) != 0;
}

static void put_frame(cm_json *j, const char *name)
{
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    cm_json_key(j, "name");
    cm_json_string(j, name);
    cm_json_end(j);
}

static const char *named(const char *name, const char *otherwise)
{
    return name[0] ? name : otherwise;
}

// In the order in which put_samples counts them: each type, followed by its nodes.
static void put_frames(cm_json *j, const an_op_row *rows, size_t count)
{
    cm_json_key(j, "shared");
    cm_json_begin_object(j, CM_JSON_INDENTED);
    cm_json_key(j, "frames");
    cm_json_begin_array(j, CM_JSON_INDENTED);
    for (size_t i = 0; i < count; i++) {
        if (is_new_type(rows, i))
            put_frame(j, named(rows[i].op_type, "(type not known)"));
        put_frame(j, named(rows[i].node, "(node without a name)"));
    }
    cm_json_end(j);
    cm_json_end(j);
}

static void put_samples(cm_json *j, const an_op_row *rows, size_t first, size_t end, int64_t *frame)
{
    int64_t type = 0;
    cm_json_key(j, "samples");
    cm_json_begin_array(j, CM_JSON_INDENTED);
    for (size_t i = first; i < end; i++) {
        if (is_new_type(rows, i))
            type = (*frame)++;
        cm_json_begin_array(j, CM_JSON_ONE_LINE);
        cm_json_int(j, type);
        cm_json_int(j, (*frame)++);
        cm_json_end(j);
    }
    cm_json_end(j);
}

static void put_profile(const flames *f, cm_json *j, const an_op_row *rows, size_t first,
                        size_t end, int64_t *frame)
{
    const vw_ex_session *session =
        first < end ? vw_ex_find_session(&f->job->facts, rows[first].session) : NULL;
    uint64_t total = 0;
    char name[300] = "no operators";
    if (first < end)
        snprintf(name, sizeof name, "session %lld %.200s", (long long)rows[first].session,
                 session && session->name ? session->name : "");
    for (size_t i = first; i < end; i++)
        total += rows[i].sums.self_ns;
    cm_json_begin_object(j, CM_JSON_INDENTED);
    cm_json_key(j, "type");
    cm_json_string(j, "sampled");
    cm_json_key(j, "name");
    cm_json_string(j, name);
    cm_json_key(j, "unit");
    cm_json_string(j, "nanoseconds");
    cm_json_key(j, "startValue");
    cm_json_int(j, 0);
    cm_json_key(j, "endValue");
    cm_json_uint(j, total);
    put_samples(j, rows, first, end, frame);
    cm_json_key(j, "weights");
    cm_json_begin_array(j, CM_JSON_ONE_LINE);
    for (size_t i = first; i < end; i++)
        cm_json_uint(j, rows[i].sums.self_ns);
    cm_json_end(j);
    cm_json_end(j);
}

static void put_document(const flames *f, const an_op_row *rows, size_t count)
{
    cm_json json, *j = &json;
    int64_t frame = 0;
    cm_json_init(j, &f->job->output.out);
    cm_json_begin_object(j, CM_JSON_INDENTED);
    cm_json_key(j, "$schema");
    cm_json_string(j, "https://www.speedscope.app/file-format-schema.json");
    cm_json_key(j, "exporter");
    cm_json_string(j, "ortscope " ORTSCOPE_VERSION);
    cm_json_key(j, "name");
    cm_json_string(j, vw_ex_file_name(f->job->input));
    cm_json_key(j, "activeProfileIndex");
    cm_json_int(j, 0);
    put_frames(j, rows, count);
    cm_json_key(j, "profiles");
    cm_json_begin_array(j, CM_JSON_INDENTED);
    if (count == 0)
        put_profile(f, j, rows, 0, 0, &frame);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && rows[end].session == rows[i].session; end++)
            ;
        put_profile(f, j, rows, i, end, &frame);
    }
    cm_json_end(j);
    cm_json_end(j);
}

cm_status vw_ex_run_speedscope(vw_ex_job *job)
{
    flames f = {.job = job};
    an_op_choice choice = {.by = AN_BY_NODE, .sort = AN_SORT_SELF};
    an_op_table *table = NULL;
    cm_status status = an_ops_create(NULL, &f.ops);
    if (status == CM_OK)
        status = add_up(&f);
    if (status == CM_OK)
        status = an_ops_table(f.ops, &choice, &table);
    if (status == CM_OK)
        status = vw_ex_output_open(&job->output);
    if (status == CM_OK) {
        if (table->row_count)
            qsort(table->rows, table->row_count, sizeof *table->rows, by_session_and_type);
        put_document(&f, table->rows, table->row_count);
        status = vw_ex_output_close(&job->output);
    }
    an_op_table_destroy(table);
    an_ops_destroy(f.ops);
    free(f.kept);
    return status;
}
