// SPDX-License-Identifier: MIT
// Rows into facts (see summary.h). Rows may refer to what the file never declares: such sessions
// and processes are made up with nothing but their id.
#include "analysis/summary.h"

#include "analysis_util.h"
#include "loading.h"
#include "losses.h"
#include "messages.h"
#include "session_stats.h"
#include "summary_join.h"
#include "summary_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

cm_status an_summary_create(const an_summary_options *options, an_summary **out)
{
    static const an_summary_options none;
    options = options ? options : &none;
    an_summary *s = calloc(1, sizeof *s);
    if (!s)
        return an_no_memory();
    an_shapes_init(&s->shapes);
    cm_histogram_init(&s->overhead);
    an_counters_init(&s->counters);
    s->flops = (double)NAN;
    s->options = *options;
    s->options.series = options->series ? options->series : AN_SUMMARY_SERIES;
    an_op_options of_ops = {.runs = true, .batches = options->op_batches};
    cm_status status = an_ops_create(&of_ops, &s->ops);
    if (status == CM_OK)
        *out = s;
    else
        an_summary_destroy(s);
    return status;
}

void an_summary_destroy(an_summary *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->session_count; i++)
        an_session_deinit(&s->sessions[i]);
    for (size_t i = 0; i < s->process_count; i++)
        free(s->processes[i].program);
    for (size_t i = 0; i < s->module_count; i++) {
        free(s->modules[i].path);
        free(s->modules[i].version);
        free(s->modules[i].build);
    }
    an_messages_deinit(s);
    an_shapes_deinit(&s->shapes);
    cm_histogram_deinit(&s->overhead);
    an_ops_destroy(s->ops);
    an_counters_deinit(&s->counters);
    an_machine_deinit(&s->machine);
    an_summary_forget_join(s);
    cm_map_deinit(&s->session_by_id);
    cm_map_deinit(&s->process_by_id);
    cm_map_deinit(&s->shared_by_id);
    cm_map_deinit(&s->session_ends);
    free(s->sessions);
    free(s->processes);
    free(s->modules);
    free(s->shared);
    free(s->damage);
    free(s);
}

// ------------------------------------------------------------------------------------- find or add

an_session *an_summary_session(an_summary *s, int64_t id)
{
    size_t at;
    if (cm_map_find(&s->session_by_id, id, &at))
        return &s->sessions[at];
    an_session *sessions =
        an_grow(s->sessions, &s->session_capacity, s->session_count, sizeof *sessions);
    if (!sessions)
        return NULL;
    s->sessions = sessions;
    if (!cm_map_put(&s->session_by_id, id, s->session_count))
        return NULL;
    an_session_init(&sessions[s->session_count], id, s->options.series);
    return &sessions[s->session_count++];
}

static an_process *get_process(an_summary *s, int64_t id)
{
    size_t at;
    if (cm_map_find(&s->process_by_id, id, &at))
        return &s->processes[at];
    an_process *processes =
        an_grow(s->processes, &s->process_capacity, s->process_count, sizeof *processes);
    if (!processes)
        return NULL;
    s->processes = processes;
    if (!cm_map_put(&s->process_by_id, id, s->process_count))
        return NULL;
    processes[s->process_count] = (an_process){.id = id, .pid = -1, .how = -1, .exit_code = -1};
    return &processes[s->process_count++];
}

// -------------------------------------------------------------------------------- one kind of rows

static cm_status add_process(an_summary *s, const tm_reader *r, const tm_block *b, size_t row)
{
    an_process *p = get_process(s, b->columns[TM_process_process][row]);
    if (!p)
        return an_no_memory();
    p->pid = b->columns[TM_process_pid][row];
    p->parent = b->columns[TM_process_parent][row];
    p->time_ns = b->columns[TM_process_time][row];
    p->how = b->columns[TM_process_how][row];
    return an_copy_string(&p->program, r, b->columns[TM_process_program][row]);
}

static cm_status add_process_end(an_summary *s, const tm_reader *r, const tm_block *b, size_t row)
{
    (void)r;
    an_process *p = get_process(s, b->columns[TM_process_end_process][row]);
    if (!p)
        return an_no_memory();
    p->ended = true;
    p->end_ns = b->columns[TM_process_end_time][row];
    p->end_reason = b->columns[TM_process_end_reason][row];
    p->exit_code = b->columns[TM_process_end_exit_code][row];
    return CM_OK;
}

