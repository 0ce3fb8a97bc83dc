// SPDX-License-Identifier: MIT
// Producers and the consumer on threads of their own, checked against a model: record n has a size
// and a content that follow from n, so that the reader knows what must come, in which order, and
// how many were dropped. Meant for the thread sanitizer; nothing here depends on timing.
#include "channel_fixture.h"

#include "tracelogging/channel_inline.h"

#include <pthread.h>
#include <sched.h>

enum { PRODUCERS_MAX = 8, PAYLOAD_BASE = 8 };

typedef struct model {
    uint64_t next[PRODUCERS_MAX + 1]; // lowest number that may come, by thread
    uint64_t received[PRODUCERS_MAX + 1];
    uint64_t skipped; // numbers that did not come before a higher one
    bool wrong;
} model;

typedef struct producer_task {
    void *section;
    uint64_t seed;
    uint64_t attempts;
    uint64_t dropped;
    uint32_t payload_span; // sizes are PAYLOAD_BASE + [0, payload_span)
    uint32_t thread;
    pthread_t handle;
} producer_task;

static void *section;
static size_t section_bytes;
static tl_consumer *consumer;
static atomic_uint running;
static uint32_t payload_span;
static model seen;

void setUp(void)
{
    section = NULL;
    consumer = NULL;
    memset(&seen, 0, sizeof seen);
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

static uint32_t payload_bytes(uint32_t thread, uint64_t number, uint32_t span)
{
    return PAYLOAD_BASE + (uint32_t)(fixture_mix(number ^ (uint64_t)thread << 40) % span);
}

static void check_against_model(void *context, const tl_record *record, const uint8_t *payload)
{
    model *m = context;
    uint32_t bytes = record->size - (uint32_t)sizeof *record;
    if (record->thread == 0 || record->thread > PRODUCERS_MAX || record->event != 9 ||
        record->ticks < m->next[record->thread] ||
        bytes != payload_bytes(record->thread, record->ticks, payload_span) ||
        !fixture_matches(payload, record->ticks ^ record->thread, bytes)) {
        m->wrong = true;
        return;
    }
    m->skipped += record->ticks - m->next[record->thread];
    m->next[record->thread] = record->ticks + 1;
    m->received[record->thread]++;
}

static void linger(uint64_t random)
{
    if (random % 64 == 0)
        sched_yield();
    for (volatile uint64_t i = 0; i < random % 200; i++) {
    }
}

static void *produce(void *context)
{
    producer_task *t = context;
    tl_producer p;
    tl_producer_claim(&p, t->section, t->thread);
    uint64_t random = t->seed;
    uint64_t burst = 0;
    for (uint64_t number = 0; number < t->attempts; number++) {
        uint32_t bytes = payload_bytes(t->thread, number, t->payload_span);
        uint32_t spare = (uint32_t)fixture_random(&random) % 16; // asked for, not used
        uint8_t *payload = number % 2 == 0 ? tl_producer_begin(&p, bytes + spare)
                                           : tl_producer_begin_inline(&p, bytes);
        if (payload != NULL) {
            fixture_fill(payload, number ^ t->thread, bytes);
            tl_producer_end_inline(&p, 9, number, bytes);
        } else {
            t->dropped++;
        }
        if (burst-- == 0) {
            burst = fixture_random(&random) % 50;
            linger(fixture_random(&random));
        }
    }
    tl_producer_release(&p);
    atomic_fetch_sub(&running, 1);
    return NULL;
}

static void run_producers(producer_task *tasks, uint32_t count, uint64_t seed)
{
    atomic_store(&running, count);
    for (uint32_t i = 0; i < count; i++)
        TEST_ASSERT_EQUAL_INT(0, pthread_create(&tasks[i].handle, NULL, produce, &tasks[i]));
    while (atomic_load(&running) != 0) {
        tl_consumer_drain(consumer, check_against_model, &seen);
        linger(fixture_random(&seed));
    }
    for (uint32_t i = 0; i < count; i++)
        pthread_join(tasks[i].handle, NULL);
    tl_consumer_drain(consumer, check_against_model, &seen);
}

static void assert_accounts_balance(const producer_task *tasks, uint32_t count)
{
    uint64_t dropped = 0;
    uint64_t skipped = seen.skipped;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t thread = tasks[i].thread;
        TEST_ASSERT_EQUAL_UINT64(tasks[i].attempts, seen.received[thread] + tasks[i].dropped);
        dropped += tasks[i].dropped;
        skipped += tasks[i].attempts - seen.next[thread];
    }
    tl_losses losses = tl_consumer_losses(consumer);
    TEST_ASSERT_FALSE(seen.wrong);
    TEST_ASSERT_EQUAL_UINT64(dropped, losses.ring_full + losses.no_ring);
    TEST_ASSERT_EQUAL_UINT64(dropped, skipped);
    TEST_ASSERT_EQUAL_UINT64(0, losses.damaged);
}

