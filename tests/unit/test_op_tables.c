// SPDX-License-Identifier: MIT
// The tables behind operator interception: vtables are swapped and put back byte for byte, those of
// somebody else are left alone; kernels are told apart though their addresses are reused.
#include "op.h"
#include "vtable_slots.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unity.h>

enum { PAGES = 4, PAGE = 4096, CODE = 0, TABLES = PAGE, TABLE_BYTES = 40, COUNT = 200 };

hk_state g_hk;
static uint8_t *g_base;
static uint8_t g_before[PAGES * PAGE];
static uint32_t g_rvas[COUNT];
static hk_op_module g_module;

void *hk_alloc(size_t bytes)
{
    return calloc(1, bytes);
}

void *hk_alloc_for_good(size_t bytes)
{
    void *memory = _aligned_malloc(bytes, HK_CACHE_LINE);
    return memory ? memset(memory, 0, bytes) : NULL;
}

static const hk_vtable *g_called; // what the entry point said

void *hk_op_compute(void *self, void *status, void *context, const hk_vtable *v)
{
    g_called = v;
    return status ? v->compute(self, status, context) : NULL;
}

void *hk_op_destroy(void *self, unsigned flags, const hk_vtable *v)
{
    (void)self;
    (void)flags;
    g_called = v;
    return NULL;
}

static void **slots_of(uint32_t i)
{
    return (void **)(void *)(g_base + TABLES + i * TABLE_BYTES);
}

