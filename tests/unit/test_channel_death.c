// SPDX-License-Identifier: MIT
// A producer that dies between any two stores. The producer is compiled into this program with a
// hook after each of its stores; there the section is copied as a dying process would leave it, and
// a reader of the copy must find exactly the records published so far, whole.
static void stored(void);
#define TL_STORED() stored()
#include "channel_producer.c" // NOLINT: with the hook above

#include "channel_fixture.h"

enum { RINGS = 2, RING_BYTES = 256 };

static void *section;
static uint8_t *snapshot;
static size_t section_bytes;
static tl_consumer *consumer; // of the living section, behind by up to a few records
static uint64_t first_unread; // what it has not taken yet
static uint64_t ended;        // records whose end has returned
static bool ending;           // inside tl_producer_end
static bool became_visible;   // the record being ended has been seen in a snapshot
static uint64_t snapshots;

static void check_next(void *context, const tl_record *record, const uint8_t *payload)
{
    uint64_t *next = context;
    TEST_ASSERT_EQUAL_UINT64(*next, record->ticks);
    TEST_ASSERT_EQUAL_UINT16(9, record->event);
    TEST_ASSERT_TRUE(fixture_matches(payload, *next, record->size - sizeof *record));
    (*next)++;
}

static void stored(void)
{
    memcpy(snapshot, section, section_bytes);
    tl_consumer *reader = tl_consumer_create_any(snapshot, RINGS, RING_BYTES);
    uint64_t next = first_unread;
    tl_consumer_drain(reader, check_next, &next);
    TEST_ASSERT_EQUAL_UINT64(0, tl_consumer_losses(reader).damaged);
    if (ending && next == ended + 1)
        became_visible = true;
    TEST_ASSERT_EQUAL_UINT64(ended + (became_visible ? 1 : 0), next);
    tl_consumer_destroy(reader);
    snapshots++;
}

static void put_store_by_store(tl_producer *p, uint32_t bytes)
{
    uint8_t *payload = tl_producer_begin(p, bytes);
    if (payload == NULL) { // full: take everything, then it fits
        tl_consumer_drain(consumer, check_next, &first_unread);
        payload = tl_producer_begin(p, bytes);
        TEST_ASSERT_NOT_NULL(payload);
    }
    for (uint32_t i = 0; i < bytes; i++) {
        payload[i] = fixture_byte(ended, i);
        stored();
    }
    ending = true;
    became_visible = false;
    tl_producer_end(p, 9, ended, bytes);
    TEST_ASSERT_TRUE_MESSAGE(became_visible, "the last store of end publishes the record");
    ending = false;
    became_visible = false;
    ended++;
}

void setUp(void)
{
    section = fixture_section(RINGS, RING_BYTES, &section_bytes);
    memset(fixture_ring(section, 0), 0xa5, RING_BYTES); // what is read too early shows
    size_t same;
    snapshot = fixture_section(RINGS, RING_BYTES, &same);
    consumer = tl_consumer_create_any(section, RINGS, RING_BYTES);
    first_unread = 0;
    ended = 0;
    snapshots = 0;
}

void tearDown(void)
{
    tl_consumer_destroy(consumer);
    fixture_free(section);
    fixture_free(snapshot);
}

static void test_death_between_any_two_stores(void)
{
    uint64_t random = 1;
    for (uint32_t thread = 1; thread <= 40; thread++) {
        tl_producer p;
        TEST_ASSERT_TRUE(tl_producer_claim(&p, section, thread));
        for (int i = 0; i < 5; i++) {
            put_store_by_store(&p, (uint32_t)fixture_random(&random) % 100);
            if (fixture_random(&random) % 4 == 0)
                tl_consumer_drain(consumer, check_next, &first_unread);
        }
        tl_producer_release(&p);
    }
    tl_consumer_drain(consumer, check_next, &first_unread);
    TEST_ASSERT_EQUAL_UINT64(200, first_unread);
    TEST_ASSERT_GREATER_THAN_UINT64(200 * 3, snapshots);
}

// The thread dies, the process lives: its ring stays claimed, everybody else goes on.
static void test_dead_owner_does_not_block_the_others(void)
{
    tl_producer dead, alive;
    TEST_ASSERT_TRUE(tl_producer_claim(&dead, section, 1));
    put_store_by_store(&dead, 20);
    TEST_ASSERT_NOT_NULL(tl_producer_begin(&dead, 20));
    TEST_ASSERT_TRUE(tl_producer_claim(&alive, section, 2));
    TEST_ASSERT_TRUE(alive.slot != dead.slot);
    tl_consumer_drain(consumer, check_next, &first_unread);
    for (int i = 0; i < 20; i++) {
        put_store_by_store(&alive, 20);
        tl_consumer_drain(consumer, check_next, &first_unread);
    }
    TEST_ASSERT_EQUAL_UINT64(21, first_unread);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_death_between_any_two_stores);
    RUN_TEST(test_dead_owner_does_not_block_the_others);
    return UNITY_END();
}
