// SPDX-License-Identifier: MIT
// See export_tables.h. The order of cells is that of the columns above each function.
#include "export_tables.h"

#include "analysis/names.h"
#include "put_number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define COLUMN(kind, column) (b->columns[TM_##kind##_##column][row])
#define FILL(name)                                                                                 \
    static void name(vw_ex_facts *facts, const tm_reader *reader, const tm_block *b, size_t row,   \
                     vw_ex_cell *cells)

static vw_ex_cell number(int64_t value)
{
    return (vw_ex_cell){.known = true, .integer = value};
}

// Of columns in which a negative number means "not known".
static vw_ex_cell count(int64_t value)
{
    return (vw_ex_cell){.known = value >= 0, .integer = value};
}

static vw_ex_cell id(int64_t value)
{
    return (vw_ex_cell){.known = value != 0, .integer = value};
}

static vw_ex_cell text(const char *value)
{
    return (vw_ex_cell){.known = value && value[0], .text = value};
}

static const char *model_of(const vw_ex_facts *facts, int64_t session)
{
    const vw_ex_session *s = vw_ex_find_session(facts, session);
    return s ? (s->model[0] ? s->model : s->name) : NULL;
}

static vw_ex_cell pid_of(const vw_ex_facts *facts, int64_t process)
{
    const vw_ex_process *p = vw_ex_find_process(facts, process);
    return (vw_ex_cell){.known = p != NULL, .integer = p ? p->pid : 0};
}

static vw_ex_cell program_of(const vw_ex_facts *facts, int64_t process)
{
    const vw_ex_process *p = vw_ex_find_process(facts, process);
    return text(p ? vw_ex_file_name(p->program) : NULL);
}

// ------------------------------------------------------------------------------------------ runs

static const vw_ex_column run_columns[] = {
    {"session", VW_EX_INT, false},     {"model", VW_EX_TEXT, true},
    {"pid", VW_EX_INT, true},          {"run", VW_EX_INT, false},
    {"thread", VW_EX_INT, true},       {"begin_ns", VW_EX_INT, false},
    {"duration_ns", VW_EX_INT, false}, {"call", VW_EX_TEXT, false},
    {"status", VW_EX_TEXT, false},     {"status_code", VW_EX_INT, false},
    {"in_flight", VW_EX_INT, true},    {"batch", VW_EX_INT, true},
    {"inputs", VW_EX_TEXT, true},      {"outputs", VW_EX_TEXT, true},
    {"message", VW_EX_TEXT, true},
};

FILL(fill_run)
{
    (void)reader;
    static _Thread_local char status[48];
    vw_run run = {.session = COLUMN(run, session), .run = COLUMN(run, run)};
    const vw_ex_session *session = vw_ex_find_session(facts, run.session);
    const an_shape *shape = an_shapes_find(&facts->runs.shapes, COLUMN(run, inputs));
    snprintf(status, sizeof status, "ok");
    if (COLUMN(run, status) != 0)
        an_ort_error_text(status, sizeof status, COLUMN(run, status));
    vw_ex_cell *c = cells;
    *c++ = number(run.session);
    *c++ = text(model_of(facts, run.session));
    *c++ = pid_of(facts, session ? session->process : 0);
    *c++ = number(run.run);
    *c++ = count(COLUMN(run, thread));
    *c++ = number(COLUMN(run, begin));
    *c++ = number(COLUMN(run, duration));
    *c++ = text(an_call_name(COLUMN(run, call)));
    *c++ = text(status);
    *c++ = number(COLUMN(run, status));
    *c++ = count(COLUMN(run, in_flight));
    *c++ = count(shape ? shape->batch : -1);
    *c++ = text(vw_ex_shape_text(facts, COLUMN(run, inputs)));
    *c++ = text(vw_ex_shape_text(facts, COLUMN(run, outputs)));
    *c++ = text(COLUMN(run, status) ? vw_run_message(&facts->runs, &run) : NULL);
}

// ------------------------------------------------------------------------------------- operators

