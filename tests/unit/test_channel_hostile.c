// SPDX-License-Identifier: MIT
// A section full of lies: whatever stands in headers, slots and records, and while it changes under
// the reader's eyes, the reader stays inside the section (the address sanitizer watches), does a
// bounded amount of work, and goes on serving the other rings.
#include "channel_fixture.h"

#include <pthread.h>

#if defined(__SANITIZE_THREAD__)
#define UNDER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDER_TSAN 1
#endif
#endif

enum { RINGS = 3, RING_BYTES = 4096, RECORDS_MAX = RINGS * RING_BYTES / 16, RESETS_MAX = 16 };

static void *section;
static size_t section_bytes;
static tl_consumer *consumer;
static volatile uint8_t sink;
static size_t good; // records of the honest producer

static const uint64_t evil[] = {
    0,
    1,
    7,
    8,
    9,
    15,
    16,
    24,
    4088,
    4095,
    4096,
    4097,
    4104,
    8192,
    60 * 1024,
    65535,
    65536,
    0x7fffffff,
    0x80000000u,
    0xfffffff8u,
    0xffffffff,
    0x100000000,
    INT64_MAX,
    1ull << 63,
    UINT64_MAX - 4095,
    UINT64_MAX,
    UINT64_MAX - 7,
};
enum { EVIL_COUNT = sizeof evil / sizeof *evil };

void setUp(void)
{
    section = fixture_section(RINGS, RING_BYTES, &section_bytes);
    consumer = tl_consumer_create_any(section, RINGS, RING_BYTES);
    good = 0;
}

void tearDown(void)
{
    tl_consumer_destroy(consumer);
    fixture_free(section);
}

static void remake(void)
{
    tearDown();
    setUp();
}

static void touch(void *context, const tl_record *record, const uint8_t *payload)
{
    (void)context;
    TEST_ASSERT_GREATER_OR_EQUAL_UINT16(sizeof *record, record->size);
    TEST_ASSERT_LESS_OR_EQUAL_UINT32(TL_RECORD_MAX, record->size);
    TEST_ASSERT_NOT_EQUAL_UINT16(0, record->event);
    TEST_ASSERT_EQUAL_UINT64(0, (uintptr_t)payload % 8);
    for (size_t i = 0; i < record->size - sizeof *record; i++)
        sink = (uint8_t)(sink ^ payload[i]);
    if (record->event == 0x7777 && fixture_matches(payload, record->ticks, 40))
        good++;
}

static void drain(void)
{
    tl_losses before = tl_consumer_losses(consumer);
    TEST_ASSERT_LESS_OR_EQUAL_UINT64(RECORDS_MAX, tl_consumer_drain(consumer, touch, NULL));
    tl_losses after = tl_consumer_losses(consumer);
    TEST_ASSERT_GREATER_OR_EQUAL_UINT64(before.ring_full, after.ring_full);
    TEST_ASSERT_GREATER_OR_EQUAL_UINT64(before.no_ring, after.no_ring);
    TEST_ASSERT_GREATER_OR_EQUAL_UINT64(before.damaged, after.damaged);
    TEST_ASSERT_LESS_OR_EQUAL_UINT64(RINGS * RESETS_MAX, after.damaged);
}

// An honest producer in the last ring, which nobody damages.
static tl_producer honest_producer(void)
{
    tl_producer p;
    atomic_store(&fixture_slot(section, 0)->owner, 1);
    atomic_store(&fixture_slot(section, 1)->owner, 1);
    TEST_ASSERT_TRUE(tl_producer_claim(&p, section, 5));
    return p;
}

static void assert_honest_is_served(tl_producer *p)
{
    size_t before = good;
    TEST_ASSERT_TRUE(fixture_put(p, 0x7777, before, 40));
    drain();
    TEST_ASSERT_EQUAL_UINT64(before + 1, good);
}

