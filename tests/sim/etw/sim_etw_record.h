// SPDX-License-Identifier: MIT
// Records as they stand in buffers and files, and the way of one event into the sessions that want
// it.
#pragma once

#include "sim_etw_session.h"

#include <evntprov.h>

#define SE_DESCRIPTOR_EVENT_METADATA    1u
#define SE_DESCRIPTOR_PROVIDER_METADATA 2u

// Whose event it is and when, where that is not this thread and now.
typedef struct se_origin {
    uint32_t pid, tid, cpu;
    int64_t stamp; // added to now, or the time itself
    bool stamp_is_given;
} se_origin;

typedef struct se_event {
    GUID provider;
    EVENT_DESCRIPTOR descriptor;
    const GUID *activity, *related; // may be null
    const void *traits;             // of the registration; may be null
    uint32_t traits_len;
    bool typed; // descriptors may be metadata
    bool text;  // EventWriteString
    uint32_t count;
    const EVENT_DATA_DESCRIPTOR *data;
    const se_origin *origin; // may be null
} se_event;

// Into every session that has the provider enabled; a Win32 code. Takes the lock.
ULONG se_write(const se_event *event);

// A record of the kernel's into every system logger whose flags have one of `flags` (0: all of
// them). An origin's `tid` of SE_FOREVER: a PERFINFO record, which has no process and thread.
// False: some session had no room. Takes the lock.
typedef struct se_kernel_event {
    uint8_t group, opcode, version;
    uint32_t flags;
    const se_origin *origin; // null: this thread, now
    const void *payload;
    uint32_t payload_len;
} se_kernel_event;
bool se_write_kernel(const se_kernel_event *event);

// TRACE_LOGFILE_HEADER of a session with 8-byte pointers, and the names behind it.
#define SE_LOGFILE_HEADER_BYTES 280u
#define SE_LOGFILE_HEADER_MAX   (SE_LOGFILE_HEADER_BYTES + 2u * (SE_NAME + SE_PATH))
uint32_t se_logfile_header(const se_session *s, bool finished, uint8_t *out);
