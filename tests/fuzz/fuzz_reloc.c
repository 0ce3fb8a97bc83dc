// SPDX-License-Identifier: MIT
// Any bytes as a function: moving its prologue never reads outside of them, never writes more than
// a slot holds, and says the same when asked again.
#include "reloc_x64.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    // The first two bytes choose where the trampoline lies and where the function is entered.
    if (len < 2)
        return 0;
    const uint64_t function = 0x140001000;
    uint64_t trampoline = data[0] & 1 ? function + 0x10000 : 0x7ff000000000;
    hk_reloc_code body = {.bytes = data + 2, .len = len - 2, .address = function};
    size_t entry = body.len ? data[1] % body.len : 0;
    hk_reloc_code code = {
        .bytes = body.bytes + entry, .len = body.len - entry, .address = function + entry};
    hk_reloc_result first;
    hk_reloc_result second;
    memset(&first, 0, sizeof first);
    memset(&second, 0, sizeof second);
    hk_detour_reason reason = hk_reloc_move_function(&body, &code, trampoline, &first);
    if (reason != hk_reloc_move_function(&body, &code, trampoline, &second) ||
        memcmp(&first, &second, sizeof first) != 0)
        abort();
    if (reason == HK_DETOUR_OK && (first.len > HK_RELOC_OUT_MAX || first.moved_len > code.len ||
                                   first.map_count > HK_RELOC_INSNS_MAX + 1))
        abort();
    if (hk_reloc_guess_extent(&code) > code.len)
        abort();
    return 0;
}
