// SPDX-License-Identifier: MIT
// The hook DLL's own state, shared by its files.
//
// How arming works. `g_hk.epoch` is even while dormant and odd while armed; it counts up with each
// change. A hook begins with hk_enter(): it notes the epoch and marks its thread busy while our own
// code runs (never while ORT runs). Disarming makes the epoch even, restores every patched byte,
// forces the store out to all processors (FlushProcessWriteBuffers) and waits until no thread is
// busy; after that nobody can touch the channel and it is unmapped. A hook that returns from ORT
// after that sees another epoch and records nothing. Trampolines and this DLL stay mapped for
// ever, so a thread that is inside ORT when we leave finds its way out.
//
// What the hot path (hk_enter, run hooks, hk_emit_run) must never do: take a lock, allocate,
// format, call the system. What happens once per thread, session or shape set may.
#pragma once

#include "tracelogging/channel.h"
#include "tracelogging/hook_contract.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <windows.h>

#define HK_MODULES_MAX 8 // ONNX Runtimes in one process at the same time

// ----------------------------------------------------------------------------------------- threads

struct hk_session;

// The run that a thread is inside of. Runs can nest (a custom operator may run another session):
// the run hooks keep the outer note and put it back.
typedef struct hk_run_note {
    struct hk_session *session;
    uint32_t epoch; // 0: no run
    uint32_t session_id, run;
    uint32_t inputs; // set of the inputs
    bool skips_ops;  // operators of this run are not recorded
    bool measures;   // our own cost is being measured
} hk_run_note;

// A kernel under way on this thread. `stack` tells whether it still is: a kernel that throws leaves
// through our function without a word.
typedef struct hk_op_frame {
    uintptr_t stack;
    uint64_t entered; // for measuring ourselves, else 0
    uint64_t begin;
    uint32_t epoch;
    uint32_t kernel, session, run;
    uint8_t flags; // as in the Op event
    bool tells_shapes;
    uint32_t inputs, run_inputs; // for the KernelShapes event
    uint64_t parameter_bytes, activation_bytes;
} hk_op_frame;

#define HK_OP_DEPTH_MAX 32u

typedef struct hk_thread {
    struct hk_thread *next; // list of all, never unlinked
    _Atomic uint32_t in_use;
    _Atomic uint32_t busy; // our code runs on this thread right now
    uint32_t epoch;        // for which `producer` was claimed
    uint32_t inside;       // HK_INSIDE_*: API calls under way further up this thread's stack
    tl_producer producer;
    hk_run_note run;
    uint64_t op_ticks; // what operators cost us in the run that measures
    uint32_t op_depth;
    hk_op_frame ops[HK_OP_DEPTH_MAX];
} hk_thread;

// Instead of a state: this thread is ending and has given its ring back. What other modules release
// on it after that goes unrecorded.
#define HK_THREAD_ENDED 1u

#define HK_INSIDE_OPTIONS 1u
#define HK_INSIDE_CREATE  2u
#define HK_INSIDE_ENV     4u
#define HK_INSIDE_SPAWN   8u

// ----------------------------------------------------------------------------------------- modules

#include "api_map.h"
#include "tensor_layout.h"

typedef struct hk_module {
    uint32_t id; // on the wire; 0: slot free
    int minor;   // the Y of version 1.Y.Z
    uint8_t *base;
    size_t size;
    const void *const *api;      // the OrtApi table
    void *orig[HK_API_COUNT];    // what to call to reach ORT: trampoline, or NULL if not hooked
    void *target[HK_API_COUNT];  // the function in ORT
    bool attached[HK_API_COUNT]; // our detour is in place
    uint32_t hooked, refused;
    bool armed;
    hk_tensor_layout layout;
    char path[1024];
    char version[32];
} hk_module;

// ------------------------------------------------------------------------------------------- state

typedef struct hk_state {
    _Atomic uint32_t epoch;
    tl_section_header *section;
    HANDLE section_handle, wake_hook, wake_collector, collector_process; // from the collector
    HANDLE detach_event; // ours, for ever: ortscope_hook_detach asks the watcher
    HANDLE child_reply;  // ours, for ever: the collector has dealt with a child, or is gone
    HANDLE heap;
    HANDLE volatile last_ended; // the thread of the target that ended last
    DWORD tls;
    uint32_t flags;
    _Atomic(hk_thread *) threads;
    SRWLOCK lock; // modules, arming and disarming
    hk_module modules[HK_MODULES_MAX];
    uint32_t next_module, next_session, next_shape, next_kernel;
} hk_state;