static const vw_ex_column op_columns[] = {
    {"session", VW_EX_INT, true},
    {"model", VW_EX_TEXT, true},
    {"run", VW_EX_INT, true},
    {"thread", VW_EX_INT, true},
    {"begin_ns", VW_EX_INT, false},
    {"duration_ns", VW_EX_INT, false},
    {"depth", VW_EX_INT, false},
    {"kernel", VW_EX_INT, false},
    {"node", VW_EX_TEXT, true},
    {"op_type", VW_EX_TEXT, true},
    {"domain", VW_EX_TEXT, true},
    {"provider", VW_EX_TEXT, true},
    {"is_loading", VW_EX_BOOL, false},
    {"is_failed", VW_EX_BOOL, false},
    {"is_submission", VW_EX_BOOL, false},
};

FILL(fill_op)
{
    (void)reader;
    const vw_ex_kernel *kernel = vw_ex_find_kernel(facts, COLUMN(op, kernel));
    int64_t flags = COLUMN(op, flags);
    vw_ex_cell *c = cells;
    *c++ = id(COLUMN(op, session));
    *c++ = text(model_of(facts, COLUMN(op, session)));
    *c++ = id(flags & 2 ? 0 : COLUMN(op, run));
    *c++ = count(COLUMN(op, thread));
    *c++ = number(COLUMN(op, begin));
    *c++ = number(COLUMN(op, duration));
    *c++ = number(COLUMN(op, depth));
    *c++ = number(COLUMN(op, kernel));
    *c++ = text(kernel ? kernel->node : NULL);
    *c++ = text(kernel ? vw_ex_op_type(kernel) : NULL);
    *c++ = text(kernel ? kernel->domain[0]    ? kernel->domain
                         : kernel->op_type[0] ? "ai.onnx"
                                              : NULL
                       : NULL);
    *c++ = text(kernel ? kernel->provider : NULL);
    *c++ = number((flags & 1) != 0);
    *c++ = number((flags & 4) != 0);
    *c++ = number(kernel && kernel->submits);
}

// ------------------------------------------------------------------------------------ allocations

static const vw_ex_column alloc_columns[] = {
    {"time_ns", VW_EX_INT, false},
    {"session", VW_EX_INT, true},
    {"run", VW_EX_INT, true},
    {"thread", VW_EX_INT, true},
    {"action", VW_EX_TEXT, false},
    {"bytes", VW_EX_INT, true},
    {"address", VW_EX_TEXT, false},
    {"allocator", VW_EX_INT, false},
    {"allocator_name", VW_EX_TEXT, true},
    {"allocator_type", VW_EX_TEXT, true},
    {"kernel", VW_EX_INT, true},
    {"node", VW_EX_TEXT, true},
    {"op_type", VW_EX_TEXT, true},
    {"is_loading", VW_EX_BOOL, false},
    {"is_failed", VW_EX_BOOL, false},
};

static const char *one_of(const char *const *names, size_t names_count, int64_t value)
{
    return value >= 0 && (uint64_t)value < names_count ? names[value] : "unknown";
}

FILL(fill_alloc)
{
    (void)reader;
    static const char *const actions[] = {"allocate", "release", "reserve"};
    static const char *const types[] = {"unknown", "C API", "arena", "no arena"};
    static _Thread_local char address[24];
    const vw_ex_kernel *kernel = vw_ex_find_kernel(facts, COLUMN(alloc, kernel));
    const vw_ex_allocator *allocator = vw_ex_find_allocator(facts, COLUMN(alloc, allocator));
    int64_t flags = COLUMN(alloc, flags), bytes = COLUMN(alloc, bytes);
    bool size_known = COLUMN(alloc, action) != 1 || bytes != 0;
    snprintf(address, sizeof address, "0x%llx", (unsigned long long)COLUMN(alloc, address));
    vw_ex_cell *c = cells;
    *c++ = number(COLUMN(alloc, time));
    *c++ = id(COLUMN(alloc, session));
    *c++ = id(flags & 2 ? 0 : COLUMN(alloc, run));
    *c++ = count(COLUMN(alloc, thread));
    *c++ = text(one_of(actions, 3, COLUMN(alloc, action)));
    *c++ = (vw_ex_cell){.known = size_known, .integer = bytes};
    *c++ = text(address);
    *c++ = number(COLUMN(alloc, allocator));
    *c++ = text(allocator ? allocator->name : NULL);
    *c++ = text(allocator ? one_of(types, 4, allocator->type) : NULL);
    *c++ = id(COLUMN(alloc, kernel));
    *c++ = text(kernel ? kernel->node : NULL);
    *c++ = text(kernel ? vw_ex_op_type(kernel) : NULL);
    *c++ = number((flags & 1) != 0);
    *c++ = number((flags & 4) != 0);
}

