// SPDX-License-Identifier: MIT
// Operators: every kernel of ONNX Runtime is a C++ object whose vtable holds Compute in slot 1.
// Where both slots 0 (destructor) and 1 of every such vtable lead to us, we see each execution of
// each kernel, of sessions made long before we came too.
//
// How it holds together:
//   op_scan*.c     finds the vtables (portable)
//   op_modules.c   which modules have kernels; swaps and restores
//   op_vtables.c   the functions that were there, and entry points that know them; both live for
//                  ever, so that a call that is under way when we leave finds its way
//   op_kernels.c   kernel object -> who it is; retired by the destructor, because addresses are
//                  reused at once
//   op_identity.c  asks a kernel who it is, once
//   op_owner.c     its session, where the thread does not tell
//   op_text.c      what the names of classes and providers tell (portable)
//   op_names.c     and what its tensors are called
//   op_shapes.c    reads what it was given, once per set of the session's inputs
//   op_hook.c      the hot path
//
// Swapping is one aligned 8-byte store per slot: a thread calls either the old or the new function,
// and both are right. Slot 0 is swapped before slot 1 and restored after it: a kernel that we know
// can't be destroyed unseen.
#pragma once

#include "op_scan.h"
#include "op_text.h"
#include "sessions.h"

// MSVC's convention for a member function that returns an object: this, where the result goes, then
// the parameters; the result's address comes back.
typedef void *hk_compute_fn(void *self, void *status, void *context);
typedef void *hk_destroy_fn(void *self, unsigned flags);

// ----------------------------------------------------------------------------------------- vtables

// Where a context keeps the values of its node (op_outputs.c).
typedef struct hk_context_layout {
    _Atomic uint32_t state; // HK_LAYOUT_*
    uint32_t attempts;
    uint32_t starts_at;  // in the context: where the node's inputs, implicit inputs, outputs begin
    uint32_t values_at;  // in the frame: address of all values
    uint32_t info_at;    // in the frame: address of what knows which value is which
    uint32_t indexes_at; // in that: address of the values' numbers, node by node
} hk_context_layout;

typedef struct hk_op_module {
    uint8_t *base;      // NULL: slot free
    hk_module *runtime; // the C API that speaks for its kernels
    bool swapped;
    _Atomic uint32_t trusted; // kernels whose structures were checked byte by byte and were right
    uint32_t vtable_count;
    uint32_t *vtable_rvas; // hk_alloc
    hk_scan scan;
    hk_context_layout context;
    _Atomic uint32_t session_distance; // 0: not known yet (op_owner.c)
    _Atomic uint32_t searches;         // for it that found nothing
} hk_op_module;

typedef struct hk_vtable {
    _Atomic(uintptr_t) address; // 0: free, 1: free again
    hk_compute_fn *compute;
    hk_destroy_fn *destroy;
    hk_op_module *module;
} hk_vtable;

#define HK_VTABLE_SLOTS 8192 // a power of two

// Swaps what can be swapped of `module`'s vtables; returns how many were. Those whose slots lead
// out of the module belong to somebody else and are left alone. *full: some had no place.
uint32_t hk_vtables_swap(hk_op_module *module, bool *full);
void hk_vtables_forget(const uint8_t *base, size_t size); // unloaded, whether we are armed or not
void hk_vtables_restore(hk_op_module *module);

// ----------------------------------------------------------------------------------------- kernels

// A model whose inputs grow with each run (a decoder's) would have its shapes read for ever.
#define HK_KERNEL_TELLS 256u // after so many times its shapes are told after pauses only,
#define HK_KERNEL_PAUSE 15u  // so many executions with new inputs
#define HK_KERNEL_SETS  64u  // sets of session inputs for which its shapes are known to be told
#define HK_SET_UNTOLD   UINT32_MAX

// What every execution needs comes first and fills one cache line.
typedef struct hk_kernel {
    _Alignas(HK_CACHE_LINE) _Atomic(uintptr_t) self; // 0: retired
    _Atomic(struct hk_kernel *) next;
    _Atomic(struct hk_kernel *) after; // which one was executed after it: a guess
    const hk_vtable *vtable;
    uint32_t id;
    uint32_t epoch;
    _Atomic(hk_session *) session; // NULL: not known yet
    _Atomic uint32_t session_id;   // of that one: its place may be another's when the kernel ends
    _Atomic uint32_t set; // the session's inputs last described; HK_SET_UNTOLD before the first
    _Atomic uint32_t announced;
    _Atomic uint32_t set_before;      // `set` before that: inputs of two kinds in turn
    _Atomic uint64_t owner;           // what tells its session, 0: not read yet (op_owner.c)
    _Atomic int64_t memory;           // last told (shim)
    _Atomic uint32_t losses, wait;    // see hk_kernel_waits
    SRWLOCK lock;                     // for changing what follows
    _Atomic uint32_t described_count; // ever; the oldest gives way
    _Atomic uint32_t described[HK_KERNEL_SETS];
} hk_kernel;
_Static_assert(offsetof(hk_kernel, owner) <= HK_CACHE_LINE, "what comes first");

#define HK_KERNEL_BITS 14u
extern _Atomic(hk_kernel *) g_hk_kernels[1u << HK_KERNEL_BITS];

