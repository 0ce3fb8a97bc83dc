// SPDX-License-Identifier: MIT
// Windows' event tracing, live: what the kernel, ONNX Runtime's own provider and the graphics
// kernel tell about the followed processes, as rows of the capture. A session of our own in real
// time; nothing of it enters the processes. Windows only but for the words.
//
// One thread uses it, the one that owns the capture; reading happens on others.
#pragma once

#include "collector/capture.h"

#include <stdbool.h>

enum {
    CO_ETW_KERNEL = 1, // processes, threads, images, switches, samples, faults, transfers
    CO_ETW_ORT = 2,    // Microsoft.ML.ONNXRuntime, with QNN's profiling
    CO_ETW_GPU = 4,    // Microsoft-Windows-DxgKrnl
    CO_ETW_ALL = 7
};

typedef struct co_etw co_etw;

typedef struct co_etw_options {
    unsigned parts;   // CO_ETW_*; 0: none
    uint32_t buffers; // of the session; 0: by the number of processors
} co_etw_options;

typedef struct co_etw_listener {
    void *context;
    // A sentence for the user; during co_etw_start only. level: as in log rows.
    void (*say)(void *context, int level, const char *sentence);
    // A followed process has started another one, in co_etw_drain, before anything else that is
    // told of that: now is the time to add it to the capture, if it is wanted.
    void (*child)(void *context, uint32_t parent_id, uint32_t pid);
} co_etw_listener;

// NULL where nothing is wanted or can be had; all other functions take that.
co_etw *co_etw_start(const co_etw_options *options, co_capture *capture,
                     const co_etw_listener *listener);

// The parts that we got.
unsigned co_etw_parts(const co_etw *e);

// An event (a HANDLE) that is set when there is something to drain; NULL for NULL.
void *co_etw_arrival(const co_etw *e);

// Rows of what came meanwhile. Returns the number of events.
size_t co_etw_drain(co_etw *e);

// Stops the session, reads what is left, ends.
void co_etw_stop(co_etw *e);

// Whether it can be had here, by starting a session and stopping it at once: for `ortscope doctor`.
typedef enum co_etw_answer {
    CO_ETW_AVAILABLE,
    CO_ETW_NO_RIGHTS,     // `fix` tells how to get them
    CO_ETW_NO_ROOM,       // too many sessions on this machine
    CO_ETW_NOT_AVAILABLE, // this system has no event tracing, or it does not work
} co_etw_answer;

typedef struct co_etw_finding {
    co_etw_answer answer;
    char sentence[320]; // for people
    char fix[160];      // a command that makes it work, "" if none is needed or known
} co_etw_finding;

typedef struct co_etw_findings {
    co_etw_finding kernel, ort;
} co_etw_findings;

void co_etw_check(co_etw_findings *out);
