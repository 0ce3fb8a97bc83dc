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
#define HK_CACHE_LINE  64

// ----------------------------------------------------------------------------------------- threads

struct hk_session;
struct tl_etw_thread;

// What was allocated in a run on its own thread.
typedef struct hk_run_memory {
    uint64_t allocated_bytes, freed_bytes, grown_bytes;
    uint64_t own_bytes, peak_bytes; // of what it allocated itself: now, and the most at once
    uint32_t allocations, frees;
} hk_run_memory;

// The run that a thread is inside of. Runs can nest (a custom operator may run another session):
// the run hooks keep the outer note and put it back.
typedef struct hk_run_note {
    struct hk_session *session;
    uint32_t epoch; // 0: no run
    uint32_t session_id, run;
    uint32_t inputs; // set of the inputs
    bool skips_ops;  // operators of this run are not recorded
    bool measures;   // our own cost is being measured
    bool failed;     // a kernel has
    hk_run_memory memory;
} hk_run_note;

// What ORT's own events (tap.h) told of the session that this thread is creating. Cleared when a
// session hook begins, and put back as hk_load_note is.
typedef struct hk_tap_note {
    uint32_t session;        // the number that the session will have, 0: none was needed yet
    uint32_t ort_session;    // ORT's own number, 0: not told
    uint64_t model_start;    // ticks of ModelLoadStart (since 1.24.3), 0: it did not come
    uint64_t creation_start; // of SessionCreationStart, which comes when the model has been read
} hk_tap_note;

#define HK_LOAD_ARENAS 4u

// The session that a thread creates. These can nest too (a custom operator may make a session of
// its own when its kernel is created): the session hooks keep the outer note and put it back.
typedef struct hk_load_note {
    const void *out;              // where ORT will put the session; NULL: none is being created
    uint64_t optimising, weights; // when these parts began, 0: not seen (phases.c)
    bool unsure;                  // ORT made another session inside: `weights` could be that one's
    uint32_t arena_count;         // arenas that were used (alloc_hook.c)
    uint64_t arenas[HK_LOAD_ARENAS];
} hk_load_note;

// A run that only ORT's own events tell of (tap_runs.c).
typedef struct hk_tap_run {
    struct hk_session *session;
    uintptr_t stack;
    uint64_t begin;
    uint32_t epoch, run;
    uint32_t session_id; // if `session` has another one, that session's place was used again
    uint16_t in_flight;
    hk_run_note outer;
} hk_tap_run;

#define HK_TAP_DEPTH 4u

// A kernel under way on this thread. `stack` tells whether it still is: a kernel that throws leaves
// through our function without a word. What every execution needs fills one cache line.
typedef struct hk_op_frame {
    _Alignas(HK_CACHE_LINE) uintptr_t stack;
    uint64_t entered; // for measuring ourselves, else 0
    uint64_t begin;
    struct hk_kernel *last, *expected; // the kernel before at this depth, and which may come next
    uint32_t epoch;
    uint32_t kernel, session, run;
    uint32_t run_inputs;            // for the KernelShapes event
    uint8_t flags;                  // as in the Op event
    bool tells_shapes, lost_shapes; // lost: those of the inputs
    struct hk_session *owner;       // on a thread that is not inside a run hook, NULL: not certain
    uint32_t inputs;                // for the KernelShapes event
    uint32_t surprises;             // how often another came than was expected
    uint64_t parameter_bytes, activation_bytes;
} hk_op_frame;
_Static_assert(offsetof(hk_op_frame, owner) <= HK_CACHE_LINE, "what comes first");

#define HK_OP_DEPTH_MAX 32u

// An event of ORT's profiler under way on this thread (shim_profiler.c).
typedef struct hk_shim_frame {
    uint64_t id, begin;
    uint32_t serial, epoch;
    uint8_t role, depth;
} hk_shim_frame;

#define HK_SHIM_DEPTH_MAX 64u

