// SPDX-License-Identifier: MIT
// See export_facts.h.
#include "export_facts.h"

#include "timeline_input.h"

#include <stdlib.h>
#include <string.h>

#define KINDS                                                                                      \
    (TM_BIT(process) | TM_BIT(bystander) | TM_BIT(module) | TM_BIT(session) | TM_BIT(kernel) |     \
     TM_BIT(allocator) | TM_BIT(counter) | TM_BIT(thread) | TM_BIT(shape) | TM_BIT(tensor) |       \
     TM_BIT(log) | TM_BIT(process_end))

typedef struct shape_text {
    char *text;
} shape_text;

// --------------------------------------------------------------------------------------- lists

void *vw_ex_list_add(vw_ex_list *list, int64_t id, size_t size)
{
    if (list->count == VW_EX_MAX_FACTS)
        return NULL;
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 16;
        void *items = realloc(list->items, capacity * size);
        if (!items)
            return NULL;
        list->items = items;
        list->capacity = capacity;
    }
    if (!cm_map_put(&list->by_id, id, list->count))
        return NULL;
    void *item = (char *)list->items + list->count++ * size;
    memset(item, 0, size);
    return item;
}

void vw_ex_list_deinit(vw_ex_list *list)
{
    free(list->items);
    cm_map_deinit(&list->by_id);
    memset(list, 0, sizeof *list);
}

static void *find(const vw_ex_list *list, int64_t id, size_t size)
{
    size_t place;
    return cm_map_find(&list->by_id, id, &place) ? (char *)list->items + place * size : NULL;
}

// Finds the item or makes it. A list that is full gives none, which is no failure.
static cm_status get(vw_ex_list *list, int64_t id, size_t size, void *out_item)
{
    void *item = find(list, id, size);
    if (!item && list->count < VW_EX_MAX_FACTS) {
        item = vw_ex_list_add(list, id, size);
        if (!item)
            return cm_fail(CM_NO_MEMORY, "There is not enough memory for this timeline.");
    }
    memcpy(out_item, &item, sizeof item);
    return CM_OK;
}

// ---------------------------------------------------------------------------------------- rows

#define COLUMN(kind, column) (b->columns[TM_##kind##_##column][row])
#define TEXT(kind, column)   (tm_reader_string(f->reader, COLUMN(kind, column)))

static cm_status add_process(vw_ex_facts *f, const tm_block *b, size_t row)
{
    bool followed = b->kind == TM_KIND_process;
    vw_ex_process *p;
    CM_TRY(get(&f->processes, followed ? COLUMN(process, process) : COLUMN(bystander, process),
               sizeof *p, &p));
    if (!p)
        return CM_OK;
    p->id = followed ? COLUMN(process, process) : COLUMN(bystander, process);
    p->pid = followed ? COLUMN(process, pid) : COLUMN(bystander, pid);
    p->program = followed ? TEXT(process, program) : TEXT(bystander, program);
    p->followed = followed;
    return CM_OK;
}

static cm_status add_session(vw_ex_facts *f, const tm_block *b, size_t row)
{
    vw_ex_session *s;
    CM_TRY(get(&f->sessions, COLUMN(session, session), sizeof *s, &s));
    if (!s)
        return CM_OK;
    *s = (vw_ex_session){.id = COLUMN(session, session),
                         .process = COLUMN(session, module), // until all modules are known
                         .thread = COLUMN(session, thread),
                         .begin_ns = COLUMN(session, time),
                         .load_ns = COLUMN(session, load),
                         .source = COLUMN(session, source),
                         .status = COLUMN(session, status),
                         .model = TEXT(session, model),
                         .providers = TEXT(session, providers),
                         .message = TEXT(session, message),
                         .declared = true};
    s->name = s->model[0] ? vw_ex_file_name(s->model) : TEXT(session, graph);
    return CM_OK;
}