static void put_record(uint32_t ring, uint64_t at, uint16_t size, uint16_t event)
{
    tl_record record = {.size = size, .event = event, .thread = 1, .ticks = 2};
    size_t index = (size_t)(at % RING_BYTES);
    size_t fits = RING_BYTES - index < sizeof record ? RING_BYTES - index : sizeof record;
    memcpy(fixture_ring(section, ring) + index, &record, fits);
}

static void test_header_fields_do_not_matter(void)
{
    tl_producer p = honest_producer();
    uint8_t *bytes = section;
    for (size_t at = 0; at < sizeof(tl_section_header); at += 8) {
        for (size_t i = 0; i < EVIL_COUNT; i++) {
            memcpy(bytes + at, &evil[i], 8);
            assert_honest_is_served(&p);
        }
    }
    memset(section, 0xff, TL_HEADER_BYTES + TL_SCHEMA_BYTES);
    assert_honest_is_served(&p);
    TEST_ASSERT_EQUAL_UINT64(UINT64_MAX, tl_consumer_losses(consumer).no_ring);
    TEST_ASSERT_EQUAL_UINT64(0, tl_consumer_losses(consumer).damaged);
}

static void test_slot_fields_set_to_garbage(void)
{
    for (size_t at = 0; at < sizeof(tl_ring_slot); at += 8) {
        for (size_t i = 0; i < EVIL_COUNT * EVIL_COUNT; i++) {
            tl_producer p = honest_producer();
            uint8_t *slot = (uint8_t *)fixture_slot(section, i % 2);
            memset(fixture_ring(section, i % 2), (int)i, RING_BYTES);
            memcpy(slot + at, &evil[i / EVIL_COUNT], 8);
            assert_honest_is_served(&p);
            memcpy(slot + at, &evil[i % EVIL_COUNT], 8);
            assert_honest_is_served(&p);
            assert_honest_is_served(&p);
            remake();
        }
    }
}

static void test_every_record_size(void)
{
    static const uint16_t events[] = {0, 1, 0xffff};
    static const uint64_t starts[] = {0, 16, 4080, 4088};
    for (uint32_t size = 0; size <= UINT16_MAX; size++) {
        for (size_t i = 0; i < 12; i++) {
            uint64_t start = starts[i % 4];
            uint16_t event = events[i / 4];
            uint64_t published = size % 3 == 0 ? RING_BYTES : size % 3 == 1 ? 16 : 8;
            tl_ring_slot *slot = fixture_slot(section, 0);
            atomic_store(&slot->tail, start);
            atomic_store(&slot->head, start + published);
            put_record(0, start, (uint16_t)size, event);
            tl_consumer *reader = tl_consumer_create_any(section, RINGS, RING_BYTES);
            size_t records = tl_consumer_drain(reader, touch, NULL);
            uint32_t padded = (size + 7) & ~7u;
            bool whole =
                event != 0 && size >= 16 && padded <= published && padded <= RING_BYTES - start;
            bool first_is_good = records > 0;
            if (event != 0)
                TEST_ASSERT_EQUAL_INT(whole, first_is_good);
            tl_consumer_destroy(reader);
        }
    }
}

static void test_padding_must_end_at_the_end(void)
{
    tl_ring_slot *slot = fixture_slot(section, 0);
    uint64_t start = 4096 - 64;
    for (uint16_t size = 0; size <= 128; size = (uint16_t)(size + 8)) {
        remake();
        slot = fixture_slot(section, 0);
        tl_consumer_destroy(consumer);
        atomic_store(&slot->tail, start);
        consumer = tl_consumer_create_any(section, RINGS, RING_BYTES);
        put_record(0, start, size, 0);
        put_record(0, 4096, 16, 1);
        atomic_store(&slot->head, 4096 + 16);
        size_t records = tl_consumer_drain(consumer, touch, NULL);
        TEST_ASSERT_EQUAL_UINT64(size == 64, records);
        TEST_ASSERT_EQUAL_UINT64(size != 64, tl_consumer_losses(consumer).damaged);
    }
}

static void test_padding_must_be_published_whole(void)
{
    put_record(0, 0, RING_BYTES, 0); // a whole ring of padding
    atomic_store(&fixture_slot(section, 0)->head, 64);
    drain();
    TEST_ASSERT_EQUAL_UINT64(1, tl_consumer_losses(consumer).damaged);
}