extern hk_state g_hk;

NTSYSAPI BOOLEAN NTAPI RtlDllShutdownInProgress(void);

// threads.c
bool hk_threads_init(void);
hk_thread *hk_thread_slow(void); // creates this thread's state; NULL if memory is short
void hk_thread_end(void);        // DLL_THREAD_DETACH
bool hk_threads_wait_idle(void); // after disarming: until none is busy; false: one never ends

// lifecycle.c
bool hk_lifecycle_init(void);

// modules.c: the ONNX Runtimes of this process
void hk_modules_watch(void);  // once: be told of modules that come and go
void hk_modules_arm(void);    // intercepts those that are loaded
void hk_modules_disarm(void); // restores every byte

// op_modules.c: operators. All with g_hk.lock held.
// NULL, or why operators are not (all) seen. `runtime` NULL: a module without the C API.
const char *hk_ops_arm(uint8_t *base, hk_module *runtime);
void hk_ops_disarm(void);
void hk_ops_forget(const uint8_t *base); // unloaded: its memory is gone
void hk_ops_clear(void);                 // after all threads have left: no kernel is known any more
// Kernels on this thread that are below `stack` have left by an exception: tells them as failed.
void hk_ops_unwind(hk_thread *t, uint32_t epoch, uintptr_t stack);

// children.c
void hk_children_arm(void);
void hk_children_disarm(void);

// heap.c: memory of our own, zeroed; NULL when short
void *hk_alloc(size_t bytes);
void hk_free(void *memory);

// `--ops sample:N`: only every Nth run of a session has its operators recorded.
static inline bool hk_run_skips_ops(uint32_t run)
{
    uint32_t every = g_hk.flags >> ORT_HOOK_OPS_EVERY_SHIFT;
    return every > 1 && run % every != 1;
}

static inline uint64_t hk_ticks(void)
{
    return __builtin_ia32_rdtsc();
}

// The state of this thread, read straight from the thread block where the index allows it.
static inline hk_thread *hk_thread_get(void)
{
    hk_thread *t;
    if (g_hk.tls < 64)
        __asm__("movq %%gs:0x1480(,%1,8), %0" : "=r"(t) : "r"((uint64_t)g_hk.tls));
    else
        t = TlsGetValue(g_hk.tls);
    return t;
}

// Begins our own code in a hook: NULL if we are not armed. `*epoch` is for hk_reenter().
static inline hk_thread *hk_enter(uint32_t *epoch)
{
    uint32_t now = atomic_load_explicit(&g_hk.epoch, memory_order_acquire);
    if (!(now & 1))
        return NULL;
    hk_thread *t = hk_thread_get();
    if (__builtin_expect((uintptr_t)t <= HK_THREAD_ENDED, 0) && (t || !(t = hk_thread_slow())))
        return NULL;
    // A call of our own into ORT came back to a hook: it is not the program's.
    if (__builtin_expect(atomic_load_explicit(&t->busy, memory_order_relaxed) != 0, 0))
        return NULL;
    atomic_store_explicit(&t->busy, 1, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&g_hk.epoch, memory_order_acquire) != now) {
        atomic_store_explicit(&t->busy, 0, memory_order_release);
        return NULL;
    }
    *epoch = now;
    return t;
}

// As hk_enter, for hooks that take a lock. When a process ends, Windows first kills its other
// threads, one of which may have held that lock; what is released after that goes unrecorded.
static inline hk_thread *hk_enter_to_lock(uint32_t *epoch)
{
    return RtlDllShutdownInProgress() ? NULL : hk_enter(epoch);
}

// Ends our own code, before ORT is called and before the hook returns.
static inline void hk_leave(hk_thread *t)
{
    atomic_store_explicit(&t->busy, 0, memory_order_release);
}

// Begins our code again after ORT has returned: false if we were disarmed meanwhile.
static inline bool hk_reenter(hk_thread *t, uint32_t epoch)
{
    atomic_store_explicit(&t->busy, 1, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&g_hk.epoch, memory_order_acquire) == epoch)
        return true;
    hk_leave(t);
    return false;
}
