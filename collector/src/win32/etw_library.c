// SPDX-License-Identifier: MIT
// The real functions of event tracing, in the table that all of our code calls them by.
#include "etw_library.h"

#include "libraries.h"

#include <stdlib.h>

#include <windows.h>

#include <evntcons.h>
#include <evntrace.h>

#define SAME(ours, field, theirs, their_field)                                                     \
    _Static_assert(offsetof(ours, field) == offsetof(theirs, their_field), "layout of " #theirs)
SAME(etw_properties, guid, EVENT_TRACE_PROPERTIES, Wnode.Guid);
SAME(etw_properties, client_context, EVENT_TRACE_PROPERTIES, Wnode.ClientContext);
SAME(etw_properties, buffer_kib, EVENT_TRACE_PROPERTIES, BufferSize);
SAME(etw_properties, enable_flags, EVENT_TRACE_PROPERTIES, EnableFlags);
SAME(etw_properties, events_lost, EVENT_TRACE_PROPERTIES, EventsLost);
SAME(etw_properties, real_time_buffers_lost, EVENT_TRACE_PROPERTIES, RealTimeBuffersLost);
SAME(etw_properties, logger_name_offset, EVENT_TRACE_PROPERTIES, LoggerNameOffset);
SAME(etw_record, provider, EVENT_RECORD, EventHeader.ProviderId);
SAME(etw_record, id, EVENT_RECORD, EventHeader.EventDescriptor);
SAME(etw_record, processor, EVENT_RECORD, BufferContext);
SAME(etw_record, item_count, EVENT_RECORD, ExtendedDataCount);
SAME(etw_record, data, EVENT_RECORD, UserData);
SAME(etw_record, context, EVENT_RECORD, UserContext);
SAME(etw_item, data, EVENT_HEADER_EXTENDED_DATA_ITEM, DataPtr);
SAME(etw_logfile, logger_name, EVENT_TRACE_LOGFILEW, LoggerName);
SAME(etw_logfile, mode, EVENT_TRACE_LOGFILEW, ProcessTraceMode);
SAME(etw_logfile, header, EVENT_TRACE_LOGFILEW, LogfileHeader);
SAME(etw_logfile, buffer_callback, EVENT_TRACE_LOGFILEW, BufferCallback);
SAME(etw_logfile, record_callback, EVENT_TRACE_LOGFILEW, EventRecordCallback);
SAME(etw_logfile, context, EVENT_TRACE_LOGFILEW, Context);
SAME(etw_enable, filters, ENABLE_TRACE_PARAMETERS, EnableFilterDesc);

static const co_function functions[] = {
    {"StartTraceW", offsetof(etw_api, start_trace), true},
    {"ControlTraceW", offsetof(etw_api, control_trace), true},
    {"EnableTraceEx2", offsetof(etw_api, enable_trace), true},
    {"OpenTraceW", offsetof(etw_api, open_trace), true},
    {"ProcessTrace", offsetof(etw_api, process_trace), true},
    {"CloseTrace", offsetof(etw_api, close_trace), true},
    {"QueryAllTracesW", offsetof(etw_api, query_all), true},
};

static uint32_t last_error(void)
{
    return GetLastError();
}

static uint64_t created_at(HANDLE process)
{
    FILETIME created, other;
    if (!GetProcessTimes(process, &created, &other, &other, &other))
        return 0;
    return (uint64_t)created.dwHighDateTime << 32 | created.dwLowDateTime;
}

static bool is_alive(uint32_t pid, uint64_t created)
{
    HANDLE process = OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION | SYNCHRONIZE, FALSE, pid);
    if (!process)
        return GetLastError() == ERROR_ACCESS_DENIED; // somebody is there, whoever it is
    uint64_t now = created_at(process);
    bool runs = WaitForSingleObject(process, 0) == WAIT_TIMEOUT;
    CloseHandle(process);
    return runs && (!created || !now || now == created);
}

// Administrators have it, but switched off.
static bool allow_profile(void)
{
    HANDLE token;
    if (!OpenProcessToken(GetCurrentProcess(), TOKEN_ADJUST_PRIVILEGES | TOKEN_QUERY, &token))
        return false;
    TOKEN_PRIVILEGES wish = {.PrivilegeCount = 1,
                             .Privileges = {{.Attributes = SE_PRIVILEGE_ENABLED}}};
    bool done =
        LookupPrivilegeValueW(NULL, L"SeSystemProfilePrivilege", &wish.Privileges[0].Luid) &&
        AdjustTokenPrivileges(token, FALSE, &wish, 0, NULL, NULL) &&
        GetLastError() == ERROR_SUCCESS;
    CloseHandle(token);
    return done;
}

bool co_etw_library(etw_api *out)
{
    etw_api api = {.last_error = last_error, .is_alive = is_alive, .allow_profile = allow_profile};
    void *library = co_library_open(L"advapi32.dll", NULL); // never closed: everybody has it
    if (!library ||
        !co_library_functions(library, functions, sizeof functions / sizeof *functions, &api))
        return false;
    *out = api;
    return true;
}

etw_identity co_etw_self(void)
{
    return (etw_identity){GetCurrentProcessId(), created_at(GetCurrentProcess())};
}
