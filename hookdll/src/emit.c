// SPDX-License-Identifier: MIT
#include "emit.h"

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

bool hk_emit(hk_thread *t, uint32_t epoch, tl_event event, uint64_t ticks, const void *fixed,
             size_t fixed_bytes, const hk_text *texts, size_t count)
{
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
    size_t bytes = sizeof *fixed + 2 + cut(name) + 2 + rank * sizeof *dims;
    tl_producer *p = hk_producer(t, epoch);
    uint8_t *payload = tl_producer_begin(p, (uint32_t)bytes);
    if (!payload)
        return false;
    memcpy(payload, fixed, sizeof *fixed);
    tl_encoder e = {payload + sizeof *fixed, payload + bytes};
    tl_put_string(&e, name.bytes, cut(name));
    tl_put_i64s(&e, dims, rank);
    tl_producer_end(p, TL_EVENT_Tensor, hk_ticks(), (uint32_t)(e.at - payload));
    return true;
}

void hk_emit_log(hk_thread *t, uint32_t epoch, uint8_t level, uint32_t session, uint32_t run,
                 uint32_t code, hk_text message)
{
    tl_Log fixed = {.session = session, .run = run, .code = code, .level = level};
    hk_emit(t, epoch, TL_EVENT_Log, hk_ticks(), &fixed, sizeof fixed, &message, 1);
}
