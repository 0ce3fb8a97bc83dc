// SPDX-License-Identifier: MIT
// The ring channel on one thread: geometry, wrap-around, full rings, too few rings, hand-over.
#include "channel_fixture.h"

#include "tracelogging/channel_inline.h"
#include "tracelogging/codec.h"

typedef struct seen {
    uint64_t next; // number of the record that comes next
    size_t records;
    uint32_t payload_bytes;
    uint32_t thread;
    uint16_t event;
} seen;

static void *section;
static size_t section_bytes;
static tl_consumer *consumer;

void setUp(void)
{
    section = NULL;
    consumer = NULL;
}

void tearDown(void)
{
    tl_consumer_destroy(consumer);
    fixture_free(section);
}

static void make(uint32_t ring_count, uint32_t ring_bytes)
{
    section = fixture_section(ring_count, ring_bytes, &section_bytes);
    consumer = tl_consumer_create_any(section, ring_count, ring_bytes);
    TEST_ASSERT_NOT_NULL(consumer);
}

static void check_next(void *context, const tl_record *record, const uint8_t *payload)
{
    seen *s = context;
    TEST_ASSERT_EQUAL_UINT64(s->next, record->ticks);
    TEST_ASSERT_EQUAL_UINT64(0, (uintptr_t)payload % 8);
    s->payload_bytes = record->size - (uint32_t)sizeof(tl_record);
    TEST_ASSERT_TRUE(fixture_matches(payload, record->ticks, s->payload_bytes));
    s->thread = record->thread;
    s->event = record->event;
    s->next++;
    s->records++;
}

static void assert_no_loss(void)
{
    tl_losses losses = tl_consumer_losses(consumer);
    TEST_ASSERT_EQUAL_UINT64(0, losses.ring_full);
    TEST_ASSERT_EQUAL_UINT64(0, losses.no_ring);
    TEST_ASSERT_EQUAL_UINT64(0, losses.damaged);
}

static void test_geometry_is_bounded(void)
{
    TEST_ASSERT_EQUAL_UINT64(0, tl_section_bytes(0, TL_RING_BYTES_MIN));
    TEST_ASSERT_EQUAL_UINT64(0, tl_section_bytes(TL_RINGS_MAX + 1, TL_RING_BYTES_MIN));
    TEST_ASSERT_EQUAL_UINT64(0, tl_section_bytes(1, TL_RING_BYTES_MIN / 2));
    TEST_ASSERT_EQUAL_UINT64(0, tl_section_bytes(1, TL_RING_BYTES_MIN + 4096));
    TEST_ASSERT_EQUAL_UINT64(0, tl_section_bytes(1, TL_RING_BYTES_MAX * 2));
    TEST_ASSERT_EQUAL_UINT64(4096 + 16384 + 64 * 128 + 64 * 1048576,
                             tl_section_bytes(TL_RINGS_DEFAULT, TL_RING_BYTES_DEFAULT));
    TEST_ASSERT_NULL(tl_consumer_create(&section, 0, TL_RING_BYTES_MIN));
    TEST_ASSERT_NULL(tl_consumer_create(&section, 1, 64));
}

static void test_check_accepts_only_our_own_layout(void)
{
    section = fixture_section(2, TL_RING_BYTES_MIN, &section_bytes);
    tl_section_header *header = section;
    TEST_ASSERT_EQUAL_UINT64(section_bytes, tl_section_bytes(2, TL_RING_BYTES_MIN));
    TEST_ASSERT_TRUE(tl_section_check(section, section_bytes));
    TEST_ASSERT_TRUE(tl_section_check(section, section_bytes + 4096));
    TEST_ASSERT_FALSE(tl_section_check(section, section_bytes - 1));
    TEST_ASSERT_FALSE(tl_section_check(section, 16));
    TEST_ASSERT_FALSE(tl_section_check(NULL, section_bytes));
    // Every byte of the constant part counts, except the size of the schema.
    size_t constant = offsetof(tl_section_header, phase);
    for (size_t i = 0; i < constant; i++) {
        uint8_t *byte = (uint8_t *)section + i;
        bool schema = i >= offsetof(tl_section_header, schema_bytes) &&
                      i < offsetof(tl_section_header, directory_offset);
        *byte ^= 1;
        TEST_ASSERT_EQUAL_INT_MESSAGE(schema, tl_section_check(section, section_bytes), "byte");
        *byte ^= 1;
    }
    header->ring_bytes = 0;
    TEST_ASSERT_FALSE(tl_section_check(section, section_bytes));
}