static void test_head_must_be_aligned(void)
{
    for (uint64_t stray = 1; stray < 8; stray++) {
        tl_producer p;
        TEST_ASSERT_TRUE(tl_producer_claim(&p, section, 1));
        TEST_ASSERT_TRUE(fixture_put(&p, 0x7777, 0, 40));
        atomic_fetch_add(&fixture_slot(section, 0)->head, stray);
        drain();
        TEST_ASSERT_EQUAL_UINT64(0, good);
        TEST_ASSERT_EQUAL_UINT64(1, tl_consumer_losses(consumer).damaged);
        remake();
    }
}

static void test_damaged_ring_goes_on_at_its_head(void)
{
    tl_producer p;
    TEST_ASSERT_TRUE(tl_producer_claim(&p, section, 1));
    TEST_ASSERT_TRUE(fixture_put(&p, 0x7777, 0, 40));
    uint64_t second = p.head;
    TEST_ASSERT_TRUE(fixture_put(&p, 0x7777, 1, 40));
    TEST_ASSERT_TRUE(fixture_put(&p, 0x7777, 2, 40));
    put_record(0, second, 3, 1); // a stray write
    drain();
    TEST_ASSERT_EQUAL_UINT64(1, good); // the first is handed on, the others are gone
    TEST_ASSERT_EQUAL_UINT64(1, tl_consumer_losses(consumer).damaged);
    TEST_ASSERT_TRUE(fixture_put(&p, 0x7777, 3, 40));
    drain();
    TEST_ASSERT_EQUAL_UINT64(2, good);
    TEST_ASSERT_EQUAL_UINT64(1, tl_consumer_losses(consumer).damaged);
}

// Records until one arrives again; some may be lost on the way.
static void assert_recovers(tl_producer *p)
{
    size_t before = good;
    for (int i = 0; i < 3; i++) {
        fixture_put(p, 0x7777, 1, 40);
        drain();
    }
    TEST_ASSERT_GREATER_THAN_UINT64(before, good);
    before = good;
    TEST_ASSERT_TRUE(fixture_put(p, 0x7777, 2, 40));
    drain();
    TEST_ASSERT_EQUAL_UINT64(before + 1, good);
}

static void test_ring_recovers_from_stray_head_and_tail(void)
{
    for (size_t i = 0; i < EVIL_COUNT * 8; i++) {
        tl_producer p;
        tl_ring_slot *slot = fixture_slot(section, 0);
        TEST_ASSERT_TRUE(tl_producer_claim(&p, section, 1));
        if ((i & 1) != 0)
            assert_recovers(&p); // has seen a good tail before
        atomic_store((i & 2) != 0 ? &slot->head : &slot->tail, evil[i / 8] + 80);
        if ((i & 4) != 0)
            drain();
        assert_recovers(&p);
        atomic_store(&slot->head, evil[i / 8] & ~7ull);
        tl_producer_release(&p);
        TEST_ASSERT_TRUE(tl_producer_claim(&p, section, 2)); // inherits a stray head
        assert_recovers(&p);
        remake();
    }
}

static void test_ring_that_never_makes_sense_is_given_up(void)
{
    tl_producer p = honest_producer();
    for (uint64_t i = 0; i < 1000; i++) {
        atomic_store(&fixture_slot(section, 0)->head, fixture_mix(i) | 1);
        put_record(1, atomic_load(&fixture_slot(section, 1)->tail), 5, 5);
        atomic_fetch_add(&fixture_slot(section, 1)->head, 64);
        assert_honest_is_served(&p);
    }
    TEST_ASSERT_EQUAL_UINT64(2 * RESETS_MAX, tl_consumer_losses(consumer).damaged);
    TEST_ASSERT_EQUAL_UINT64(1000, good);
}

