// SPDX-License-Identifier: MIT
// What each event of a target means in the timeline. The values come from the target and are not
// trusted: they are numbers and bytes here, nothing is looked up by them without a check.
#include "rows.h"
#include "qnn.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { OP_LOADING = 1 }; // of an Op event's flags

static void module_row(co_capture *c, const target_state *t, int64_t id, int64_t ticks,
                       const tl_field_value *values)
{
    const int64_t row[] = {[TM_module_module] = id,
                           [TM_module_process] = t->id,
                           [TM_module_time] = ticks,
                           [TM_module_path] = TEXT(Module_path),
                           [TM_module_version] = TEXT(Module_version),
                           [TM_module_build] = TEXT(Module_build),
                           [TM_module_hooked] = NUMBER(Module_hooked),
                           [TM_module_refused] = NUMBER(Module_refused)};
    co_pending_add(&c->pending, TM_KIND_module, row);
}

static void session_row(co_capture *c, const target_state *t, int64_t id, int64_t ticks,
                        int64_t thread, const tl_field_value *values)
{
    const int64_t row[] = {[TM_session_session] = id,
                           [TM_session_module] = co_module_id(c, t, NUMBER(Session_module)),
                           [TM_session_time] = ticks,
                           [TM_session_load] = NUMBER(Session_load_ticks),
                           [TM_session_source] = NUMBER(Session_source),
                           [TM_session_status] = NUMBER(Session_status),
                           [TM_session_model] = TEXT(Session_model),
                           [TM_session_model_bytes] = NUMBER(Session_model_bytes),
                           [TM_session_model_hash] = NUMBER(Session_model_hash),
                           [TM_session_graph] = TEXT(Session_graph),
                           [TM_session_producer] = TEXT(Session_producer),
                           [TM_session_options] = TEXT(Session_options),
                           [TM_session_providers] = TEXT(Session_providers),
                           [TM_session_message] = TEXT(Session_message),
                           [TM_session_thread] = thread};
    co_pending_add(&c->pending, TM_KIND_session, row);
    c->stats.sessions += NUMBER(Session_status) == 0;
}

static void run_row(co_capture *c, const target_state *t, int64_t session, int64_t ticks,
                    int64_t thread, const tl_field_value *values)
{
    const int64_t row[] = {[TM_run_session] = session,
                           [TM_run_run] = NUMBER(Run_run),
                           [TM_run_thread] = thread,
                           [TM_run_begin] = ticks,
                           [TM_run_duration] = NUMBER(Run_duration_ticks),
                           [TM_run_call] = NUMBER(Run_call),
                           [TM_run_status] = NUMBER(Run_status),
                           [TM_run_in_flight] = NUMBER(Run_in_flight),
                           [TM_run_inputs] = co_shape_id(c, t, NUMBER(Run_inputs)),
                           [TM_run_outputs] = co_shape_id(c, t, NUMBER(Run_outputs))};
    co_pending_add(&c->pending, TM_KIND_run, row);
    c->stats.runs++;
    c->stats.failed_runs += NUMBER(Run_status) != 0;
    if (co_op_keep_waits(&c->op_keep))
        co_op_keep_run_ended(
            &c->op_keep, &c->pending,
            (co_ended_run){session, NUMBER(Run_run), ticks, NUMBER(Run_duration_ticks)});
}

static void shape_row(co_capture *c, const target_state *t, int64_t id,
                      const tl_field_value *values)
{
    const int64_t row[] = {[TM_shape_shape] = id,
                           [TM_shape_session] = co_session_id(c, t, NUMBER(ShapeSet_session)),
                           [TM_shape_direction] = NUMBER(ShapeSet_direction),
                           [TM_shape_tensors] = NUMBER(ShapeSet_tensors),
                           [TM_shape_batch] = NUMBER(ShapeSet_batch)};
    co_pending_add(&c->pending, TM_KIND_shape, row);
}

static int64_t dims_text(co_capture *c, const tl_field_value *dims)
{
    char text[1024];
    size_t len = 0;
    for (uint32_t i = 0; i < dims->count && len + 24 < sizeof text; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, i ? ",%" PRId64 : "%" PRId64,
                                tl_array_get(dims, i));
    return co_intern(c, text, len);
}

