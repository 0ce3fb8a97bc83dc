// SPDX-License-Identifier: MIT
// Allocations: every allocator inside ONNX Runtime is a C++ object that derives from IAllocator.
// Where the slots of its vtable that allocate and release lead to us, we see what each run takes.
//
// How it holds together:
//   alloc_scan.c       finds the vtables (portable)
//   alloc_instance.c   finds one more in a live object where classes have no names
//   alloc_modules.c    swaps and restores their slots
//   alloc_hook.c       one allocation, one release: the hot path
//   alloc_addresses.c  address -> size, for releases (portable)
//   alloc_owner.h      which run it belongs to
//   hooks_alloc.c      the C API's own allocator, which is a struct of functions
//   alloc_arenas.c     arena objects: who they are, which session they belong to
//   alloc_stats.c      what a run took (RunMemory), the state of arenas (Memory)
//
// An arena takes its memory from another allocator: only the outermost call on a thread is an
// allocation of the program; what an arena calls inside is its growth. A call that throws leaves a
// mark on its thread that the next one further up the stack, or the next run, takes away.
//
// An arena is an object with a session and a state. Other allocators have none: one number stands
// for all objects of such a class.
//
// ORT's objects are only touched while they certainly live: an arena's statistics are asked for
// inside the hooks of its session's creation, runs and release, and its destructor waits meanwhile.
#pragma once

#include "alloc_addresses.h"
#include "alloc_scan.h"
#include "sessions.h"
#include "vtable_slots.h"

typedef void *hk_allocate_fn(void *self, size_t bytes);
typedef void *hk_allocate_on_fn(void *self, size_t bytes, void *stream);
typedef void hk_release_fn(void *self, void *memory);
typedef void hk_arena_stats_fn(void *self, void *stats);
typedef void *hk_arena_destroy_fn(void *self, unsigned flags);

// ----------------------------------------------------------------------------------------- classes

typedef struct hk_alloc_module {
    uint8_t *base; // NULL: slot free
    hk_module *runtime;
    bool swapped;
    _Atomic uint32_t attempts;   // to find what its arenas take memory from (alloc_instance.c)
    _Atomic uint32_t has_plain;  // that was found
    _Atomic uint32_t distrusted; // the state of its arenas was not what we know
    hk_scan scan;
    hk_allocators found;
} hk_alloc_module;

typedef struct hk_alloc_class {
    _Atomic(uintptr_t) address; // of the vtable; 0: free
    hk_allocate_fn *alloc, *reserve;
    hk_allocate_on_fn *on_stream;
    hk_release_fn *free;
    hk_arena_destroy_fn *destroy;
    hk_alloc_module *module;
    _Atomic uint32_t id; // of what stands for all objects of the class; 0: not told yet
    bool is_arena;
} hk_alloc_class;

#define HK_ALLOC_CLASSES 128

hk_alloc_module *hk_alloc_module_of(const uint8_t *base); // NULL: none
// Leads one more class to us. Takes g_hk.lock.
void hk_alloc_add_class(hk_alloc_module *m, uint32_t rva);
void hk_alloc_classes_clear(void); // after all threads have left: none is told

// What the slots lead to. Each class has entry points of its own, which add the last parameter.
void *hk_alloc_alloc(void *self, size_t bytes, hk_alloc_class *c);
void *hk_alloc_reserve(void *self, size_t bytes, hk_alloc_class *c);
void *hk_alloc_on_stream(void *self, size_t bytes, void *stream, hk_alloc_class *c);
void hk_alloc_free(void *self, void *memory, hk_alloc_class *c);
void *hk_alloc_destroy(void *self, unsigned flags, hk_alloc_class *c);

// ------------------------------------------------------------------------------------------ arenas

typedef struct hk_arena {
    _Atomic(uintptr_t) self; // 0: gone
    struct hk_arena *next_free;
    const hk_alloc_class *alloc_class;
    _Atomic(hk_session *) session; // NULL: not known, or gone
    _Atomic uint32_t session_id;   // of the last one
    _Atomic int64_t live_bytes;    // as counted here
    uint32_t id;
    _Atomic uint32_t announced;
    _Atomic uint32_t is_incomplete; // what it holds is not known, or not whose that is
    _Atomic uint32_t is_shared;     // several sessions that live have used it
    _Atomic uint32_t unowned;       // allocations before its session was known
    _Atomic uint32_t held;          // by how many threads; of this place, whoever has it
} hk_arena;

hk_arena *hk_arena_find(const void *self);
bool hk_arenas_any(void); // one is known
// NULL: there are more than we track, or the process ends.
hk_arena *hk_arena_take_up(const void *self, const hk_alloc_class *c, bool from_its_beginning);
hk_arena *hk_arena_at(uint64_t handle); // NULL: gone
// As hk_arena_at; what is not NULL is not destroyed before hk_arena_let_go(): whose it is may have
// been guessed wrongly, and then it dies with another session.
hk_arena *hk_arena_hold(uint64_t handle);
void hk_arena_let_go(hk_arena *a);
uint64_t hk_arena_handle(const hk_arena *a);

// This arena is one of the session's; tells of it if that has not been done.
void hk_arena_claim(hk_thread *t, uint32_t epoch, hk_arena *a, hk_session *s);
void hk_arena_announce(hk_thread *t, uint32_t epoch, hk_arena *a);
// The number of what stands for all objects of a class that is no arena.
uint32_t hk_alloc_class_id(hk_thread *t, uint32_t epoch, hk_alloc_class *c, const void *self);
void hk_arena_retire(hk_thread *t, uint32_t epoch, const void *self);
void hk_arenas_forget(const hk_alloc_module *module); // it was unloaded
void hk_arenas_clear(void);

// ------------------------------------------------------------------------------------------- state

extern hk_addresses g_hk_addresses;

// hooks_alloc.c: the C API's default allocator.
void hk_alloc_default_seen(const hk_module *m); // leads it to us; takes g_hk.lock, calls ORT
void hk_alloc_default_disarm(void);             // these with g_hk.lock held
void hk_alloc_default_forget(const hk_module *m);

// Tells the state of the session's arenas, after `run` or 0.
void hk_alloc_tell_state(hk_thread *t, uint32_t epoch, hk_session *s, uint32_t run);
