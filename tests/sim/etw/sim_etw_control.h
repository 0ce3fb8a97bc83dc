// SPDX-License-Identifier: MIT
// The controller's side: what sechost's session functions do here. The W functions only.
#pragma once

#include "sim_etw_session.h"

#include <evntrace.h>

ULONG WINAPI se_StartTraceW(TRACEHANDLE *handle, const WCHAR *name,
                            EVENT_TRACE_PROPERTIES *properties);
ULONG WINAPI se_ControlTraceW(TRACEHANDLE handle, const WCHAR *name,
                              EVENT_TRACE_PROPERTIES *properties, ULONG code);
ULONG WINAPI se_StopTraceW(TRACEHANDLE handle, const WCHAR *name,
                           EVENT_TRACE_PROPERTIES *properties);
ULONG WINAPI se_QueryAllTracesW(EVENT_TRACE_PROPERTIES **array, ULONG count, ULONG *out_count);
ULONG WINAPI se_EnableTraceEx2(TRACEHANDLE handle, const GUID *provider, ULONG code, UCHAR level,
                               ULONGLONG any, ULONGLONG all, ULONG timeout,
                               ENABLE_TRACE_PARAMETERS *parameters);
ULONG WINAPI se_TraceSetInformation(TRACEHANDLE handle, TRACE_INFO_CLASS information_class,
                                    void *information, ULONG length);
ULONG WINAPI se_TraceQueryInformation(TRACEHANDLE handle, TRACE_INFO_CLASS information_class,
                                      void *information, ULONG length, ULONG *out_length);
