// SPDX-License-Identifier: MIT
#include "etw.h"

hk_text hk_text_of(const char *text)
{
    hk_text result = {text ? text : "", 0};
    while (result.len <= HK_TEXT_MAX && result.bytes[result.len])
        result.len++;
    return result;
}

// Length on the wire: a long text is cut before a character, not inside one.
static size_t cut(hk_text text)
{
    if (text.len <= HK_TEXT_MAX)
        return text.len;
    size_t len = HK_TEXT_MAX;
    while (len > 0 && ((uint8_t)text.bytes[len] & 0xc0) == 0x80)
        len--;
    return len;
}

hk_text hk_text_of_number(int64_t value, char buffer[24])
{
    char *end = buffer + 24, *at = end;
    uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do
        *--at = (char)('0' + magnitude % 10);
    while ((magnitude /= 10) != 0);
    if (value < 0)
        *--at = '-';
    return (hk_text){at, (size_t)(end - at)};
}

#define TEXTS_MAX ((TL_ETW_PARTS_MAX - 1) / 2)

// The same to event tracing and into the journal: the payload in parts.
static __attribute__((noinline)) void emit_parts(hk_thread *t, tl_event event, uint64_t ticks,
                                                 const void *fixed, size_t fixed_bytes,
                                                 const hk_text *texts, size_t count)
{
    uint16_t lens[TEXTS_MAX];
    tl_etw_part parts[TL_ETW_PARTS_MAX] = {{fixed, (uint32_t)fixed_bytes}};
    unsigned used = 1;
    for (size_t i = 0; i < count && i < TEXTS_MAX; i++) {
        lens[i] = (uint16_t)cut(texts[i]);
        parts[used++] = (tl_etw_part){&lens[i], sizeof lens[i]};
        parts[used++] = (tl_etw_part){texts[i].bytes, lens[i]};
    }
    hk_etw_emit(t, event, ticks, parts, used);
}

bool hk_emit(hk_thread *t, uint32_t epoch, tl_event event, uint64_t ticks, const void *fixed,
             size_t fixed_bytes, const hk_text *texts, size_t count)
{
    if (__builtin_expect(hk_etw_is_on() || hk_journal_keeps(event), 0))
        emit_parts(t, event, ticks, fixed, fixed_bytes, texts, count);
    size_t bytes = fixed_bytes;
    for (size_t i = 0; i < count; i++)
        bytes += 2 + cut(texts[i]);
    tl_producer *p = hk_producer(t, epoch);
    uint8_t *payload = tl_producer_begin(p, (uint32_t)bytes);
    if (!payload)
        return false;
    memcpy(payload, fixed, fixed_bytes);
    tl_encoder e = {payload + fixed_bytes, payload + bytes};
    for (size_t i = 0; i < count; i++)
        tl_put_string(&e, texts[i].bytes, cut(texts[i]));
    tl_producer_end(p, (uint16_t)event, ticks, (uint32_t)(e.at - payload));
    return true;
}

bool hk_emit_tensor(hk_thread *t, uint32_t epoch, const tl_Tensor *fixed, hk_text name,
                    const int64_t *dims, size_t rank)
{
    uint64_t ticks = hk_ticks();
    uint16_t len = (uint16_t)cut(name), dim_count = (uint16_t)rank;
    const tl_etw_part parts[] = {{fixed, sizeof *fixed},
                                 {&len, sizeof len},
                                 {name.bytes, len},
                                 {&dim_count, sizeof dim_count},
                                 {dims, (uint32_t)(dim_count * sizeof *dims)}};
    hk_etw_emit(t, TL_EVENT_Tensor, ticks, parts, sizeof parts / sizeof *parts);
    size_t bytes = sizeof *fixed + 2 + len + 2 + rank * sizeof *dims;
    tl_producer *p = hk_producer(t, epoch);
    uint8_t *payload = tl_producer_begin(p, (uint32_t)bytes);
    if (!payload)
        return false;
    memcpy(payload, fixed, sizeof *fixed);
    tl_encoder e = {payload + sizeof *fixed, payload + bytes};
    tl_put_string(&e, name.bytes, len);
    tl_put_i64s(&e, dims, rank);
    tl_producer_end(p, TL_EVENT_Tensor, ticks, (uint32_t)(e.at - payload));
    return true;
}

void hk_emit_log(hk_thread *t, uint32_t epoch, uint8_t level, uint32_t session, uint32_t run,
                 uint32_t code, hk_text message)
{
    tl_Log fixed = {.session = session, .run = run, .code = code, .level = level};
    hk_emit(t, epoch, TL_EVENT_Log, hk_ticks(), &fixed, sizeof fixed, &message, 1);
}
