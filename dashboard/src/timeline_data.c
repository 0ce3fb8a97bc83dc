// SPDX-License-Identifier: MIT
#include "timeline_data.h"

#include <stdlib.h>
#include <string.h>

void da_timeline_init(da_timeline *t, const char *source)
{
    *t = (da_timeline){.source = source};
    cm_buf_init(&t->runs);
    cm_buf_init(&t->ops);
    cm_buf_init(&t->kernels);
    cm_map_init(&t->run_places);
    cm_map_init(&t->kernel_places);
    cm_buf_init(&t->tensors);
}

void da_timeline_deinit(da_timeline *t)
{
    cm_buf_deinit(&t->runs);
    cm_buf_deinit(&t->ops);
    cm_buf_deinit(&t->kernels);
    cm_map_deinit(&t->run_places);
    cm_map_deinit(&t->kernel_places);
    cm_buf_deinit(&t->tensors);
}

size_t da_timeline_run_count(const da_timeline *t)
{
    return t->runs.len / sizeof(da_timeline_run);
}

static da_timeline_run *runs_of(const da_timeline *t)
{
    return (da_timeline_run *)(void *)t->runs.data;
}

static da_timeline_op *ops_of(const da_timeline *t)
{
    return (da_timeline_op *)(void *)t->ops.data;
}

// Sessions are few and runs are counted in each: 40 bits are enough for both.
static int64_t run_key(int64_t session, int64_t run)
{
    return (int64_t)(((uint64_t)session << 40) ^ ((uint64_t)run & 0xFFFFFFFFFFu));
}

bool da_timeline_wants(const da_wanted *w, int64_t session, int64_t run, int64_t begin_ns,
                       int64_t duration_ns)
{
    if (w->has_session && session != w->session)
        return false;
    if (w->one_run)
        return run == w->run;
    int64_t end_ns = duration_ns < INT64_MAX - begin_ns ? begin_ns + duration_ns : INT64_MAX;
    return begin_ns <= w->to_ns && end_ns >= w->from_ns;
}

void da_timeline_add_run(da_timeline *t, const da_timeline_run *run)
{
    size_t place = da_timeline_run_count(t);
    if (place >= DA_TIMELINE_RUNS ||
        !cm_map_put(&t->run_places, run_key(run->session, run->run), place))
        return;
    cm_buf_append(&t->runs, run, sizeof *run);
}

void da_timeline_add_op(da_timeline *t, int64_t session, int64_t run, int64_t kernel,
                        const da_timeline_op *op)
{
    size_t run_place, kernel_place;
    if (!cm_map_find(&t->run_places, run_key(session, run), &run_place) ||
        run_place >= da_timeline_run_count(t))
        return;
    if (t->ops.len / sizeof *op >= DA_TIMELINE_OPS) {
        t->left_out++;
        return;
    }
    if (!cm_map_find(&t->kernel_places, kernel, &kernel_place)) {
        const da_timeline_kernel unknown = {.id = kernel, .session = session};
        kernel_place = t->kernels.len / sizeof unknown;
        if (!cm_map_put(&t->kernel_places, kernel, kernel_place)) {
            t->left_out++;
            return;
        }
        cm_buf_append(&t->kernels, &unknown, sizeof unknown);
    }
    da_timeline_op placed = *op;
    placed.run = (uint32_t)run_place;
    placed.kernel = (uint32_t)kernel_place;
    cm_buf_append(&t->ops, &placed, sizeof placed);
}

void da_timeline_set_kernel(da_timeline *t, const da_timeline_kernel *kernel)
{
    size_t place;
    if (!cm_map_find(&t->kernel_places, kernel->id, &place) ||
        place >= t->kernels.len / sizeof *kernel)
        return;
    da_timeline_kernel *to = (da_timeline_kernel *)(void *)t->kernels.data + place;
    int64_t session = to->session;
    *to = *kernel;
    to->session = session;
}

void da_timeline_add_tensor(da_timeline *t, int64_t kernel, const da_timeline_tensor *tensor)
{
    size_t place;
    if (!cm_map_find(&t->kernel_places, kernel, &place))
        return;
    da_timeline_tensor placed = *tensor;
    placed.kernel = (uint32_t)place;
    if (t->tensors.len / sizeof placed >= DA_TIMELINE_TENSORS)
        t->tensors_missing = true;
    else
        cm_buf_append(&t->tensors, &placed, sizeof placed);
}

// ------------------------------------------------------------------------------------------- file

#define KIND(name) ((uint64_t)1 << TM_KIND_##name)

