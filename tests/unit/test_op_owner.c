// SPDX-License-Identifier: MIT
// Whose a kernel is: found by going back from what it refers to, and not searched for again and
// again where that leads nowhere.
#include "op.h"
#include "tap.h"

#include <string.h>
#include <unity.h>

enum { WORDS = 8192, INFO_MANAGER_WORD = 6, SESSION_AT = 4000, MANAGER_AT = SESSION_AT + 300 };
#define VTABLE 0x00007ff612345678u

static uint64_t g_memory[WORDS]; // a session object among other things
static uint64_t g_info[8];       // the OpKernelInfo of every kernel
static uint32_t g_copies;        // that asked the system
static hk_session g_session;
static hk_module g_runtime;
static hk_op_module g_module;
static hk_vtable g_vtable;

bool hk_op_copy(const hk_op_module *o, uint64_t address, void *to, size_t bytes)
{
    (void)o;
    memcpy(to, (const void *)(uintptr_t)address, bytes);
    return true;
}

bool hk_copy_readable(uint64_t address, void *to, size_t bytes)
{
    g_copies++;
    memcpy(to, (const void *)(uintptr_t)address, bytes);
    return true;
}

uint64_t hk_kernel_info_address(const hk_kernel *k)
{
    (void)k;
    return (uint64_t)(uintptr_t)g_info;
}

hk_session *hk_session_find(const OrtSession *session)
{
    return session == g_session.address ? &g_session : NULL;
}

static hk_session *g_running; // the only one, in a module without a C API

hk_session *hk_session_running_with(uint64_t manager, const hk_module *seen)
{
    bool could = g_running && (atomic_load(&g_running->manager) == manager ||
                               (seen && !atomic_load(&g_running->manager)));
    return could ? g_running : NULL;
}

static const hk_module *g_seen;

const hk_module *hk_tap_seen_whole(const uint8_t *base)
{
    return base == g_module.base ? g_seen : NULL;
}

void setUp(void)
{
    memset(g_memory, 0, sizeof g_memory);
    memset(&g_session, 0, sizeof g_session);
    g_session.id = 3;
    g_session.address = (const OrtSession *)(const void *)&g_memory[SESSION_AT];
    g_runtime = (hk_module){.minor = 30, .session_vtable = VTABLE};
    g_module = (hk_op_module){.runtime = &g_runtime};
    g_vtable = (hk_vtable){.module = &g_module};
    g_info[INFO_MANAGER_WORD] = (uint64_t)(uintptr_t)&g_memory[MANAGER_AT];
    g_copies = 0;
    g_running = NULL;
    g_seen = NULL;
}

void tearDown(void) {}

static void test_found_once_for_all_kernels(void)
{
    bool certain;
    g_memory[SESSION_AT] = VTABLE;
    hk_kernel first = {.vtable = &g_vtable}, second = {.vtable = &g_vtable};
    TEST_ASSERT_EQUAL_PTR(&g_session, hk_kernel_find_owner(&first, &certain));
    TEST_ASSERT_TRUE(certain);
    TEST_ASSERT_EQUAL_UINT32(3, atomic_load(&first.session_id));
    uint32_t copies = g_copies;
    TEST_ASSERT_EQUAL_PTR(&g_session, hk_kernel_find_owner(&second, &certain));
    TEST_ASSERT_EQUAL_UINT32(copies, g_copies);
}

static void test_what_is_nowhere_is_given_up(void)
{
    bool certain;
    hk_kernel k = {.vtable = &g_vtable};
    for (int i = 0; i < 64; i++) {
        uint32_t copies = g_copies;
        TEST_ASSERT_NULL(hk_kernel_find_owner(&k, &certain));
        TEST_ASSERT_FALSE(certain);
        TEST_ASSERT_GREATER_THAN_UINT32(copies, g_copies);
    }
    uint32_t copies = g_copies;
    g_memory[SESSION_AT] = VTABLE; // too late
    for (int i = 0; i < 64; i++) {
        TEST_ASSERT_NULL(hk_kernel_find_owner(&k, &certain));
        TEST_ASSERT_FALSE(certain);
    }
    hk_kernel_learn_owner(&k, &g_session);
    TEST_ASSERT_EQUAL_PTR(&g_session, atomic_load(&k.session));
    TEST_ASSERT_EQUAL_UINT32(copies, g_copies);
}

static void test_found_after_failures(void)
{
    bool certain;
    hk_kernel k = {.vtable = &g_vtable};
    for (int i = 0; i < 63; i++)
        TEST_ASSERT_NULL(hk_kernel_find_owner(&k, &certain));
    g_memory[SESSION_AT] = VTABLE;
    TEST_ASSERT_EQUAL_PTR(&g_session, hk_kernel_find_owner(&k, &certain));
}

// Inter-op threads: no kernel ever runs on the run's own thread.
static void test_without_an_address_the_only_one_that_runs_is_it(void)
{
    bool certain;
    uint64_t manager = g_info[INFO_MANAGER_WORD];
    hk_session hidden = {.id = 4};
    hk_kernel k = {.vtable = &g_vtable}, other = {.vtable = &g_vtable};
    g_module.runtime = NULL;
    g_running = &hidden;
    TEST_ASSERT_NULL(hk_kernel_find_owner(&k, &certain)); // one from before may run as well
    TEST_ASSERT_FALSE(certain);
    g_seen = &g_runtime;
    TEST_ASSERT_EQUAL_PTR(&hidden, hk_kernel_find_owner(&k, &certain));
    TEST_ASSERT_TRUE(certain);
    TEST_ASSERT_EQUAL_UINT64(manager, atomic_load(&hidden.manager));
    TEST_ASSERT_EQUAL_PTR(&hidden, atomic_load(&k.session));
    g_info[INFO_MANAGER_WORD] = manager + 8; // of another session
    TEST_ASSERT_NULL(hk_kernel_find_owner(&other, &certain));
    TEST_ASSERT_EQUAL_UINT64(manager, atomic_load(&hidden.manager));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_found_once_for_all_kernels);
    RUN_TEST(test_what_is_nowhere_is_given_up);
    RUN_TEST(test_found_after_failures);
    RUN_TEST(test_without_an_address_the_only_one_that_runs_is_it);
    return UNITY_END();
}
