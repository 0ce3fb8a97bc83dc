// SPDX-License-Identifier: MIT
#include "etl_maker.h"

#include <stdio.h>
#include <string.h>

#define BUFFER_BYTES  8192u
#define BUFFER_HEADER 72u

const etl_head etl_head_usual = {.pointer_size = 8,
                                 .clock = 1,
                                 .mode = 1,
                                 .mhz = 3000,
                                 .freq = 10000000,
                                 .first_time = 1000,
                                 .start_time = ETL_START};

const uint8_t etl_ort_guid[16] = {0xff, 0xb1, 0x26, 0x3a, 0x84, 0x74, 0x84, 0x74,
                                  0x74, 0x84, 0x15, 0x26, 0x1f, 0x42, 0x61, 0x4d};
const uint8_t etl_kernel_process_guid[16] = {0xd6, 0x2c, 0xfb, 0x22, 0x7b, 0x0e, 0x2b, 0x42,
                                             0xa0, 0xc7, 0x2f, 0xad, 0x1f, 0xd0, 0xe7, 0x16};
const uint8_t etl_thread_guid[16] = {0xd1, 0xa8, 0x6f, 0x3d, 0x05, 0xfe, 0xd0, 0x11,
                                     0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c};

// ------------------------------------------------------------------------------------------- bytes

static void put(etl_bytes *b, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size && b->len < sizeof b->data; i++)
        b->data[b->len++] = (uint8_t)(value >> 8 * i);
}

void put8(etl_bytes *b, unsigned value)
{
    put(b, value, 1);
}

void put16(etl_bytes *b, unsigned value)
{
    put(b, value, 2);
}

void put32(etl_bytes *b, uint64_t value)
{
    put(b, value, 4);
}

void put64(etl_bytes *b, uint64_t value)
{
    put(b, value, 8);
}

void put_text(etl_bytes *b, const char *text)
{
    do
        put8(b, (uint8_t)*text);
    while (*text++);
}

void put_wide(etl_bytes *b, const char *text)
{
    do
        put16(b, (uint8_t)*text);
    while (*text++);
}

static void put_bytes(etl_bytes *b, const void *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        put8(b, ((const uint8_t *)bytes)[i]);
}

static void set32(uint8_t *p, uint64_t value)
{
    for (unsigned i = 0; i < 4; i++)
        p[i] = (uint8_t)(value >> 8 * i);
}

// ----------------------------------------------------------------------------------------- buffers

static void finish_buffer(etl_maker *m)
{
    uint8_t header[BUFFER_HEADER] = {0};
    size_t used = BUFFER_HEADER + m->records.len, size = m->buffer_size;
    cm_buf packed = CM_BUF_INIT;
    if (m->flags & 0x40u) { // only literals: four bytes of flags for 32 of them
        for (size_t i = 0; i < m->records.len; i++) {
            if (i % 32 == 0)
                cm_buf_append(&packed, "\0\0\0\0", 4);
            cm_buf_append_byte(&packed, m->records.data[i]);
        }
        size = BUFFER_HEADER + packed.len;
    }
    set32(header, size);
    set32(header + 0x04, used);
    set32(header + 0x08, used);
    set32(header + 0x18, (uint64_t)m->sequence);
    set32(header + 0x28, m->cpu);
    set32(header + 0x2c, 3);
    set32(header + 0x30, used);
    set32(header + 0x34, (uint32_t)m->flags | (uint32_t)m->type << 16);
    cm_buf_append(&m->file, header, sizeof header);
    if (m->flags & 0x40u) {
        cm_buf_append(&m->file, packed.data, packed.len);
    } else {
        cm_buf_append(&m->file, m->records.data, m->records.len);
        for (size_t i = used; i < size; i++)
            cm_buf_append_byte(&m->file, 0xff);
    }
    cm_buf_deinit(&packed);
    cm_buf_clear(&m->records);
}

