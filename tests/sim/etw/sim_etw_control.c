// SPDX-License-Identifier: MIT
#include "sim_etw_control.h"

#include "sim_etw_provider.h"
#include "sim_etw_rundown.h"

#include <string.h>
#include <wchar.h>

#define TRACED_GUID      0x00020000u // WNODE_FLAG_TRACED_GUID
#define SYSTEM_LOGGERS   8u
#define KERNEL_LOGGER    L"NT Kernel Logger"
#define FLUSH_DEFAULT_MS 1000u

// ----------------------------------------------------------------------------------- properties

static bool offset_is_good(const EVENT_TRACE_PROPERTIES *p, ULONG offset)
{
    return offset == 0 || (offset >= sizeof *p && offset < p->Wnode.BufferSize && offset % 2 == 0);
}

static bool copy_name(EVENT_TRACE_PROPERTIES *p, ULONG offset, const WCHAR *name)
{
    size_t bytes = (wcslen(name) + 1) * sizeof *name;
    if (offset == 0)
        return true;
    if (offset < sizeof *p || offset > p->Wnode.BufferSize || bytes > p->Wnode.BufferSize - offset)
        return false;
    memcpy((uint8_t *)p + offset, name, bytes);
    return true;
}

static ULONG tell_properties(const se_session *s, EVENT_TRACE_PROPERTIES *p)
{
    p->Wnode.HistoricalContext = se_session_handle(s);
    p->Wnode.Guid = s->guid;
    p->Wnode.ClientContext = s->clock;
    p->Wnode.Flags |= TRACED_GUID;
    p->BufferSize = s->buffer_bytes / 1024;
    p->MinimumBuffers = s->min_buffers;
    p->MaximumBuffers = s->max_buffers;
    p->MaximumFileSize = s->max_file_mb;
    p->LogFileMode = s->mode;
    p->FlushTimer = s->mode & SE_MODE_MS_TIMER ? s->flush_ms : s->flush_ms / 1000;
    p->EnableFlags = s->kernel_flags;
    p->AgeLimit = s->age_limit;
    p->NumberOfBuffers = s->buffer_count;
    p->FreeBuffers = se_buffers_in(s, SE_BUFFER_FREE);
    p->EventsLost = s->events_lost;
    p->BuffersWritten = s->buffers_written;
    p->LogBuffersLost = s->log_buffers_lost;
    p->RealTimeBuffersLost = s->rt_buffers_lost;
    p->LoggerThreadId = (HANDLE)(uintptr_t)g_se->host_pid;
    bool fits =
        copy_name(p, p->LoggerNameOffset, s->name) && copy_name(p, p->LogFileNameOffset, s->file);
    return fits ? ERROR_SUCCESS : ERROR_MORE_DATA;
}

// ---------------------------------------------------------------------------------------- start

static ULONG check_start(const EVENT_TRACE_PROPERTIES *p, const WCHAR *name)
{
    if (p->Wnode.BufferSize < sizeof *p)
        return ERROR_BAD_LENGTH;
    if (!(p->Wnode.Flags & TRACED_GUID) || name[0] == 0 || wcslen(name) >= SE_NAME ||
        p->Wnode.ClientContext > SE_CLOCK_CYCLES || p->BufferSize > 16384 ||
        !offset_is_good(p, p->LogFileNameOffset) || !offset_is_good(p, p->LoggerNameOffset) ||
        p->LoggerNameOffset == 0)
        return ERROR_INVALID_PARAMETER;
    // Both a circular and a sequential file, or private sessions: not simulated.
    if ((p->LogFileMode & 3) == 3 || p->LogFileMode & 0x00020800u)
        return ERROR_INVALID_PARAMETER;
    return ERROR_SUCCESS;
}

static bool has_file(const EVENT_TRACE_PROPERTIES *p)
{
    return p->LogFileNameOffset && *(const WCHAR *)((const uint8_t *)p + p->LogFileNameOffset);
}

