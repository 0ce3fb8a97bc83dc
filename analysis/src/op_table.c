// SPDX-License-Identifier: MIT
// Sums per kernel into rows by node, type, provider or thread (see analysis/ops.h). Types and
// providers are put together from nodes, so that each row knows how many nodes it stands for.
#include "analysis_util.h"
#include "ops_internal.h"

#include <stdlib.h>
#include <string.h>

#define NO_ROW SIZE_MAX // there was no memory for one

// --------------------------------------------------------------------------------------- grouping

typedef struct groups {
    an_op_row *rows;
    size_t count, capacity;
    cm_map by_hash;
} groups;

static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return (hash ^ 0xff) * 0x100000001b3u;
}

static uint64_t hash_number(uint64_t hash, int64_t number)
{
    return (hash ^ (uint64_t)number) * 0x9e3779b97f4a7c15u;
}

static uint64_t hash_row(const an_op_row *r)
{
    uint64_t hash = hash_text(0xcbf29ce484222325u, r->node);
    hash = hash_text(hash_text(hash_text(hash, r->op_type), r->domain), r->provider);
    return hash_number(hash_number(hash_number(hash, r->session), r->kernel), r->thread);
}

static bool same_text(const char *a, const char *b)
{
    return a == b || strcmp(a, b) == 0;
}

static bool same_row(const an_op_row *a, const an_op_row *b)
{
    return a->session == b->session && a->kernel == b->kernel && a->thread == b->thread &&
           same_text(a->node, b->node) && same_text(a->op_type, b->op_type) &&
           same_text(a->domain, b->domain) && same_text(a->provider, b->provider);
}

// The row that has the identity of `key`; NO_ROW without memory.
static size_t find_or_add(groups *g, const an_op_row *key)
{
    uint64_t hash = hash_row(key);
    size_t at;
    while (cm_map_find(&g->by_hash, (int64_t)hash, &at)) {
        if (same_row(&g->rows[at], key))
            return at;
        hash++;
    }
    an_op_row *rows = an_grow(g->rows, &g->capacity, g->count, sizeof *rows);
    if (!rows)
        return NO_ROW;
    g->rows = rows;
    if (!cm_map_put(&g->by_hash, (int64_t)hash, g->count))
        return NO_ROW;
    rows[g->count] = *key;
    rows[g->count].number = g->count;
    return g->count++;
}

static void add_sums(an_op_sums *into, const an_op_sums *from)
{
    into->calls += from->calls;
    into->failed += from->failed;
    into->ambiguous += from->ambiguous;
    into->submitted += from->submitted;
    into->total_ns = an_add_saturating(into->total_ns, from->total_ns);
    into->self_ns = an_add_saturating(into->self_ns, from->self_ns);
    into->max_ns = from->max_ns > into->max_ns ? from->max_ns : into->max_ns;
    into->flops_calls += from->flops_calls;
    into->flops += from->flops;
    into->allocations += from->allocations;
    into->allocated_bytes = an_add_saturating(into->allocated_bytes, from->allocated_bytes);
    into->loading_calls += from->loading_calls;
    into->loading_ns = an_add_saturating(into->loading_ns, from->loading_ns);
    into->squares += from->squares;
}

static void add_scatter(an_op_row *row, const an_op_sums *kernel)
{
    if (kernel->calls == 0)
        return;
    double total = (double)kernel->total_ns;
    double scatter = kernel->squares - total * total / (double)kernel->calls;
    row->scatter += scatter > 0 ? scatter : 0;
    row->means++;
}

static an_op_row key_of_cell(const an_ops *o, const an_op_cell *cell, an_op_by by)
{
    const an_kernel *k = &o->kernels[cell->kernel];
    if (by == AN_BY_THREAD) {
        bool known = cell->thread < o->nesting.thread_count;
        return (an_op_row){.node = "",
                           .op_type = "",
                           .domain = "",
                           .provider = "",
                           .thread = known ? o->nesting.threads[cell->thread].thread : -1};
    }
    return (an_op_row){.node = k->node,
                       .op_type = k->op_type,
                       .domain = k->domain,
                       .provider = k->provider,
                       .session = k->session,
                       .kernel = k->node[0] ? 0 : k->id};
}

