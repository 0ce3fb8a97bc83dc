// SPDX-License-Identifier: MIT
// Registering a provider, who listens to what, and writing one event. Freestanding: it runs inside
// the target, on any of its threads; it takes no lock and allocates nothing.
#include "tracelogging/etw.h"

#include <string.h>

#define DATA_MAX (TL_ETW_PARTS_MAX + 3u) // traits, metadata, prefix

// A session that asks for level 0 or for no keyword at all gets everything; an event without a
// keyword passes always. ETW itself decides once more for each session.
static bool passes(const tl_event_info *info, uint8_t level, uint64_t any, uint64_t all)
{
    if (level != 0 && info->level > level)
        return false;
    return info->keyword == 0 || any == 0 ||
           ((info->keyword & any) != 0 && (info->keyword & all) == all);
}

static void TL_ETW_CALL on_enable(const void *source, uint32_t action, uint8_t level, uint64_t any,
                                  uint64_t all, void *filter, void *context)
{
    (void)source;
    (void)filter;
    tl_provider *p = context;
    if (action == TL_ETW_ENABLE || action == TL_ETW_DISABLE) {
        uint64_t wanted = 0;
        for (unsigned i = 1; i < p->count && action == TL_ETW_ENABLE; i++)
            if (passes(&p->infos[i - 1], level, any, all))
                wanted |= (uint64_t)1 << i;
        atomic_store_explicit(&p->wanted, wanted, memory_order_relaxed);
    }
    if (p->changed != NULL)
        p->changed(p->context, action != TL_ETW_DISABLE);
}

// Read once by whoever uses it: a thread that is late may meet a provider that is being closed.
static const tl_etw_api *api_of(const tl_provider *p)
{
    return atomic_load_explicit(&p->api, memory_order_relaxed);
}

static bool make_traits(tl_provider *p, const char *name)
{
    size_t used = 2;
    do {
        if (used == sizeof p->traits)
            return false;
        p->traits[used++] = (uint8_t)*name;
    } while (*name++ != '\0');
    p->traits_bytes = (uint16_t)used;
    memcpy(p->traits, &p->traits_bytes, sizeof p->traits_bytes);
    return true;
}

static bool make_blobs(tl_provider *p, tl_metadata_fn *metadata)
{
    size_t used = 0;
    for (unsigned i = 1; i < p->count; i++) {
        size_t bytes = metadata(i, p->blobs + used, sizeof p->blobs - used);
        if (bytes == 0)
            return false;
        p->blob_at[i] = (uint16_t)used;
        used += bytes;
        unsigned leader = 1;
        while (p->infos[leader - 1].level != p->infos[i - 1].level ||
               p->infos[leader - 1].keyword != p->infos[i - 1].keyword)
            leader++;
        p->leader[i] = (uint8_t)leader;
    }
    p->blob_at[p->count] = (uint16_t)used;
    return true;
}

bool tl_provider_open(tl_provider *p, const tl_etw_api *api, const char *name,
                      const uint8_t guid[16], const tl_event_info *infos, unsigned count,
                      tl_metadata_fn *metadata)
{
    if (api == NULL || count > TL_PROVIDER_EVENTS_MAX)
        return false;
    p->infos = infos;
    p->count = count;
    atomic_store_explicit(&p->batch_bytes, TL_BATCH_BYTES, memory_order_relaxed);
    if (!make_traits(p, name) || !make_blobs(p, metadata))
        return false;
    atomic_store_explicit(&p->api, api, memory_order_relaxed);
    // ETW may call back before this returns; nobody may write before it has.
    uint64_t handle = 0;
    if (api->register_provider(guid, on_enable, p, &handle) != 0) {
        atomic_store_explicit(&p->api, NULL, memory_order_relaxed);
        return false;
    }
    atomic_store_explicit(&p->handle, handle, memory_order_relaxed);
    // Where it fails (Windows before 2015), recordings lack the provider's name, nothing else.
    if (api->set_information != NULL)
        api->set_information(handle, TL_ETW_SET_TRAITS, p->traits, p->traits_bytes);
    return true;
}

static size_t hook_metadata(unsigned event, uint8_t *out, size_t capacity)
{
    return tl_etw_metadata((tl_event)event, out, capacity);
}

_Static_assert(TL_EVENT_COUNT <= TL_PROVIDER_EVENTS_MAX, "one bit each");

bool tl_provider_open_hook(tl_provider *p, const tl_etw_api *api)
{
    return tl_provider_open(p, api, TL_PROVIDER_NAME, tl_provider_guid, tl_event_get((tl_event)1),
                            TL_EVENT_COUNT, hook_metadata);
}

void tl_provider_close(tl_provider *p)
{
    const tl_etw_api *api = api_of(p);
    if (api == NULL)
        return;
    atomic_store_explicit(&p->wanted, 0, memory_order_relaxed);
    // No callback comes after it.
    api->unregister_provider(atomic_exchange_explicit(&p->handle, 0, memory_order_relaxed));
    atomic_store_explicit(&p->wanted, 0, memory_order_relaxed);
    atomic_store_explicit(&p->api, NULL, memory_order_relaxed);
}

// ---------------------------------------------------------------------------------------- writing

static void note_failure(tl_provider *p, uint32_t status)
{
    atomic_store_explicit(&p->last_failure, status, memory_order_relaxed);
    if (status != TL_ETW_TOO_BIG)
        return;
    // Some session has small buffers: the next batches are shorter.
    uint32_t bytes = atomic_load_explicit(&p->batch_bytes, memory_order_relaxed);
    if (bytes > 1024)
        atomic_store_explicit(&p->batch_bytes, bytes / 2, memory_order_relaxed);
}