static void take_run(da_timeline *t, const da_wanted *w, const tm_block *b, size_t row)
{
    const da_timeline_run run = {.session = b->columns[TM_run_session][row],
                                 .run = b->columns[TM_run_run][row],
                                 .thread = b->columns[TM_run_thread][row],
                                 .begin_ns = b->columns[TM_run_begin][row],
                                 .duration_ns = b->columns[TM_run_duration][row],
                                 .status = b->columns[TM_run_status][row],
                                 .in_flight = b->columns[TM_run_in_flight][row]};
    if (run.duration_ns >= 0 && run.begin_ns >= 0 &&
        da_timeline_wants(w, run.session, run.run, run.begin_ns, run.duration_ns))
        da_timeline_add_run(t, &run);
}

static void take_op(da_timeline *t, const tm_block *b, size_t row)
{
    const da_timeline_op op = {.thread = b->columns[TM_op_thread][row],
                               .begin_ns = b->columns[TM_op_begin][row],
                               .duration_ns = b->columns[TM_op_duration][row],
                               .depth = b->columns[TM_op_depth][row],
                               .failed = (b->columns[TM_op_flags][row] & 4) != 0};
    da_timeline_add_op(t, b->columns[TM_op_session][row], b->columns[TM_op_run][row],
                       b->columns[TM_op_kernel][row], &op);
}

static void take_kernel(da_timeline *t, const tm_block *b, size_t row)
{
    const da_timeline_kernel kernel = {.id = b->columns[TM_kernel_kernel][row],
                                       .node = b->columns[TM_kernel_node][row],
                                       .op_type = b->columns[TM_kernel_op_type][row],
                                       .kernel_class = b->columns[TM_kernel_kernel_class][row],
                                       .domain = b->columns[TM_kernel_domain][row],
                                       .provider = b->columns[TM_kernel_provider][row],
                                       .submits = b->columns[TM_kernel_submits][row] == 1};
    da_timeline_set_kernel(t, &kernel);
}

static void take_tensor(da_timeline *t, const tm_block *b, size_t row)
{
    const da_timeline_tensor tensor = {.index = (uint32_t)b->columns[TM_kernel_tensor_index][row],
                                       .name = b->columns[TM_kernel_tensor_name][row],
                                       .made = b->columns[TM_kernel_tensor_direction][row] == 1};
    da_timeline_add_tensor(t, b->columns[TM_kernel_tensor_kernel][row], &tensor);
}

static cm_status next_block(tm_reader *reader, const da_wanted *w, tm_block *out)
{
    if (w->given_up && atomic_load(w->given_up))
        return cm_fail(CM_FAILED, "ortscope is ending.");
    return tm_reader_next(reader, out);
}

// Operators may stand before their run, and kernels anywhere: so they are read one after the other.
static cm_status pass(da_timeline *t, const char *path, const da_wanted *w, uint64_t kinds,
                      tm_reader **out_reader)
{
    tm_block b;
    tm_reader *reader;
    CM_TRY(tm_reader_open(path, &reader));
    tm_reader_only(reader, kinds);
    cm_status status;
    while ((status = next_block(reader, w, &b)) == CM_OK)
        for (size_t row = 0; row < b.row_count; row++)
            if (b.kind == TM_KIND_run)
                take_run(t, w, &b, row);
            else if (b.kind == TM_KIND_op)
                take_op(t, &b, row);
            else if (b.kind == TM_KIND_kernel)
                take_kernel(t, &b, row);
            else if (b.kind == TM_KIND_kernel_tensor)
                take_tensor(t, &b, row);
    if (out_reader && status == CM_END)
        *out_reader = reader;
    else
        tm_reader_close(reader);
    return status == CM_END ? CM_OK : status;
}

cm_status da_timeline_from_file(da_timeline *t, const char *path, const da_wanted *w,
                                tm_reader **out_reader)
{
    CM_TRY(pass(t, path, w, KIND(run), NULL));
    if (w->one_run && !da_timeline_run_count(t))
        return cm_fail(CM_NOT_FOUND, "There is no such run in the recording.");
    CM_TRY(pass(t, path, w, KIND(op), NULL));
    return pass(t, path, w, KIND(kernel) | KIND(kernel_tensor), out_reader);
}

// ------------------------------------------------------------------------------------------- JSON

static int by_begin(const void *a, const void *b)
{
    const da_timeline_op *x = a, *y = b;
    if (x->begin_ns != y->begin_ns)
        return x->begin_ns < y->begin_ns ? -1 : 1;
    return (x->depth > y->depth) - (x->depth < y->depth);
}

static const char *or_null(const char *text)
{
    return text && text[0] ? text : NULL;
}

