// SPDX-License-Identifier: MIT
// Enabling providers, and the facts of a session that are set apart.
#include "sim_etw_control.h"
#include "sim_etw_provider.h"

#include <string.h>

#define FILTER_PID      0x80000004u
#define FILTER_EVENT_ID 0x80000200u

#define MAX_FILTERS 8

static bool read_pids(const EVENT_FILTER_DESCRIPTOR *filter, se_enable *out)
{
    if (filter->Size % 4 || filter->Size > sizeof out->pids)
        return false;
    out->pid_count = filter->Size / 4;
    memcpy(out->pids, (const void *)(uintptr_t)filter->Ptr, filter->Size);
    return true;
}

// EVENT_FILTER_EVENT_ID: whether these pass, a spare byte, their number, the ids.
static bool read_event_ids(const EVENT_FILTER_DESCRIPTOR *filter, se_enable *out)
{
    const uint8_t *bytes = (const uint8_t *)(uintptr_t)filter->Ptr;
    uint16_t count;
    if (filter->Size < 4)
        return false;
    memcpy(&count, bytes + 2, 2);
    if (count == 0 || count > SE_EVENT_IDS || filter->Size < 4 + 2u * count)
        return false;
    out->ids_pass = bytes[0];
    out->id_count = count;
    memcpy(out->ids, bytes + 4, 2u * count);
    return true;
}

// ENABLE_TRACE_PARAMETERS from version 1 on, and EVENT_FILTER_DESCRIPTOR: process and event ids are
// understood, anything else is refused rather than ignored.
static ULONG read_parameters(const ENABLE_TRACE_PARAMETERS *p, se_enable *out)
{
    if (!p)
        return ERROR_SUCCESS;
    if (p->Version < 1 || p->Version > 2)
        return ERROR_INVALID_PARAMETER;
    out->property = p->EnableProperty;
    const EVENT_FILTER_DESCRIPTOR *filters = p->EnableFilterDesc;
    uint32_t count = p->Version == 1 ? (filters ? 1 : 0) : p->FilterDescCount;
    if (count > MAX_FILTERS || (count && !filters))
        return ERROR_INVALID_PARAMETER;
    for (uint32_t i = 0; i < count; i++) {
        bool good = filters[i].Ptr && filters[i].Size;
        if (good && filters[i].Type == FILTER_PID)
            good = read_pids(&filters[i], out);
        else if (good && filters[i].Type == FILTER_EVENT_ID)
            good = read_event_ids(&filters[i], out);
        else
            good = false;
        if (!good)
            return ERROR_INVALID_PARAMETER;
    }
    return ERROR_SUCCESS;
}

static uint32_t sessions_with(const GUID *provider)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < SE_SESSIONS; i++)
        count += g_se->sessions[i].state == SE_RUNNING &&
                 se_enable_of(&g_se->sessions[i], provider) != NULL;
    return count;
}

// Wants the lock held.
static ULONG enable(se_session *s, const se_enable *wanted)
{
    se_enable *e = se_enable_of(s, &wanted->provider);
    if (!e && sessions_with(&wanted->provider) >= g_se->settings.provider_limit)
        return ERROR_NO_SYSTEM_RESOURCES;
    bool is_new = !e;
    for (uint32_t i = 0; i < SE_PROVIDERS && !e; i++)
        if (!s->providers[i].in_use)
            e = &s->providers[i];
    if (!e)
        return ERROR_NO_SYSTEM_RESOURCES;
    *e = *wanted;
    if (is_new)
        InterlockedIncrement(&g_se->enables);
    return ERROR_SUCCESS;
}

static void disable(se_session *s, const GUID *provider)
{
    se_enable *e = se_enable_of(s, provider);
    if (e) {
        e->in_use = 0;
        InterlockedDecrement(&g_se->enables);
    }
}

