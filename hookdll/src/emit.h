// SPDX-License-Identifier: MIT
// Putting events into this thread's ring. Callers are between hk_enter/hk_reenter and hk_leave.
// False means that the event was dropped (and counted).
#pragma once

#include "hook.h"
#include "tracelogging/codec.h"
#include "tracelogging/schema.h"

typedef struct hk_text {
    const char *bytes;
    size_t len;
} hk_text;

#define HK_TEXT_MAX 8192u // a text on the wire; longer ones are cut

// NULL is the empty text. Reads at most HK_TEXT_MAX + 1 bytes.
hk_text hk_text_of(const char *nul_terminated);
hk_text hk_text_of_number(int64_t value, char buffer[24]); // within the buffer

// Fixed fields, then `count` strings.
bool hk_emit(hk_thread *t, uint32_t epoch, tl_event event, uint64_t ticks, const void *fixed,
             size_t fixed_bytes, const hk_text *texts, size_t count);

bool hk_emit_tensor(hk_thread *t, uint32_t epoch, const tl_Tensor *fixed, hk_text name,
                    const int64_t *dims, size_t rank);

// A remark for the user: level as in ETW.
void hk_emit_log(hk_thread *t, uint32_t epoch, uint8_t level, uint32_t session, uint32_t run,
                 uint32_t code, hk_text message);

static inline tl_producer *hk_producer(hk_thread *t, uint32_t epoch)
{
    if (__builtin_expect(t->epoch != epoch, 0)) {
        t->epoch = epoch;
        tl_producer_claim(&t->producer, g_hk.section, GetCurrentThreadId());
    }
    return &t->producer;
}