static inline uint32_t hk_kernel_place(const void *self)
{
    return (uint32_t)(((uint64_t)(uintptr_t)self >> 4) * 0x9e3779b97f4a7c15u >>
                      (64 - HK_KERNEL_BITS));
}

// NULL also where a chain changed under our feet: hk_kernel_take_up() looks again.
static inline hk_kernel *hk_kernel_find(const void *self, uint32_t epoch)
{
    hk_kernel *k = atomic_load_explicit(&g_hk_kernels[hk_kernel_place(self)], memory_order_acquire);
    for (unsigned n = 0; k && n < 64; n++) {
        if (atomic_load_explicit(&k->self, memory_order_acquire) == (uintptr_t)self)
            return k->epoch == epoch ? k : NULL;
        k = atomic_load_explicit(&k->next, memory_order_acquire);
    }
    return NULL;
}

static inline void hk_kernel_belongs(hk_kernel *k, hk_session *s)
{
    atomic_store_explicit(&k->session_id, s->id, memory_order_relaxed);
    atomic_store_explicit(&k->session, s, memory_order_release);
}

hk_kernel *hk_kernel_take_up(const void *self, const hk_vtable *vtable, uint32_t epoch);
// Its number, 0: was not known. *owner: whose it was; that session may be gone.
uint32_t hk_kernel_retire(const void *self, uint32_t epoch, hk_session_ref *owner);
void hk_kernels_clear(void);
void hk_kernels_forget(uintptr_t base, size_t size); // those with vtables there

// Whether its shapes were told for this set of the session's inputs, as far as we remember. What
// was forgotten is told again, which does no harm. Takes no lock.
bool hk_kernel_is_described(const hk_kernel *k, uint32_t set);
void hk_kernel_described(hk_kernel *k, uint32_t set);
void hk_kernel_note_set(hk_kernel *k, uint32_t set); // described: executions with it come now
// They could not be told: the ring is full, or the kernel failed. The next attempt comes after 1,
// 2, 4, ... 64 executions, since reading shapes takes longer than an operator may.
void hk_kernel_undescribed(hk_kernel *k);
bool hk_kernel_waits(hk_kernel *k);

// For the shim, whose kernels have no object (`self` is a hash of who they are, `vtable` NULL):
// they end with their session.
typedef void hk_kernel_ended_fn(void *context, uint32_t kernel);
void hk_kernels_retire_of(const hk_session *s, hk_kernel_ended_fn *ended, void *context);
// Kernels of sessions that gave way are nobody's until they run again.
void hk_kernels_disown(void);

bool hk_is_readable(uint64_t address, size_t bytes); // as the system says

// The same for whoever looks at many places near each other: `known`, empty at first, keeps what
// the system said last.
typedef struct hk_region {
    uint64_t begin, end;
} hk_region;
bool hk_region_covers(hk_region *known, uint64_t address, size_t bytes);

// Copies memory that may not be there, or no longer: false if it can't be read. Changes the last
// error.
bool hk_copy_readable(uint64_t address, void *to, size_t bytes);
// The same, quicker, for what ORT keeps while we look if it is what we think.
bool hk_copy_living(uint64_t address, void *to, size_t bytes);

// The same for the structures of kernels: no longer asks the system once enough of a module's were
// as expected.
bool hk_op_copy(const hk_op_module *o, uint64_t address, void *to, size_t bytes);
uint64_t hk_kernel_info_address(const hk_kernel *k);

// The session of a kernel by the kernel itself; binds it. NULL and *certain: one that we have not
// met, so that its runs under way began before we came.
hk_session *hk_kernel_find_owner(hk_kernel *k, bool *certain);
// It runs on the thread of a run of this session.
void hk_kernel_learn_owner(hk_kernel *k, hk_session *s);

// What the C API calls an OrtKernelInfo; NULL if the object does not look as we know it.
const OrtKernelInfo *hk_kernel_info(const hk_kernel *k);

// Sends the kernel's identity; false if it was dropped.
bool hk_kernel_announce(hk_thread *t, uint32_t epoch, const hk_kernel *k, const hk_session *s);

// Sends the names of its tensors, where the runtime tells them.
void hk_kernel_tell_names(hk_thread *t, uint32_t epoch, const hk_kernel *k);

// -------------------------------------------------------------------------------------- executions

// The values of a kernel's outputs, after it ran: NULL for each that is not there. False if they
// can't be had without asking ORT to make them. `inputs` are what the C API calls its inputs.
bool hk_context_outputs(hk_context_layout *layout, const void *self, const void *context,
                        const OrtValue *const *inputs, size_t input_count, const OrtValue **outputs,
                        size_t output_count);

// Reads the shapes of a kernel's inputs, before it runs; false if they could not be sent.
bool hk_op_shapes_before(hk_thread *t, uint32_t epoch, const hk_kernel *k, const void *context,
                         hk_op_frame *f);
// Reads those of its outputs, if that is safe, and tells both; false if that was dropped.
bool hk_op_shapes_after(hk_thread *t, uint32_t epoch, const hk_kernel *k, const void *context,
                        const hk_op_frame *f);

// What a vtable's slots lead to. Each vtable has entry points of its own (op_vtables.c), which add
// the last parameter: no lookup, and a copy that somebody makes of a vtable works like the
// original.
void *hk_op_compute(void *self, void *status, void *context, const hk_vtable *v);
void *hk_op_destroy(void *self, unsigned flags, const hk_vtable *v);
