// SPDX-License-Identifier: MIT
// Words for the numbers that stand in a timeline: ORT's error codes and types, our own causes.
// Names are static strings, also for numbers that have none.
#pragma once

#include <stddef.h>
#include <stdint.h>

const char *an_call_name(int64_t call);      // "Run", "RunWithBinding", "RunAsync"
const char *an_ort_error_name(int64_t code); // "INVALID_ARGUMENT"
// The same with the number where there is no name: "ORT error 250"
void an_ort_error_text(char *out, size_t size, int64_t code);
const char *an_element_type_name(int64_t element_type); // "float32"
const char *an_onnx_type_name(int64_t onnx_type);       // "tensor"
const char *an_level_name(int64_t level);               // "error"
const char *an_lost_cause_name(int64_t cause);          // "the ring was full"
const char *an_session_source_name(int64_t source);     // "path"

// Well-known ends of Windows programs ("access violation"), NULL if it is none of them.
const char *an_exit_code_name(int64_t exit_code);
