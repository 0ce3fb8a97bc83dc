// SPDX-License-Identifier: MIT
// A provider that several threads write to, who flush each other's batches, while it is closed: one
// that is late must neither crash nor count what it can't write as written.
#include "tracelogging/etw.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <unity.h>

#define WRITERS 3
#define ROUNDS  20

static tl_provider g_provider;
static tl_etw_thread g_threads[WRITERS];
static tl_etw_batch g_batches[WRITERS];
static _Atomic uint32_t g_registered, g_begun, g_stop;
static _Atomic uint64_t g_elements, g_refused;

static uint32_t TL_ETW_CALL enlist(const void *guid, tl_etw_callback *callback, void *context,
                                   uint64_t *handle)
{
    (void)guid;
    *handle = 77;
    atomic_store(&g_registered, 1);
    callback(NULL, TL_ETW_ENABLE, 0, 0, 0, NULL, context);
    return 0;
}

static uint32_t TL_ETW_CALL leave(uint64_t handle)
{
    TEST_ASSERT_EQUAL_UINT64(77, handle);
    atomic_store(&g_registered, 0);
    return 0;
}

static uint32_t TL_ETW_CALL take(uint64_t handle, const tl_etw_descriptor *event,
                                 const void *activity, const void *related, uint32_t count,
                                 tl_etw_data *data)
{
    (void)event, (void)activity, (void)related;
    bool good = handle == 77 && atomic_load(&g_registered);
    uint16_t elements = 1;
    if (count == 5) // traits, metadata, prefix, how many, elements
        memcpy(&elements, (const void *)(uintptr_t)data[3].address, sizeof elements);
    atomic_fetch_add(good ? &g_elements : &g_refused, elements);
    return good ? 0 : 6; // ERROR_INVALID_HANDLE
}

static const tl_etw_api api = {enlist, leave, NULL, take};

void setUp(void) {}
void tearDown(void) {}

static void *keep_writing(void *context)
{
    tl_etw_thread *own = context;
    tl_etw_thread *next = &g_threads[(own - g_threads + 1) % WRITERS];
    atomic_fetch_add(&g_begun, 1);
    for (uint64_t i = 0; !atomic_load(&g_stop) || i < 300; i++) {
        const tl_Op op = {.kernel = 1, .run = (uint32_t)i};
        const tl_Run run = {.run = (uint32_t)i};
        const tl_etw_part part = {&run, sizeof run};
        tl_etw_gather(&g_provider, own, TL_EVENT_Op, i / 20, i, &op, sizeof op);
        if (i % 7 == 0)
            tl_etw_flush(&g_provider, own, next, TL_BATCH_OP);
        if (i % 20 == 0)
            tl_etw_write(&g_provider, own, TL_EVENT_Run, own->id, i, &part, 1);
    }
    return NULL;
}

static void test_closed_while_others_write(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t threads[WRITERS];
        memset(&g_provider, 0, sizeof g_provider);
        memset(g_threads, 0, sizeof g_threads);
        memset(g_batches, 0, sizeof g_batches);
        g_begun = g_stop = 0;
        TEST_ASSERT_TRUE(tl_provider_open_hook(&g_provider, &api));
        for (unsigned i = 0; i < WRITERS; i++) {
            g_threads[i].id = i + 1;
            g_threads[i].batches[TL_BATCH_OP] = &g_batches[i];
            TEST_ASSERT_EQUAL(0, pthread_create(&threads[i], NULL, keep_writing, &g_threads[i]));
        }
        while (atomic_load(&g_begun) < WRITERS)
            sched_yield();
        tl_provider_close(&g_provider);
        atomic_store(&g_stop, 1);
        for (unsigned i = 0; i < WRITERS; i++)
            pthread_join(threads[i], NULL);
        TEST_ASSERT_EQUAL_UINT64(0, tl_provider_wanted(&g_provider));
        TEST_ASSERT_TRUE(atomic_load(&g_provider.failed) >= atomic_exchange(&g_refused, 0));
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_closed_while_others_write);
    return UNITY_END();
}
