// SPDX-License-Identifier: MIT
// Which ONNX Runtime a loaded module is, read from its memory without running anything in it. The
// file's version resource has only major and minor number and a date.
#pragma once

#include "pe_image.h"

#define INJ_ORT_EXPORT "OrtGetApiBase"

// Follows OrtGetApiBase to OrtApiBase to GetVersionString to its text, all of which are constants
// in the module. False if the code does not look as compilers make it (or was patched).
bool inj_ort_version(inj_read_image_fn *read, void *context, uint64_t base, char *out,
                     size_t out_bytes);