static cm_status add_module(an_summary *s, const tm_reader *r, const tm_block *b, size_t row)
{
    an_module *modules = an_grow(s->modules, &s->module_capacity, s->module_count, sizeof *modules);
    if (!modules)
        return an_no_memory();
    s->modules = modules;
    an_module *m = &modules[s->module_count++];
    *m = (an_module){.id = b->columns[TM_module_module][row],
                     .process = b->columns[TM_module_process][row],
                     .hooked = b->columns[TM_module_hooked][row],
                     .refused = b->columns[TM_module_refused][row]};
    CM_TRY(an_copy_string(&m->path, r, b->columns[TM_module_path][row]));
    CM_TRY(an_copy_string(&m->version, r, b->columns[TM_module_version][row]));
    return an_copy_string(&m->build, r, b->columns[TM_module_build][row]);
}

static cm_status add_session(an_summary *s, const tm_reader *r, const tm_block *b, size_t row)
{
    an_session *n = an_summary_session(s, b->columns[TM_session_session][row]);
    if (!n)
        return an_no_memory();
    n->declared = true;
    n->module = b->columns[TM_session_module][row];
    n->time_ns = b->columns[TM_session_time][row];
    n->load_ns = b->columns[TM_session_load][row];
    n->source = b->columns[TM_session_source][row];
    n->status = b->columns[TM_session_status][row];
    n->model_bytes = b->columns[TM_session_model_bytes][row];
    n->model_hash = (uint64_t)b->columns[TM_session_model_hash][row];
    CM_TRY(an_copy_string(&n->model, r, b->columns[TM_session_model][row]));
    CM_TRY(an_copy_string(&n->graph, r, b->columns[TM_session_graph][row]));
    CM_TRY(an_copy_string(&n->producer, r, b->columns[TM_session_producer][row]));
    CM_TRY(an_copy_string(&n->options, r, b->columns[TM_session_options][row]));
    CM_TRY(an_copy_string(&n->providers, r, b->columns[TM_session_providers][row]));
    return an_copy_string(&n->message, r, b->columns[TM_session_message][row]);
}

static cm_status add_run(an_summary *s, const tm_reader *r, const tm_block *b, size_t row)
{
    (void)r;
    an_session *session = an_summary_session(s, b->columns[TM_run_session][row]);
    return session ? an_session_add_run(s, session, b, row) : an_no_memory();
}

static cm_status add_overhead(an_summary *s, const tm_reader *r, const tm_block *b, size_t row)
{
    (void)r;
    int64_t cost = b->columns[TM_overhead_per_run][row];
    if (cost >= 0)
        cm_histogram_add(&s->overhead, (uint64_t)cost);
    return CM_OK;
}

static cm_status add_phase(an_summary *s, const tm_reader *r, const tm_block *b, size_t row)
{
    (void)r;
    int64_t session = b->columns[TM_phase_session][row];
    an_session *n = session ? an_summary_session(s, session) : NULL;
    if (n)
        an_loading_add_phase(&n->loading, b, row);
    return n || !session ? CM_OK : an_no_memory();
}

typedef cm_status (*add_row_fn)(an_summary *, const tm_reader *, const tm_block *, size_t row);

static const add_row_fn add_row[TM_KIND_COUNT] = {
    [TM_KIND_process] = add_process,
    [TM_KIND_process_end] = add_process_end,
    [TM_KIND_module] = add_module,
    [TM_KIND_session] = add_session,
    [TM_KIND_run] = add_run,
    [TM_KIND_log] = an_messages_add_log,
    [TM_KIND_lost] = an_losses_add,
    [TM_KIND_overhead] = add_overhead,
    [TM_KIND_phase] = add_phase,
    [TM_KIND_ort_event] = an_messages_add_event,
    [TM_KIND_memory] = an_summary_add_memory,
    [TM_KIND_run_memory] = an_summary_add_run_memory,
    [TM_KIND_session_end] = an_summary_add_session_end,
};

// ------------------------------------------------------------------------------------- whole files

// Every row's own time counts for the duration of the capture.
static void extend_time(an_summary *s, const tm_block *b)
{
    const tm_kind_info *kind = tm_kind_get(b->kind);
    int64_t end_ns = s->end_ns;
    for (unsigned c = 0; c < kind->column_count; c++) {
        const int64_t *times = kind->columns[c].type == TM_TIME ? b->columns[c] : NULL;
        for (size_t row = 0; times && row < b->row_count; row++)
            end_ns = times[row] > end_ns ? times[row] : end_ns;
    }
    s->end_ns = end_ns;
}

cm_status an_summary_add(an_summary *s, const tm_reader *reader, const tm_block *b)
{
    if ((unsigned)b->kind >= TM_KIND_COUNT)
        return CM_OK;
    extend_time(s, b);
    CM_TRY(an_shapes_add(&s->shapes, reader, b));
    CM_TRY(an_ops_add(s->ops, reader, b));
    CM_TRY(an_counters_add(&s->counters, reader, b));
    CM_TRY(an_machine_add(&s->machine, reader, b));
    for (size_t row = 0; add_row[b->kind] && row < b->row_count; row++)
        CM_TRY(add_row[b->kind](s, reader, b, row));
    return CM_OK;
}

