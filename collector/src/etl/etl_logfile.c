// SPDX-License-Identifier: MIT
// The recording's own description, and what its clock means.
#include "etl_internal.h"

#include "etl_bytes.h"
#include "etl_text.h"

#include <stdio.h>
#include <string.h>

#define TIME_ZONE_BYTES 172u

static void take_text(etl_cursor *c, char *out, size_t cap)
{
    size_t len;
    const uint8_t *text = etl_take_text(c, 2, &len);
    co_etl_text_utf8((etl_text){text, len, true}, out, cap);
}

static void fixed_part(const uint8_t *p, co_etl_header *h)
{
    h->buffer_size = etl_u32(p);
    memcpy(h->version, p + 4, 4);
    h->build = etl_u32(p + 8);
    h->processors = etl_u32(p + 12);
    h->end_time = etl_u64(p + 16);
    h->timer_resolution = etl_u32(p + 24);
    h->maximum_file_size = etl_u32(p + 28);
    h->mode = etl_u32(p + 32);
    h->buffers_written = etl_u32(p + 36);
    h->start_buffers = etl_u32(p + 40);
    h->pointer_size = etl_u32(p + 44);
    h->events_lost = etl_u32(p + 48);
    h->cpu_mhz = etl_u32(p + 52);
}

bool co_etl_logfile_parse(const co_etl_event *first, co_etl_header *out)
{
    unsigned pointer = first->pointer_size;
    etl_cursor c = {first->data, first->data + first->data_len};
    // Behind the time zone the record is aligned to 8 bytes, with pointers of either size.
    const uint8_t *p = etl_take(&c, 56);
    const uint8_t *names = etl_take(&c, 2 * (size_t)pointer);
    const uint8_t *zone = etl_take(&c, TIME_ZONE_BYTES);
    const uint8_t *tail = etl_take(&c, 4) ? etl_take(&c, 32) : NULL;
    if (first->family != CO_ETL_KERNEL || first->group != 0 || first->opcode != 0 || !p || !names ||
        !zone || !tail)
        return false;
    fixed_part(p, out);
    out->logger_name_pointer = etl_number(names, pointer);
    out->file_name_pointer = etl_number(names + pointer, pointer);
    out->time_zone_bias = (int32_t)etl_u32(zone);
    etl_cursor zone_name = {zone + 4, zone + 4 + 64};
    take_text(&zone_name, out->time_zone, sizeof out->time_zone);
    out->boot_time = etl_u64(tail);
    out->perf_freq = (int64_t)etl_u64(tail + 8);
    out->start_time = etl_u64(tail + 16);
    out->clock = etl_u32(tail + 24);
    out->buffers_lost = etl_u32(tail + 28);
    take_text(&c, out->logger_name, sizeof out->logger_name);
    take_text(&c, out->file_name, sizeof out->file_name);
    out->first_time = first->time;
    return true;
}

// ------------------------------------------------------------------------------------------- time

#define FREQUENCY_MAX 10000000000 // keeps the remainder times 10^9 within 64 bits

// Ticks of the recording's clock in a second, 0 where it does not say.
static uint64_t frequency(const co_etl_header *h)
{
    if (h->clock == CO_ETL_SYSTEM_TIME)
        return 10000000;
    int64_t ticks = h->clock == CO_ETL_CPU_CYCLES ? (int64_t)h->cpu_mhz * 1000000 : h->perf_freq;
    return ticks > 0 && ticks <= FREQUENCY_MAX ? (uint64_t)ticks : 0;
}

bool co_etl_has_time(const co_etl_header *h)
{
    return frequency(h) != 0;
}

// ticks / frequency * unit, without overflow; wraps only where the result does.
static int64_t scale(uint64_t freq, int64_t ticks, uint64_t unit)
{
    if (freq == 0)
        return 0;
    uint64_t size = ticks < 0 ? 0 - (uint64_t)ticks : (uint64_t)ticks;
    uint64_t result = size / freq * unit + size % freq * unit / freq;
    return (int64_t)(ticks < 0 ? 0 - result : result);
}

static int64_t since_start(const co_etl_header *h, int64_t time)
{
    int64_t start = h->clock == CO_ETL_SYSTEM_TIME ? (int64_t)h->start_time : h->first_time;
    return (int64_t)((uint64_t)time - (uint64_t)start);
}

int64_t co_etl_ns(const co_etl_header *h, int64_t time)
{
    return scale(frequency(h), since_start(h, time), 1000000000);
}

int64_t co_etl_span_ns(const co_etl_header *h, int64_t ticks)
{
    return scale(frequency(h), ticks, 1000000000);
}

uint64_t co_etl_filetime(const co_etl_header *h, int64_t time)
{
    return h->start_time + (uint64_t)scale(frequency(h), since_start(h, time), 10000000);
}

#define FILETIME_1970 116444736000000000u

uint64_t co_etl_start_utc_ns(const co_etl_header *h)
{
    return h->start_time > FILETIME_1970 ? (h->start_time - FILETIME_1970) * 100 : 0;
}

void co_etl_guid_text(const uint8_t guid[16], char out[CO_ETL_GUID_TEXT])
{
    snprintf(out, CO_ETL_GUID_TEXT, "%08x-%04x-%04x-%02x%02x-%02x%02x%02x%02x%02x%02x",
             etl_u32(guid), etl_u16(guid + 4), etl_u16(guid + 6), guid[8], guid[9], guid[10],
             guid[11], guid[12], guid[13], guid[14], guid[15]);
}
