// SPDX-License-Identifier: MIT
// See names.h.
#include "analysis/names.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

static const char *pick(const char *const *names, size_t count, int64_t number)
{
    return number >= 0 && (uint64_t)number < count && names[number] ? names[number] : "unknown";
}

const char *an_call_name(int64_t call)
{
    static const char *const names[] = {"Run", "RunWithBinding", "RunAsync",
                                        "seen by ORT's own events"};
    return pick(names, COUNT_OF(names), call);
}

const char *an_ort_error_name(int64_t code)
{
    static const char *const names[] = {"OK",
                                        "FAIL",
                                        "INVALID_ARGUMENT",
                                        "NO_SUCHFILE",
                                        "NO_MODEL",
                                        "ENGINE_ERROR",
                                        "RUNTIME_EXCEPTION",
                                        "INVALID_PROTOBUF",
                                        "MODEL_LOADED",
                                        "NOT_IMPLEMENTED",
                                        "INVALID_GRAPH",
                                        "EP_FAIL",
                                        "MODEL_LOAD_CANCELED",
                                        "MODEL_REQUIRES_COMPILATION",
                                        "NOT_FOUND",
                                        "DEVICE_RESET"};
    return pick(names, COUNT_OF(names), code);
}

void an_ort_error_text(char *out, size_t size, int64_t code)
{
    const char *name = an_ort_error_name(code);
    if (strcmp(name, "unknown") == 0)
        snprintf(out, size, "ORT error %lld", (long long)code);
    else
        snprintf(out, size, "%s", name);
}

const char *an_element_type_name(int64_t element_type)
{
    static const char *const names[] = {
        "undefined",      "float32",    "uint8",          "int8",       "uint16",   "int16",
        "int32",          "int64",      "string",         "bool",       "float16",  "float64",
        "uint32",         "uint64",     "complex64",      "complex128", "bfloat16", "float8e4m3fn",
        "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "uint4",      "int4",     "float4e2m1",
        "uint2",          "int2",       "float8e8m0"};
    return pick(names, COUNT_OF(names), element_type);
}

const char *an_onnx_type_name(int64_t onnx_type)
{
    static const char *const names[] = {"unknown", "tensor",        "sequence", "map",
                                        "opaque",  "sparse tensor", "optional"};
    return pick(names, COUNT_OF(names), onnx_type);
}

const char *an_level_name(int64_t level)
{
    static const char *const names[] = {"always",  "critical",    "error",
                                        "warning", "information", "verbose"};
    return pick(names, COUNT_OF(names), level);
}

const char *an_lost_cause_name(int64_t cause)
{
    static const char *const names[] = {"a thread's ring was full",
                                        "there were more threads than rings",
                                        "the channel was damaged",
                                        "records could not be decoded",
                                        "memory or the file had no room for them",
                                        "Windows' event tracing had no room for them",
                                        "parts of the recording are damaged or unknown",
                                        "whole buffers that event tracing could not hand on",
                                        "whole buffers of event tracing were not read in time",
                                        "ortscope was too slow for event tracing",
                                        "the recording lacks some of ortscope's own events"};
    return cause >= 0 && (uint64_t)cause < COUNT_OF(names) ? names[cause] : "of other causes";
}

const char *an_session_source_name(int64_t source)
{
    static const char *const names[] = {"path",
                                        "bytes",
                                        "path, prepacked weights",
                                        "bytes, prepacked weights",
                                        "model editor",
                                        "editor path",
                                        "editor bytes",
                                        "existed before the attach",
                                        "seen by ORT's own events"};
    return pick(names, COUNT_OF(names), source);
}

const char *an_exit_code_name(int64_t exit_code)
{
    static const struct {
        uint32_t code;
        const char *name;
    } known[] = {{0xc0000005, "access violation"},
                 {0xc000001d, "illegal instruction"},
                 {0xc0000094, "division by zero"},
                 {0xc00000fd, "stack overflow"},
                 {0xc0000135, "a DLL was not found"},
                 {0xc0000139, "a DLL lacks a function"},
                 {0xc000013a, "Ctrl+C"},
                 {0xc0000142, "a DLL could not be initialised"},
                 {0xc0000374, "heap corruption"},
                 {0xc0000409, "fail-fast: the program stopped itself"},
                 {0xe06d7363, "C++ exception"}};
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (known[i].code == (uint32_t)exit_code)
            return known[i].name;
    return NULL;
}