// --------------------------------------------------------------------------------------- counters

static const vw_ex_column counter_columns[] = {
    {"time_ns", VW_EX_INT, false}, {"counter", VW_EX_INT, false},  {"source", VW_EX_TEXT, true},
    {"name", VW_EX_TEXT, true},    {"about", VW_EX_TEXT, true},    {"pid", VW_EX_INT, true},
    {"number", VW_EX_INT, true},   {"subject", VW_EX_TEXT, true},  {"unit", VW_EX_TEXT, true},
    {"value", VW_EX_REAL, true},   {"is_total", VW_EX_BOOL, true},
};

FILL(fill_counter)
{
    (void)reader;
    static const char *const abouts[] = {"machine", "process", "thread", "core", "device"};
    const vw_ex_counter *k = vw_ex_find_counter(facts, COLUMN(sample, counter));
    double value =
        k && k->per_unit ? (double)COLUMN(sample, value) / (double)k->per_unit : (double)NAN;
    vw_ex_cell *c = cells;
    *c++ = number(COLUMN(sample, time));
    *c++ = number(COLUMN(sample, counter));
    *c++ = text(k ? k->source : NULL);
    *c++ = text(k ? k->name : NULL);
    *c++ = text(k ? one_of(abouts, 5, k->about) : NULL);
    *c++ = pid_of(facts, k ? k->process : 0);
    *c++ = count(k ? k->number : -1);
    *c++ = text(k ? k->subject : NULL);
    *c++ = text(k ? k->unit : NULL);
    *c++ = (vw_ex_cell){.known = COLUMN(sample, known) && vw_is_finite(value), .real = value};
    *c++ = (vw_ex_cell){.known = k != NULL, .integer = k && k->total};
}

// ------------------------------------------------------------------------------------- scheduling

static const vw_ex_column sched_columns[] = {
    {"time_ns", VW_EX_INT, false},
    {"cpu", VW_EX_INT, false},
    {"new_thread", VW_EX_INT, true},
    {"new_pid", VW_EX_INT, true},
    {"new_program", VW_EX_TEXT, true},
    {"old_thread", VW_EX_INT, true},
    {"old_pid", VW_EX_INT, true},
    {"old_program", VW_EX_TEXT, true},
    {"new_priority", VW_EX_INT, false},
    {"old_priority", VW_EX_INT, false},
    {"old_state", VW_EX_INT, false},
    {"old_wait_reason", VW_EX_INT, false},
    {"old_is_preempted", VW_EX_BOOL, false},
    {"new_waited_ticks", VW_EX_INT, true},
};

FILL(fill_sched)
{
    (void)reader;
    int64_t state = COLUMN(sched, state), old = COLUMN(sched, old_thread);
    vw_ex_cell *c = cells;
    *c++ = number(COLUMN(sched, time));
    *c++ = number(COLUMN(sched, cpu));
    *c++ = count(COLUMN(sched, new_thread));
    *c++ = pid_of(facts, COLUMN(sched, new_process));
    *c++ = program_of(facts, COLUMN(sched, new_process));
    *c++ = count(old);
    *c++ = pid_of(facts, COLUMN(sched, old_process));
    *c++ = program_of(facts, COLUMN(sched, old_process));
    *c++ = number(COLUMN(sched, new_priority));
    *c++ = number(COLUMN(sched, old_priority));
    *c++ = number(state);
    *c++ = number(COLUMN(sched, wait_reason));
    *c++ = number(old != 0 && (state == 1 || state == 3 || state == 7));
    *c++ = count(COLUMN(sched, waited));
}