static void tensor_row(co_capture *c, int64_t shape, const tl_field_value *values)
{
    const int64_t row[] = {[TM_tensor_shape] = shape,
                           [TM_tensor_index] = NUMBER(Tensor_index),
                           [TM_tensor_name] = TEXT(Tensor_name),
                           [TM_tensor_onnx_type] = NUMBER(Tensor_onnx_type),
                           [TM_tensor_element_type] = NUMBER(Tensor_element_type),
                           [TM_tensor_dims] = dims_text(c, &values[TL_Tensor_dims])};
    co_pending_add(&c->pending, TM_KIND_tensor, row);
}

static void log_row(co_capture *c, const target_state *t, int64_t ticks,
                    const tl_field_value *values)
{
    const int64_t row[] = {[TM_log_process] = t->id,
                           [TM_log_time] = ticks,
                           [TM_log_level] = NUMBER(Log_level),
                           [TM_log_session] = co_session_id(c, t, NUMBER(Log_session)),
                           [TM_log_run] = NUMBER(Log_run),
                           [TM_log_code] = NUMBER(Log_code),
                           [TM_log_message] = TEXT(Log_message)};
    co_pending_add(&c->pending, TM_KIND_log, row);
}

static void env_row(co_capture *c, int64_t module, int64_t ticks, int64_t thread,
                    const tl_field_value *values)
{
    const int64_t row[] = {[TM_env_module] = module,
                           [TM_env_time] = ticks,
                           [TM_env_action] = NUMBER(Env_action),
                           [TM_env_status] = NUMBER(Env_status),
                           [TM_env_log_id] = TEXT(Env_log_id),
                           [TM_env_thread] = thread};
    co_pending_add(&c->pending, TM_KIND_env, row);
}

static void kernel_row(co_capture *c, const target_state *t, int64_t id, int64_t ticks,
                       const tl_field_value *values)
{
    const int64_t row[] = {[TM_kernel_kernel] = id,
                           [TM_kernel_session] = co_session_id(c, t, NUMBER(Kernel_session)),
                           [TM_kernel_module] = co_module_id(c, t, NUMBER(Kernel_module)),
                           [TM_kernel_time] = ticks,
                           [TM_kernel_node] = TEXT(Kernel_node),
                           [TM_kernel_op_type] = TEXT(Kernel_op_type),
                           [TM_kernel_domain] = TEXT(Kernel_domain),
                           [TM_kernel_opset] = NUMBER(Kernel_opset),
                           [TM_kernel_provider] = TEXT(Kernel_provider),
                           [TM_kernel_kernel_class] = TEXT(Kernel_kernel_class),
                           [TM_kernel_source] = NUMBER(Kernel_source),
                           [TM_kernel_submits] = NUMBER(Kernel_submits)};
    co_pending_add(&c->pending, TM_KIND_kernel, row);
}

static void kernel_shape_row(co_capture *c, const target_state *t, int64_t kernel, int64_t ticks,
                             const tl_field_value *values)
{
    const int64_t row[] = {
        [TM_kernel_shape_kernel] = kernel,
        [TM_kernel_shape_time] = ticks,
        [TM_kernel_shape_inputs] = co_shape_id(c, t, NUMBER(KernelShapes_inputs)),
        [TM_kernel_shape_outputs] = co_shape_id(c, t, NUMBER(KernelShapes_outputs)),
        [TM_kernel_shape_run_inputs] = co_shape_id(c, t, NUMBER(KernelShapes_run_inputs)),
        [TM_kernel_shape_parameter_bytes] = NUMBER(KernelShapes_parameter_bytes),
        [TM_kernel_shape_activation_bytes] = NUMBER(KernelShapes_activation_bytes),
        [TM_kernel_shape_output_bytes] = NUMBER(KernelShapes_output_bytes)};
    co_pending_add(&c->pending, TM_KIND_kernel_shape, row);
}

