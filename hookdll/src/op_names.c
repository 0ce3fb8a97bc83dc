// SPDX-License-Identifier: MIT
// What a kernel's tensors are called in the optimised graph, asked of the C API once, when the
// kernel is announced. A name is made by one node of a graph, so equal names tell who feeds whom.
// All names of a kernel go in one event or none do: half of them would look like fewer edges.
#include "op.h"

#define TENSORS_MAX 256u // of a kernel; one with more is told without names
#define NAMES_BYTES 4096u

typedef OrtStatus *count_fn(const OrtKernelInfo *info, size_t *out);
typedef OrtStatus *name_fn(const OrtKernelInfo *info, size_t index, char *out, size_t *size);

static bool succeeded(const hk_module *m, OrtStatus *status)
{
    if (status)
        ORT_CALL(m, ReleaseStatus)(status);
    return !status;
}

// One a line; a name that holds a line's end, or too many, and nothing is told. ORT counts the
// terminating zero in `size`.
static bool join_names(const hk_module *m, const OrtKernelInfo *info, count_fn *count_of,
                       name_fn *name_of, char *out, hk_text *joined)
{
    size_t count = 0, at = 0;
    if (!succeeded(m, count_of(info, &count)) || count > TENSORS_MAX)
        return false;
    for (size_t i = 0; i < count; i++) {
        size_t size = NAMES_BYTES - at;
        if (!succeeded(m, name_of(info, i, out + at, &size)) || !size || size > NAMES_BYTES - at)
            return false;
        for (size_t n = 0; n < size - 1; n++)
            if (!out[at + n] || out[at + n] == '\n')
                return false;
        at += size;
        out[at - 1] = '\n';
    }
    *joined = (hk_text){out, at ? at - 1 : 0};
    return true;
}

void hk_kernel_tell_names(hk_thread *t, uint32_t epoch, const hk_kernel *k)
{
    const hk_module *m = k->vtable->module->runtime;
    const OrtKernelInfo *info = hk_kernel_info(k);
    char inputs[NAMES_BYTES], outputs[NAMES_BYTES];
    hk_text texts[2];
    if (!info ||
        !join_names(m, info, ORT_CALL(m, KernelInfo_GetInputCount),
                    ORT_CALL(m, KernelInfo_GetInputName), inputs, &texts[0]) ||
        !join_names(m, info, ORT_CALL(m, KernelInfo_GetOutputCount),
                    ORT_CALL(m, KernelInfo_GetOutputName), outputs, &texts[1]))
        return;
    tl_KernelNames fixed = {.kernel = k->id};
    hk_emit(t, epoch, TL_EVENT_KernelNames, hk_ticks(), &fixed, sizeof fixed, texts, 2);
}
