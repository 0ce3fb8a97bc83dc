// SPDX-License-Identifier: MIT
// Any bytes as an event: a description and the values that follow it, in parts of any size.
#include "tap_decode.h"

#include <stdlib.h>
#include <string.h>

enum { PARTS = 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static hk_tap_event event;
    hk_tap_part parts[PARTS] = {{0}};
    void *copies[PARTS] = {NULL};
    if (size < PARTS)
        return 0;
    const uint8_t *at = data + PARTS, *end = data + size;
    size_t count = 1 + data[0] % (PARTS - 1);
    for (size_t i = 1; i < count; i++) {
        size_t bytes = i == 1 ? data[i] : data[i] % 32u; // each in a block of its own, for ASan
        bytes = bytes < (size_t)(end - at) ? bytes : (size_t)(end - at);
        copies[i] = malloc(bytes + !bytes);
        memcpy(copies[i], at, bytes);
        parts[i] = (hk_tap_part){(uint64_t)(uintptr_t)copies[i], (uint32_t)bytes, 0};
        at += bytes;
    }
    hk_tap_text name = hk_tap_event_name(parts, count);
    if (hk_tap_decode(parts, count, &event) != (name.len != 0) ||
        event.fields_len > sizeof event.fields)
        abort();
    for (size_t i = 0; i < count; i++)
        free(copies[i]);
    return 0;
}