static cm_status fill_empty(char **text)
{
    if (!*text)
        *text = calloc(1, 1);
    return *text ? CM_OK : an_no_memory();
}

cm_status an_summary_finish(an_summary *s)
{
    s->options.warmup_ends = NULL; // it was the caller's
    for (size_t i = 0; i < s->session_count; i++) {
        an_session *n = &s->sessions[i];
        char **texts[] = {&n->model,   &n->graph,     &n->producer,
                          &n->options, &n->providers, &n->message};
        for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
            CM_TRY(fill_empty(texts[t]));
        CM_TRY(an_session_finish(s, n));
        an_summary_leave_shared(s, n);
    }
    for (size_t i = 0; i < s->process_count; i++)
        CM_TRY(fill_empty(&s->processes[i].program));
    an_counters_finish(&s->counters, s->end_ns);
    an_messages_finish(s);
    CM_TRY(an_loading_find_repeats(s));
    return an_ops_finish(s->ops);
}

static cm_status summarize_into(an_summary *s, tm_reader *reader)
{
    tm_block block;
    cm_status status;
    while ((status = tm_reader_next(reader, &block)) == CM_OK)
        CM_TRY(an_summary_add(s, reader, &block));
    if (status != CM_END)
        return status;
    const char *damage = tm_reader_damage(reader);
    s->unfinished = tm_reader_is_unfinished(reader);
    if (damage) {
        s->damage = malloc(strlen(damage) + 1);
        if (!s->damage)
            return an_no_memory();
        strcpy(s->damage, damage);
    }
    return an_summary_finish(s);
}

cm_status an_summarize(tm_reader *reader, an_summary **out)
{
    return an_summarize_with(reader, NULL, out);
}

cm_status an_summarize_with(tm_reader *reader, const an_summary_options *options, an_summary **out)
{
    an_summary *s = NULL;
    CM_TRY(an_summary_create(options, &s));
    cm_status status = summarize_into(s, reader);
    if (status == CM_OK)
        *out = s;
    else
        an_summary_destroy(s);
    return status;
}

// -------------------------------------------------------------------------------------- questions

bool an_known(double value)
{
    return !__builtin_isnan(value); // the macro of mingw warns about doubles
}

const an_process *an_summary_target(const an_summary *s)
{
    const an_process *target = NULL;
    for (size_t i = 0; i < s->process_count; i++) {
        const an_process *p = &s->processes[i];
        bool better = !target || (target->how == 2 && p->how != 2) ||
                      ((target->how == 2) == (p->how == 2) && p->time_ns < target->time_ns);
        if (p->how >= 0 && better)
            target = p;
    }
    return target;
}

const an_module *an_summary_module(const an_summary *s, int64_t id)
{
    for (size_t i = 0; i < s->module_count; i++)
        if (s->modules[i].id == id)
            return &s->modules[i];
    return NULL;
}

int64_t an_summary_overhead_ns(const an_summary *s)
{
    if (s->overhead.count == 0)
        return -1;
    return (int64_t)cm_histogram_percentile(&s->overhead, 500000);
}

double an_summary_overhead_share(const an_summary *s)
{
    int64_t per_run = an_summary_overhead_ns(s);
    double count = 0, sum = 0;
    for (size_t i = 0; i < s->session_count; i++) {
        count += (double)s->sessions[i].latency.count;
        sum += (double)s->sessions[i].latency.count * s->sessions[i].latency.mean;
    }
    return per_run >= 0 && sum > 0 ? (double)per_run * count / sum : NAN;
}

double an_summary_cpu(const an_summary *s)
{
    const an_process *p = an_summary_target(s);
    if (!p)
        return NAN;
    const an_counter *user = an_counters_find(&s->counters, "cpu_user", AN_ABOUT_PROCESS, p->id);
    const an_counter *kernel =
        an_counters_find(&s->counters, "cpu_kernel", AN_ABOUT_PROCESS, p->id);
    if (!user || !kernel)
        return NAN;
    int64_t end_ns = p->ended ? p->end_ns : s->end_ns;
    double seconds = ((double)end_ns - (double)user->first_ns) / 1e9;
    double used = an_counter_value(user, user->last) - an_counter_value(user, user->first) +
                  an_counter_value(kernel, kernel->last) - an_counter_value(kernel, kernel->first);
    return seconds > 0 && used >= 0 ? used / seconds : NAN;
}

double an_summary_peak_memory(const an_summary *s)
{
    const an_process *p = an_summary_target(s);
    const an_counter *peak =
        p ? an_counters_find(&s->counters, "peak_working_set", AN_ABOUT_PROCESS, p->id) : NULL;
    return peak ? an_counter_value(peak, peak->max) : NAN;
}