// Wants the lock held.
static ULONG check_machine(const EVENT_TRACE_PROPERTIES *p, const WCHAR *name)
{
    static const GUID none;
    const se_settings *set = &g_se->settings;
    bool system = (p->LogFileMode & SE_MODE_SYSTEM) || _wcsicmp(name, KERNEL_LOGGER) == 0;
    if (set->deny || (set->deny_system && system))
        return ERROR_ACCESS_DENIED;
    if (set->start_error)
        return set->start_error;
    if (se_session_named(name))
        return ERROR_ALREADY_EXISTS;
    for (uint32_t i = 0; i < SE_SESSIONS; i++)
        if (g_se->sessions[i].state == SE_RUNNING && memcmp(&p->Wnode.Guid, &none, 16) != 0 &&
            memcmp(&g_se->sessions[i].guid, &p->Wnode.Guid, 16) == 0)
            return ERROR_ALREADY_EXISTS;
    if (se_sessions_running(0) >= set->sessions ||
        (system && se_sessions_running(SE_MODE_SYSTEM) >= SYSTEM_LOGGERS))
        return ERROR_NO_SYSTEM_RESOURCES;
    return ERROR_SUCCESS;
}

static void set_session(se_session *s, const EVENT_TRACE_PROPERTIES *p, const WCHAR *name)
{
    static const GUID none;
    FILETIME time;
    wcscpy(s->name, name);
    s->clock = p->Wnode.ClientContext ? p->Wnode.ClientContext : SE_CLOCK_QPC;
    s->mode = p->LogFileMode | (_wcsicmp(name, KERNEL_LOGGER) == 0 ? SE_MODE_SYSTEM : 0);
    s->max_file_mb = p->MaximumFileSize;
    s->age_limit = p->AgeLimit;
    s->kernel_flags = s->mode & SE_MODE_SYSTEM ? p->EnableFlags : 0;
    s->flush_ms = p->FlushTimer * (s->mode & SE_MODE_MS_TIMER ? 1 : 1000);
    if (s->flush_ms == 0 && s->mode & SE_MODE_REALTIME)
        s->flush_ms = FLUSH_DEFAULT_MS;
    s->next_flush_ms = GetTickCount64() + s->flush_ms;
    s->guid = p->Wnode.Guid;
    s->sample_interval_100ns = 10000;
    if (memcmp(&s->guid, &none, 16) == 0)
        s->guid = (GUID){s->generation, (uint16_t)se_session_slot(s), 0x4000, {0x80, 1}};
    if (has_file(p))
        GetFullPathNameW((const WCHAR *)((const uint8_t *)p + p->LogFileNameOffset), SE_PATH,
                         s->file, NULL);
    GetSystemTimePreciseAsFileTime(&time);
    s->start_filetime = (int64_t)((uint64_t)time.dwHighDateTime << 32 | time.dwLowDateTime);
    s->start_stamp = se_session_now(s);
}

ULONG WINAPI se_StartTraceW(TRACEHANDLE *handle, const WCHAR *name, EVENT_TRACE_PROPERTIES *p)
{
    if (!handle || !name || !p)
        return ERROR_INVALID_PARAMETER;
    ULONG result = check_start(p, name);
    if (result == ERROR_SUCCESS && !has_file(p) && !(p->LogFileMode & SE_MODE_REALTIME))
        result = ERROR_BAD_PATHNAME;
    if (result != ERROR_SUCCESS)
        return result;
    SYSTEM_INFO system;
    GetSystemInfo(&system);
    uint32_t least = p->LogFileMode & SE_MODE_ONE_STREAM ? 2 : 2 * system.dwNumberOfProcessors;
    uint32_t size = p->BufferSize == 0 ? 64 : p->BufferSize < 4 ? 4 : p->BufferSize;
    uint32_t min = p->MinimumBuffers > least ? p->MinimumBuffers : least;
    uint32_t max = p->MaximumBuffers > min ? p->MaximumBuffers : min;
    se_lock();
    result = check_machine(p, name);
    se_session *s = result == ERROR_SUCCESS ? se_session_make(size * 1024, min, max) : NULL;
    if (s) {
        set_session(s, p, name);
        s->state = SE_RUNNING;
        if (s->mode & SE_MODE_SYSTEM)
            InterlockedIncrement(&g_se->system_loggers);
        *handle = se_session_handle(s);
        result = tell_properties(s, p);
    } else if (result == ERROR_SUCCESS) {
        result = ERROR_NO_SYSTEM_RESOURCES;
    }
    se_unlock();
    if (s && s->mode & SE_MODE_SYSTEM)
        se_rundown(s->kernel_flags, true);
    return result;
}

// -------------------------------------------------------------------------------------- control