static an_op_row key_of_node(const an_op_row *node, an_op_by by)
{
    bool type = by == AN_BY_TYPE;
    return (an_op_row){.node = "",
                       .op_type = type ? node->op_type : "",
                       .domain = type ? node->domain : "",
                       .provider = node->provider};
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool contains(const char *text, const char *part)
{
    for (;; text++) {
        size_t i = 0;
        while (part[i] && lower(text[i]) == lower(part[i]))
            i++;
        if (!part[i])
            return true;
        if (!*text)
            return false;
    }
}

static bool passes_filter(const an_kernel *k, const char *filter)
{
    return !filter || contains(k->node, filter) || contains(k->op_type, filter);
}

// How many cells belong to sessions before this one, or up to and with it.
static size_t cells_before(const an_ops *o, int64_t session, bool with_it)
{
    size_t low = 0, high = o->cell_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int64_t of = o->kernels[o->cells[o->by_session[middle]].kernel].session;
        if (of < session || (with_it && of == session))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static cm_status group_cells(const an_ops *o, const an_op_choice *choice, groups *g, an_op_table *t)
{
    size_t from = choice->has_session ? cells_before(o, choice->session, false) : 0;
    size_t to = choice->has_session ? cells_before(o, choice->session, true) : o->cell_count;
    for (size_t i = from; i < to; i++) {
        const an_op_cell *cell = &o->cells[o->by_session[i]];
        const an_kernel *k = &o->kernels[cell->kernel];
        add_sums(&t->all, &cell->sums);
        if (cell->sums.calls + cell->sums.loading_calls == 0 || !passes_filter(k, choice->filter))
            continue;
        an_op_row key = key_of_cell(o, cell, choice->by);
        size_t at = find_or_add(g, &key);
        if (at == NO_ROW)
            return an_no_memory();
        add_sums(&g->rows[at].sums, &cell->sums);
        add_scatter(&g->rows[at], &cell->sums);
        g->rows[at].nodes += choice->by == AN_BY_THREAD && cell->sums.calls > 0;
        t->row_of_cell[o->by_session[i]] = at + 1;
    }
    for (size_t i = 0; i < g->count && choice->by != AN_BY_THREAD; i++)
        g->rows[i].nodes = g->rows[i].sums.calls > 0;
    return CM_OK;
}

// Rows of nodes into rows of types or providers.
static cm_status group_nodes(const an_ops *o, an_op_by by, const groups *nodes, groups *g,
                             an_op_table *t)
{
    size_t *row_of_node = malloc((nodes->count + 1) * sizeof *row_of_node);
    cm_status status = row_of_node ? CM_OK : an_no_memory();
    for (size_t i = 0; status == CM_OK && i < nodes->count; i++) {
        an_op_row key = key_of_node(&nodes->rows[i], by);
        size_t at = find_or_add(g, &key);
        row_of_node[i] = at;
        if (at == NO_ROW) {
            status = an_no_memory();
            break;
        }
        add_sums(&g->rows[at].sums, &nodes->rows[i].sums);
        g->rows[at].scatter += nodes->rows[i].scatter;
        g->rows[at].means += nodes->rows[i].means;
        g->rows[at].nodes += nodes->rows[i].nodes;
    }
    for (size_t i = 0; status == CM_OK && i < o->cell_count; i++)
        if (t->row_of_cell[i])
            t->row_of_cell[i] = row_of_node[t->row_of_cell[i] - 1] + 1;
    free(row_of_node);
    return status;
}

static void groups_deinit(groups *g)
{
    free(g->rows);
    cm_map_deinit(&g->by_hash);
}

// ----------------------------------------------------------------------------------------- sorting

static int by_name(const an_op_row *x, const an_op_row *y)
{
    int order = strcmp(x->node, y->node);
    order = order ? order : strcmp(x->op_type, y->op_type);
    order = order ? order : strcmp(x->domain, y->domain);
    order = order ? order : strcmp(x->provider, y->provider);
    if (order)
        return order;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->session != y->session)
        return x->session < y->session ? -1 : 1;
    return (x->kernel > y->kernel) - (x->kernel < y->kernel);
}

static int largest_first(double x, double y, const an_op_row *a, const an_op_row *b)
{
    return x > y ? -1 : x < y ? 1 : by_name(a, b);
}

#define COMPARE(name, value)                                                                       \
    static int name(const void *a, const void *b)                                                  \
    {                                                                                              \
        const an_op_row *x = a, *y = b;                                                            \
        return largest_first((double)value(x), (double)value(y), x, y);                            \
    }
#define SELF(r)  (r)->sums.self_ns
#define TOTAL(r) (r)->sums.total_ns
#define CALLS(r) (r)->sums.calls
#define MAX(r)   (r)->sums.max_ns
COMPARE(compare_self, SELF)
COMPARE(compare_total, TOTAL)
COMPARE(compare_calls, CALLS)
COMPARE(compare_max, MAX)
COMPARE(compare_mean, an_op_mean_ns)

// What has too few calls to tell comes last.
static double known_variation(const an_op_row *r)
{
    double variation = an_op_variation(r);
    return variation >= 0 ? variation : -1;
}
COMPARE(compare_variation, known_variation)

static int compare_name(const void *a, const void *b)
{
    return by_name(a, b);
}

static void sort_rows(an_op_table *t, an_op_sort sort)
{
    static int (*const compare[])(const void *,
                                  const void *) = {[AN_SORT_SELF] = compare_self,
                                                   [AN_SORT_TOTAL] = compare_total,
                                                   [AN_SORT_MEAN] = compare_mean,
                                                   [AN_SORT_CALLS] = compare_calls,
                                                   [AN_SORT_MAX] = compare_max,
                                                   [AN_SORT_NAME] = compare_name,
                                                   [AN_SORT_VARIATION] = compare_variation};
    size_t kept = 0;
    for (size_t i = 0; i < t->row_count; i++) // what only loading executed is no row
        if (t->rows[i].sums.calls)
            t->rows[kept++] = t->rows[i];
    t->number_count = t->row_count;
    t->row_count = kept;
    if (kept)
        qsort(t->rows, kept, sizeof *t->rows, compare[sort]);
}

// ------------------------------------------------------------------------------------------ tables

static cm_status fill(const an_ops *o, const an_op_choice *choice, an_op_table *t, groups *cells,
                      groups *rows)
{
    t->row_of_cell = calloc(o->cell_count + 1, sizeof *t->row_of_cell);
    if (!t->row_of_cell)
        return an_no_memory();
    CM_TRY(group_cells(o, choice, cells, t));
    for (size_t i = 0; i < cells->count; i++)
        t->nodes += cells->rows[i].nodes;
    bool regroup = choice->by == AN_BY_TYPE || choice->by == AN_BY_PROVIDER;
    if (regroup)
        CM_TRY(group_nodes(o, choice->by, cells, rows, t));
    groups *result = regroup ? rows : cells;
    t->rows = result->rows;
    t->row_count = result->count;
    result->rows = NULL;
    sort_rows(t, choice->sort);
    return CM_OK;
}

cm_status an_ops_table(const an_ops *o, const an_op_choice *choice, an_op_table **out)
{
    groups cells = {0}, rows = {0};
    an_op_table *t = calloc(1, sizeof *t);
    if (!t)
        return an_no_memory();
    cm_status status = fill(o, choice, t, &cells, &rows);
    groups_deinit(&cells);
    groups_deinit(&rows);
    if (status == CM_OK)
        *out = t;
    else
        an_op_table_destroy(t);
    return status;
}

void an_op_table_destroy(an_op_table *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->row_count; i++) {
        if (t->rows[i].durations)
            cm_histogram_deinit(t->rows[i].durations);
        free(t->rows[i].durations);
    }
    free(t->rows);
    free(t->row_of_cell);
    free(t->by_number);
    free(t);
}

