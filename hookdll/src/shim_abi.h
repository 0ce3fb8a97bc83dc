// SPDX-License-Identifier: MIT
// The part of ORT's interface for plugin execution providers that the shim implements and calls.
// Its structs grow at the end only, and ORT looks at no more of them than `version` allows: we say
// 25, the version that brought profilers, and end ours there.
#pragma once

#include "ort_abi.h"

#include <stdbool.h>

#define SHIM_VERSION 25u

typedef struct OrtKeyValuePairs OrtKeyValuePairs;
typedef struct OrtLogger OrtLogger;
typedef struct OrtGraph OrtGraph;
typedef struct OrtEpGraphSupportInfo OrtEpGraphSupportInfo;
typedef struct OrtProfilingEvent OrtProfilingEvent;
typedef struct OrtProfilingEventsContainer OrtProfilingEventsContainer;
typedef struct OrtEp OrtEp;
typedef struct OrtEpFactory OrtEpFactory;
typedef struct OrtEpProfilerImpl OrtEpProfilerImpl;

struct OrtEpProfilerImpl {
    uint32_t version;
    void (*Release)(OrtEpProfilerImpl *);
    OrtStatus *(*StartProfiling)(OrtEpProfilerImpl *, int64_t offset_ns);
    OrtStatus *(*StartEvent)(OrtEpProfilerImpl *, uint64_t id);
    OrtStatus *(*StopEvent)(OrtEpProfilerImpl *, uint64_t id, const OrtProfilingEvent *);
    OrtStatus *(*EndProfiling)(OrtEpProfilerImpl *, OrtProfilingEventsContainer *);
};

struct OrtEp {
    uint32_t version;
    const char *(*GetName)(const OrtEp *);
    OrtStatus *(*GetCapability)(OrtEp *, const OrtGraph *, OrtEpGraphSupportInfo *);
    OrtStatus *(*Compile)(OrtEp *, const OrtGraph **, const void **, size_t, void **, void **);
    void (*ReleaseNodeComputeInfos)(OrtEp *, void **, size_t);
    void *optional[11]; // layout, options, begin and end of runs, allocators, streams, kernels
    OrtStatus *(*CreateProfiler)(OrtEp *, OrtEpProfilerImpl **);
};
_Static_assert(offsetof(OrtEp, CreateProfiler) == 16 * 8, "as ORT has it");

struct OrtEpFactory {
    uint32_t version;
    const char *(*GetName)(const OrtEpFactory *);
    const char *(*GetVendor)(const OrtEpFactory *);
    OrtStatus *(*GetSupportedDevices)(OrtEpFactory *, const OrtHardwareDevice *const *, size_t,
                                      OrtEpDevice **, size_t, size_t *);
    OrtStatus *(*CreateEp)(OrtEpFactory *, const OrtHardwareDevice *const *,
                           const OrtKeyValuePairs *const *, size_t, const OrtSessionOptions *,
                           const OrtLogger *, OrtEp **);
    void (*ReleaseEp)(OrtEpFactory *, OrtEp *);
    uint32_t (*GetVendorId)(const OrtEpFactory *);
    const char *(*GetVersion)(const OrtEpFactory *);
    void *ValidateCompiledModelCompatibilityInfo;
    OrtStatus *(*CreateAllocator)(OrtEpFactory *, const OrtMemoryInfo *, const OrtKeyValuePairs *,
                                  OrtAllocator **);
    void (*ReleaseAllocator)(OrtEpFactory *, OrtAllocator *);
    OrtStatus *(*CreateDataTransfer)(OrtEpFactory *, void **);
    bool (*IsStreamAware)(const OrtEpFactory *);
    void *optional[8];
};
_Static_assert(offsetof(OrtEpFactory, IsStreamAware) == 12 * 8, "as ORT has it");

enum { ORT_HARDWARE_CPU = 0, ORT_EVENT_NODE = 1 };

// Slots of the OrtEpApi table that GetEpApi gives.
#define EP_CALLS(XX)                                                                               \
    XX(CreateEpDevice, 0,                                                                          \
       (OrtEpFactory *, const OrtHardwareDevice *, const OrtKeyValuePairs *,                       \
        const OrtKeyValuePairs *, OrtEpDevice **))                                                 \
    XX(ProfilingEvent_GetCategory, 67, (const OrtProfilingEvent *, int *))                         \
    XX(ProfilingEvent_GetName, 68, (const OrtProfilingEvent *, const char **))                     \
    XX(ProfilingEvent_GetArgValue, 71, (const OrtProfilingEvent *, const char *, const char **))

#define XX(name, slot, params)                                                                     \
    enum { EP_SLOT_##name = slot };                                                                \
    typedef OrtStatus *ep_##name##_fn params;
EP_CALLS(XX)
#undef XX

#define EP_CALL(module, name) ((ep_##name##_fn *)ORT_CALL(module, GetEpApi)()[EP_SLOT_##name])
