// SPDX-License-Identifier: MIT
// The consumer's side: OpenTraceW, ProcessTrace, CloseTrace, for real-time sessions.
#pragma once

#include "sim_etw_record.h"

#include <evntrace.h>

#include <evntcons.h>

TRACEHANDLE WINAPI se_OpenTraceW(EVENT_TRACE_LOGFILEW *log);
ULONG WINAPI se_ProcessTrace(TRACEHANDLE *handles, ULONG count, FILETIME *start, FILETIME *end);
ULONG WINAPI se_CloseTrace(TRACEHANDLE handle);

// One record of a buffer as an EVENT_RECORD. The size of the record, or 0: nothing usable there.
#define SE_ITEMS 16
typedef struct se_view {
    EVENT_RECORD record;
    EVENT_HEADER_EXTENDED_DATA_ITEM items[SE_ITEMS];
    int64_t stamp; // raw
} se_view;
uint32_t se_view_record(const uint8_t *at, uint32_t left, se_view *out);