static bool write_parts(tl_provider *p, tl_etw_thread *writer, unsigned event, uint32_t thread,
                        uint64_t ticks, const tl_etw_part *parts, unsigned count)
{
    const tl_etw_api *api = api_of(p);
    if (api == NULL)
        return false;
    const tl_event_info *info = &p->infos[event - 1];
    const tl_etw_descriptor descriptor = {
        .channel = TL_ETW_CHANNEL, .level = info->level, .keyword = info->keyword};
    tl_etw_prefix prefix = {++writer->sequence[p->leader[event]], thread, ticks};
    tl_etw_data data[DATA_MAX] = {{(uintptr_t)p->traits, p->traits_bytes, 2},
                                  {(uintptr_t)(p->blobs + p->blob_at[event]),
                                   (uint32_t)p->blob_at[event + 1] - p->blob_at[event], 1},
                                  {(uintptr_t)&prefix, sizeof prefix, 0}};
    uint32_t used = 3;
    for (unsigned i = 0; i < count; i++)
        if (parts[i].len != 0)
            data[used++] = (tl_etw_data){(uintptr_t)parts[i].bytes, parts[i].len, 0};
    uint64_t handle = atomic_load_explicit(&p->handle, memory_order_relaxed);
    uint32_t status = api->write_transfer(handle, &descriptor, NULL, NULL, used, data);
    if (status != 0)
        note_failure(p, status);
    return status == 0;
}

bool tl_etw_write(tl_provider *p, tl_etw_thread *writer, unsigned event, uint32_t thread,
                  uint64_t ticks, const tl_etw_part *parts, unsigned count)
{
    if (api_of(p) == NULL || count > TL_ETW_PARTS_MAX)
        return false;
    bool written = write_parts(p, writer, event, thread, ticks, parts, count);
    if (!written)
        atomic_fetch_add_explicit(&p->failed, 1, memory_order_relaxed);
    return written;
}

// ---------------------------------------------------------------------------------------- batches

static const tl_event batched[TL_BATCH_COUNT] = {
    [TL_BATCH_OP] = TL_EVENT_Op, [TL_BATCH_ALLOC] = TL_EVENT_Alloc};

static void write_elements(tl_provider *p, tl_etw_thread *writer, tl_event event, uint32_t thread,
                           uint64_t ticks, const void *bytes, uint32_t len, uint32_t count)
{
    uint16_t wire_count = (uint16_t)count;
    const tl_etw_part parts[] = {{&wire_count, sizeof wire_count}, {bytes, len}};
    if (!write_parts(p, writer, event, thread, ticks, parts, 2))
        atomic_fetch_add_explicit(&p->failed, count, memory_order_relaxed);
}

// With the batch's lock.
static void write_batch(tl_provider *p, tl_etw_thread *writer, tl_event event, tl_etw_batch *b)
{
    uint32_t count = atomic_load_explicit(&b->count, memory_order_relaxed);
    if (count != 0)
        write_elements(p, writer, event, b->thread, b->ticks, b->data, b->bytes, count);
    atomic_store_explicit(&b->count, 0, memory_order_relaxed);
    b->bytes = 0;
}

static bool try_lock(tl_etw_batch *b)
{
    return atomic_exchange_explicit(&b->lock, 1, memory_order_acquire) == 0;
}

static void unlock(tl_etw_batch *b)
{
    atomic_store_explicit(&b->lock, 0, memory_order_release);
}

static void put(tl_etw_batch *b, uint64_t ticks, const void *fixed, uint32_t fixed_bytes)
{
    memcpy(b->data + b->bytes, &ticks, sizeof ticks);
    memcpy(b->data + b->bytes + sizeof ticks, fixed, fixed_bytes);
    b->bytes += (uint32_t)sizeof ticks + fixed_bytes;
    b->ticks = ticks;
    atomic_store_explicit(&b->count, atomic_load_explicit(&b->count, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

#define ELEMENT_MAX 64u
_Static_assert(sizeof(tl_Op) + 8 <= ELEMENT_MAX && sizeof(tl_Alloc) + 8 <= ELEMENT_MAX, "");

void tl_etw_gather(tl_provider *p, tl_etw_thread *owner, tl_event event, uint64_t key,
                   uint64_t ticks, const void *fixed, uint32_t fixed_bytes)
{
    uint32_t need = fixed_bytes + (uint32_t)sizeof ticks;
    if (need > ELEMENT_MAX)
        return;
    tl_etw_batch *b =
        atomic_load_explicit(&owner->batches[tl_etw_batch_of(event)], memory_order_relaxed);
    if (b == NULL || !try_lock(b)) {
        uint8_t element[ELEMENT_MAX];
        memcpy(element, &ticks, sizeof ticks);
        memcpy(element + sizeof ticks, fixed, fixed_bytes);
        write_elements(p, owner, event, owner->id, ticks, element, need, 1);
        return;
    }
    if (b->bytes + need > atomic_load_explicit(&p->batch_bytes, memory_order_relaxed) ||
        atomic_load_explicit(&b->key, memory_order_relaxed) != key)
        write_batch(p, owner, event, b);
    atomic_store_explicit(&b->key, key, memory_order_relaxed);
    b->thread = owner->id;
    put(b, ticks, fixed, fixed_bytes);
    unlock(b);
}

bool tl_etw_flush(tl_provider *p, tl_etw_thread *writer, tl_etw_thread *owner, int batch)
{
    tl_etw_batch *b = atomic_load_explicit(&owner->batches[batch], memory_order_acquire);
    if (b == NULL || atomic_load_explicit(&b->count, memory_order_relaxed) == 0)
        return true;
    if (!try_lock(b))
        return false;
    write_batch(p, writer, batched[batch], b);
    unlock(b);
    return true;
}
