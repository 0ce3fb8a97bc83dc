// SPDX-License-Identifier: MIT
// Any text as shapes of ORT's profiler: what is counted can be read.
#include "shim_text.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    memcpy(text, data, size);
    text[size] = 0;
    int count = hk_shim_count(text, 64);
    for (int i = 0; i < count; i++) {
        hk_shim_tensor tensor;
        memset(&tensor, 0xff, sizeof tensor);
        hk_shim_read(text, i, &tensor);
        if (tensor.rank > HK_SHIM_RANK_MAX || tensor.element_type < 0)
            abort();
    }
    int64_t number;
    hk_shim_number(text, &number);
    free(text);
    return 0;
}