void etl_buffer(etl_maker *m, uint16_t cpu)
{
    finish_buffer(m);
    m->sequence++;
    m->cpu = cpu;
    m->type = 0;
    m->flags = 0x20;
}

void etl_compressed(etl_maker *m)
{
    m->flags |= 0x40;
}

void etl_end(etl_maker *m)
{
    finish_buffer(m);
}

void etl_free(etl_maker *m)
{
    cm_buf_deinit(&m->file);
    cm_buf_deinit(&m->records);
}

void etl_begin(etl_maker *m, const etl_head *h)
{
    etl_bytes b = {.len = 0};
    uint8_t zone[172] = {0};
    *m = (etl_maker){.buffer_size = BUFFER_BYTES, .type = 4, .flags = 0x20};
    put32(&b, BUFFER_BYTES);
    put32(&b, 0x0501000au); // 10.0.1.5
    put32(&b, 19045);
    put32(&b, 4); // processors
    put64(&b, h->start_time + 10000000);
    put32(&b, 156250);
    put32(&b, 0);
    put32(&b, h->mode);
    put32(&b, 1);
    put32(&b, 1);
    put32(&b, h->pointer_size);
    put32(&b, h->lost);
    put32(&b, h->mhz);
    put(&b, 0, h->pointer_size);
    put(&b, 0, h->pointer_size);
    put_bytes(&b, zone, sizeof zone);
    put32(&b, 0);
    put64(&b, h->start_time - 1);
    put64(&b, (uint64_t)h->freq);
    put64(&b, h->start_time);
    put32(&b, h->clock);
    put32(&b, 0);
    put_wide(&b, "logger");
    put_wide(&b, "C:\\file.etl");
    etl_kernel(m, h->pointer_size == 8 ? 0x02 : 0x01, 2, 0, 0, h->first_time, 1, 2, &b);
}

// ----------------------------------------------------------------------------------------- records

void etl_raw(etl_maker *m, const void *bytes, size_t len)
{
    cm_buf_append(&m->records, bytes, len);
    while (m->records.len % 8)
        cm_buf_append_byte(&m->records, 0xa5); // padding is anything
}

void etl_kernel(etl_maker *m, unsigned type, unsigned version, unsigned group, unsigned opcode,
                int64_t time, uint32_t pid, uint32_t tid, const etl_bytes *data)
{
    bool perfinfo = type == 0x10 || type == 0x11, compact = type == 0x03 || type == 0x04;
    size_t head = perfinfo ? 16 : compact ? 24 : 32;
    etl_bytes b = {.len = 0};
    put16(&b, version);
    put8(&b, type);
    put8(&b, 0xc0);
    put16(&b, (unsigned)(head + data->len));
    put8(&b, opcode);
    put8(&b, group);
    if (!perfinfo) {
        put32(&b, tid);
        put32(&b, pid);
    }
    put64(&b, (uint64_t)time);
    if (!perfinfo && !compact)
        put64(&b, 0);
    put_bytes(&b, data->data, data->len);
    etl_raw(m, b.data, b.len);
}

void etl_classic(etl_maker *m, unsigned type, const uint8_t guid[16], unsigned version,
                 unsigned opcode, int64_t time, uint32_t pid, uint32_t tid, const etl_bytes *data)
{
    bool instance = type == 0x0b || type == 0x15;
    etl_bytes b = {.len = 0};
    put16(&b, (unsigned)((instance ? 72 : 48) + data->len));
    put8(&b, type);
    put8(&b, 0xc0);
    put8(&b, opcode);
    put8(&b, 0);
    put16(&b, version);
    put32(&b, tid);
    put32(&b, pid);
    put64(&b, (uint64_t)time);
    put_bytes(&b, guid, 16);
    put64(&b, 0);
    for (int i = 0; instance && i < 3; i++)
        put64(&b, 0);
    put_bytes(&b, data->data, data->len);
    etl_raw(m, b.data, b.len);
}