// A module of one page of code and three of vtables; some of these lie across two pages.
void setUp(void)
{
    DWORD old;
    g_base = VirtualAlloc(NULL, PAGES * PAGE, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
    for (uint32_t i = 0; i < COUNT; i++) {
        g_rvas[i] = TABLES + i * TABLE_BYTES;
        for (uint32_t j = 0; j < 5; j++)
            slots_of(i)[j] = g_base + CODE + (i * 7 + j) % PAGE;
    }
    g_module = (hk_op_module){.base = g_base, .vtable_count = COUNT, .vtable_rvas = g_rvas};
    g_module.scan = (hk_scan){
        .bytes = g_base,
        .size = PAGES * PAGE,
        .base = (uint64_t)(uintptr_t)g_base,
        .section_count = 2,
        .sections = {{CODE, PAGE, true, false}, {TABLES, (PAGES - 1) * PAGE, false, false}}};
    // The eighth class can be called: mov rax, rdx; inc dword [r8]; ret
    memcpy(slots_of(7)[1], "\x48\x89\xd0\x41\xff\x00\xc3", 7);
    memcpy(g_before, g_base, sizeof g_before);
    TEST_ASSERT_TRUE(VirtualProtect(g_base, PAGE, PAGE_EXECUTE_READ, &old));
    TEST_ASSERT_TRUE(VirtualProtect(g_base + PAGE, (PAGES - 1) * PAGE, PAGE_READONLY, &old));
}

void tearDown(void)
{
    VirtualFree(g_base, 0, MEM_RELEASE);
}

// There is room for all.
static uint32_t swap(void)
{
    bool full;
    uint32_t swapped = hk_vtables_swap(&g_module, &full);
    TEST_ASSERT_FALSE(full);
    return swapped;
}

static void write_slot(uint32_t i, int slot, void *value)
{
    DWORD old;
    TEST_ASSERT_TRUE(VirtualProtect(&slots_of(i)[slot], 8, PAGE_READWRITE, &old));
    slots_of(i)[slot] = value;
    TEST_ASSERT_TRUE(VirtualProtect(&slots_of(i)[slot], 8, PAGE_READONLY, &old));
}

static void check_protection(void)
{
    MEMORY_BASIC_INFORMATION region;
    TEST_ASSERT_TRUE(VirtualQuery(g_base + PAGE, &region, sizeof region) != 0);
    TEST_ASSERT_EQUAL_HEX32(PAGE_READONLY, region.Protect);
    TEST_ASSERT_EQUAL_size_t((PAGES - 1) * PAGE, region.RegionSize);
}

// ---------------------------------------------------------------------------------------- vtables

static const hk_vtable *called_by(void **vtable, int slot)
{
    g_called = NULL;
    if (slot == 0)
        ((hk_destroy_fn *)(uintptr_t)vtable[0])(&vtable, 0);
    else
        ((hk_compute_fn *)(uintptr_t)vtable[1])(&vtable, NULL, NULL);
    TEST_ASSERT_NOT_NULL(g_called);
    return g_called;
}

static void test_swapped_and_put_back(void)
{
    for (int round = 0; round < 3; round++) {
        TEST_ASSERT_EQUAL_UINT32(COUNT, swap());
        check_protection();
        for (uint32_t i = 0; i < COUNT; i++) {
            void **before = (void **)(void *)(g_before + TABLES + i * TABLE_BYTES);
            for (int slot = 0; slot < 2; slot++) {
                const hk_vtable *v = called_by(slots_of(i), slot);
                TEST_ASSERT_EQUAL_PTR(slots_of(i), (void *)atomic_load(&v->address));
                TEST_ASSERT_EQUAL_PTR(before[0], (void *)(uintptr_t)v->destroy);
                TEST_ASSERT_EQUAL_PTR(before[1], (void *)(uintptr_t)v->compute);
            }
            TEST_ASSERT_EQUAL_PTR(before[2], slots_of(i)[2]);
        }
        hk_vtables_restore(&g_module);
        TEST_ASSERT_EQUAL_MEMORY(g_before, g_base, sizeof g_before);
        check_protection();
    }
}

static void test_somebody_elses_vtables_stay_theirs(void)
{
    static int theirs;
    write_slot(5, 1, &theirs);
    write_slot(9, 0, &theirs);
    memcpy(g_before, g_base, sizeof g_before);
    TEST_ASSERT_EQUAL_UINT32(COUNT - 2, swap());
    TEST_ASSERT_EQUAL_PTR(&theirs, slots_of(5)[1]);
    TEST_ASSERT_EQUAL_MEMORY(g_before + TABLES + 5 * TABLE_BYTES, slots_of(5), TABLE_BYTES);
    TEST_ASSERT_EQUAL_PTR(&theirs, slots_of(9)[0]);
    hk_vtables_restore(&g_module);
    TEST_ASSERT_EQUAL_MEMORY(g_before, g_base, sizeof g_before);
}

// They took our function for the original: putting the old one back would cut them off.
static void test_changed_behind_our_back(void)
{
    static int theirs;
    swap();
    write_slot(3, 1, &theirs);
    hk_vtables_restore(&g_module);
    TEST_ASSERT_EQUAL_PTR(&theirs, slots_of(3)[1]);
    write_slot(3, 1, ((void **)(void *)(g_before + TABLES + 3 * TABLE_BYTES))[1]);
    TEST_ASSERT_EQUAL_MEMORY(g_before, g_base, sizeof g_before);
}

// A call that is under way, or comes by a saved pointer, after everything was put back.
static void test_calls_find_their_way_for_ever(void)
{
    void *object = slots_of(7);
    int calls = 0, status;
    TEST_ASSERT_EQUAL_UINT32(COUNT, swap());
    hk_compute_fn *saved = (hk_compute_fn *)(uintptr_t)slots_of(7)[1];
    TEST_ASSERT_EQUAL_PTR(&status, saved(&object, &status, &calls));
    hk_vtables_restore(&g_module);
    TEST_ASSERT_EQUAL_PTR(&status, saved(&object, &status, &calls));
    TEST_ASSERT_EQUAL_INT(2, calls);
}

// Tools that put themselves before a single object copy its whole vtable, with our slots in it.
static void test_copied_vtable_works_like_the_original(void)
{
    void *copy[5], *object = copy;
    int calls = 0, status;
    swap();
    memcpy(copy, slots_of(7), sizeof copy);
    TEST_ASSERT_EQUAL_PTR(slots_of(7), (void *)atomic_load(&called_by(copy, 0)->address));
    TEST_ASSERT_EQUAL_PTR(&status, ((hk_compute_fn *)(uintptr_t)copy[1])(&object, &status, &calls));
    hk_vtables_restore(&g_module);
    TEST_ASSERT_EQUAL_PTR(&status, ((hk_compute_fn *)(uintptr_t)copy[1])(&object, &status, &calls));
    TEST_ASSERT_EQUAL_INT(2, calls);
    // Copied, then swapped again: the copy leads to the same place.
    swap();
    TEST_ASSERT_EQUAL_PTR(copy[1], slots_of(7)[1]);
    hk_vtables_restore(&g_module);
}

// At another address each time, as runtimes that are loaded again are.
static void test_unloaded_modules_give_their_places_back(void)
{
    uint8_t *blocks[HK_VTABLE_SLOTS / COUNT + 1];
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        int object = 0;
        TEST_ASSERT_EQUAL_UINT32(COUNT, swap());
        TEST_ASSERT_NOT_NULL(hk_kernel_take_up(&object, called_by(slots_of(7), 1), 1));
        hk_vtables_restore(&g_module);
        hk_vtables_forget(g_base, PAGES * PAGE);
        TEST_ASSERT_NULL(hk_kernel_find(&object, 1));
        blocks[i] = g_base;
        setUp();
    }
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        VirtualFree(blocks[i], 0, MEM_RELEASE);
}