static cm_status add_kernel(vw_ex_facts *f, const tm_block *b, size_t row)
{
    vw_ex_kernel *k;
    CM_TRY(get(&f->kernels, COLUMN(kernel, kernel), sizeof *k, &k));
    if (k)
        *k = (vw_ex_kernel){.id = COLUMN(kernel, kernel),
                            .session = COLUMN(kernel, session),
                            .node = TEXT(kernel, node),
                            .op_type = TEXT(kernel, op_type),
                            .domain = TEXT(kernel, domain),
                            .provider = TEXT(kernel, provider),
                            .submits = COLUMN(kernel, submits) == 1};
    if (k && !k->op_type[0])
        k->by_class = an_op_type_by_class(TEXT(kernel, kernel_class));
    return CM_OK;
}

const char *vw_ex_op_type(const vw_ex_kernel *k)
{
    return k->op_type[0] ? k->op_type : k->by_class.text;
}

const char *vw_ex_op_name(const vw_ex_kernel *k)
{
    const char *type = k ? vw_ex_op_type(k) : "";
    return type[0] ? type : "operator";
}

static cm_status add_counter(vw_ex_facts *f, const tm_block *b, size_t row)
{
    vw_ex_counter *c;
    CM_TRY(get(&f->counters, COLUMN(counter, counter), sizeof *c, &c));
    if (c)
        *c = (vw_ex_counter){.id = COLUMN(counter, counter),
                             .per_unit = COLUMN(counter, per_unit),
                             .about = COLUMN(counter, about),
                             .process = COLUMN(counter, process),
                             .number = COLUMN(counter, number),
                             .total = COLUMN(counter, total) == 1,
                             .source = TEXT(counter, source),
                             .name = TEXT(counter, name),
                             .unit = TEXT(counter, unit),
                             .subject = TEXT(counter, subject)};
    return CM_OK;
}

static int64_t thread_key(int64_t process, int64_t thread)
{
    return (int64_t)((uint64_t)process << 40 ^ (uint64_t)thread);
}

static cm_status add_thread(vw_ex_facts *f, const tm_block *b, size_t row)
{
    const char *name = TEXT(thread, name);
    int64_t process = COLUMN(thread, process), thread = COLUMN(thread, thread);
    vw_ex_thread *t;
    if (!name[0])
        return CM_OK;
    CM_TRY(get(&f->threads, thread_key(process, thread), sizeof *t, &t));
    if (t)
        *t = (vw_ex_thread){process, thread, name};
    return CM_OK;
}

static cm_status add_row(vw_ex_facts *f, const tm_block *b, size_t row)
{
    vw_ex_module *module;
    vw_ex_allocator *allocator;
    switch (b->kind) {
    case TM_KIND_process:
    case TM_KIND_bystander:
        return add_process(f, b, row);
    case TM_KIND_process_end:
        if (COLUMN(process_end, time) > f->end_ns)
            f->end_ns = COLUMN(process_end, time);
        return CM_OK;
    case TM_KIND_module:
        CM_TRY(get(&f->modules, COLUMN(module, module), sizeof *module, &module));
        if (module)
            *module = (vw_ex_module){COLUMN(module, module), COLUMN(module, process)};
        return CM_OK;
    case TM_KIND_session:
        return add_session(f, b, row);
    case TM_KIND_kernel:
        return add_kernel(f, b, row);
    case TM_KIND_allocator:
        CM_TRY(get(&f->allocators, COLUMN(allocator, allocator), sizeof *allocator, &allocator));
        if (allocator)
            *allocator = (vw_ex_allocator){COLUMN(allocator, allocator), COLUMN(allocator, session),
                                           COLUMN(allocator, type), TEXT(allocator, name)};
        return CM_OK;
    case TM_KIND_counter:
        return add_counter(f, b, row);
    case TM_KIND_thread:
        return add_thread(f, b, row);
    default:
        return CM_OK;
    }
}

// A pid may be given again while a file is recorded; viewers would put both into one.
static cm_status tell_pids_apart(vw_ex_facts *f)
{
    cm_map seen;
    cm_status status = CM_OK;
    vw_ex_process *p = f->processes.items;
    cm_map_init(&seen);
    for (size_t i = 0; i < f->processes.count && status == CM_OK; i++) {
        size_t other;
        bool odd = p[i].pid < 1 || p[i].pid >= 900000000;
        p[i].shown_pid =
            odd || cm_map_find(&seen, p[i].pid, &other) ? 900000000 + (int64_t)i : p[i].pid;
        if (!cm_map_put(&seen, p[i].shown_pid, i))
            status = cm_fail(CM_NO_MEMORY, "There is not enough memory for this timeline.");
    }
    cm_map_deinit(&seen);
    return status;
}

