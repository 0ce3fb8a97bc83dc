// SPDX-License-Identifier: MIT
// Who a node is. ORT's profiler knows it by its name and operator type; both together with the
// session make the number under which it is told, once, with what else the event says. Domain and
// opset it does not say.
#include "op.h"
#include "shapes.h"
#include "shim.h"
#include "shim_text.h"
#include "xxh64.h"

#define VALUES_MAX 64 // a node with more is told without shapes

enum { SOURCE_SHIM = 4, MEMORY_SINCE_MINOR = 28 };

// "" if it is not there.
static const char *argument(const hk_module *m, const OrtProfilingEvent *event, const char *key)
{
    const char *value = NULL;
    OrtStatus *status = EP_CALL(m, ProfilingEvent_GetArgValue)(event, key, &value);
    if (status)
        ORT_CALL(m, ReleaseStatus)(status);
    return !status && value ? value : "";
}

static uint64_t byte_count(const hk_module *m, const OrtProfilingEvent *event, const char *key)
{
    int64_t bytes = 0;
    return hk_shim_number(argument(m, event, key), &bytes) && bytes > 0 ? (uint64_t)bytes : 0;
}

// The event is called after its node: "Conv_0_kernel_time".
static hk_text node_name(const hk_module *m, const OrtProfilingEvent *event)
{
    static const char end[] = "_kernel_time";
    size_t end_len = sizeof end - 1;
    const char *name = NULL;
    OrtStatus *status = EP_CALL(m, ProfilingEvent_GetName)(event, &name);
    if (status)
        ORT_CALL(m, ReleaseStatus)(status);
    hk_text text = hk_text_of(status ? NULL : name);
    if (text.len < end_len || memcmp(text.bytes + text.len - end_len, end, end_len) != 0)
        return (hk_text){NULL, 0}; // another kind of event of the node
    text.len -= end_len;
    return text;
}

static const void *key_of(uint32_t session, hk_text node, hk_text op_type)
{
    uint64_t parts[3] = {session, hk_xxh64(node.bytes, node.len),
                         hk_xxh64(op_type.bytes, op_type.len)};
    return (const void *)(uintptr_t)(hk_xxh64(parts, sizeof parts) | 1);
}

static bool announce(hk_thread *t, const hk_shim_run *r, const hk_kernel *k, hk_text node,
                     hk_text op_type, const OrtProfilingEvent *event)
{
    const char *provider = argument(r->module, event, "provider");
    tl_Kernel fixed = {.kernel = k->id,
                       .session = r->session->id,
                       .module = r->module->id,
                       .source = SOURCE_SHIM,
                       .submits = hk_provider_submits(provider)};
    hk_text none = hk_text_of(NULL);
    hk_text texts[] = {node, op_type, none, hk_text_of(provider), none};
    return hk_emit(t, r->epoch, TL_EVENT_Kernel, hk_ticks(), &fixed, sizeof fixed, texts, 5);
}

// ------------------------------------------------------------------------------------------ shapes

typedef struct shape_text {
    const char *text;
    hk_shim_tensor read;
    hk_tensor tensor;
} shape_text;

static hk_named_tensor get_tensor(void *context, size_t index)
{
    shape_text *s = context;
    hk_shim_read(s->text, (int)index, &s->read);
    s->tensor = (hk_tensor){.onnx_type = ORT_TYPE_TENSOR,
                            .element_type = s->read.element_type,
                            .rank = s->read.rank,
                            .dims = s->read.dims};
    return (hk_named_tensor){hk_text_of(NULL), &s->tensor};
}

// The number of the set, 0 if the text can't be read.
static uint32_t shapes_of(hk_thread *t, const hk_shim_run *r, int direction, const char *text,
                          bool *sent)
{
    shape_text s = {.text = text};
    int count = hk_shim_count(text, VALUES_MAX);
    return count < 0
               ? 0
               : hk_shapes_of_members(t, r->epoch, direction, (size_t)count, get_tensor, &s, sent);
}

