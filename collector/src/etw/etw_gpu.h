// SPDX-License-Identifier: MIT
// Packets in the queues of the graphics kernel (DxgKrnl), counted for each followed process: how
// many it queued, and how long those that came out again had been in there, waiting and running.
// Which engine they were for is not told: the events that would say so have no layout that we are
// sure of.
#pragma once

#include "capture_internal.h"
#include "collector/etl.h"

#define ETW_GPU_SLOTS     4096u
#define ETW_GPU_PROCESSES 256u

typedef struct etw_gpu {
    struct {
        uint64_t context;
        uint32_t sequence, process; // 0: free
        int64_t time;
    } queued[ETW_GPU_SLOTS];
    struct {
        uint32_t process;
        bool told, changed;
        uint64_t packets;
        int64_t qpc;
    } totals[ETW_GPU_PROCESSES];
    unsigned total_count;
    co_readings readings;
} etw_gpu;

bool co_etw_is_gpu(const co_etl_event *e);
// `process`: the followed one in which it was written, 0: none.
void co_etw_gpu_event(etw_gpu *g, const co_etl_event *e, uint32_t process);
// Samples of what has changed.
void co_etw_gpu_tell(etw_gpu *g, co_capture *c, const co_etl_header *clock);
