// SPDX-License-Identifier: MIT
// Whose a kernel is, when it runs on a thread that is not inside a run hook. The OpKernelInfo of
// every kernel refers to its session's manager of data transfers, which is a member of ORT's
// session object: an OrtSession lies where that manager lies, less a distance that is the same for
// all sessions of a runtime. The distance is found by going back from a manager to the word that
// every session begins with, its vtable; after that this word must be there for every kernel.
//
// Sessions that only ORT's own events tell of have no address: there the manager of one kernel that
// ran on the run's own thread, or while no other session could have, stands for the session.
#include "op.h"
#include "tap.h"

enum {
    INFO_MANAGER = 48,    // in an OpKernelInfo, from 1.15 to 1.30
    DISTANCE_MAX = 16384, // a session object takes about 3000 bytes
    CHUNK = 512,
    SEARCHES_MAX = 64, // each asks the system up to 32 times, inside the program's run
};
#define NO_DISTANCE UINT32_MAX // this runtime is not as we know it

static uint64_t manager_of(const hk_kernel *k)
{
    const hk_op_module *o = k->vtable->module;
    uint64_t manager = 0;
    return hk_op_copy(o, hk_kernel_info_address(k) + INFO_MANAGER, &manager, sizeof manager)
               ? manager
               : 0;
}

// How far before `manager` the nearest word with this value is, 0: nowhere near.
static uint32_t search_back(uint64_t manager, uint64_t value)
{
    uint64_t words[CHUNK / 8];
    for (uint64_t at = manager & ~(uint64_t)(CHUNK - 1); manager - at < DISTANCE_MAX; at -= CHUNK) {
        if (!hk_copy_readable(at, words, sizeof words))
            return 0;
        for (unsigned i = CHUNK / 8; i > 0; i--) {
            uint64_t place = at + (i - 1) * 8;
            if (place < manager && words[i - 1] == value)
                return (uint32_t)(manager - place);
        }
    }
    return 0;
}

// 0: not found. After enough of that nobody searches again.
static uint32_t find_distance(hk_op_module *o, uint64_t manager, uint64_t vtable)
{
    uint32_t distance = search_back(manager, vtable), unknown = 0;
    bool gives_up = !distance && atomic_fetch_add(&o->searches, 1) + 1 >= SEARCHES_MAX;
    if (!distance && !gives_up)
        return 0;
    uint32_t found = gives_up ? NO_DISTANCE : distance;
    if (!atomic_compare_exchange_strong(&o->session_distance, &unknown, found) && unknown != found)
        return 0;
    return distance;
}

// The session object that this manager is a member of, 0: can't be told.
static uint64_t session_around(hk_op_module *o, uint64_t manager)
{
    uint64_t vtable = atomic_load(&o->runtime->session_vtable), word = 0;
    uint32_t distance = atomic_load(&o->session_distance);
    if (!vtable || distance == NO_DISTANCE || manager < 65536 || (manager & 7))
        return 0;
    if (!distance && !(distance = find_distance(o, manager, vtable)))
        return 0;
    return hk_op_copy(o, manager - distance, &word, sizeof word) && word == vtable
               ? manager - distance
               : 0;
}

// Reading changes the last error, which is the program's.
static uint64_t read_owner(hk_op_module *o, const hk_kernel *k)
{
    if (atomic_load_explicit(&o->session_distance, memory_order_relaxed) == NO_DISTANCE)
        return 0;
    DWORD error = GetLastError();
    uint64_t manager = manager_of(k);
    uint64_t owner = !manager ? 0 : o->runtime ? session_around(o, manager) : manager;
    SetLastError(error);
    return owner;
}

hk_session *hk_kernel_find_owner(hk_kernel *k, bool *certain)
{
    hk_op_module *o = k->vtable->module;
    uint64_t address = atomic_load_explicit(&k->owner, memory_order_relaxed);
    *certain = true;
    if (o->runtime && !atomic_load_explicit(&o->runtime->session_vtable, memory_order_relaxed))
        return NULL; // no session of this runtime has run since we came
    if (!address) {
        address = read_owner(o, k);
        atomic_store_explicit(&k->owner, address, memory_order_relaxed);
    }
    hk_session *s = !address     ? NULL
                    : o->runtime ? hk_session_find((const OrtSession *)(uintptr_t)address)
                                 : hk_session_running_with(address, hk_tap_seen_whole(o->base));
    if (s)
        hk_kernel_belongs(k, s);
    uint64_t unknown = 0;
    if (s && !o->runtime)
        atomic_compare_exchange_strong(&s->manager, &unknown, address);
    *certain = s || (address && o->runtime);
    return s;
}

void hk_kernel_learn_owner(hk_kernel *k, hk_session *s)
{
    hk_op_module *o = k->vtable->module;
    hk_kernel_belongs(k, s);
    uint64_t owner = read_owner(o, k);
    if (!o->runtime)
        atomic_store_explicit(&s->manager, owner, memory_order_relaxed);
    else if (owner && owner != (uint64_t)(uintptr_t)s->address)
        atomic_store(&o->session_distance, NO_DISTANCE);
}