// One row for each name; an empty line is an input that is left out.
static void kernel_tensor_rows(co_capture *c, int64_t kernel, int64_t ticks, int64_t direction,
                               const tl_field_value *names)
{
    if (!names->count)
        return;
    const char *at = names->text, *end = at + names->count;
    for (int64_t index = 0; at <= end; index++) {
        const char *line = memchr(at, '\n', (size_t)(end - at));
        size_t len = (size_t)((line ? line : end) - at);
        if (len) {
            const int64_t row[] = {[TM_kernel_tensor_kernel] = kernel,
                                   [TM_kernel_tensor_time] = ticks,
                                   [TM_kernel_tensor_direction] = direction,
                                   [TM_kernel_tensor_index] = index,
                                   [TM_kernel_tensor_name] = co_intern(c, at, len)};
            co_pending_add(&c->pending, TM_KIND_kernel_tensor, row);
        }
        at += len + 1;
    }
}

static void op_row(co_capture *c, const target_state *t, int64_t kernel, int64_t ticks,
                   int64_t thread, const tl_field_value *values)
{
    const int64_t row[] = {[TM_op_kernel] = kernel,
                           [TM_op_session] = co_session_id(c, t, NUMBER(Op_session)),
                           [TM_op_run] = NUMBER(Op_run),
                           [TM_op_thread] = thread,
                           [TM_op_begin] = ticks,
                           [TM_op_duration] = NUMBER(Op_duration_ticks),
                           [TM_op_depth] = NUMBER(Op_depth),
                           [TM_op_flags] = NUMBER(Op_flags)};
    if (co_op_keep_waits(&c->op_keep) && !(NUMBER(Op_flags) & OP_LOADING))
        co_op_keep_hold(&c->op_keep, &c->pending, row);
    else
        co_pending_add(&c->pending, TM_KIND_op, row);
}

static void ort_event_row(co_capture *c, const target_state *t, int64_t module, int64_t ticks,
                          int64_t thread, const tl_field_value *values)
{
    const int64_t row[] = {[TM_ort_event_module] = module,
                           [TM_ort_event_time] = ticks,
                           [TM_ort_event_session] = co_session_id(c, t, NUMBER(OrtEvent_session)),
                           [TM_ort_event_ort_session] = NUMBER(OrtEvent_ort_session),
                           [TM_ort_event_thread] = thread,
                           [TM_ort_event_level] = NUMBER(OrtEvent_level),
                           [TM_ort_event_name] = TEXT(OrtEvent_name),
                           [TM_ort_event_fields] = TEXT(OrtEvent_fields)};
    co_pending_add(&c->pending, TM_KIND_ort_event, row);
    const tl_field_value *name = &values[TL_OrtEvent_name], *fields = &values[TL_OrtEvent_fields];
    if (name->count == strlen(CO_QNN_EVENT) && memcmp(name->text, CO_QNN_EVENT, name->count) == 0) {
        co_watched *watched = co_watched_of(c, t->id);
        if (watched)
            watched->tells_qnn = true;
        co_qnn_event(c, t->id, (uint64_t)ticks, fields->text, fields->count);
    }
}

