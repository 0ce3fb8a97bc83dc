// SPDX-License-Identifier: MIT
#include "sim_etw_session.h"

#include <intrin.h>
#include <string.h>
#include <wchar.h>

static uint8_t *arena(void)
{
    return (uint8_t *)g_se + ((sizeof(se_machine) + 0xFFFF) & ~(size_t)0xFFFF);
}

// ---------------------------------------------------------------------------------------- sessions

// First gap of that size between the sessions' shares; false: there is none.
static bool arena_take(uint64_t bytes, uint64_t *out)
{
    uint64_t at = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t i = 0; i < SE_SESSIONS; i++) {
            const se_session *s = &g_se->sessions[i];
            if (s->state != SE_FREE && at < s->arena_offset + s->arena_bytes &&
                s->arena_offset < at + bytes) {
                at = s->arena_offset + s->arena_bytes;
                moved = true;
            }
        }
    }
    *out = at;
    return at + bytes <= SE_ARENA_BYTES;
}

se_session *se_session_make(uint32_t buffer_bytes, uint32_t min_buffers, uint32_t max_buffers)
{
    se_session *s = NULL;
    for (uint32_t i = 0; i < SE_SESSIONS && !s; i++)
        if (g_se->sessions[i].state == SE_FREE)
            s = &g_se->sessions[i];
    if (!s)
        return NULL;
    uint64_t offset;
    max_buffers = max_buffers < SE_BUFFERS ? max_buffers : SE_BUFFERS;
    while (!arena_take((uint64_t)buffer_bytes * max_buffers, &offset)) {
        if (max_buffers <= min_buffers)
            return NULL;
        max_buffers = max_buffers / 2 > min_buffers ? max_buffers / 2 : min_buffers;
    }
    uint32_t generation = s->generation + 1;
    memset(s, 0, sizeof *s);
    s->generation = generation;
    s->buffer_bytes = buffer_bytes;
    s->min_buffers = s->buffer_count = min_buffers < max_buffers ? min_buffers : max_buffers;
    s->max_buffers = max_buffers;
    s->arena_offset = offset;
    s->arena_bytes = (uint64_t)buffer_bytes * max_buffers;
    return s;
}

se_session *se_session_named(const WCHAR *name)
{
    for (uint32_t i = 0; i < SE_SESSIONS; i++)
        if (g_se->sessions[i].state == SE_RUNNING && _wcsicmp(g_se->sessions[i].name, name) == 0)
            return &g_se->sessions[i];
    return NULL;
}

uint32_t se_session_slot(const se_session *s)
{
    return (uint32_t)(s - g_se->sessions);
}

uint64_t se_session_handle(const se_session *s)
{
    return (uint64_t)s->generation << 16 | (se_session_slot(s) + 1);
}

se_session *se_session_of_handle(uint64_t handle)
{
    uint32_t slot = (uint32_t)(handle & 0xFFFF);
    if (slot == 0 || slot > SE_SESSIONS)
        return NULL;
    se_session *s = &g_se->sessions[slot - 1];
    return s->state != SE_FREE && s->generation == (uint32_t)(handle >> 16) ? s : NULL;
}

uint32_t se_sessions_running(uint32_t mode_bits)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < SE_SESSIONS; i++) {
        const se_session *s = &g_se->sessions[i];
        count += (s->state == SE_RUNNING || s->state == SE_STOPPING) &&
                 (s->mode & mode_bits) == mode_bits;
    }
    return count;
}

int64_t se_session_now(const se_session *s)
{
    if (s->clock == SE_CLOCK_CYCLES)
        return (int64_t)__rdtsc();
    LARGE_INTEGER now;
    if (s->clock == SE_CLOCK_QPC) {
        QueryPerformanceCounter(&now);
        return now.QuadPart;
    }
    FILETIME time;
    GetSystemTimePreciseAsFileTime(&time);
    return (int64_t)((uint64_t)time.dwHighDateTime << 32 | time.dwLowDateTime);
}

void se_session_finish(se_session *s)
{
    for (uint32_t i = 0; i < SE_PROVIDERS; i++)
        if (s->providers[i].in_use) {
            s->providers[i].in_use = 0;
            InterlockedDecrement(&g_se->enables);
        }
    if (s->mode & SE_MODE_SYSTEM)
        InterlockedDecrement(&g_se->system_loggers);
    s->state = s->consumer_pid ? SE_DRAINING : SE_FREE;
}

void se_session_leave(se_session *s)
{
    s->consumer_pid = 0;
    for (uint32_t i = 0; i < s->buffer_count; i++)
        if (s->buffers[i].state == SE_BUFFER_READING) // what it had is gone with it
            se_buffer_release(s, i);
    if (s->state == SE_DRAINING)
        s->state = SE_FREE;
}

// ----------------------------------------------------------------------------------------- buffers

uint8_t *se_buffer_bytes(const se_session *s, uint32_t index)
{
    return arena() + s->arena_offset + (uint64_t)index * s->buffer_bytes;
}

uint32_t se_buffers_in(const se_session *s, se_buffer_state state)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->buffer_count; i++)
        count += s->buffers[i].state == (uint32_t)state;
    return count;
}

void se_buffer_release(se_session *s, uint32_t index)
{
    s->buffers[index].state = SE_BUFFER_FREE;
    s->buffers[index].used = 0;
}

static void put(uint8_t *at, const void *value, size_t len)
{
    memcpy(at, value, len);
}