cm_status an_op_table_measure(an_op_table *t, size_t rows)
{
    t->by_number = calloc(t->number_count + 1, sizeof(an_op_row *));
    if (!t->by_number)
        return an_no_memory();
    for (size_t i = 0; i < rows && i < t->row_count && i < AN_MAX_OP_HISTOGRAMS; i++) {
        t->rows[i].durations = calloc(1, sizeof(cm_histogram));
        if (!t->rows[i].durations)
            return an_no_memory();
        t->by_number[t->rows[i].number] = &t->rows[i];
    }
    return CM_OK;
}

// NULL if it has none of its own.
static const an_op_cell *cell_of_row(const an_ops *o, const tm_block *b, size_t row, size_t *next)
{
    int64_t kernel = b->columns[TM_op_kernel][row];
    size_t at;
    if (o->options.threads)
        return an_ops_find_cell(o, kernel, b->columns[TM_op_thread][row]);
    return an_ops_find_kernel(o, kernel, next, &at) ? &o->cells[at] : NULL;
}

void an_op_table_add(an_op_table *t, const an_ops *o, const tm_block *b)
{
    size_t next = 0;
    for (size_t row = 0; b->kind == TM_KIND_op && row < b->row_count; row++) {
        int64_t duration = b->columns[TM_op_duration][row];
        if (b->columns[TM_op_flags][row] & 1)
            continue; // loading
        const an_op_cell *cell = cell_of_row(o, b, row, &next);
        size_t number_plus_1 = cell ? t->row_of_cell[cell - o->cells] : 0;
        an_op_row *r = number_plus_1 ? t->by_number[number_plus_1 - 1] : NULL;
        if (r)
            cm_histogram_add(r->durations, duration > 0 ? (uint64_t)duration : 0);
    }
}