static void test_init_writes_what_check_accepts(void)
{
    section = fixture_section(3, TL_RING_BYTES_MIN, &section_bytes);
    memset(section, 0, TL_HEADER_BYTES);
    TEST_ASSERT_FALSE(tl_section_check(section, section_bytes));
    tl_section_init(section, 3, TL_RING_BYTES_MIN);
    TEST_ASSERT_TRUE(tl_section_check(section, section_bytes));
}

static void test_record_arrives_as_written(void)
{
    make(1, 4096);
    tl_producer p;
    seen s = {.next = 77};
    TEST_ASSERT_TRUE(tl_producer_claim(&p, section, 4242));
    TEST_ASSERT_TRUE(fixture_put(&p, TL_EVENT_Run, 77, sizeof(tl_Run)));
    TEST_ASSERT_EQUAL_UINT64(1, tl_consumer_drain(consumer, check_next, &s));
    TEST_ASSERT_EQUAL_UINT32(sizeof(tl_Run), s.payload_bytes);
    TEST_ASSERT_EQUAL_UINT32(4242, s.thread);
    TEST_ASSERT_EQUAL_UINT16(TL_EVENT_Run, s.event);
    TEST_ASSERT_EQUAL_UINT64(0, tl_consumer_drain(consumer, check_next, &s));
    assert_no_loss();
}

// All payload sizes from all places in the ring, drained after every `every` records.
static void wrap_from(uint64_t start, uint32_t ring_bytes, uint32_t every)
{
    tl_ring_slot *slot = fixture_slot(section, 0);
    for (uint32_t bytes = 0; bytes <= ring_bytes / 2 - sizeof(tl_record); bytes++) {
        atomic_store(&slot->owner, 0);
        atomic_store(&slot->head, start);
        atomic_store(&slot->tail, start);
        tl_consumer_destroy(consumer);
        consumer = tl_consumer_create_any(section, 1, ring_bytes);
        tl_producer p;
        seen s = {.next = 0};
        TEST_ASSERT_TRUE(tl_producer_claim(&p, section, 1));
        for (uint32_t i = 0; i < 2 * ring_bytes / (bytes + 16) + 2; i++) {
            if (!fixture_put(&p, 9, i, bytes)) { // full: fits after a drain, whatever its place
                TEST_ASSERT_GREATER_THAN_UINT64(0, tl_consumer_drain(consumer, check_next, &s));
                TEST_ASSERT_TRUE(fixture_put(&p, 9, i, bytes));
            }
            if (i % every == every - 1)
                tl_consumer_drain(consumer, check_next, &s);
            TEST_ASSERT_TRUE(s.records == 0 || s.payload_bytes == bytes);
        }
        tl_consumer_drain(consumer, check_next, &s);
        TEST_ASSERT_EQUAL_UINT64(2 * ring_bytes / (bytes + 16) + 2, s.records);
        TEST_ASSERT_EQUAL_UINT64(0, tl_consumer_losses(consumer).damaged);
    }
}

static void test_wraps_at_every_alignment(void)
{
    enum { RING_BYTES = 256 };
    make(1, RING_BYTES);
    for (uint32_t offset = 0; offset < RING_BYTES; offset += 8) {
        wrap_from(offset, RING_BYTES, 1);
        wrap_from(0x100000000u - RING_BYTES + offset, RING_BYTES, 3);
        wrap_from(0u - (uint64_t)RING_BYTES + offset, RING_BYTES, 1000);
    }
}

static void test_padding_of_eight_bytes(void)
{
    enum { RING_BYTES = 64 };
    make(1, RING_BYTES);
    tl_producer p;
    seen s = {0};
    TEST_ASSERT_TRUE(tl_producer_claim(&p, section, 1));
    TEST_ASSERT_TRUE(fixture_put(&p, 9, 0, 16)); // [0, 32)
    TEST_ASSERT_TRUE(fixture_put(&p, 9, 1, 8));  // [32, 56)
    TEST_ASSERT_EQUAL_UINT64(2, tl_consumer_drain(consumer, check_next, &s));
    TEST_ASSERT_TRUE(fixture_put(&p, 9, 2, 0)); // padding [56, 64), record [64, 80)
    uint16_t padding[4];
    memcpy(padding, fixture_ring(section, 0) + 56, sizeof padding);
    TEST_ASSERT_EQUAL_UINT16(8, padding[0]);
    TEST_ASSERT_EQUAL_UINT16(TL_EVENT_PAD, padding[1]);
    TEST_ASSERT_EQUAL_UINT64(80, atomic_load(&fixture_slot(section, 0)->head));
    TEST_ASSERT_EQUAL_UINT64(1, tl_consumer_drain(consumer, check_next, &s));
    assert_no_loss();
}