// What every operator needs comes first and fills as few cache lines as can be: between two of them
// ORT has used the whole cache for its tensors.
typedef struct hk_thread {
    _Alignas(HK_CACHE_LINE) struct hk_thread *next; // list of all, never unlinked
    _Atomic uint32_t in_use;
    _Atomic uint32_t busy; // our code runs on this thread right now
    uint32_t epoch;        // for which `producer` was claimed
    uint32_t inside;       // HK_INSIDE_*: API calls under way further up this thread's stack
    uint32_t op_depth;
    tl_producer producer;
    hk_run_note run;
    _Alignas(HK_CACHE_LINE) hk_op_frame ops[HK_OP_DEPTH_MAX];
    uint64_t op_ticks; // what operators cost us in the run that measures
    hk_tap_note tap;
    uint32_t creation_epoch; // of HK_INSIDE_TAP: when and where it was set
    uintptr_t creation_stack;
    hk_load_note load;
    uint32_t tap_depth; // may exceed HK_TAP_DEPTH: those are not recorded
    hk_tap_run tap_runs[HK_TAP_DEPTH];
    uintptr_t alloc_mark; // the allocator that this thread is inside of (alloc_hook.c)
    uint64_t alloc_grown; // what it took from the system meanwhile
    _Atomic(struct tl_etw_thread *) etw; // NULL until it has written to event tracing (etw.c)
    struct hk_shim_ep *shim_ep;          // made inside the session creation that is under way
    uint32_t shim_depth;
    hk_shim_frame shim[HK_SHIM_DEPTH_MAX];
} hk_thread;

// Instead of a state: this thread is ending and has given its ring back. What it does after that
// goes unrecorded, but for what it releases (hk_enter_to_release).
#define HK_THREAD_ENDED 1u

#define HK_INSIDE_OPTIONS 1u
#define HK_INSIDE_CREATE  2u
#define HK_INSIDE_ENV     4u
#define HK_INSIDE_SPAWN   8u
#define HK_INSIDE_TAP     16u // a session is being created, as ORT's own events tell (hk_is_loading)
#define HK_INSIDE_LOADING (HK_INSIDE_CREATE | HK_INSIDE_TAP)

// ----------------------------------------------------------------------------------------- modules

#include "api_map.h"
#include "tensor_layout.h"

typedef struct hk_module {
    uint32_t id; // on the wire; 0: slot free
    int minor;   // the Y of version 1.Y.Z
    uint8_t *base;
    size_t size;
    const void *const *api;      // the OrtApi table; NULL: ORT inside, without one (tap_hidden.c)
    _Atomic uint32_t told;       // of such a one: the Module event was sent
    void *orig[HK_API_COUNT];    // what to call to reach ORT: trampoline, or NULL if not hooked
    void *target[HK_API_COUNT];  // the function in ORT
    bool attached[HK_API_COUNT]; // our detour is in place
    uint32_t hooked, refused;
    bool armed;
    hk_tensor_layout layout;
    _Atomic uintptr_t session_vtable; // the first word of every session; 0: none was met yet
    char path[1024];
    char version[32];
} hk_module;

// ------------------------------------------------------------------------------------------- state

