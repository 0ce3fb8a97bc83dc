// SPDX-License-Identifier: MIT
// What ortscope.exe and ortscope_hook.dll have to agree on beside the channel itself.
//
// The injector loads the DLL into the target, duplicates the handles below into it, copies an
// ort_hook_params there and calls ortscope_hook_attach in a remote thread. From then on the two
// talk through the section. Before any of that it reads `ortscope_hook_state` of a DLL that is
// already there (from an earlier capture) to see whether somebody else is attached.
#pragma once

#include <stdint.h>

#define ORT_HOOK_DLL_NAME    "ortscope_hook.dll"
#define ORT_HOOK_ABI         1u
#define ORT_HOOK_STATE_MAGIC 0x6b6f6f687374726fu // "ortshook"

// Exported as data under this name; read by ReadProcessMemory, so it never moves or grows in place.
#define ORT_HOOK_STATE_EXPORT  "ortscope_hook_state"
#define ORT_HOOK_ATTACH_EXPORT "ortscope_hook_attach" // DWORD WINAPI (ort_hook_params *)
#define ORT_HOOK_DETACH_EXPORT "ortscope_hook_detach" // DWORD WINAPI (void *)

typedef struct ort_hook_state {
    uint64_t magic;
    uint32_t abi;
    uint32_t attached;      // 0 dormant, 1 attached or just becoming so
    uint32_t collector_pid; // who is attached
    char version[20];       // ortscope's version, NUL-terminated
} ort_hook_state;

// Handles are valid in the target and belong to the hook from the call on, also when it fails.
typedef struct ort_hook_params {
    uint32_t size; // of this struct
    uint32_t abi;
    uint64_t section; // the channel, mapped read-write by the hook
    uint64_t section_bytes;
    uint64_t wake_hook;         // auto-reset event: the collector set header.stop or child.reply
    uint64_t wake_collector;    // auto-reset event: the hook has a child request or changed phase
    uint64_t collector_process; // SYNCHRONIZE: signalled when the collector dies
    uint32_t collector_pid;
    uint32_t flags; // ORT_HOOK_*
} ort_hook_params;

#define ORT_HOOK_FOLLOW_CHILDREN 1u
#define ORT_HOOK_OPS             2u  // record operators
#define ORT_HOOK_ALLOC_STATS     4u  // count allocations, tell the state of arenas
#define ORT_HOOK_ALLOC_ALL       8u  // tell every allocation
#define ORT_HOOK_ORT_EVENTS      16u // listen to ORT's own events
#define ORT_HOOK_OPS_SHIM        32u // with ORT_HOOK_OPS: operators by the execution-provider shim
#define ORT_HOOK_ORT_LOG         64u // with ORT_HOOK_ORT_EVENTS: ORT's log as well
// The upper 16 bits: operators of every Nth run of a session only; 0 and 1 mean every run.
#define ORT_HOOK_OPS_EVERY_SHIFT 16

// Exit codes of the remote thread
typedef enum ort_hook_result {
    ORT_HOOK_OK = 0x0a110000,
    ORT_HOOK_BAD_PARAMS,
    ORT_HOOK_ALREADY_ATTACHED,
    ORT_HOOK_NO_MEMORY,
    ORT_HOOK_NOT_ATTACHED, // detach: nothing to do
    ORT_HOOK_THREAD_LEFT,  // a thread never came out of our code when an earlier capture ended
} ort_hook_result;