// WMI_BUFFER_HEADER as it stands in a file.
static void complete_header(const se_session *s, uint32_t index)
{
    const se_buffer *b = &s->buffers[index];
    uint8_t *at = se_buffer_bytes(s, index);
    int64_t now = se_session_now(s);
    uint16_t cpu = (uint16_t)b->cpu, logger = (uint16_t)(se_session_slot(s) + 1);
    uint16_t flags = (uint16_t)(b->flags | 0x21u);
    uint32_t state = 3;
    memset(at, 0, SE_BUFFER_HEADER);
    put(at, &s->buffer_bytes, 4);
    put(at + 0x04, &b->used, 4);
    put(at + 0x08, &b->used, 4);
    put(at + 0x10, &now, 8);
    put(at + 0x18, &b->sequence, 8);
    put(at + 0x28, &cpu, 2);
    put(at + 0x2A, &logger, 2);
    put(at + 0x2C, &state, 4);
    put(at + 0x30, &b->used, 4);
    put(at + 0x34, &flags, 2);
    memset(at + b->used, 0xFF, s->buffer_bytes - b->used);
}

// A buffer that nobody may wait for is lost, as when the system's own backlog is full.
static bool backlog_is_full(const se_session *s)
{
    uint32_t limit = g_se->settings.backlog;
    return limit &&
           se_buffers_in(s, SE_BUFFER_READY) + se_buffers_in(s, SE_BUFFER_READING) >= limit;
}

static void hand_over(se_session *s, uint32_t cpu)
{
    uint32_t index = s->current[cpu] - 1;
    s->current[cpu] = 0;
    if (s->buffers[index].used <= SE_BUFFER_HEADER) {
        se_buffer_release(s, index);
        return;
    }
    complete_header(s, index);
    if (s->file[0]) {
        s->buffers[index].state = SE_BUFFER_WRITE;
        se_signal("host", 0);
    } else if (s->mode & SE_MODE_REALTIME && backlog_is_full(s)) {
        s->rt_buffers_lost++;
        se_buffer_release(s, index);
    } else {
        s->buffers_written++;
        s->buffers[index].state = SE_BUFFER_READY;
        se_signal("s", se_session_slot(s));
    }
}

static bool take_free(se_session *s, uint32_t cpu)
{
    uint32_t index = 0;
    while (index < s->buffer_count && s->buffers[index].state != SE_BUFFER_FREE)
        index++;
    if (index == s->max_buffers)
        return false;
    if (index == s->buffer_count)
        s->buffer_count++;
    s->buffers[index] = (se_buffer){.state = SE_BUFFER_CURRENT,
                                    .used = SE_BUFFER_HEADER,
                                    .cpu = cpu,
                                    .sequence = s->next_sequence++};
    s->current[cpu] = index + 1;
    return true;
}

uint32_t se_cpu(const se_session *s)
{
    return s->mode & SE_MODE_ONE_STREAM ? 0 : GetCurrentProcessorNumber() % SE_CPUS;
}

uint8_t *se_reserve(se_session *s, uint32_t cpu, uint32_t bytes)
{
    bytes = (bytes + 7) & ~7u;
    if (bytes > s->buffer_bytes - SE_BUFFER_HEADER)
        return NULL;
    if (s->current[cpu] && s->buffers[s->current[cpu] - 1].used + bytes > s->buffer_bytes)
        hand_over(s, cpu);
    if (!s->current[cpu] && !take_free(s, cpu))
        return NULL;
    uint32_t index = s->current[cpu] - 1;
    return se_buffer_bytes(s, index) + s->buffers[index].used;
}

void se_commit(se_session *s, uint32_t cpu, uint32_t bytes)
{
    s->buffers[s->current[cpu] - 1].used += (bytes + 7) & ~7u;
}

void se_flush(se_session *s)
{
    for (uint32_t cpu = 0; cpu < SE_CPUS; cpu++)
        if (s->current[cpu])
            hand_over(s, cpu);
}

// ------------------------------------------------------------------------------- enabled providers

se_enable *se_enable_of(se_session *s, const GUID *provider)
{
    for (uint32_t i = 0; i < SE_PROVIDERS; i++)
        if (s->providers[i].in_use && memcmp(&s->providers[i].provider, provider, 16) == 0)
            return &s->providers[i];
    return NULL;
}

bool se_enable_has_pid(const se_enable *e, uint32_t pid)
{
    for (uint32_t i = 0; i < e->pid_count && i < SE_PIDS; i++)
        if (e->pids[i] == pid)
            return true;
    return e->pid_count == 0;
}

bool se_enable_takes(const se_enable *e, uint8_t level, uint64_t keyword)
{
    if (e->level != 0 && level > e->level)
        return false;
    if (keyword == 0)
        return !(e->property & 0x10); // EVENT_ENABLE_PROPERTY_IGNORE_KEYWORD_0
    return (keyword & e->any) && (keyword & e->all) == e->all;
}

bool se_enable_takes_id(const se_enable *e, uint16_t id)
{
    for (uint32_t i = 0; i < e->id_count && i < SE_EVENT_IDS; i++)
        if (e->ids[i] == id)
            return e->ids_pass;
    return e->id_count == 0 || !e->ids_pass;
}

bool se_wish_of(const GUID *provider, uint32_t pid, se_wish *out)
{
    bool found = false;
    *out = (se_wish){.all = UINT64_MAX};
    for (uint32_t i = 0; i < SE_SESSIONS; i++) {
        const se_enable *e = NULL;
        if (g_se->sessions[i].state == SE_RUNNING)
            e = se_enable_of(&g_se->sessions[i], provider);
        if (!e || !se_enable_has_pid(e, pid))
            continue;
        uint8_t level = e->level ? e->level : 0xFF;
        out->level = level > out->level ? level : out->level;
        out->any |= e->any;
        out->all &= e->all;
        found = true;
    }
    if (!found)
        out->all = 0;
    return found;
}