static void test_full_ring_drops_and_counts(void)
{
    make(1, 256);
    tl_producer p;
    seen s = {0};
    TEST_ASSERT_TRUE(tl_producer_claim(&p, section, 1));
    uint64_t number = 0;
    for (int round = 1; round <= 3; round++) {
        for (int i = 0; i < 8; i++)
            TEST_ASSERT_TRUE(fixture_put(&p, 9, number++, 16)); // 8 x 32 = 256
        for (int i = 0; i < 5; i++)
            TEST_ASSERT_NULL(tl_producer_begin(&p, 0));
        TEST_ASSERT_EQUAL_UINT64(8, tl_consumer_drain(consumer, check_next, &s));
        TEST_ASSERT_EQUAL_UINT64(5u * (unsigned)round, tl_consumer_losses(consumer).ring_full);
    }
    TEST_ASSERT_EQUAL_UINT64(0, tl_consumer_losses(consumer).damaged);
}

static void test_largest_record_fits_an_empty_ring_anywhere(void)
{
    make(1, TL_RING_BYTES_MIN);
    tl_producer p;
    seen s = {0};
    uint64_t number = 0;
    TEST_ASSERT_TRUE(tl_producer_claim(&p, section, 1));
    for (int i = 0; i < 300; i++) {
        TEST_ASSERT_TRUE(fixture_put(&p, 9, number++, TL_RECORD_MAX - 16));
        TEST_ASSERT_EQUAL_UINT64(1, tl_consumer_drain(consumer, check_next, &s));
        TEST_ASSERT_TRUE(fixture_put(&p, 9, number++, (uint32_t)i * 7));
        TEST_ASSERT_EQUAL_UINT64(1, tl_consumer_drain(consumer, check_next, &s));
    }
    assert_no_loss();
    TEST_ASSERT_NULL(tl_producer_begin(&p, TL_RECORD_MAX - 15));
    TEST_ASSERT_NULL(tl_producer_begin(&p, UINT32_MAX));
    TEST_ASSERT_EQUAL_UINT64(2, tl_consumer_losses(consumer).ring_full);
}

static void test_record_may_use_less_than_it_asked_for(void)
{
    make(1, 256);
    tl_producer p;
    seen s = {0};
    TEST_ASSERT_TRUE(tl_producer_claim(&p, section, 1));
    for (uint64_t number = 0; number < 100; number++) {
        uint8_t *payload = tl_producer_begin(&p, 100);
        TEST_ASSERT_NOT_NULL(payload);
        fixture_fill(payload, number, 100);
        tl_producer_end(&p, 9, number, (uint32_t)number % 101);
        TEST_ASSERT_EQUAL_UINT64(1, tl_consumer_drain(consumer, check_next, &s));
        TEST_ASSERT_EQUAL_UINT32(number % 101, s.payload_bytes);
    }
    assert_no_loss();
}

static void test_abandoned_record_is_never_seen(void)
{
    make(1, 256);
    tl_producer p;
    seen s = {0};
    TEST_ASSERT_TRUE(tl_producer_claim(&p, section, 1));
    for (uint64_t number = 0; number < 100; number++) {
        TEST_ASSERT_NOT_NULL(tl_producer_begin(&p, 90)); // some of them put padding in place
        TEST_ASSERT_EQUAL_UINT64(0, tl_consumer_drain(consumer, check_next, &s));
        TEST_ASSERT_TRUE(fixture_put(&p, 9, number, (uint32_t)number % 50));
        TEST_ASSERT_EQUAL_UINT64(1, tl_consumer_drain(consumer, check_next, &s));
    }
    assert_no_loss();
}

static void test_more_threads_than_rings_count_their_drops(void)
{
    make(2, 4096);
    tl_producer p[4];
    seen s = {.next = 5};
    for (uint32_t i = 0; i < 4; i++)
        TEST_ASSERT_EQUAL_INT(i < 2, tl_producer_claim(&p[i], section, i + 1));
    for (int i = 0; i < 7; i++)
        TEST_ASSERT_FALSE(fixture_put(&p[2], 9, 5, 8));
    TEST_ASSERT_FALSE(fixture_put(&p[3], 9, 5, 8));
    TEST_ASSERT_NULL(tl_producer_begin_inline(&p[3], 8));
    TEST_ASSERT_TRUE(fixture_put(&p[1], 9, 5, 8));
    TEST_ASSERT_EQUAL_UINT64(1, tl_consumer_drain(consumer, check_next, &s));
    TEST_ASSERT_EQUAL_UINT64(9, tl_consumer_losses(consumer).no_ring);
    TEST_ASSERT_EQUAL_UINT64(0, tl_consumer_losses(consumer).ring_full);
}

