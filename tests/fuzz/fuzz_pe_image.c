// SPDX-License-Identifier: MIT
// Any bytes as a program file and as a loaded image.
#include "pe_image.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct bytes {
    const uint8_t *data;
    size_t size;
} bytes;

static bool read_bytes(void *context, uint32_t rva, void *out, size_t len)
{
    const bytes *b = context;
    if (rva > b->size || len > b->size - rva)
        return false;
    memcpy(out, b->data + rva, len);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    inj_image image = inj_image_classify(data, size);
    if (image.cli_offset != 0 && image.cli_offset < size)
        inj_image_apply_cli(&image, data + image.cli_offset, size - (size_t)image.cli_offset);
    bytes b = {data, size};
    uint32_t rva;
    inj_image_find_export(read_bytes, &b, "OrtGetApiBase", &rva);
    return 0;
}