// ------------------------------------------------------------------------------ memory, sessions

static const vw_ex_column memory_columns[] = {
    {"session", VW_EX_INT, false},        {"run", VW_EX_INT, true},
    {"time_ns", VW_EX_INT, false},        {"allocated_bytes", VW_EX_INT, false},
    {"released_bytes", VW_EX_INT, false}, {"peak_bytes", VW_EX_INT, true},
    {"live_bytes", VW_EX_INT, true},      {"grown_bytes", VW_EX_INT, false},
    {"allocations", VW_EX_INT, false},    {"releases", VW_EX_INT, false},
};

FILL(fill_memory)
{
    (void)facts, (void)reader;
    vw_ex_cell *c = cells;
    *c++ = number(COLUMN(run_memory, session));
    *c++ = id(COLUMN(run_memory, run));
    *c++ = number(COLUMN(run_memory, time));
    *c++ = number(COLUMN(run_memory, allocated_bytes));
    *c++ = number(COLUMN(run_memory, freed_bytes));
    *c++ = count(COLUMN(run_memory, peak_bytes));
    *c++ = count(COLUMN(run_memory, live_bytes));
    *c++ = number(COLUMN(run_memory, grown_bytes));
    *c++ = number(COLUMN(run_memory, allocations));
    *c++ = number(COLUMN(run_memory, frees));
}

static const vw_ex_column session_columns[] = {
    {"session", VW_EX_INT, false},   {"pid", VW_EX_INT, true},
    {"program", VW_EX_TEXT, true},   {"model", VW_EX_TEXT, true},
    {"providers", VW_EX_TEXT, true}, {"source", VW_EX_TEXT, false},
    {"begin_ns", VW_EX_INT, false},  {"load_ns", VW_EX_INT, false},
    {"thread", VW_EX_INT, true},     {"status_code", VW_EX_INT, false},
    {"message", VW_EX_TEXT, true},
};

FILL(fill_session)
{
    const vw_ex_session *s = vw_ex_find_session(facts, COLUMN(session, session));
    vw_ex_cell *c = cells;
    *c++ = number(COLUMN(session, session));
    *c++ = pid_of(facts, s ? s->process : 0);
    *c++ = program_of(facts, s ? s->process : 0);
    *c++ = text(model_of(facts, COLUMN(session, session)));
    *c++ = text(tm_reader_string(reader, COLUMN(session, providers)));
    *c++ = text(an_session_source_name(COLUMN(session, source)));
    *c++ = number(COLUMN(session, time));
    *c++ = number(COLUMN(session, load));
    *c++ = count(COLUMN(session, thread));
    *c++ = number(COLUMN(session, status));
    *c++ = text(tm_reader_string(reader, COLUMN(session, message)));
}

#define TABLE(name, kind, time, session, columns, fill)                                            \
    {                                                                                              \
        name, TM_KIND_##kind, time, session, columns, sizeof columns / sizeof *columns, fill       \
    }
const vw_ex_table vw_ex_tables[] = {
    TABLE("runs", run, TM_run_begin, TM_run_session, run_columns, fill_run),
    TABLE("ops", op, TM_op_begin, TM_op_session, op_columns, fill_op),
    TABLE("allocs", alloc, TM_alloc_time, TM_alloc_session, alloc_columns, fill_alloc),
    TABLE("counters", sample, TM_sample_time, -1, counter_columns, fill_counter),
    TABLE("sched", sched, TM_sched_time, -1, sched_columns, fill_sched),
    TABLE("memory", run_memory, TM_run_memory_time, TM_run_memory_session, memory_columns,
          fill_memory),
    TABLE("sessions", session, -1, TM_session_session, session_columns, fill_session),
};
const size_t vw_ex_table_count = sizeof vw_ex_tables / sizeof *vw_ex_tables;
