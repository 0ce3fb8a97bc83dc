// SPDX-License-Identifier: MIT
// When there is no room for another kernel or tensor: kernels of sessions that are over are added
// up, those of a type into one, which keeps all totals but not the names of nodes. First those of
// sessions that are no longer told of, then, if need be, of all that have ended; whoever asks for
// their operators gets them from the file. Other kernels keep their places: executions refer to
// them.
#include "live_state.h"

#include <stdlib.h>
#include <string.h>

typedef struct fold {
    da_live *l;
    bool ended_too;
    uint32_t *into;   // of each kernel: one past the place that it becomes part of, 0: it stays
    cm_map first;     // hashes of what a kernel is: the first one
    int64_t found_id; // the session that was looked for last
    const da_session *found;
} fold;

// ----------------------------------------------------------------------------- what may be folded

// Kernels of a session mostly stand together.
static const da_session *session_of(fold *f, const da_kernel *k)
{
    if (k->session != f->found_id) {
        f->found_id = k->session;
        f->found = da_session_find(f->l, k->session);
    }
    return f->found;
}

// Numbers of sessions rise. One that is not there and has a larger number than all that made room
// may still be loading.
static bool may_fold(fold *f, const da_kernel *k)
{
    const da_session *s = session_of(f, k);
    if (!k->used || s)
        return k->used && f->ended_too && s->ended_ns >= 0;
    return k->session > 0 ? k->session <= f->l->evicted_session : k->folded;
}

// A session that is told of keeps what is its own.
static int64_t owner(fold *f, const da_kernel *k)
{
    return session_of(f, k) ? k->session : 0;
}

static bool same_type(const da_kernel *a, const da_kernel *b)
{
    return a->op_type == b->op_type && (a->op_type || a->kernel_class == b->kernel_class) &&
           a->domain == b->domain && a->provider == b->provider && a->submits == b->submits;
}

static int64_t hash_of(fold *f, const da_kernel *k)
{
    const int64_t parts[] = {owner(f, k), k->op_type,  k->op_type ? 0 : k->kernel_class,
                             k->domain,   k->provider, k->submits};
    uint64_t hash = 14695981039346656037u; // FNV-1a, by words
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        hash = (hash ^ (uint64_t)parts[i]) * 1099511628211u;
    return (int64_t)hash;
}

// False without memory.
static bool plan(fold *f)
{
    const da_live *l = f->l;
    for (size_t i = 0; i < l->kernel_count; i++) {
        const da_kernel *k = &l->kernels[i];
        size_t first;
        f->into[i] = 0;
        if (!may_fold(f, k))
            continue;
        int64_t hash = hash_of(f, k);
        if (!cm_map_find(&f->first, hash, &first)) {
            first = i;
            if (!cm_map_put(&f->first, hash, i))
                return false;
        } else if (!same_type(&l->kernels[first], k)) {
            first = i; // a file can make hashes equal
        }
        f->into[i] = (uint32_t)first + 1;
    }
    return true;
}

// Rows may still come of what is folded now; what was folded earlier is forgotten. False without
// memory.
static bool renew_map(const fold *f)
{
    cm_map renewed;
    const cm_map *old = &f->l->kernel_by_id;
    cm_map_init(&renewed);
    for (size_t i = 0; i < old->capacity; i++) {
        if (!old->slots[i].value_plus_1)
            continue;
        size_t at = old->slots[i].value_plus_1 - 1;
        const da_kernel *k = &f->l->kernels[at];
        if (!k->used || k->folded || k->id != old->slots[i].key)
            continue;
        if (!cm_map_put(&renewed, k->id, f->into[at] ? f->into[at] - 1 : at)) {
            cm_map_deinit(&renewed);
            return false;
        }
    }
    cm_map_deinit(&f->l->kernel_by_id);
    f->l->kernel_by_id = renewed;
    return true;
}

// ---------------------------------------------------------------------------------------- folding

static void add(da_kernel *into, const da_kernel *k)
{
    into->calls += k->calls;
    into->failed += k->failed;
    into->total_ns += k->total_ns;
    into->self_ns += k->self_ns;
    into->max_ns = k->max_ns > into->max_ns ? k->max_ns : into->max_ns;
    into->folded += k->folded ? k->folded : 1;
}

static void set_free(da_live *l, size_t at)
{
    l->kernels[at] = (da_kernel){.last_tensor = l->free_kernel};
    l->free_kernel = (uint32_t)at + 1;
    l->kernels_free++;
}

static void carry_out(fold *f)
{
    da_live *l = f->l;
    for (size_t i = 0; i < l->kernel_count; i++) {
        da_kernel *k = &l->kernels[i];
        if (!f->into[i])
            continue;
        if (f->into[i] != i + 1) {
            add(&l->kernels[f->into[i] - 1], k);
            set_free(l, i);
            continue;
        }
        k->folded = k->folded ? k->folded : 1;
        k->session = owner(f, k);
        k->node = 0;
        k->last_tensor = 0;
        k->tensors_missing = false;
    }
    for (size_t i = 0; i < l->session_count && f->ended_too; i++) {
        if (l->sessions[i]->ended_ns < 0)
            continue;
        da_ring_deinit(&l->sessions[i]->ops);
        l->sessions[i]->ops_gone = INT64_MAX;
    }
}

static bool fold_kernels(da_live *l, bool ended_too)
{
    fold f = {.l = l, .ended_too = ended_too};
    f.into = malloc((l->kernel_count + 1) * sizeof *f.into);
    cm_map_init(&f.first);
    bool done = f.into && plan(&f) && renew_map(&f);
    if (done)
        carry_out(&f);
    cm_map_deinit(&f.first);
    free(f.into);
    return done;
}

// ---------------------------------------------------------------------------------------- tensors

// Those of kernels that are still one each move together; `before` always leads to a lower place.
static bool compact_tensors(da_live *l)
{
    da_tensor *tensors = (da_tensor *)(void *)l->tensors.data;
    size_t count = l->tensors.len / sizeof *tensors, kept = 0;
    uint32_t *moved =
        calloc(count + 1, sizeof *moved); // one past the new place, by one past the old
    if (!moved)
        return false;
    for (size_t i = 0; i < l->kernel_count; i++)
        for (uint32_t at = l->kernels[i].used ? l->kernels[i].last_tensor : 0; at;
             at = tensors[at - 1].before)
            moved[at] = 1;
    for (size_t at = 1; at <= count; at++) {
        if (!moved[at])
            continue;
        da_tensor tensor = tensors[at - 1];
        tensor.before = moved[tensor.before];
        tensors[kept++] = tensor;
        moved[at] = (uint32_t)kept;
    }
    for (size_t i = 0; i < l->kernel_count; i++)
        if (l->kernels[i].used)
            l->kernels[i].last_tensor = moved[l->kernels[i].last_tensor];
    l->tensors.len = kept * sizeof *tensors;
    free(moved);
    return true;
}

static bool enough_is_free(const da_live *l)
{
    return l->kernel_count - l->kernels_free <= DA_KERNELS / 4 * 3 &&
           l->tensors.len / sizeof(da_tensor) <= DA_TENSORS / 4 * 3;
}

bool da_kernels_reclaim(da_live *l)
{
    if (!l->some_over)
        return false; // nothing can have changed: who asks for every row must not search each time
    l->some_over = false;
    for (int ended_too = 0; ended_too < 2; ended_too++) {
        if (!fold_kernels(l, ended_too) || !compact_tensors(l))
            return false;
        if (enough_is_free(l))
            break;
    }
    return true;
}
