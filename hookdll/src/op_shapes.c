// SPDX-License-Identifier: MIT
// What a kernel is given and gives: types, shapes and sizes, never contents. Read on a kernel's
// first execution and when its session is given inputs of another kind: about a microsecond a
// tensor, too much for every execution.
#include "op.h"
#include "shapes.h"

#define VALUES_MAX 64u // a kernel with more is told without shapes

typedef struct values {
    size_t count;
    const OrtValue *at[VALUES_MAX];
} values;

// ------------------------------------------------------------------------------------------- sizes

// Bits of one element, by ONNXTensorElementDataType; 0 where that is no fixed number.
static uint32_t element_bits(int element_type)
{
    static const uint8_t bits[] = {0,  32,  8,  8, 16, 16, 32, 64, 0, 8, 16, 64, 32, 64,
                                   64, 128, 16, 8, 8,  8,  8,  4,  4, 4, 2,  2,  8};
    return element_type >= 0 && element_type < (int)sizeof bits ? bits[element_type] : 0;
}

static uint64_t bytes_of(const hk_tensor *tensor)
{
    if (tensor->onnx_type != ORT_TYPE_TENSOR)
        return 0;
    uint64_t elements = 1;
    for (size_t i = 0; i < tensor->rank; i++)
        if (tensor->dims[i] < 0 ||
            __builtin_mul_overflow(elements, (uint64_t)tensor->dims[i], &elements))
            return 0;
    return elements < UINT64_MAX / 128 ? (elements * element_bits(tensor->element_type) + 7) / 8
                                       : 0;
}

static uint64_t tensor_bytes(hk_module *m, const OrtValue *value)
{
    hk_tensor tensor;
    hk_tensor_read(m, value, &tensor);
    return bytes_of(&tensor);
}

// ------------------------------------------------------------------------------------------ values

static bool succeeded(const hk_module *m, OrtStatus *status)
{
    if (status)
        ORT_CALL(m, ReleaseStatus)(status);
    return !status;
}

static bool get_inputs(const hk_module *m, const OrtKernelContext *context, values *v)
{
    v->count = 0;
    size_t count = 0;
    if (!succeeded(m, ORT_CALL(m, KernelContext_GetInputCount)(context, &count)) ||
        count > VALUES_MAX)
        return false;
    for (size_t i = 0; i < count; i++)
        if (!succeeded(m, ORT_CALL(m, KernelContext_GetInput)(context, i, &v->at[i])))
            v->at[i] = NULL;
    v->count = count;
    return true;
}

static bool is_constant(const hk_module *m, const OrtKernelInfo *info, size_t index)
{
    int constant = 0;
    const OrtValue *value = NULL;
    return info &&
           succeeded(
               m, ORT_CALL(m, KernelInfoGetConstantInput_tensor)(info, index, &constant, &value)) &&
           constant;
}

// Weights that the runtime has packed into a form of its own are there without a value: what the
// graph says of them. False if it does not say all. No dimensions: a scalar, or nobody knows.
static bool read_packed(const hk_module *m, const OrtKernelInfo *info, size_t index, hk_tensor *out)
{
    OrtTypeInfo *type = NULL;
    const OrtTensorTypeAndShapeInfo *shape = NULL;
    bool known = info &&
                 succeeded(m, ORT_CALL(m, KernelInfo_GetInputTypeInfo)(info, index, &type)) &&
                 succeeded(m, ORT_CALL(m, CastTypeInfoToTensorInfo)(type, &shape)) && shape &&
                 succeeded(m, ORT_CALL(m, GetTensorElementType)(shape, &out->element_type)) &&
                 succeeded(m, ORT_CALL(m, GetDimensionsCount)(shape, &out->rank)) && out->rank &&
                 out->rank <= HK_RANK_MAX &&
                 succeeded(m, ORT_CALL(m, GetDimensions)(shape, out->buffer, out->rank));
    for (size_t i = 0; known && i < out->rank; i++)
        known = out->buffer[i] >= 0;
    if (type)
        ORT_CALL(m, ReleaseTypeInfo)(type);
    if (!known)
        out->element_type = 0, out->rank = 0;
    out->onnx_type = known ? ORT_TYPE_TENSOR : ORT_TYPE_UNKNOWN;
    out->dims = out->buffer;
    return known;
}