static void join_sessions(vw_ex_facts *f)
{
    vw_ex_session *s = f->sessions.items;
    for (size_t i = 0; i < f->sessions.count; i++) {
        const vw_ex_module *m = find(&f->modules, s[i].process, sizeof *m);
        s[i].process = m ? m->process : 0;
    }
}

cm_status vw_ex_read(tm_reader *reader, const atomic_bool *given_up, tm_block *out)
{
    if (given_up && atomic_load(given_up))
        return cm_fail(CM_FAILED, "The export was given up.");
    return tm_reader_next(reader, out);
}

cm_status vw_ex_facts_read(const char *path, const atomic_bool *given_up, vw_ex_facts *f)
{
    tm_block block;
    cm_status status;
    memset(f, 0, sizeof *f);
    vw_run_facts_init(&f->runs);
    CM_TRY(vw_open_timeline(path, &f->reader));
    tm_reader_only(f->reader, KINDS);
    while ((status = vw_ex_read(f->reader, given_up, &block)) == CM_OK) {
        CM_TRY(vw_run_facts_add(&f->runs, f->reader, &block));
        for (size_t row = 0; row < block.row_count; row++)
            CM_TRY(add_row(f, &block, row));
    }
    if (status != CM_END)
        return status;
    join_sessions(f);
    return tell_pids_apart(f);
}

void vw_ex_facts_deinit(vw_ex_facts *f)
{
    shape_text *shapes = f->shapes.items;
    for (size_t i = 0; i < f->shapes.count; i++)
        free(shapes[i].text);
    vw_ex_list *lists[] = {&f->processes,  &f->modules,  &f->sessions, &f->kernels,
                           &f->allocators, &f->counters, &f->threads,  &f->shapes};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        vw_ex_list_deinit(lists[i]);
    vw_run_facts_deinit(&f->runs);
    tm_reader_close(f->reader);
    f->reader = NULL;
}

// ------------------------------------------------------------------------------------- questions

const vw_ex_process *vw_ex_find_process(const vw_ex_facts *f, int64_t id)
{
    return find(&f->processes, id, sizeof(vw_ex_process));
}

const vw_ex_session *vw_ex_find_session(const vw_ex_facts *f, int64_t id)
{
    return find(&f->sessions, id, sizeof(vw_ex_session));
}

const vw_ex_kernel *vw_ex_find_kernel(const vw_ex_facts *f, int64_t id)
{
    return find(&f->kernels, id, sizeof(vw_ex_kernel));
}

const vw_ex_allocator *vw_ex_find_allocator(const vw_ex_facts *f, int64_t id)
{
    return find(&f->allocators, id, sizeof(vw_ex_allocator));
}

const vw_ex_counter *vw_ex_find_counter(const vw_ex_facts *f, int64_t id)
{
    return find(&f->counters, id, sizeof(vw_ex_counter));
}

const char *vw_ex_thread_name(const vw_ex_facts *f, int64_t process, int64_t thread)
{
    const vw_ex_thread *t = find(&f->threads, thread_key(process, thread), sizeof *t);
    return t && t->process == process && t->thread == thread ? t->name : NULL;
}

const char *vw_ex_shape_text(vw_ex_facts *f, int64_t shape)
{
    shape_text *known = find(&f->shapes, shape, sizeof *known);
    if (known)
        return known->text ? known->text : "";
    const an_shape *found = an_shapes_find(&f->runs.shapes, shape);
    cm_out text;
    if (!found || !(known = vw_ex_list_add(&f->shapes, shape, sizeof *known)))
        return "";
    cm_out_init_memory(&text);
    an_shape_text(&text, found);
    size_t size = strlen(cm_out_string(&text)) + 1;
    known->text = malloc(size);
    if (known->text)
        memcpy(known->text, cm_out_string(&text), size);
    cm_out_deinit(&text);
    return known->text ? known->text : "";
}

const char *vw_ex_file_name(const char *path)
{
    const char *name = path;
    for (; *path; path++)
        if ((*path == '/' || *path == '\\') && path[1])
            name = path + 1;
    return name;
}