static DWORD protection_of(const void *address)
{
    MEMORY_BASIC_INFORMATION info = {0};
    VirtualQuery(address, &info, sizeof info);
    return info.Protect;
}

// Constants and code in one section: somebody may be running on the page.
static void test_a_page_that_is_executed_stays_executable(void)
{
    DWORD old;
    hk_slot_guard g = {0};
    void **slot = slots_of(0), *was = *slot;
    TEST_ASSERT_TRUE(VirtualProtect(slot, sizeof *slot, PAGE_EXECUTE_READ, &old));
    TEST_ASSERT_TRUE(hk_slot_change(&g, slot, was, &g_hk));
    TEST_ASSERT_EQUAL_PTR(&g_hk, *slot);
    TEST_ASSERT_EQUAL_HEX32(PAGE_EXECUTE_READWRITE, protection_of(slot));
    void **other = (void **)(void *)(g_base + 2 * PAGE);
    TEST_ASSERT_FALSE(hk_slot_change(&g, other, &g_hk, was));
    TEST_ASSERT_EQUAL_HEX32(PAGE_EXECUTE_READ, protection_of(slot));
    TEST_ASSERT_EQUAL_HEX32(PAGE_READWRITE, protection_of(other));
    hk_slots_close(&g);
    TEST_ASSERT_EQUAL_HEX32(PAGE_READONLY, protection_of(other));
}

// ---------------------------------------------------------------------------------------- kernels

static void test_shapes_that_were_told(void)
{
    static hk_vtable vtable;
    int object = 0;
    hk_kernel *k = hk_kernel_take_up(&object, &vtable, 1);
    for (uint32_t set = 1; set <= HK_KERNEL_SETS + 1; set++) {
        TEST_ASSERT_FALSE(hk_kernel_is_described(k, set));
        hk_kernel_described(k, set);
        TEST_ASSERT_TRUE(hk_kernel_is_described(k, set));
    }
    TEST_ASSERT_FALSE(hk_kernel_is_described(k, 1)); // the oldest
    TEST_ASSERT_TRUE(hk_kernel_is_described(k, 2));
    TEST_ASSERT_FALSE(hk_kernel_waits(k));
    for (uint32_t set = 1000; k->described_count < HK_KERNEL_TELLS; set++)
        hk_kernel_described(k, set);
    for (uint32_t i = 0; i < HK_KERNEL_PAUSE; i++)
        TEST_ASSERT_TRUE(hk_kernel_waits(k));
    TEST_ASSERT_FALSE(hk_kernel_waits(k));
    static const uint32_t pauses[] = {1, 2, 4, 8, 16, 32, 64, 64};
    for (size_t i = 0; i < sizeof pauses / sizeof *pauses; i++) {
        uint32_t waited = 0;
        hk_kernel_undescribed(k);
        while (hk_kernel_waits(k))
            waited++;
        TEST_ASSERT_EQUAL_UINT32(pauses[i], waited);
    }
    hk_kernels_clear();
}

