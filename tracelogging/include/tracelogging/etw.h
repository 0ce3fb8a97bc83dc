// SPDX-License-Identifier: MIT
// A TraceLogging provider: the same events that go through the rings, written to Windows' event
// tracing (ETW) while somebody records them. Portable and freestanding; the four functions of the
// system come as a table, so that tests record what would be written.
//
// An event that nobody listens to costs its writer one load and one branch (tl_provider_wants).
//
// What ETW gets is the event's payload behind a tl_etw_prefix. Of Op and Alloc, which come by the
// thousand, ETW gets batches instead, under the names Ops and Allocs: every TraceLogging event
// carries the description of its fields along, some 240 bytes. A batch is an array of structs, each
// with the `ticks` of its event and the event's own fields.
//
// `sequence` counts, from 1, what one thread has written of one level and keyword, events that ETW
// had no room for included: a gap is a loss. Why not one count a thread: sessions that ask for
// different levels and keywords get different events, and each would see the others' as gaps.
//
// Threads: registering and closing on one thread; ETW calls back on any. A tl_etw_thread belongs to
// one thread, its batches may be flushed by others.
#pragma once

#include "tracelogging/codec.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TL_PROVIDER_NAME           "Ortscope"
#define TL_COLLECTOR_PROVIDER_NAME "Ortscope-Collector"
#define TL_GUID_TEXT               37 // "937d0347-fd00-..." and its NUL

extern const uint8_t tl_provider_guid[16];           // in the order of a GUID in memory
extern const uint8_t tl_collector_provider_guid[16]; // both are tl_guid_of_name of their names

// The GUID that .NET's EventSource and TraceLogging derive from a provider's name (ASCII).
void tl_guid_of_name(const char *name, uint8_t out[16]);
void tl_guid_text(const uint8_t guid[16], char out[TL_GUID_TEXT]);

// --------------------------------------------------------------------------------- what ETW gets

typedef struct __attribute__((packed)) tl_etw_prefix {
    uint32_t sequence; // see above
    uint32_t thread;   // whose event it is; another thread may have written it
    uint64_t ticks;    // TSC, as in the ring's record
} tl_etw_prefix;

// Batches in a tl_etw_thread
enum { TL_BATCH_OP, TL_BATCH_ALLOC, TL_BATCH_COUNT, TL_BATCH_NONE = TL_BATCH_COUNT };
int tl_etw_batch_of(tl_event event); // TL_BATCH_NONE: goes alone

// The name under which ETW gets an event of our schema, and its TraceLogging metadata.
const char *tl_etw_name(tl_event event);
size_t tl_etw_metadata(tl_event event, uint8_t *out, size_t capacity);

// ---------------------------------------------------------------------- the system's functions

#ifdef _WIN32
#define TL_ETW_CALL __stdcall
#else
#define TL_ETW_CALL
#endif

// EVENT_DESCRIPTOR and EVENT_DATA_DESCRIPTOR
typedef struct tl_etw_descriptor {
    uint16_t id;
    uint8_t version, channel, level, opcode;
    uint16_t task;
    uint64_t keyword;
} tl_etw_descriptor;

typedef struct tl_etw_data {
    uint64_t address;
    uint32_t bytes;
    uint32_t type; // 0 payload, 1 event metadata, 2 provider's traits
} tl_etw_data;

_Static_assert(sizeof(tl_etw_descriptor) == 16 && sizeof(tl_etw_data) == 16, "as Windows has them");

#define TL_ETW_CHANNEL       11 // of TraceLogging events
#define TL_ETW_SET_TRAITS    2
#define TL_ETW_DISABLE       0u // what the callback is told
#define TL_ETW_ENABLE        1u
#define TL_ETW_CAPTURE_STATE 2u
#define TL_ETW_TOO_BIG       234u // ERROR_MORE_DATA: larger than a buffer of the session
#define TL_ETW_NO_BUFFER     8u   // ERROR_NOT_ENOUGH_MEMORY: all buffers are full

typedef void TL_ETW_CALL tl_etw_callback(const void *source, uint32_t action, uint8_t level,
                                         uint64_t any, uint64_t all, void *filter, void *context);

// EtwEventRegister and so on; 0 is success. `set_information` may be NULL.
typedef struct tl_etw_api {
    uint32_t(TL_ETW_CALL *register_provider)(const void *guid, tl_etw_callback *callback,
                                             void *context, uint64_t *handle);
    uint32_t(TL_ETW_CALL *unregister_provider)(uint64_t handle);
    uint32_t(TL_ETW_CALL *set_information)(uint64_t handle, uint32_t what, void *bytes,
                                           uint32_t len);
    uint32_t(TL_ETW_CALL *write_transfer)(uint64_t handle, const tl_etw_descriptor *event,
                                          const void *activity, const void *related, uint32_t count,
                                          tl_etw_data *data);
} tl_etw_api;