typedef struct hk_state {
    _Alignas(HK_CACHE_LINE) _Atomic uint32_t epoch;
    DWORD tls;
    uint32_t flags;
    tl_section_header *section;
    HANDLE section_handle, wake_hook, wake_collector, collector_process; // from the collector
    HANDLE detach_event; // ours, for ever: ortscope_hook_detach asks the watcher
    HANDLE child_reply;  // ours, for ever: the collector has dealt with a child, or is gone
    HANDLE heap;
    HANDLE volatile last_ended; // the thread of the target that ended last
    _Atomic(hk_thread *) threads;
    SRWLOCK lock; // modules, arming and disarming
    hk_module modules[HK_MODULES_MAX];
    uint32_t next_module, next_session, next_shape, next_kernel, next_allocator;
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
void hk_modules_watch(void);                    // once: be told of modules that come and go
void hk_modules_arm(void);                      // intercepts those that are loaded
void hk_modules_disarm(void);                   // restores every byte
hk_module *hk_module_slot(const uint8_t *base); // its own or a free one; g_hk.lock held
void hk_module_intercept_inside(hk_module *m);  // what is found without its C API; as above
void hk_tell_problem(uint8_t level, const char *what, const char *why);

// tap_hidden.c: takes up a module that has ORT or kernels inside, but no C API, if it is one
void hk_hidden_arm(uint8_t *base, const uint16_t *path, size_t path_units);
void hk_tell_problem_in(const hk_module *m, const char *what, const char *why); // names its file

// op_modules.c: operators. All with g_hk.lock held.
// NULL, or why operators are not (all) seen. `runtime` NULL: a module without the C API.
const char *hk_ops_arm(uint8_t *base, hk_module *runtime);
void hk_ops_disarm(void);
// Unloaded, whether we are armed or not: its memory is gone.
void hk_ops_forget(const uint8_t *base, size_t size);
void hk_ops_clear(void); // after all threads have left: no kernel is known any more
// Kernels on this thread that are below `stack` have left by an exception: tells them as failed.
// `end`: that of what they were in, 0: nobody noticed it.
void hk_ops_unwind(hk_thread *t, uint32_t epoch, uintptr_t stack, uint64_t end);

// alloc_modules.c: allocations. All with g_hk.lock held.
// NULL, or why allocations are not (all) seen. `base` is the runtime's own or that of a provider.
const char *hk_alloc_arm(uint8_t *base, hk_module *runtime);
void hk_alloc_disarm(void);
void hk_alloc_forget(const uint8_t *base, size_t size); // unloaded, as hk_ops_forget
void hk_alloc_clear(void); // after all threads have left: nothing is known any more

// children.c
void hk_children_arm(void);
void hk_children_disarm(void);

// heap.c: memory of our own, zeroed; NULL when short
void *hk_alloc(size_t bytes);
void *hk_alloc_for_good(size_t bytes); // begins a cache line; can't be given back
void hk_free(void *memory);

// `--ops sample:N`: only every Nth run of a session has its operators recorded.
static inline bool hk_runs_are_sampled(void)
{
    return g_hk.flags >> ORT_HOOK_OPS_EVERY_SHIFT > 1;
}

static inline bool hk_run_skips_ops(uint32_t run)
{
    return hk_runs_are_sampled() && run % (g_hk.flags >> ORT_HOOK_OPS_EVERY_SHIFT) != 1;
}

static inline uint64_t hk_ticks(void)
{
    return __builtin_ia32_rdtsc();
}

// The state of this thread, read straight from the thread block: TlsGetValue would clear the
// program's last error. Indexes from 64 on lie in a block of their own, made with the first of
// them.
static inline hk_thread *hk_thread_get(void)
{
    hk_thread *t, **more;
    if (__builtin_expect(g_hk.tls < 64, 1)) {
        __asm__("movq %%gs:0x1480(,%1,8), %0" : "=r"(t) : "r"((uint64_t)g_hk.tls));
        return t;
    }
    __asm__ volatile("movq %%gs:0x1780, %0" : "=r"(more));
    return more ? *(hk_thread *volatile *)&more[g_hk.tls - 64] : NULL;
}

#define HK_CREATION_FRAME_BYTES 1024u // the function that tells of a creation needs less

// Whether a session is being created further up the stack. A creation that only ORT's events tell
// of may fail, and end, without a word; and we may not be there when it ends. So it is over when
// another arming has begun, or when the stack is above the function that told of its begin.
static inline bool hk_is_loading(hk_thread *t, uint32_t epoch)
{
    if ((t->inside & HK_INSIDE_TAP) &&
        (t->creation_epoch != epoch ||
         (uintptr_t)__builtin_frame_address(0) > t->creation_stack + HK_CREATION_FRAME_BYTES))
        t->inside &= ~HK_INSIDE_TAP;
    return t->inside & HK_INSIDE_LOADING;
}

// One inside another, which may end without a word, leaves the mark of the outer one.
static inline void hk_creation_begins(hk_thread *t, uint32_t epoch, uintptr_t stack)
{
    if ((t->inside & HK_INSIDE_TAP) && t->creation_epoch == epoch && t->creation_stack > stack)
        return;
    t->inside |= HK_INSIDE_TAP;
    t->creation_epoch = epoch;
    t->creation_stack = stack;
}

// Begins our own code in a hook: NULL if we are not armed. `*epoch` is for hk_reenter().
static inline hk_thread *hk_enter(uint32_t *epoch)
{
    uint32_t now = atomic_load_explicit(&g_hk.epoch, memory_order_acquire);
    if (__builtin_expect(!(now & 1), 0))
        return NULL;
    hk_thread *t = hk_thread_get();
    if (__builtin_expect((uintptr_t)t <= HK_THREAD_ENDED, 0) && (t || !(t = hk_thread_slow())))
        return NULL;
    // A call of our own into ORT came back to a hook: it is not the program's.
    if (__builtin_expect(atomic_load_explicit(&t->busy, memory_order_relaxed) != 0, 0))
        return NULL;
    atomic_store_explicit(&t->busy, 1, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    if (__builtin_expect(atomic_load_explicit(&g_hk.epoch, memory_order_acquire) != now, 0)) {
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

// For hooks by which the program lets go of something that we know: also on a thread that has ended
// as far as we are concerned (destructors of thread_local objects come after us), where it borrows
// a state, because what dies unseen is taken for what comes to its address. Locks as
// hk_enter_to_lock; ends with hk_leave_release. In threads.c.
hk_thread *hk_enter_to_release(uint32_t *epoch);
void hk_leave_release(hk_thread *t);

// Begins our code again after ORT has returned: false if we were disarmed meanwhile.
static inline bool hk_reenter(hk_thread *t, uint32_t epoch)
{
    atomic_store_explicit(&t->busy, 1, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    if (__builtin_expect(atomic_load_explicit(&g_hk.epoch, memory_order_acquire) == epoch, 1))
        return true;
    hk_leave(t);
    return false;
}