static void test_two_kinds_of_inputs_in_turn(void)
{
    static hk_vtable vtable;
    int object = 0;
    hk_kernel *k = hk_kernel_take_up(&object, &vtable, 1);
    atomic_store(&k->set, 0); // seen while a session was loading
    hk_kernel_described(k, 7);
    TEST_ASSERT_EQUAL_UINT32(HK_SET_UNTOLD, atomic_load(&k->set_before));
    hk_kernel_described(k, 8);
    TEST_ASSERT_EQUAL_UINT32(8, atomic_load(&k->set));
    TEST_ASSERT_EQUAL_UINT32(7, atomic_load(&k->set_before));
    hk_kernel_note_set(k, 8);
    TEST_ASSERT_EQUAL_UINT32(7, atomic_load(&k->set_before));
    AcquireSRWLockExclusive(&k->lock); // executions ask while shapes are told: nobody waits
    TEST_ASSERT_TRUE(hk_kernel_is_described(k, 7));
    TEST_ASSERT_FALSE(hk_kernel_is_described(k, 9));
    ReleaseSRWLockExclusive(&k->lock);
    hk_kernel_retire(&object, 1, &(hk_session_ref){0});
    k = hk_kernel_take_up(&object, &vtable, 1);
    TEST_ASSERT_EQUAL_UINT32(HK_SET_UNTOLD, atomic_load(&k->set_before));
    TEST_ASSERT_FALSE(hk_kernel_is_described(k, 7));
    hk_kernels_clear();
}

static void test_kernel_is_found_until_retired(void)
{
    static hk_vtable one, other;
    static hk_session owner = {.id = 5};
    int object = 0;
    hk_session_ref whose;
    TEST_ASSERT_NULL(hk_kernel_find(&object, 1));
    hk_kernel *k = hk_kernel_take_up(&object, &one, 1);
    uint32_t first = k->id;
    TEST_ASSERT_EQUAL_PTR(k, hk_kernel_find(&object, 1));
    TEST_ASSERT_EQUAL_PTR(k, hk_kernel_take_up(&object, &one, 1));
    hk_kernel_belongs(k, &owner);
    TEST_ASSERT_EQUAL_UINT32(first, hk_kernel_retire(&object, 1, &whose));
    TEST_ASSERT_EQUAL_PTR(&owner, whose.session);
    TEST_ASSERT_EQUAL_UINT32(5, whose.id);
    TEST_ASSERT_NULL(hk_kernel_find(&object, 1));
    TEST_ASSERT_EQUAL_UINT32(0, hk_kernel_retire(&object, 1, &whose));
    TEST_ASSERT_NULL(whose.session);
    // Another kernel at the same address at once
    k = hk_kernel_take_up(&object, &one, 1);
    TEST_ASSERT_NOT_EQUAL(first, k->id);
    TEST_ASSERT_EQUAL_UINT32(HK_SET_UNTOLD, atomic_load(&k->set));
    // Its session has gone, and another one has come to that session's place: it is not named.
    hk_kernel_belongs(k, &owner);
    owner.id = 6;
    hk_kernel_retire(&object, 1, &whose);
    TEST_ASSERT_EQUAL_UINT32(5, whose.id);
    k = hk_kernel_take_up(&object, &one, 1);
    // One of another class whose predecessor died unseen
    uint32_t second = k->id;
    k = hk_kernel_take_up(&object, &other, 1);
    TEST_ASSERT_NOT_EQUAL(second, k->id);
    // What is known from an earlier arming does not count.
    TEST_ASSERT_NULL(hk_kernel_find(&object, 3));
    TEST_ASSERT_EQUAL_UINT32(0, hk_kernel_retire(&object, 3, &whose));
    hk_kernel_take_up(&object, &one, 3);
    hk_kernels_clear();
    TEST_ASSERT_NULL(hk_kernel_find(&object, 3));
}

enum { THREADS = 4, ROUNDS = 20000, OBJECTS = 64 };