ULONG WINAPI se_EnableTraceEx2(TRACEHANDLE handle, const GUID *provider, ULONG code, UCHAR level,
                               ULONGLONG any, ULONGLONG all, ULONG timeout,
                               ENABLE_TRACE_PARAMETERS *parameters)
{
    if (!provider || !handle || code > EVENT_CONTROL_CODE_CAPTURE_STATE)
        return ERROR_INVALID_PARAMETER;
    se_enable wanted = {.provider = *provider, .in_use = 1, .level = level, .all = all};
    wanted.any = any ? any : UINT64_MAX;
    ULONG result = read_parameters(parameters, &wanted);
    if (result != ERROR_SUCCESS)
        return result;
    if (g_se->settings.deny)
        return ERROR_ACCESS_DENIED;
    if (g_se->settings.enable_error)
        return g_se->settings.enable_error;
    se_lock();
    se_session *s = se_session_of_handle(handle);
    uint64_t number = 0;
    if (!s || s->state != SE_RUNNING)
        result = ERROR_WMI_INSTANCE_NOT_FOUND;
    else if (code == EVENT_CONTROL_CODE_ENABLE_PROVIDER)
        result = enable(s, &wanted);
    else if (code == EVENT_CONTROL_CODE_DISABLE_PROVIDER)
        disable(s, provider);
    if (result == ERROR_SUCCESS) {
        se_note note = {.provider = *provider,
                        .source = s->guid,
                        .any = wanted.any,
                        .all = all,
                        .code = code,
                        .session = se_session_slot(s),
                        .level = level};
        number = se_note_post(&note);
    }
    se_unlock();
    if (result != ERROR_SUCCESS)
        return result;
    se_note_wake();
    return timeout ? se_note_wait(provider, number, timeout) : ERROR_SUCCESS;
}

// ------------------------------------------------------------------------------------ information

typedef struct profile_interval { // TRACE_PROFILE_INTERVAL
    ULONG source, interval;
} profile_interval;

ULONG WINAPI se_TraceSetInformation(TRACEHANDLE handle, TRACE_INFO_CLASS information_class,
                                    void *information, ULONG length)
{
    if (!information || !length)
        return ERROR_INVALID_PARAMETER;
    if (g_se->settings.deny)
        return ERROR_ACCESS_DENIED;
    ULONG result = ERROR_SUCCESS;
    se_lock();
    se_session *s = se_session_of_handle(handle);
    if (information_class == TraceSampledProfileIntervalInfo) { // of the machine: no handle needed
        result = length == sizeof(profile_interval) ? ERROR_SUCCESS : ERROR_BAD_LENGTH;
        if (s && result == ERROR_SUCCESS)
            s->sample_interval_100ns = ((const profile_interval *)information)->interval;
    } else if (!s || s->state != SE_RUNNING) {
        result = ERROR_INVALID_HANDLE;
    } else if (information_class == TraceStackTracingInfo) {
        result = length % sizeof(CLASSIC_EVENT_ID) ? ERROR_BAD_LENGTH : ERROR_SUCCESS;
    } else if (information_class == TraceSystemTraceEnableFlagsInfo) {
        if (!(s->mode & SE_MODE_SYSTEM))
            result = ERROR_INVALID_PARAMETER;
        else
            memcpy(&s->kernel_flags, information, length < 4 ? length : 4);
    } else {
        result = ERROR_NOT_SUPPORTED;
    }
    se_unlock();
    return result;
}

ULONG WINAPI se_TraceQueryInformation(TRACEHANDLE handle, TRACE_INFO_CLASS information_class,
                                      void *information, ULONG length, ULONG *out_length)
{
    uint32_t value = 0;
    ULONG result = ERROR_SUCCESS;
    if (!information || length < sizeof value)
        return ERROR_INVALID_PARAMETER;
    se_lock();
    const se_session *s = se_session_of_handle(handle);
    if (information_class == TraceMaxLoggersQuery)
        value = g_se->settings.sessions;
    else if (s && information_class == TraceSystemTraceEnableFlagsInfo)
        value = s->kernel_flags;
    else
        result = s ? ERROR_NOT_SUPPORTED : ERROR_INVALID_HANDLE;
    se_unlock();
    if (result == ERROR_SUCCESS)
        memcpy(information, &value, sizeof value);
    if (out_length)
        *out_length = sizeof value;
    return result;
}
