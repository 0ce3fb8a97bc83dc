// SPDX-License-Identifier: MIT
// IoBindings hide their values from RunWithBinding, so inputs are noted when they are bound and
// outputs are asked for after a run. That allocates, but is needed once only: an output that a run
// has made stays in the binding, and ORT fails a run that would give it another shape, until the
// program binds or clears outputs again.
#include "registry.h"
#include "shapes.h"

#define INPUTS_MAX 1024u

typedef struct bound_input {
    char name[256];
    hk_tensor tensor;
} bound_input;

typedef struct binding {
    struct binding *next_free;
    bound_input *inputs; // hk_alloc, kept when the binding is reused
    size_t count, capacity;
    _Atomic uint64_t outputs; // session's number << 32 | set; 0: to be asked for
} binding;

static hk_registry g_bindings;
static SRWLOCK g_pool_lock = SRWLOCK_INIT;
static binding *g_pool;

static binding *binding_alloc(void)
{
    AcquireSRWLockExclusive(&g_pool_lock);
    binding *b = g_pool;
    if (b)
        g_pool = b->next_free;
    ReleaseSRWLockExclusive(&g_pool_lock);
    return b ? b : hk_alloc(sizeof *b);
}

static void binding_free(void *value)
{
    binding *b = value;
    b->count = 0;
    atomic_store(&b->outputs, 0);
    AcquireSRWLockExclusive(&g_pool_lock);
    b->next_free = g_pool;
    g_pool = b;
    ReleaseSRWLockExclusive(&g_pool_lock);
}

// NULL if there are more than we track.
static binding *binding_of(const OrtIoBinding *ort_binding)
{
    binding *b = hk_registry_find(&g_bindings, ort_binding);
    if (!b && (b = binding_alloc()) != NULL && !hk_registry_add(&g_bindings, ort_binding, b)) {
        binding_free(b);
        b = NULL;
    }
    return b;
}

void hk_bindings_clear(void)
{
    hk_registry_clear(&g_bindings, binding_free);
}

static bool grow(binding *b)
{
    size_t capacity = b->capacity ? b->capacity * 2 : 4;
    bound_input *inputs = capacity <= INPUTS_MAX ? hk_alloc(capacity * sizeof *inputs) : NULL;
    if (!inputs)
        return false;
    for (size_t i = 0; i < b->count; i++) {
        inputs[i] = b->inputs[i];
        if (b->inputs[i].tensor.dims == b->inputs[i].tensor.buffer)
            inputs[i].tensor.dims = inputs[i].tensor.buffer;
    }
    hk_free(b->inputs);
    b->inputs = inputs;
    b->capacity = capacity;
    return true;
}