// False if it was dropped.
static bool tell_shapes(hk_thread *t, const hk_shim_run *r, const hk_kernel *k,
                        const OrtProfilingEvent *event)
{
    const hk_module *m = r->module;
    bool sent = true;
    tl_KernelShapes fixed = {
        .kernel = k->id,
        .inputs = shapes_of(t, r, HK_INPUTS, argument(m, event, "input_type_shape"), &sent),
        .outputs = shapes_of(t, r, HK_OUTPUTS, argument(m, event, "output_type_shape"), &sent),
        .run_inputs = r->inputs,
        .parameter_bytes = byte_count(m, event, "parameter_size"),
        .activation_bytes = byte_count(m, event, "activation_size"),
        .output_bytes = byte_count(m, event, "output_size")};
    return hk_emit(t, r->epoch, TL_EVENT_KernelShapes, hk_ticks(), &fixed, sizeof fixed, NULL, 0) &&
           sent;
}

static void describe(hk_thread *t, const hk_shim_run *r, hk_kernel *k,
                     const OrtProfilingEvent *event)
{
    if (hk_kernel_is_described(k, r->inputs))
        hk_kernel_note_set(k, r->inputs);
    else if (hk_kernel_waits(k))
        return;
    else if (tell_shapes(t, r, k, event))
        hk_kernel_described(k, r->inputs);
    else
        hk_kernel_undescribed(k);
}

// What its arena says since 1.28. In use is what tensors take; an execution that takes as much as
// the one before is not told again.
static void tell_memory(hk_thread *t, const hk_shim_run *r, hk_kernel *k,
                        const OrtProfilingEvent *event)
{
    const hk_module *m = r->module;
    int64_t change;
    if (m->minor < MEMORY_SINCE_MINOR ||
        !hk_shim_number(argument(m, event, "mem_in_use_delta"), &change) ||
        atomic_exchange(&k->memory, change) == change)
        return;
    tl_KernelMemory fixed = {.change_bytes = change,
                             .in_use_bytes = byte_count(m, event, "mem_bytes_in_use"),
                             .held_bytes = byte_count(m, event, "mem_arena_held"),
                             .kernel = k->id,
                             .run = r->run};
    hk_emit(t, r->epoch, TL_EVENT_KernelMemory, hk_ticks(), &fixed, sizeof fixed, NULL, 0);
}

uint32_t hk_shim_kernel(hk_thread *t, const hk_shim_run *r, const OrtProfilingEvent *event)
{
    hk_text node = node_name(r->module, event);
    if (!node.bytes)
        return 0;
    hk_text op_type = hk_text_of(argument(r->module, event, "op_name"));
    const void *key = key_of(r->session->id, node, op_type);
    hk_kernel *k = hk_kernel_find(key, r->epoch);
    if (!k && !(k = hk_kernel_take_up(key, NULL, r->epoch)))
        return 0;
    uint32_t unannounced = 0;
    hk_kernel_belongs(k, r->session);
    if (atomic_compare_exchange_strong(&k->announced, &unannounced, 1) &&
        !announce(t, r, k, node, op_type, event))
        atomic_store(&k->announced, 0); // dropped: once more with the next execution
    if (atomic_load(&k->set) != r->inputs)
        describe(t, r, k, event);
    tell_memory(t, r, k, event);
    return k->id;
}

typedef struct ending {
    hk_thread *t;
    uint32_t epoch;
} ending;

static void tell_end(void *context, uint32_t kernel)
{
    const ending *e = context;
    tl_KernelEnd end = {.kernel = kernel};
    hk_emit(e->t, e->epoch, TL_EVENT_KernelEnd, hk_ticks(), &end, sizeof end, NULL, 0);
}

void hk_shim_kernels_end(hk_thread *t, uint32_t epoch, const hk_session *s)
{
    hk_kernels_retire_of(s, tell_end, &(ending){t, epoch});
}