// The number of what the event is about, 0 if it is about nothing numbered. Other numbers in it may
// stay 0 (not known): the event that tells of those is the one that counts as lost.
static bool subject_of(co_capture *c, const target_state *t, tl_event event,
                       const tl_field_value *values, int64_t *out)
{
    static const struct {
        size_t ids; // in co_capture; 0: none
        unsigned field;
    } subjects[TL_EVENT_COUNT] = {
#define SUBJECT(event, field, ids)                                                                 \
    [TL_EVENT_##event] = {offsetof(co_capture, ids), TL_##event##_##field}
        SUBJECT(Run, session, sessions),
        SUBJECT(Op, kernel, kernels),
        SUBJECT(Module, module, modules),
        SUBJECT(ModuleEnd, module, modules),
        SUBJECT(Env, module, modules),
        SUBJECT(Session, session, sessions),
        SUBJECT(SessionEnd, session, sessions),
        SUBJECT(ShapeSet, set, shapes),
        SUBJECT(Tensor, set, shapes),
        SUBJECT(Kernel, kernel, kernels),
        SUBJECT(KernelShapes, kernel, kernels),
        SUBJECT(KernelEnd, kernel, kernels),
        SUBJECT(Allocator, allocator, allocators),
        SUBJECT(Alloc, allocator, allocators),
        SUBJECT(Memory, allocator, allocators),
        SUBJECT(RunMemory, session, sessions),
        SUBJECT(OrtEvent, module, modules),
        SUBJECT(Phase, session, sessions),
        SUBJECT(KernelMemory, kernel, kernels),
        SUBJECT(KernelNames, kernel, kernels),
#undef SUBJECT
    };
    *out = 0;
    if (!subjects[event].ids)
        return true;
    co_ids *ids = (co_ids *)(void *)((char *)c + subjects[event].ids);
    int64_t number = values[subjects[event].field].number;
    *out = co_ids_get(ids, t->id, number);
    return *out || number == 0;
}

bool co_rows_from_event(co_capture *c, const target_state *t, const tl_record *record,
                        tl_event event, const tl_field_value *values)
{
    int64_t ticks = (int64_t)record->ticks, thread = record->thread, subject;
    if (!subject_of(c, t, event, values, &subject))
        return false;
    switch (event) {
    case TL_EVENT_Run:
        run_row(c, t, subject, ticks, thread, values);
        break;
    case TL_EVENT_Module:
        module_row(c, t, subject, ticks, values);
        break;
    case TL_EVENT_ModuleEnd:
        co_pending_add(&c->pending, TM_KIND_module_end, (const int64_t[]){subject, ticks});
        break;
    case TL_EVENT_Env:
        env_row(c, subject, ticks, thread, values);
        break;
    case TL_EVENT_Session:
        session_row(c, t, subject, ticks, thread, values);
        break;
    case TL_EVENT_SessionEnd:
        co_op_keep_session_ended(&c->op_keep, subject);
        co_pending_add(&c->pending, TM_KIND_session_end, (const int64_t[]){subject, ticks, thread});
        break;
    case TL_EVENT_ShapeSet:
        shape_row(c, t, subject, values);
        break;
    case TL_EVENT_Tensor:
        tensor_row(c, subject, values);
        break;
    case TL_EVENT_Log:
        log_row(c, t, ticks, values);
        break;
    case TL_EVENT_Overhead: {
        const int64_t row[] = {t->id, ticks, NUMBER(Overhead_ticks_per_run)};
        co_pending_add(&c->pending, TM_KIND_overhead, row);
        break;
    }
    case TL_EVENT_Kernel:
        kernel_row(c, t, subject, ticks, values);
        break;
    case TL_EVENT_KernelShapes:
        kernel_shape_row(c, t, subject, ticks, values);
        break;
    case TL_EVENT_KernelNames:
        kernel_tensor_rows(c, subject, ticks, 0, &values[TL_KernelNames_inputs]);
        kernel_tensor_rows(c, subject, ticks, 1, &values[TL_KernelNames_outputs]);
        break;
    case TL_EVENT_KernelMemory: {
        const int64_t row[] = {subject,
                               NUMBER(KernelMemory_run),
                               ticks,
                               NUMBER(KernelMemory_change_bytes),
                               NUMBER(KernelMemory_in_use_bytes),
                               NUMBER(KernelMemory_held_bytes)};
        co_pending_add(&c->pending, TM_KIND_kernel_memory, row);
        break;
    }
    case TL_EVENT_KernelEnd:
        co_ids_ended(&c->kernels, t->id, NUMBER(KernelEnd_kernel));
        co_pending_add(&c->pending, TM_KIND_kernel_end, (const int64_t[]){subject, ticks});
        break;
    case TL_EVENT_Op:
        op_row(c, t, subject, ticks, thread, values);
        break;
    case TL_EVENT_Allocator:
        co_allocator_row(c, t, subject, ticks, values);
        break;
    case TL_EVENT_Alloc:
        co_alloc_row(c, t, subject, ticks, thread, values);
        break;
    case TL_EVENT_Memory:
        co_memory_row(c, t, subject, ticks, values);
        break;
    case TL_EVENT_RunMemory:
        co_run_memory_row(c, subject, ticks, values);
        break;
    case TL_EVENT_OrtEvent:
        ort_event_row(c, t, subject, ticks, thread, values);
        break;
    case TL_EVENT_Phase: {
        const int64_t row[] = {subject, ticks, NUMBER(Phase_duration_ticks), NUMBER(Phase_phase),
                               NUMBER(Phase_source)};
        co_pending_add(&c->pending, TM_KIND_phase, row);
        break;
    }
    case TL_EVENT_Clock: // for recordings of event tracing
    case TL_EVENT_PAD:
    case TL_EVENT_COUNT:
        break;
    }
    return true;
}