typedef struct packed_inputs {
    hk_module *m;
    const OrtKernelInfo *info;
    const values *inputs;
    hk_tensor tensor;
} packed_inputs;

static hk_named_tensor get_input(void *context, size_t index)
{
    packed_inputs *p = context;
    const OrtValue *value = p->inputs->at[index];
    hk_tensor_read_checked(p->m, value, &p->tensor);
    if (value && p->tensor.onnx_type == ORT_TYPE_UNKNOWN)
        read_packed(p->m, p->info, index, &p->tensor);
    return (hk_named_tensor){hk_text_of(NULL), &p->tensor};
}

bool hk_op_shapes_before(hk_thread *t, uint32_t epoch, const hk_kernel *k, const void *context,
                         hk_op_frame *f)
{
    hk_module *m = k->vtable->module->runtime;
    values inputs;
    f->inputs = 0;
    f->parameter_bytes = f->activation_bytes = 0;
    if (!m || !get_inputs(m, context, &inputs))
        return true;
    bool sent = true;
    const OrtKernelInfo *info = hk_kernel_info(k);
    packed_inputs p = {.m = m, .info = info, .inputs = &inputs};
    bool some_packed = false;
    for (size_t i = 0; i < inputs.count; i++) {
        hk_tensor_read(m, inputs.at[i], &p.tensor);
        bool packed = inputs.at[i] && p.tensor.onnx_type == ORT_TYPE_UNKNOWN &&
                      read_packed(m, info, i, &p.tensor);
        some_packed |= packed;
        if (packed || is_constant(m, info, i))
            f->parameter_bytes += bytes_of(&p.tensor);
        else
            f->activation_bytes += bytes_of(&p.tensor);
    }
    f->inputs = some_packed
                    ? hk_shapes_of_members(t, epoch, HK_INPUTS, inputs.count, get_input, &p, &sent)
                    : hk_shapes_of_kernel(t, epoch, m, HK_INPUTS, inputs.at, inputs.count, &sent);
    return sent;
}

// KernelContext_GetOutput would make an output that is not there, so it is not asked.
static bool get_outputs(const hk_kernel *k, const OrtKernelContext *context, values *v)
{
    hk_op_module *o = k->vtable->module;
    values inputs;
    size_t count = 0;
    if (!get_inputs(o->runtime, context, &inputs) ||
        !succeeded(o->runtime,
                   ORT_CALL(o->runtime, KernelContext_GetOutputCount)(context, &count)) ||
        count > VALUES_MAX)
        return false;
    v->count = count;
    return hk_context_outputs(&o->context, (const void *)atomic_load(&k->self), context, inputs.at,
                              inputs.count, v->at, count);
}

bool hk_op_shapes_after(hk_thread *t, uint32_t epoch, const hk_kernel *k, const void *context,
                        const hk_op_frame *f)
{
    hk_module *m = k->vtable->module->runtime;
    values outputs;
    bool sent = true;
    tl_KernelShapes fixed = {.kernel = f->kernel,
                             .inputs = f->inputs,
                             .run_inputs = f->run_inputs,
                             .parameter_bytes = f->parameter_bytes,
                             .activation_bytes = f->activation_bytes};
    if (m && get_outputs(k, context, &outputs)) {
        fixed.outputs =
            hk_shapes_of_kernel(t, epoch, m, HK_OUTPUTS, outputs.at, outputs.count, &sent);
        for (size_t i = 0; i < outputs.count; i++)
            fixed.output_bytes += tensor_bytes(m, outputs.at[i]);
    }
    return hk_emit(t, epoch, TL_EVENT_KernelShapes, hk_ticks(), &fixed, sizeof fixed, NULL, 0) &&
           sent;
}