static void write_kernels(cm_json *j, da_timeline *t, da_text_function text, const void *context)
{
    da_links links;
    da_links_find(&links, t);
    const da_timeline_kernel *kernels = (const da_timeline_kernel *)(const void *)t->kernels.data;
    da_key_array(j, "kernels");
    for (size_t i = 0; i < t->kernels.len / sizeof *kernels; i++) {
        const da_timeline_kernel *k = &kernels[i];
        cm_json_begin_object(j, CM_JSON_ONE_LINE);
        da_key_int(j, "kernel", k->id);
        da_key_text(j, "node", or_null(text(context, k->node)));
        da_key_op_type(j, text(context, k->op_type), text(context, k->kernel_class),
                       text(context, k->domain));
        da_key_text(j, "provider", or_null(text(context, k->provider)));
        da_key_bool(j, "submits", k->submits);
        da_links_write(j, &links, i);
        cm_json_end(j);
    }
    cm_json_end(j);
    da_links_deinit(&links);
}

static void write_runs(cm_json *j, const da_timeline *t, int64_t begin_ns)
{
    const da_timeline_run *runs = runs_of(t);
    da_key_array(j, "runs");
    for (size_t i = 0; i < da_timeline_run_count(t); i++) {
        cm_json_begin_object(j, CM_JSON_ONE_LINE);
        da_key_int(j, "session", runs[i].session);
        da_key_int(j, "run", runs[i].run);
        da_key_int(j, "thread", runs[i].thread);
        da_key_number(j, "begin_us", da_us((double)(runs[i].begin_ns - begin_ns)), 3);
        da_key_number(j, "duration_us", da_us((double)runs[i].duration_ns), 3);
        da_key_int(j, "status", runs[i].status);
        da_key_int(j, "in_flight", runs[i].in_flight);
        cm_json_end(j);
    }
    cm_json_end(j);
}

typedef enum column { RUN, KERNEL, THREAD, BEGIN, DURATION, DEPTH, FAILED } column;

static void write_cell(cm_json *j, const da_timeline_op *op, column c, int64_t begin_ns)
{
    switch (c) {
    case RUN:
        cm_json_uint(j, op->run);
        break;
    case KERNEL:
        cm_json_uint(j, op->kernel);
        break;
    case THREAD:
        cm_json_int(j, op->thread);
        break;
    case BEGIN:
        cm_json_number(j, da_us((double)op->begin_ns - (double)begin_ns), 3);
        break;
    case DURATION:
        cm_json_number(j, da_us((double)op->duration_ns), 3);
        break;
    case DEPTH:
        cm_json_int(j, op->depth);
        break;
    case FAILED:
        cm_json_bool(j, op->failed);
        break;
    }
}

static void write_ops(cm_json *j, const da_timeline *t, int64_t begin_ns)
{
    static const char *const names[] = {"run",         "kernel", "thread", "begin_us",
                                        "duration_us", "depth",  "failed"};
    const da_timeline_op *ops = ops_of(t);
    size_t count = t->ops.len / sizeof *ops;
    da_key_object(j, "ops");
    for (column c = RUN; c <= FAILED; c++) {
        da_key_array(j, names[c]);
        for (size_t i = 0; i < count; i++)
            write_cell(j, &ops[i], c, begin_ns);
        cm_json_end(j);
    }
    cm_json_end(j);
}

void da_timeline_write(cm_json *j, da_timeline *t, uint32_t capture, da_text_function text,
                       const void *context)
{
    const da_timeline_run *runs = runs_of(t);
    size_t run_count = da_timeline_run_count(t);
    int64_t begin = run_count ? INT64_MAX : 0, end = 0;
    for (size_t i = 0; i < run_count; i++) {
        begin = runs[i].begin_ns < begin ? runs[i].begin_ns : begin;
        int64_t until = runs[i].duration_ns < INT64_MAX - runs[i].begin_ns
                            ? runs[i].begin_ns + runs[i].duration_ns
                            : INT64_MAX;
        end = until > end ? until : end;
    }
    if (t->ops.len)
        qsort(t->ops.data, t->ops.len / sizeof(da_timeline_op), sizeof(da_timeline_op), by_begin);
    da_begin_document(j, capture);
    da_key_text(j, "source", t->source);
    da_key_number(j, "begin_s", da_seconds(begin), 9);
    da_key_number(j, "end_s", da_seconds(end), 9);
    write_runs(j, t, begin);
    write_kernels(j, t, text, context);
    write_ops(j, t, begin);
    da_key_uint(j, "ops_left_out", t->left_out);
    cm_json_end(j);
}