// Those of this process, looked up once; NULL where there is no ETW (win32/, posix/).
const tl_etw_api *tl_etw_system(void);

// ------------------------------------------------------------------------------------ a provider

#define TL_PROVIDER_EVENTS_MAX 64u
#define TL_PROVIDER_BLOB_MAX   (12u * 1024u)

typedef size_t tl_metadata_fn(unsigned event, uint8_t *out, size_t capacity);

typedef struct tl_provider {
    _Atomic uint64_t wanted;         // bit n: somebody listens to event n
    _Atomic(const tl_etw_api *) api; // NULL: not open
    _Atomic uint64_t handle;         // 0 too, which ETW refuses
    const tl_event_info *infos;      // of event 1 and those behind it
    unsigned count;                  // one past the last event
    uint8_t traits[64];
    uint16_t traits_bytes;
    uint8_t leader[TL_PROVIDER_EVENTS_MAX]; // the first event of the same level and keyword
    uint16_t blob_at[TL_PROVIDER_EVENTS_MAX + 1];
    uint8_t blobs[TL_PROVIDER_BLOB_MAX]; // metadata of all events
    _Atomic uint32_t batch_bytes;        // at most in a batch; halved where a session's buffers are
                                         // smaller
    _Atomic uint64_t failed;             // events that ETW did not take
    _Atomic uint32_t last_failure;       // why
    // Called in ETW's callback, on any thread and perhaps under ETW's locks; `state_wanted`: what
    // was told before should be told again.
    void (*changed)(void *context, bool state_wanted);
    void *context;
} tl_provider;

// Registers. Before: `changed` and `context` are set, all else is zero. `infos` has `count` - 1
// events. False: there is no ETW, or no room for the metadata; everything else does nothing then.
bool tl_provider_open(tl_provider *p, const tl_etw_api *api, const char *name,
                      const uint8_t guid[16], const tl_event_info *infos, unsigned count,
                      tl_metadata_fn *metadata);
// Our own schema's provider.
bool tl_provider_open_hook(tl_provider *p, const tl_etw_api *api);
// Nobody writes any more, or what is written is refused by ETW.
void tl_provider_close(tl_provider *p);

static inline uint64_t tl_provider_wanted(const tl_provider *p)
{
    return atomic_load_explicit(&p->wanted, memory_order_relaxed);
}

static inline bool tl_provider_wants(const tl_provider *p, unsigned event)
{
    return tl_provider_wanted(p) >> event & 1;
}

// ------------------------------------------------------------------------------------- writing

#define TL_ETW_PARTS_MAX 28u

typedef struct tl_etw_part {
    const void *bytes;
    uint32_t len;
} tl_etw_part;

#define TL_BATCH_BYTES 16384u // fits into the buffers of usual sessions (64 KB and more)

typedef struct tl_etw_batch {
    _Atomic uint32_t lock;  // whoever has it may use the rest
    _Atomic uint32_t count; // events in it; what others see without the lock may be old
    _Atomic uint64_t key;   // what they belong to: a run, usually
    uint32_t bytes;
    uint32_t thread;
    uint64_t ticks; // of the last one
    uint8_t data[TL_BATCH_BYTES];
} tl_etw_batch;

typedef struct tl_etw_thread {
    uint32_t id;
    uint32_t sequence[TL_PROVIDER_EVENTS_MAX];       // by leader
    _Atomic(tl_etw_batch *) batches[TL_BATCH_COUNT]; // NULL: not made yet
} tl_etw_thread;

// Writes one event that goes alone; false if ETW did not take it (counted).
bool tl_etw_write(tl_provider *p, tl_etw_thread *writer, unsigned event, uint32_t thread,
                  uint64_t ticks, const tl_etw_part *parts, unsigned count);

// Puts an event of fixed size into the thread's batch; writes that first where it is full or holds
// events of another `key`. While somebody else flushes the batch, the event goes alone.
void tl_etw_gather(tl_provider *p, tl_etw_thread *owner, tl_event event, uint64_t key,
                   uint64_t ticks, const void *fixed, uint32_t fixed_bytes);

// Writes what has gathered in a batch; false if somebody else is at it. `writer` is this thread's.
bool tl_etw_flush(tl_provider *p, tl_etw_thread *writer, tl_etw_thread *owner, int batch);
