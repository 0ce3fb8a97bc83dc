// SPDX-License-Identifier: MIT
#include "op_text.h"

#include <string.h>

static size_t length_of(const char *text)
{
    size_t len = 0;
    while (text[len])
        len++;
    return len;
}

static bool ends_in(const char *text, const char *end)
{
    size_t len = length_of(text), end_len = length_of(end);
    return len >= end_len && memcmp(text + len - end_len, end, end_len) == 0;
}

// ".?AVNchwcConv@contrib@onnxruntime@@" is onnxruntime::contrib::NchwcConv. Templates are left as
// they are: there is no short way to write them.
size_t hk_class_text(const char *decorated, char *out, size_t capacity)
{
    size_t len = length_of(decorated), at = 0;
    bool simple = len > 6 && memcmp(decorated, ".?A", 3) == 0 && decorated[len - 1] == '@' &&
                  decorated[len - 2] == '@' && len < capacity / 2;
    for (size_t i = 4; i < len && simple; i++)
        simple = decorated[i] != '?' && decorated[i] != '$';
    if (!simple) {
        at = len < capacity - 1 ? len : capacity - 1;
        memcpy(out, decorated, at);
        out[at] = 0;
        return at;
    }
    size_t end = len - 2;
    while (end > 4) {
        size_t begin = end;
        while (begin > 4 && decorated[begin - 1] != '@')
            begin--;
        if (at) {
            out[at++] = ':';
            out[at++] = ':';
        }
        memcpy(out + at, decorated + begin, end - begin);
        at += end - begin;
        end = begin > 4 ? begin - 1 : 4;
    }
    out[at] = 0;
    return at;
}

bool hk_provider_submits(const char *provider)
{
    static const char *const names[] = {
        "DmlExecutionProvider",           "CUDAExecutionProvider", "TensorrtExecutionProvider",
        "NvTensorRTRTXExecutionProvider", "ROCMExecutionProvider", "MIGraphXExecutionProvider",
        "WebGpuExecutionProvider",        "JsExecutionProvider",   "WebNNExecutionProvider",
        "CANNExecutionProvider",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (ends_in(provider, names[i]))
            return true;
    return false;
}
