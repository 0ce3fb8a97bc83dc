// SPDX-License-Identifier: MIT
// What the events of the kernel say that belongs on a timeline, whichever of their forms it comes
// in: classic records in all versions, or the manifest of Kernel-Process.
#pragma once

#include "collector/etl.h"

typedef enum etl_fact_kind {
    ETL_FACT_NONE,
    ETL_FACT_PROCESS,
    ETL_FACT_THREAD,
    ETL_FACT_IMAGE,
    ETL_FACT_SWITCH,
    ETL_FACT_READY,
    ETL_FACT_PROFILE,
    ETL_FACT_FAULT,
    ETL_FACT_DISK,
    ETL_FACT_INTERRUPT,
    ETL_FACT_INTERVAL,
} etl_fact_kind;

// Of processes, threads and images; as thread.action and image.action of timeline/kinds.h.
typedef enum etl_action {
    ETL_BEGINS,
    ETL_ENDS,
    ETL_WAS_THERE, // when the recording began
    ETL_IS_THERE,  // when the recording ended
    ETL_NAMED,
} etl_action;

typedef struct etl_text {
    const uint8_t *bytes; // NULL: none
    size_t len;
    bool wide; // UTF-16
} etl_text;

typedef struct etl_fact {
    etl_fact_kind kind;
    etl_action action;
    uint32_t pid, tid;     // whom it is about; CO_ETL_UNKNOWN where it does not say
    uint32_t parent;       // of a process
    int64_t exit_code;     // of a process that ends
    etl_text name;         // of a process, a thread, an image
    etl_text command_line; // of a process
    uint64_t address;      // image's base, instruction, faulting address, routine
    uint64_t bytes;        // image, fault, transfer
    uint32_t checksum, stamp;
    uint32_t old_tid; // switch: from whom; `tid` is to whom
    int new_priority, old_priority, state, wait_reason, wait_mode;
    uint32_t waited;
    int reason, increment, flags; // ready, profile
    int what; // fault.fault, disk.action, interrupt.what, profiling.source of kinds.h
    bool has_begin;
    int64_t begin;     // by the clock of the recording, where the event tells it
    uint64_t duration; // of a transfer, in ticks of that clock; of profile samples, in 100 ns
    uint32_t disk;
    uint64_t offset;
    uint32_t count; // profile
} etl_fact;

// False if the event is about nothing of these, or ends before it says whom it is about.
bool co_etl_fact(const co_etl_event *event, etl_fact *out);