static void test_losses_only_grow(void)
{
    tl_ring_slot *slot = fixture_slot(section, 0);
    tl_section_header *header = section;
    atomic_store(&slot->dropped, 10);
    atomic_store(&fixture_slot(section, 1)->dropped, 5);
    atomic_store(&header->dropped, 7);
    TEST_ASSERT_EQUAL_UINT64(15, tl_consumer_losses(consumer).ring_full);
    atomic_store(&slot->dropped, 3);
    atomic_store(&header->dropped, 0);
    TEST_ASSERT_EQUAL_UINT64(15, tl_consumer_losses(consumer).ring_full);
    TEST_ASSERT_EQUAL_UINT64(7, tl_consumer_losses(consumer).no_ring);
    atomic_store(&slot->dropped, UINT64_MAX);
    TEST_ASSERT_EQUAL_UINT64(UINT64_MAX, tl_consumer_losses(consumer).ring_full);
    atomic_store(&slot->dropped, 0);
    TEST_ASSERT_EQUAL_UINT64(UINT64_MAX, tl_consumer_losses(consumer).ring_full);
}

static void test_random_garbage(void)
{
    uint64_t random = 42;
    size_t directory = TL_HEADER_BYTES + TL_SCHEMA_BYTES;
    for (int round = 0; round < 3000; round++) {
        if (round % 20 == 0)
            remake(); // else all rings are given up sooner or later
        for (int i = 0; i < 40; i++) {
            size_t at = directory + (size_t)fixture_random(&random) % (section_bytes - directory);
            ((uint8_t *)section)[at] = (uint8_t)fixture_random(&random);
        }
        for (uint32_t ring = 0; ring < RINGS; ring++) {
            tl_ring_slot *slot = fixture_slot(section, ring);
            uint64_t step = fixture_random(&random) % (RING_BYTES + 64);
            atomic_store(&slot->head, atomic_load(&slot->tail) + (step & ~7ull));
            put_record(ring, atomic_load(&slot->tail), (uint16_t)fixture_random(&random), 1);
        }
        drain();
    }
}

#if !defined(UNDER_TSAN) // the race is the point here
static atomic_bool enough;

static void *scribble(void *context)
{
    uint64_t random = 7;
    uint64_t *words = (uint64_t *)(void *)((uint8_t *)section + TL_HEADER_BYTES + TL_SCHEMA_BYTES);
    size_t count = (section_bytes - TL_HEADER_BYTES - TL_SCHEMA_BYTES) / 8;
    (void)context;
    while (!atomic_load_explicit(&enough, memory_order_relaxed)) {
        uint64_t r = fixture_random(&random);
        tl_ring_slot *slot = fixture_slot(section, (uint32_t)(r % RINGS));
        atomic_fetch_add(&slot->head, r >> 32 & 0x1ff8);
        *(volatile uint64_t *)&words[r % count] = fixture_random(&random) & 0x0001007fu;
    }
    return NULL;
}

static void test_section_that_changes_while_it_is_read(void)
{
    pthread_t writer;
    for (int round = 0; round < 50; round++) {
        atomic_store(&enough, false);
        TEST_ASSERT_EQUAL_INT(0, pthread_create(&writer, NULL, scribble, NULL));
        for (int i = 0; i < 300; i++)
            drain();
        atomic_store(&enough, true);
        pthread_join(writer, NULL);
        remake();
    }
}
#endif

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_header_fields_do_not_matter);
    RUN_TEST(test_slot_fields_set_to_garbage);
    RUN_TEST(test_every_record_size);
    RUN_TEST(test_padding_must_end_at_the_end);
    RUN_TEST(test_padding_must_be_published_whole);
    RUN_TEST(test_head_must_be_aligned);
    RUN_TEST(test_damaged_ring_goes_on_at_its_head);
    RUN_TEST(test_ring_recovers_from_stray_head_and_tail);
    RUN_TEST(test_ring_that_never_makes_sense_is_given_up);
    RUN_TEST(test_losses_only_grow);
    RUN_TEST(test_random_garbage);
#if !defined(UNDER_TSAN)
    RUN_TEST(test_section_that_changes_while_it_is_read);
#endif
    return UNITY_END();
}