// Each thread's kernels come and go; others' entries are recycled under its feet all the while.
static DWORD WINAPI churn(void *parameter)
{
    static uint64_t objects[THREADS][OBJECTS][2];
    static hk_vtable vtable;
    hk_session_ref whose;
    size_t mine = (size_t)(uintptr_t)parameter;
    uint32_t ids[OBJECTS] = {0}, state = (uint32_t)mine + 1;
    for (int i = 0; i < ROUNDS; i++) {
        state = state * 1664525 + 1013904223;
        uint32_t n = state >> 16 & (OBJECTS - 1);
        void *object = objects[mine][n];
        if (!ids[n]) {
            ids[n] = hk_kernel_take_up(object, &vtable, 5)->id;
            continue;
        }
        // Not to be found at once is allowed; to be found as somebody else is not.
        const hk_kernel *k = hk_kernel_find(object, 5);
        if (!k)
            k = hk_kernel_take_up(object, &vtable, 5);
        if (k->id != ids[n])
            return 1;
        if (state >> 24 & 1) {
            if (hk_kernel_retire(object, 5, &whose) != ids[n])
                return 2;
            ids[n] = 0;
        }
    }
    return 0;
}

static void test_kernels_of_many_threads(void)
{
    HANDLE threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        threads[i] = CreateThread(NULL, 0, churn, (void *)i, 0, NULL);
    TEST_ASSERT_EQUAL(WAIT_OBJECT_0, WaitForMultipleObjects(THREADS, threads, TRUE, 60000));
    for (size_t i = 0; i < THREADS; i++) {
        DWORD code = 99;
        GetExitCodeThread(threads[i], &code);
        TEST_ASSERT_EQUAL_UINT32(0, code);
        CloseHandle(threads[i]);
    }
}

// ----------------------------------------------------------------------------------------- memory

static void test_memory_that_is_not_there(void)
{
    uint64_t word;
    uint8_t bytes[2 * PAGE];
    uint64_t base = (uint64_t)(uintptr_t)g_base;
    TEST_ASSERT_TRUE(hk_copy_readable(base + TABLES, &word, sizeof word));
    TEST_ASSERT_EQUAL_MEMORY(g_before + TABLES, &word, sizeof word);
    TEST_ASSERT_TRUE(hk_copy_readable(base, bytes, sizeof bytes));
    TEST_ASSERT_FALSE(hk_copy_readable(0, &word, sizeof word));
    TEST_ASSERT_FALSE(hk_copy_readable(0x100000000u + 65536 * 7 + 1, &word, sizeof word));
    TEST_ASSERT_FALSE(hk_copy_readable(UINT64_MAX - 3, &word, sizeof word));
    DWORD old;
    VirtualProtect(g_base + PAGE, PAGE, PAGE_NOACCESS, &old);
    TEST_ASSERT_FALSE(hk_copy_readable(base + PAGE - 8, bytes, 16));
    VirtualProtect(g_base + PAGE, PAGE, PAGE_READONLY | PAGE_GUARD, &old);
    TEST_ASSERT_FALSE(hk_copy_readable(base + PAGE, &word, sizeof word));
    VirtualFree(g_base + 2 * PAGE, PAGE, MEM_DECOMMIT);
    TEST_ASSERT_FALSE(hk_copy_readable(base + 2 * PAGE, &word, sizeof word));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_swapped_and_put_back);
    RUN_TEST(test_somebody_elses_vtables_stay_theirs);
    RUN_TEST(test_changed_behind_our_back);
    RUN_TEST(test_calls_find_their_way_for_ever);
    RUN_TEST(test_copied_vtable_works_like_the_original);
    RUN_TEST(test_unloaded_modules_give_their_places_back);
    RUN_TEST(test_shapes_that_were_told);
    RUN_TEST(test_a_page_that_is_executed_stays_executable);
    RUN_TEST(test_two_kinds_of_inputs_in_turn);
    RUN_TEST(test_kernel_is_found_until_retired);
    RUN_TEST(test_kernels_of_many_threads);
    RUN_TEST(test_memory_that_is_not_there);
    return UNITY_END();
}