// While the host still has buffers to put into the file, or a session to end; not if it is gone.
static void wait_for_host(uint64_t handle, bool stopping)
{
    for (bool busy = true; busy;) {
        se_lock();
        const se_session *s = se_session_of_handle(handle);
        busy = s && (stopping ? s->state == SE_STOPPING : se_buffers_in(s, SE_BUFFER_WRITE) > 0);
        se_unlock();
        if (!busy || !se_process_lives(g_se->host_pid))
            return;
        se_signal("host", 0);
        Sleep(2);
    }
}

static void post_all_disabled(se_session *s)
{
    for (uint32_t i = 0; i < SE_PROVIDERS; i++)
        if (s->providers[i].in_use) {
            se_note note = {.provider = s->providers[i].provider, .source = s->guid};
            s->providers[i].in_use = 0;
            InterlockedDecrement(&g_se->enables);
            se_note_post(&note);
        }
}

static void update(se_session *s, const EVENT_TRACE_PROPERTIES *p)
{
    if (s->mode & SE_MODE_SYSTEM)
        s->kernel_flags = p->EnableFlags;
    if (p->FlushTimer)
        s->flush_ms = p->FlushTimer * (s->mode & SE_MODE_MS_TIMER ? 1 : 1000);
}

static void stop(se_session *s)
{
    post_all_disabled(s);
    se_flush(s);
    if (s->file[0])
        s->state = SE_STOPPING;
    else
        se_session_finish(s);
    se_signal("s", se_session_slot(s));
}

ULONG WINAPI se_ControlTraceW(TRACEHANDLE handle, const WCHAR *name, EVENT_TRACE_PROPERTIES *p,
                              ULONG code)
{
    if (!p || (!handle && !name) || code > EVENT_TRACE_CONTROL_FLUSH)
        return ERROR_INVALID_PARAMETER;
    if (p->Wnode.BufferSize < sizeof *p)
        return ERROR_BAD_LENGTH;
    if (g_se->settings.deny)
        return ERROR_ACCESS_DENIED;
    se_lock();
    se_session *s = handle ? se_session_of_handle(handle) : se_session_named(name);
    if (!s || s->state != SE_RUNNING) {
        se_unlock();
        return ERROR_WMI_INSTANCE_NOT_FOUND;
    }
    uint64_t own = se_session_handle(s);
    bool system = s->mode & SE_MODE_SYSTEM;
    uint32_t flags = s->kernel_flags;
    se_unlock();
    if (code == EVENT_TRACE_CONTROL_STOP && system)
        se_rundown(flags, false);
    se_lock();
    s = se_session_of_handle(own);
    if (!s || s->state != SE_RUNNING) { // somebody else was faster
        se_unlock();
        return ERROR_WMI_INSTANCE_NOT_FOUND;
    }
    if (code == EVENT_TRACE_CONTROL_UPDATE)
        update(s, p);
    if (code == EVENT_TRACE_CONTROL_FLUSH)
        se_flush(s);
    if (code == EVENT_TRACE_CONTROL_STOP)
        stop(s);
    ULONG result = tell_properties(s, p);
    bool file = s->file[0] != 0;
    se_unlock();
    se_note_wake();
    if (file && code != EVENT_TRACE_CONTROL_QUERY)
        wait_for_host(own, code == EVENT_TRACE_CONTROL_STOP);
    return result;
}

ULONG WINAPI se_StopTraceW(TRACEHANDLE handle, const WCHAR *name,
                           EVENT_TRACE_PROPERTIES *properties)
{
    return se_ControlTraceW(handle, name, properties, EVENT_TRACE_CONTROL_STOP);
}

ULONG WINAPI se_QueryAllTracesW(EVENT_TRACE_PROPERTIES **array, ULONG count, ULONG *out_count)
{
    if (!array || !count || !out_count)
        return ERROR_INVALID_PARAMETER;
    *out_count = 0;
    if (g_se->settings.deny) // it tells only of sessions that one may ask
        return ERROR_SUCCESS;
    ULONG result = ERROR_SUCCESS, told = 0;
    se_lock();
    for (uint32_t i = 0; i < SE_SESSIONS; i++) {
        if (g_se->sessions[i].state != SE_RUNNING)
            continue;
        if (told < count && tell_properties(&g_se->sessions[i], array[told]) != ERROR_SUCCESS)
            result = ERROR_MORE_DATA;
        told++;
    }
    se_unlock();
    *out_count = told;
    return told > count ? ERROR_MORE_DATA : result;
}
