// SPDX-License-Identifier: MIT
#include "sim_etw_file.h"

#include <stdlib.h>
#include <string.h>

static HANDLE g_files[SE_SESSIONS];         // 0: not open
static uint32_t g_generations[SE_SESSIONS]; // whose file it is

// The first buffer: nothing but the SYSTEM_TRACE_HEADER event with the session's facts.
static bool write_header(HANDLE file, const se_session *s, bool finished)
{
    uint8_t *bytes = malloc(s->buffer_bytes);
    if (!bytes)
        return false;
    uint32_t len = se_logfile_header(s, finished, bytes + SE_BUFFER_HEADER + 32);
    uint32_t used = (SE_BUFFER_HEADER + 32 + len + 7) & ~7u, state = 3;
    uint16_t words[4] = {2, 0xC002, (uint16_t)(32 + len), 0};
    uint16_t logger = (uint16_t)(se_session_slot(s) + 1), flags = 0x21, type = 4;
    uint32_t ids[2] = {0, g_se->host_pid};
    memset(bytes, 0, SE_BUFFER_HEADER + 32);
    memset(bytes + SE_BUFFER_HEADER + 32 + len, 0xFF,
           s->buffer_bytes - SE_BUFFER_HEADER - 32 - len);
    memcpy(bytes, &s->buffer_bytes, 4);
    memcpy(bytes + 0x04, &used, 4);
    memcpy(bytes + 0x08, &used, 4);
    memcpy(bytes + 0x10, &s->start_stamp, 8);
    memcpy(bytes + 0x2A, &logger, 2);
    memcpy(bytes + 0x2C, &state, 4);
    memcpy(bytes + 0x30, &used, 4);
    memcpy(bytes + 0x34, &flags, 2);
    memcpy(bytes + 0x36, &type, 2);
    memcpy(bytes + SE_BUFFER_HEADER, words, 8);
    memcpy(bytes + SE_BUFFER_HEADER + 8, ids, 8);
    memcpy(bytes + SE_BUFFER_HEADER + 16, &s->start_stamp, 8);
    DWORD written;
    bool good = SetFilePointer(file, 0, NULL, FILE_BEGIN) == 0 &&
                WriteFile(file, bytes, s->buffer_bytes, &written, NULL) &&
                written == s->buffer_bytes;
    free(bytes);
    return good;
}

static HANDLE file_of(se_session *s)
{
    uint32_t slot = se_session_slot(s);
    if (g_files[slot] && g_generations[slot] == s->generation)
        return g_files[slot];
    if (g_files[slot])
        CloseHandle(g_files[slot]);
    HANDLE file = CreateFileW(s->file, GENERIC_WRITE, FILE_SHARE_READ, NULL, CREATE_ALWAYS,
                              FILE_ATTRIBUTE_NORMAL, NULL);
    if (file == INVALID_HANDLE_VALUE || !write_header(file, s, false))
        s->file_failed = 1;
    else
        s->buffers_written = 1;
    g_files[slot] = file == INVALID_HANDLE_VALUE ? NULL : file;
    g_generations[slot] = s->generation;
    return g_files[slot];
}

// The oldest buffer that waits, or SE_FOREVER. Takes the lock.
static uint32_t next_to_write(se_session *s)
{
    uint32_t best = SE_FOREVER;
    se_lock();
    for (uint32_t i = 0; i < s->buffer_count; i++)
        if (s->buffers[i].state == SE_BUFFER_WRITE &&
            (best == SE_FOREVER || s->buffers[i].sequence < s->buffers[best].sequence))
            best = i;
    se_unlock();
    return best;
}

static bool write_buffer(HANDLE file, se_session *s, uint32_t index)
{
    DWORD written;
    // A sequential file that has reached its size takes no more.
    if (s->max_file_mb &&
        ((uint64_t)s->buffers_written + 1) * s->buffer_bytes > (uint64_t)s->max_file_mb << 20)
        return false;
    return file && SetFilePointer(file, 0, NULL, FILE_END) != INVALID_SET_FILE_POINTER &&
           WriteFile(file, se_buffer_bytes(s, index), s->buffer_bytes, &written, NULL) &&
           written == s->buffer_bytes;
}

void se_file_work(se_session *s)
{
    HANDLE file = file_of(s);
    for (uint32_t i; (i = next_to_write(s)) != SE_FOREVER;) {
        bool good = write_buffer(file, s, i);
        se_lock();
        s->buffers_written += good;
        s->log_buffers_lost += !good;
        if (s->mode & SE_MODE_REALTIME) {
            s->buffers[i].state = SE_BUFFER_READY;
            se_signal("s", se_session_slot(s));
        } else {
            se_buffer_release(s, i);
        }
        se_unlock();
    }
    if (s->state != SE_STOPPING)
        return;
    uint32_t slot = se_session_slot(s);
    if (file) {
        write_header(file, s, true);
        CloseHandle(file);
    }
    g_files[slot] = NULL;
    se_lock();
    se_session_finish(s);
    se_unlock();
    se_signal("s", slot);
}