static void put_item(etl_bytes *b, unsigned type, bool more, const etl_bytes *data)
{
    size_t size = (8 + data->len + 7) / 8 * 8;
    put16(b, (unsigned)size);
    put16(b, type);
    put16(b, more);
    put16(b, (unsigned)data->len);
    put_bytes(b, data->data, data->len);
    for (size_t i = 8 + data->len; i < size; i++)
        put8(b, 0xee);
}

void etl_event(etl_maker *m, const uint8_t guid[16], unsigned id, unsigned version, unsigned level,
               int64_t time, uint32_t pid, uint32_t tid, const etl_bytes *metadata,
               const etl_bytes *data)
{
    etl_bytes b = {.len = 0}, traits = {.len = 2};
    put_text(&traits, "Some.Provider");
    traits.data[0] = (uint8_t)traits.len;
    traits.data[1] = 0;
    put16(&b, 0); // size, below
    put8(&b, 0x13);
    put8(&b, 0xc0);
    put16(&b, metadata ? 1 : 0);
    put16(&b, 0);
    put32(&b, tid);
    put32(&b, pid);
    put64(&b, (uint64_t)time);
    put_bytes(&b, guid, 16);
    put16(&b, id);
    put8(&b, version);
    put8(&b, metadata ? 11 : 16);
    put8(&b, level);
    put8(&b, 0);
    put16(&b, 0);
    put64(&b, 0);
    put64(&b, 0);
    put64(&b, 0);
    put64(&b, 0);
    if (metadata) {
        put_item(&b, 12, true, &traits);
        put_item(&b, 11, false, metadata);
    }
    put_bytes(&b, data->data, data->len);
    b.data[0] = (uint8_t)b.len;
    b.data[1] = (uint8_t)(b.len >> 8);
    etl_raw(m, b.data, b.len);
}

static void append_item(cm_buf *b, unsigned type, bool more, const uint8_t *bytes, size_t len)
{
    static const uint8_t zeros[8];
    size_t padded = (len + 7) & ~(size_t)7;
    const uint16_t head[4] = {(uint16_t)(padded + 8), (uint16_t)type, more, (uint16_t)len};
    cm_buf_append(b, head, sizeof head);
    cm_buf_append(b, bytes, len);
    cm_buf_append(b, zeros, padded - len);
}

void etl_event_given(etl_maker *m, const etl_given *g, int64_t time, uint32_t pid, uint32_t tid)
{
    etl_bytes head = {.len = 0};
    cm_buf b = {0};
    put16(&head, 0); // size, below
    put8(&head, 0x13);
    put8(&head, 0xc0);
    put16(&head, 1);
    put16(&head, 0);
    put32(&head, tid);
    put32(&head, pid);
    put64(&head, (uint64_t)time);
    put_bytes(&head, g->guid, 16);
    put16(&head, 0);
    put8(&head, 0);
    put8(&head, 11);
    put8(&head, g->level);
    put8(&head, 0);
    put16(&head, 0);
    put64(&head, g->keyword);
    put64(&head, 0);
    put64(&head, 0);
    put64(&head, 0);
    cm_buf_append(&b, head.data, head.len);
    append_item(&b, 12, true, g->traits, g->traits_len);
    append_item(&b, 11, false, g->metadata, g->metadata_len);
    cm_buf_append(&b, g->data, g->data_len);
    b.data[0] = (uint8_t)b.len;
    b.data[1] = (uint8_t)(b.len >> 8);
    etl_raw(m, b.data, b.len);
    cm_buf_deinit(&b);
}

void etl_message(etl_maker *m, int64_t time, const uint8_t guid[16], uint32_t pid, uint32_t tid)
{
    etl_bytes b = {.len = 0};
    put16(&b, 8 + 4 + 16 + 8 + 8 + 3);
    put8(&b, 0x0f);
    put8(&b, 0x90);
    put16(&b, 77); // the message's number
    put16(&b, 0x01 | 0x02 | 0x08 | 0x20 | 0x80);
    put32(&b, 5); // sequence
    put_bytes(&b, guid, 16);
    put64(&b, (uint64_t)time);
    put32(&b, tid);
    put32(&b, pid);
    put_text(&b, "hi");
    etl_raw(m, b.data, b.len);
}

