// SPDX-License-Identifier: MIT
// The ring channel: how events leave the target without a lock, a system call or a wait.
//
// One unnamed shared section per target, made by the collector:
//
//     header (one page) | schema (TL_SCHEMA_BYTES) | directory (ring_count slots) | rings
//
// Each ring has one producer (the thread that claimed it) and one consumer (the collector). `head`
// and `tail` count bytes since the beginning and never wrap; a byte's place is `count mod
// ring_bytes`. Records are 8-byte aligned and contiguous; where one does not fit before the end of
// the ring, a padding record (event 0, `size` = the bytes up to the end) fills the rest. Padding
// can be as short as 8 bytes: then it is the first half of a tl_record. A record becomes visible,
// with the padding before it, by the one store to `head`, so a producer that dies anywhere else
// leaves nothing half-written behind.
//
// A ring changes hands by `owner` alone: 0 -> thread id when claimed, back to 0 when given back.
// The new owner goes on at `head`.
//
// A full ring drops the new record and counts it in the slot; a thread that finds no free ring
// counts its drops in the header. The reader takes geometry, head and records as hostile: it uses
// its own copy of the geometry, copies bytes out before it looks at them, and bounds its work.
//
// The producer half is freestanding (no C library): it runs inside the target.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TL_CHANNEL_MAGIC   0x3168636f7274726fu // "ortroch1"
#define TL_CHANNEL_VERSION 1u
#define TL_HEADER_BYTES    4096u
#define TL_SCHEMA_BYTES    (16u * 1024u)
#define TL_RECORD_ALIGN    8u
#define TL_RECORD_MAX      (60u * 1024u) // a whole record, header included
#define TL_RINGS_MAX       1024u
#define TL_RING_BYTES_MIN                                                                          \
    (128u * 1024u) // a power of two; two records fit, so an empty ring
                   // takes any record wherever its head stands
#define TL_RING_BYTES_MAX     (64u * 1024u * 1024u)
#define TL_RINGS_DEFAULT      64u
#define TL_RING_BYTES_DEFAULT (1024u * 1024u) // an operator takes 40 bytes: 26000 of them

typedef struct tl_record {
    uint16_t size;  // of the whole record, header included, without the padding to 8
    uint16_t event; // tl_event
    uint32_t thread;
    uint64_t ticks; // TSC
} tl_record;

// Requests that the target makes of the collector; serialised by a lock in the hook.
typedef struct tl_child_mailbox {
    _Atomic uint32_t pid;     // the suspended child
    _Atomic uint32_t request; // counts up with each request
    _Atomic uint32_t reply;   // the collector stores the request it has dealt with
} tl_child_mailbox;

typedef enum tl_hook_phase {
    TL_HOOK_STARTING = 0,
    TL_HOOK_ARMED = 1,
    TL_HOOK_DETACHED = 2, // disarmed, every byte restored; no more events come
} tl_hook_phase;

typedef struct tl_section_header {
    uint64_t magic;
    uint32_t version;
    uint32_t header_bytes;
    uint64_t section_bytes;
    uint32_t ring_count;
    uint32_t ring_bytes;
    uint32_t schema_offset;
    _Atomic uint32_t schema_bytes; // stored by the hook when it has written its schema
    uint32_t directory_offset;
    uint32_t rings_offset;
    _Atomic uint32_t phase;   // tl_hook_phase, stored by the hook
    _Atomic uint32_t stop;    // stored by the collector: disarm, please
    _Atomic uint64_t dropped; // records of threads that found no free ring
    tl_child_mailbox child;
} tl_section_header;

typedef struct tl_ring_slot {
    _Alignas(64) _Atomic uint32_t owner; // thread id, 0 = free
    uint32_t reserved;
    _Atomic uint64_t head;              // written by the producer
    _Atomic uint64_t dropped;           // records that did not fit
    _Alignas(64) _Atomic uint64_t tail; // written by the consumer
} tl_ring_slot;

_Static_assert(sizeof(tl_record) == 16, "wire layout");
_Static_assert(sizeof(tl_ring_slot) == 128, "wire layout");
_Static_assert(sizeof(tl_section_header) <= TL_HEADER_BYTES, "header page");

// 0 if the geometry is not allowed.
size_t tl_section_bytes(uint32_t ring_count, uint32_t ring_bytes);

// Collector: makes `memory` (zeroed, page aligned, tl_section_bytes() long) a channel.
void tl_section_init(void *memory, uint32_t ring_count, uint32_t ring_bytes);

// Hook: true if `memory` of `mapped_bytes` is a channel of our version that lies wholly inside.
bool tl_section_check(const void *memory, size_t mapped_bytes);

// Hook: writes the schema into the section, before the first record and before phase ARMED.
bool tl_section_publish_schema(void *memory);

// --------------------------------------------------------------------------- producer (one thread)

typedef struct tl_producer {
    tl_section_header *section;
    tl_ring_slot *slot; // NULL: no ring was free
    uint8_t *data;
    uint64_t head;
    uint64_t tail_seen;  // what the consumer had read when we last looked
    uint32_t ring_bytes; // 0: no ring
    uint32_t thread;
    uint32_t misses; // records dropped for want of a ring
} tl_producer;

// Claims a free ring for the thread (id not 0). False: none is free; the producer can be used all
// the same, each record then counts as dropped and now and then the claim is tried again. So call
// tl_producer_release at the thread's end in either case. `section` has passed tl_section_check.
bool tl_producer_claim(tl_producer *p, void *section, uint32_t thread);

// Gives the ring back; what is in it stays readable and the next owner goes on behind it. Records
// begun after it count as dropped.
void tl_producer_release(tl_producer *p);

// Space for a payload of at most `payload_max` bytes, or NULL (counted as dropped). 8-byte aligned.
// A record begun may be abandoned by not ending it. One at a time: a hook that is entered again on
// the same thread between begin and end must not begin another. channel_inline.h has inline forms.
void *tl_producer_begin(tl_producer *p, uint32_t payload_max);

// Publishes the record begun (begin did not return NULL), with the first `payload_bytes` of its
// payload, at most the `payload_max` given there.
void tl_producer_end(tl_producer *p, uint16_t event, uint64_t ticks, uint32_t payload_bytes);

// ------------------------------------------------------------------------ consumer (the collector)

typedef struct tl_consumer tl_consumer;

typedef struct tl_losses {
    uint64_t ring_full; // counted by producers in their slots
    uint64_t no_ring;   // counted by producers in the header
    uint64_t damaged;   // times that a ring's head or a record made no sense and the ring was reset
} tl_losses;

// Borrows `section`, which has the geometry given here whatever its header says. NULL: the geometry
// is not allowed, or out of memory; the thread's error text says which.
tl_consumer *tl_consumer_create(void *section, uint32_t ring_count, uint32_t ring_bytes);
void tl_consumer_destroy(tl_consumer *c);

// `payload` is a private, 8-byte aligned copy of record->size - 16 bytes.
typedef void tl_record_fn(void *context, const tl_record *record, const uint8_t *payload);

// Hands on what was published when it was called, ring by ring, at most one ring's bytes each.
// Returns the number of records. Never blocks.
size_t tl_consumer_drain(tl_consumer *c, tl_record_fn *fn, void *context);

// Totals since creation. Values only grow, whatever the target does to its counters.
tl_losses tl_consumer_losses(tl_consumer *c);

// A private copy of the schema that the hook has published, for tl_decoder_create; returns its
// size, 0 if there is none yet. `out` holds TL_SCHEMA_BYTES.
size_t tl_consumer_schema(const tl_consumer *c, uint8_t *out);