static void test_random_producer_against_model(void)
{
    static const uint32_t rings[] = {64, 256, 1024, 65536};
    for (uint32_t i = 0; i < 24; i++) {
        uint32_t ring_bytes = rings[i % 4];
        make(1, ring_bytes);
        payload_span = ring_bytes == 64 ? 9 : 1 + ring_bytes / (i % 8 < 4 ? 8 : 2) % 3000;
        producer_task task = {.section = section,
                              .seed = i * 1000,
                              .attempts = 20000,
                              .payload_span = payload_span,
                              .thread = 1};
        run_producers(&task, 1, i);
        assert_accounts_balance(&task, 1);
        tearDown();
        setUp();
    }
}

static void run_eight(uint32_t ring_count, uint32_t ring_bytes)
{
    make(ring_count, ring_bytes);
    producer_task tasks[PRODUCERS_MAX];
    payload_span = 90;
    for (uint32_t i = 0; i < PRODUCERS_MAX; i++)
        tasks[i] = (producer_task){.section = section,
                                   .seed = i * 77 + ring_count,
                                   .attempts = 20000,
                                   .payload_span = payload_span,
                                   .thread = i + 1};
    run_producers(tasks, PRODUCERS_MAX, ring_count);
    assert_accounts_balance(tasks, PRODUCERS_MAX);
    for (uint32_t i = 0; i < ring_count; i++)
        TEST_ASSERT_EQUAL_UINT32(0, atomic_load(&fixture_slot(section, i)->owner));
}

static void test_eight_producers(void)
{
    run_eight(8, 4096);
}

static void test_eight_producers_with_three_rings(void)
{
    run_eight(3, 4096);
}

// One ring, four threads that take it in turns. The ring is all that orders them: the sanitizer
// would report `shared_number` if handing it over did not.
static uint64_t shared_number;
static atomic_uint_fast64_t full_count;

static void *take_turns(void *context)
{
    uint32_t thread = *(const uint32_t *)context;
    for (int turn = 0; turn < 200; turn++) {
        tl_producer p;
        while (!tl_producer_claim(&p, section, thread))
            sched_yield();
        for (int i = 0; i < 10; i++) {
            uint8_t *payload;
            while ((payload = tl_producer_begin_inline(&p, 24)) == NULL) {
                atomic_fetch_add(&full_count, 1);
                sched_yield();
            }
            fixture_fill(payload, shared_number, 24);
            tl_producer_end_inline(&p, 9, shared_number, 24);
            shared_number++;
        }
        tl_producer_release(&p);
    }
    atomic_fetch_sub(&running, 1);
    return NULL;
}

static void check_in_order(void *context, const tl_record *record, const uint8_t *payload)
{
    uint64_t *next = context;
    if (record->ticks != *next || record->size != 40 || !fixture_matches(payload, *next, 24))
        seen.wrong = true;
    (*next)++;
}

static void test_ring_handed_from_thread_to_thread(void)
{
    static const uint32_t ids[4] = {1, 2, 3, 4};
    pthread_t handles[4];
    uint64_t next = 0;
    make(1, 1024);
    shared_number = 0;
    atomic_store(&running, 4);
    for (int i = 0; i < 4; i++)
        TEST_ASSERT_EQUAL_INT(
            0, pthread_create(&handles[i], NULL, take_turns, (void *)(uintptr_t)&ids[i]));
    while (atomic_load(&running) != 0) {
        tl_consumer_drain(consumer, check_in_order, &next);
        sched_yield();
    }
    for (int i = 0; i < 4; i++)
        pthread_join(handles[i], NULL);
    tl_consumer_drain(consumer, check_in_order, &next);
    TEST_ASSERT_FALSE(seen.wrong);
    TEST_ASSERT_EQUAL_UINT64(4 * 200 * 10, next);
    tl_losses losses = tl_consumer_losses(consumer);
    TEST_ASSERT_EQUAL_UINT64(atomic_load(&full_count), losses.ring_full);
    TEST_ASSERT_EQUAL_UINT64(0, losses.no_ring + losses.damaged);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_random_producer_against_model);
    RUN_TEST(test_eight_producers);
    RUN_TEST(test_eight_producers_with_three_rings);
    RUN_TEST(test_ring_handed_from_thread_to_thread);
    return UNITY_END();
}