// ------------------------------------------------------------------------------------ TraceLogging

void tlg_name(etl_bytes *metadata, const char *event)
{
    metadata->len = 0;
    put16(metadata, 0);
    put8(metadata, 0x80); // tags of two bytes
    put8(metadata, 0);
    put_text(metadata, event);
}

void tlg_field(etl_bytes *metadata, const char *name, unsigned in)
{
    put_text(metadata, name);
    put8(metadata, in);
}

void tlg_finish(etl_bytes *metadata)
{
    metadata->data[0] = (uint8_t)metadata->len;
    metadata->data[1] = (uint8_t)(metadata->len >> 8);
}

// ---------------------------------------------------------------------------------- usual events

void etl_process(etl_maker *m, unsigned opcode, int64_t time, uint32_t pid, uint32_t parent,
                 const char *name)
{
    etl_bytes b = {.len = 0};
    put64(&b, 0xfffffa8000000000u + pid);
    put32(&b, pid);
    put32(&b, parent);
    put32(&b, 1);
    put32(&b, opcode == 2 ? 3 : 259);
    put64(&b, 0x1000);
    put32(&b, 0); // flags
    put32(&b, 0); // no SID
    put_text(&b, name);
    char line[128]; // "app.exe --secret command line"
    snprintf(line, sizeof line, "%s --secret command line", name);
    put_wide(&b, line);
    put_wide(&b, "");
    put_wide(&b, "");
    etl_kernel(m, 0x02, 4, 3, opcode, time, 4, 8, &b);
}

void etl_thread(etl_maker *m, unsigned opcode, int64_t time, uint32_t pid, uint32_t tid)
{
    etl_bytes b = {.len = 0};
    put32(&b, pid);
    put32(&b, tid);
    for (int i = 0; i < 7; i++)
        put64(&b, 0x1000u * (unsigned)i);
    put32(&b, 0);
    put32(&b, 0x00020508u);
    etl_kernel(m, 0x02, 3, 5, opcode, time, pid, tid, &b);
}

void etl_image(etl_maker *m, int64_t time, uint32_t pid, const char *path)
{
    etl_bytes b = {.len = 0};
    put64(&b, 0x7ff800000000u);
    put64(&b, 0x10000);
    put32(&b, pid);
    put32(&b, 0x1234);
    put32(&b, 0x5678);
    put32(&b, 0x0000060cu);
    put64(&b, 0x180000000u);
    for (int i = 0; i < 4; i++)
        put32(&b, 0);
    put_wide(&b, path);
    etl_kernel(m, 0x02, 3, 3, 10, time, pid, 1, &b);
}

void etl_switch(etl_maker *m, int64_t time, uint32_t new_tid, uint32_t old_tid, int reason,
                int state)
{
    etl_bytes b = {.len = 0};
    put32(&b, new_tid);
    put32(&b, old_tid);
    put8(&b, 9);
    put8(&b, 8);
    put8(&b, 0);
    put8(&b, 0);
    put8(&b, (unsigned)reason);
    put8(&b, 1);
    put8(&b, (unsigned)state);
    put8(&b, 2);
    put32(&b, 17);
    put32(&b, 0);
    etl_kernel(m, 0x11, 4, 5, 36, time, 0, 0, &b);
}

void etl_ort(etl_maker *m, const char *event, int64_t time, uint32_t pid, uint32_t tid,
             int64_t session)
{
    etl_bytes metadata, data = {.len = 0};
    tlg_name(&metadata, event);
    if (session >= 0) {
        tlg_field(&metadata, "sessionId", 8);
        put32(&data, (uint64_t)session);
    }
    tlg_finish(&metadata);
    etl_event(m, etl_ort_guid, 0, 0, 5, time, pid, tid, &metadata, &data);
}