static bool same_name(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

static void note_input(hk_module *m, binding *b, const char *name, const OrtValue *value)
{
    size_t i = 0;
    while (i < b->count && !same_name(b->inputs[i].name, name))
        i++;
    if (i == b->count && b->count == b->capacity && !grow(b))
        return;
    bound_input *input = &b->inputs[i];
    if (i == b->count) {
        hk_text text = hk_text_of(name);
        size_t len = text.len < sizeof input->name ? text.len : sizeof input->name - 1;
        memcpy(input->name, text.bytes, len);
        input->name[len] = 0;
        b->count++;
    }
    hk_tensor_read(m, value, &input->tensor);
    // ORT's own array of dimensions lives as long as the value: keep a copy.
    for (size_t d = 0; d < input->tensor.rank; d++)
        input->tensor.buffer[d] = input->tensor.dims[d];
    input->tensor.dims = input->tensor.buffer;
}

HK_HOOK(BindInput, OrtStatus *,
        (OrtIoBinding * ort_binding, const char *name, const OrtValue *value),
        (ort_binding, name, value))
{
    OrtStatus *status = HK_ORIG(m, BindInput)(ort_binding, name, value);
    uint32_t epoch;
    hk_thread *t = status || !name ? NULL : hk_enter_to_lock(&epoch);
    if (!t)
        return status;
    binding *b = binding_of(ort_binding);
    if (b)
        note_input(m, b, name, value);
    hk_leave(t);
    return status;
}

HK_HOOK(ClearBoundInputs, void, (OrtIoBinding * ort_binding), (ort_binding))
{
    HK_ORIG(m, ClearBoundInputs)(ort_binding);
    uint32_t epoch;
    hk_thread *t = hk_enter_to_lock(&epoch);
    if (!t)
        return;
    binding *b = hk_registry_find(&g_bindings, ort_binding);
    if (b)
        b->count = 0;
    hk_leave(t);
}

static void forget_outputs(const OrtIoBinding *ort_binding)
{
    uint32_t epoch;
    hk_thread *t = hk_enter(&epoch);
    if (!t)
        return;
    binding *b = hk_registry_find(&g_bindings, ort_binding);
    if (b)
        atomic_store(&b->outputs, 0);
    hk_leave(t);
}

HK_HOOK(BindOutput, OrtStatus *,
        (OrtIoBinding * ort_binding, const char *name, const OrtValue *value),
        (ort_binding, name, value))
{
    OrtStatus *status = HK_ORIG(m, BindOutput)(ort_binding, name, value);
    forget_outputs(ort_binding);
    return status;
}

HK_HOOK(BindOutputToDevice, OrtStatus *,
        (OrtIoBinding * ort_binding, const char *name, const OrtMemoryInfo *memory_info),
        (ort_binding, name, memory_info))
{
    OrtStatus *status = HK_ORIG(m, BindOutputToDevice)(ort_binding, name, memory_info);
    forget_outputs(ort_binding);
    return status;
}

HK_HOOK(ClearBoundOutputs, void, (OrtIoBinding * ort_binding), (ort_binding))
{
    HK_ORIG(m, ClearBoundOutputs)(ort_binding);
    forget_outputs(ort_binding);
}

HK_HOOK(ReleaseIoBinding, void, (OrtIoBinding * ort_binding), (ort_binding))
{
    uint32_t epoch;
    hk_thread *t = ort_binding ? hk_enter_to_release(&epoch) : NULL;
    if (t) {
        binding *b = hk_registry_remove(&g_bindings, ort_binding);
        if (b)
            binding_free(b);
        hk_leave_release(t);
    }
    HK_ORIG(m, ReleaseIoBinding)(ort_binding);
}

// ------------------------------------------------------------------------------------ when it runs

static hk_named_tensor get_bound_input(void *context, size_t index)
{
    const bound_input *input = &((const binding *)context)->inputs[index];
    return (hk_named_tensor){hk_text_of(input->name), &input->tensor};
}

uint32_t hk_binding_inputs(hk_thread *t, uint32_t epoch, hk_session *s,
                           const OrtIoBinding *ort_binding)
{
    binding *b = hk_registry_find(&g_bindings, ort_binding);
    if (!b || !b->count) // bound before we came
        return 0;
    uint64_t fingerprint = hk_fingerprint_begin(b->count);
    for (size_t i = 0; i < b->count; i++)
        fingerprint = hk_fingerprint_add(fingerprint, b->inputs[i].name, &b->inputs[i].tensor);
    uint32_t number = hk_shapes_lookup(s, HK_INPUTS, fingerprint);
    if (number)
        return number;
    return hk_shapes_send(t, epoch, s, HK_INPUTS, fingerprint, b->count, get_bound_input, b);
}

// Splits ORT's one buffer of names into NUL-terminated ones; false if they do not fit.
static bool split_names(const char *buffer, const size_t *lengths, size_t count, char *out,
                        size_t capacity, const char **names)
{
    for (size_t i = 0; i < count; i++) {
        if (lengths[i] >= capacity)
            return false;
        memcpy(out, buffer, lengths[i]);
        out[lengths[i]] = 0;
        names[i] = out;
        buffer += lengths[i];
        out += lengths[i] + 1;
        capacity -= lengths[i] + 1;
    }
    return true;
}

#define OUTPUTS_MAX 64u

static uint32_t outputs_of(hk_thread *t, uint32_t epoch, hk_module *m, hk_session *s,
                           const char *buffer, const size_t *lengths, OrtValue **values,
                           size_t count)
{
    const char *names[OUTPUTS_MAX];
    char text[2048];
    if (count > OUTPUTS_MAX || !split_names(buffer, lengths, count, text, sizeof text, names))
        return 0;
    return hk_shapes_of(t, epoch, m, s, HK_OUTPUTS, names, (const OrtValue *const *)values, count);
}

static uint32_t ask_for_outputs(hk_thread *t, uint32_t epoch, hk_module *m, hk_session *s,
                                const OrtIoBinding *ort_binding)
{
    OrtAllocator *allocator = NULL;
    char *names = NULL;
    size_t *lengths = NULL, name_count = 0, value_count = 0;
    OrtValue **values = NULL;
    OrtStatus *status = ORT_CALL(m, GetAllocatorWithDefaultOptions)(&allocator);
    if (!status)
        status =
            ORT_CALL(m, GetBoundOutputNames)(ort_binding, allocator, &names, &lengths, &name_count);
    if (!status)
        status = ORT_CALL(m, GetBoundOutputValues)(ort_binding, allocator, &values, &value_count);
    uint32_t number = 0;
    if (!status && names && values && name_count == value_count)
        number = outputs_of(t, epoch, m, s, names, lengths, values, value_count);
    for (size_t i = 0; values && i < value_count; i++)
        ORT_CALL(m, ReleaseValue)(values[i]);
    void *owned[] = {names, lengths, values};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        if (owned[i])
            (void)ORT_CALL(m, AllocatorFree)(allocator, owned[i]);
    if (status)
        ORT_CALL(m, ReleaseStatus)(status);
    return number;
}

uint32_t hk_binding_outputs(hk_thread *t, uint32_t epoch, hk_module *m, hk_session *s,
                            const OrtIoBinding *ort_binding)
{
    const binding *known = hk_registry_find(&g_bindings, ort_binding);
    uint64_t outputs = known ? atomic_load(&known->outputs) : 0;
    if (outputs >> 32 == s->id)
        return (uint32_t)outputs;
    if (RtlDllShutdownInProgress()) // see hk_enter_to_lock
        return 0;
    uint32_t set = ask_for_outputs(t, epoch, m, s, ort_binding);
    binding *b = set ? binding_of(ort_binding) : NULL;
    if (b)
        atomic_store(&b->outputs, (uint64_t)s->id << 32 | set);
    return set;
}