static void test_thread_without_ring_finds_one_later(void)
{
    make(1, 4096);
    tl_producer first, second;
    seen s = {.next = 0};
    TEST_ASSERT_TRUE(tl_producer_claim(&first, section, 1));
    TEST_ASSERT_FALSE(tl_producer_claim(&second, section, 2));
    for (int i = 0; i < 1000; i++)
        TEST_ASSERT_FALSE(fixture_put(&second, 9, 0, 8));
    tl_producer_release(&first);
    uint64_t drops = 1000;
    while (!fixture_put(&second, 9, 0, 8)) {
        TEST_ASSERT_LESS_THAN_UINT64(2000, drops);
        drops++;
    }
    TEST_ASSERT_EQUAL_UINT64(1, tl_consumer_drain(consumer, check_next, &s));
    TEST_ASSERT_EQUAL_UINT32(2, s.thread);
    TEST_ASSERT_EQUAL_UINT64(drops, tl_consumer_losses(consumer).no_ring);
}

static void test_ring_changes_hands_without_loss(void)
{
    make(1, 1024);
    seen s = {0};
    uint64_t number = 0;
    for (uint32_t thread = 1; thread <= 200; thread++) {
        tl_producer p;
        TEST_ASSERT_TRUE(tl_producer_claim(&p, section, thread));
        for (uint32_t i = 0; i < thread % 5; i++)
            TEST_ASSERT_TRUE(fixture_put(&p, 9, number++, thread % 60));
        if (thread % 3 == 0)
            TEST_ASSERT_NOT_NULL(tl_producer_begin(&p, 40)); // ends in the middle of a record
        tl_producer_release(&p);
        if (thread % 2 == 0)
            tl_consumer_drain(consumer, check_next, &s);
    }
    tl_consumer_drain(consumer, check_next, &s);
    TEST_ASSERT_EQUAL_UINT64(number, s.records);
    assert_no_loss();
}

static void test_released_producer_only_drops(void)
{
    make(1, 1024);
    tl_producer p, zeroed = {0};
    TEST_ASSERT_TRUE(tl_producer_claim(&p, section, 1));
    tl_producer_release(&p);
    tl_producer_release(&p);
    for (int i = 0; i < 500; i++)
        TEST_ASSERT_NULL(tl_producer_begin(&p, 8));
    TEST_ASSERT_EQUAL_UINT32(0, atomic_load(&fixture_slot(section, 0)->owner));
    TEST_ASSERT_EQUAL_UINT64(500, tl_consumer_losses(consumer).no_ring);
    TEST_ASSERT_FALSE(tl_producer_claim(&p, section, 0));
    TEST_ASSERT_NULL(tl_producer_begin(&zeroed, 8));
    tl_producer_release(&zeroed);
}

static void test_schema_travels_in_the_section(void)
{
    make(1, 1024);
    static uint8_t copy[TL_SCHEMA_BYTES], own[TL_SCHEMA_BYTES];
    TEST_ASSERT_EQUAL_UINT64(0, tl_consumer_schema(consumer, copy));
    TEST_ASSERT_TRUE(tl_section_publish_schema(section));
    size_t bytes = tl_consumer_schema(consumer, copy);
    TEST_ASSERT_EQUAL_UINT64(tl_schema_serialize(own, sizeof own), bytes);
    TEST_ASSERT_EQUAL_MEMORY(own, copy, bytes);
    tl_section_header *header = section;
    atomic_store(&header->schema_bytes, TL_SCHEMA_BYTES + 1);
    TEST_ASSERT_EQUAL_UINT64(0, tl_consumer_schema(consumer, copy));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_geometry_is_bounded);
    RUN_TEST(test_check_accepts_only_our_own_layout);
    RUN_TEST(test_init_writes_what_check_accepts);
    RUN_TEST(test_record_arrives_as_written);
    RUN_TEST(test_wraps_at_every_alignment);
    RUN_TEST(test_padding_of_eight_bytes);
    RUN_TEST(test_full_ring_drops_and_counts);
    RUN_TEST(test_largest_record_fits_an_empty_ring_anywhere);
    RUN_TEST(test_record_may_use_less_than_it_asked_for);
    RUN_TEST(test_abandoned_record_is_never_seen);
    RUN_TEST(test_more_threads_than_rings_count_their_drops);
    RUN_TEST(test_thread_without_ring_finds_one_later);
    RUN_TEST(test_ring_changes_hands_without_loss);
    RUN_TEST(test_released_producer_only_drops);
    RUN_TEST(test_schema_travels_in_the_section);
    return UNITY_END();
}
