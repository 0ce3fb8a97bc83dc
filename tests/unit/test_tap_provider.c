// SPDX-License-Identifier: MIT
// The state block of ORT's provider, with this test in the place of ETW: what a real session asks
// for and what we want are added up, and each goes without harm to the other.
#include "mapped_image.h"
#include "tap.h"

#include <string.h>
#include <unity.h>

hk_state g_hk;

// No module is looked into here.
bool hk_image_scan(hk_scan *s, const uint8_t *base)
{
    (void)s;
    (void)base;
    return false;
}

static hk_tap_block g_block;
static hk_tap_provider *const g_provider = &g_hk_tap[3];

typedef void NTAPI enable_fn(const GUID *, ULONG, UCHAR, ULONGLONG, ULONGLONG, void *, void *);

// What ORT's own callback was told last
static struct {
    int calls;
    ULONG code;
    UCHAR level;
    ULONGLONG any;
    void *context;
} g_told;

static void NTAPI ort_callback(const GUID *source, ULONG code, UCHAR level, ULONGLONG any,
                               ULONGLONG all, void *filter, void *context)
{
    (void)source;
    (void)all;
    (void)filter;
    g_told.calls++;
    g_told.code = code;
    g_told.level = level;
    g_told.any = any;
    g_told.context = context;
}

// As TraceLogging's own callback does: first the block, then what the block leads to.
static void etw_says(ULONG code, UCHAR level, ULONGLONG any, ULONGLONG all)
{
    if (code <= 1) {
        g_block.any = any;
        g_block.all = all;
        g_block.level_plus1 = code ? level + 1u : 0;
    }
    if (g_block.callback)
        ((enable_fn *)(uintptr_t)g_block.callback)(NULL, code, level, any, all, NULL,
                                                   g_block.context);
}

static void expect_block(uint32_t level_plus1, uint64_t any, uint64_t all)
{
    TEST_ASSERT_EQUAL_UINT32(level_plus1, g_block.level_plus1);
    TEST_ASSERT_EQUAL_UINT64(any, g_block.any);
    TEST_ASSERT_EQUAL_UINT64(all, g_block.all);
}

void setUp(void)
{
    memset(&g_told, 0, sizeof g_told);
    g_block = (hk_tap_block){.callback = (void *)(uintptr_t)ort_callback, .context = &g_block};
    memset(g_provider, 0, sizeof *g_provider);
    g_provider->block = &g_block;
    g_provider->ours = (hk_tap_wish){5, 0x41, 0};
}

void tearDown(void)
{
    hk_tap_give_back(g_provider);
}

static void test_switched_on_without_a_call_of_orts_code(void)
{
    hk_tap_take(g_provider);
    expect_block(5, 0x41, 0);
    TEST_ASSERT_EQUAL_INT(0, g_told.calls);
    TEST_ASSERT_FALSE(hk_tap_is_wanted(g_provider, 4, 0x40)); // by nobody but us
    hk_tap_give_back(g_provider);
    expect_block(0, 0, 0);
    TEST_ASSERT_EQUAL_PTR((void *)(uintptr_t)ort_callback, g_block.callback);
    TEST_ASSERT_EQUAL_INT(0, g_told.calls);
}

static void test_a_session_that_comes_and_goes(void)
{
    hk_tap_take(g_provider);
    etw_says(1, 3, 0x2, 0);
    expect_block(5, 0x43, 0);
    TEST_ASSERT_EQUAL_INT(1, g_told.calls);
    TEST_ASSERT_EQUAL_UINT32(1, g_told.code);
    TEST_ASSERT_EQUAL_UINT8(4, g_told.level);
    TEST_ASSERT_EQUAL_UINT64(0x43, g_told.any);
    TEST_ASSERT_EQUAL_PTR(&g_block, g_told.context);
    TEST_ASSERT_TRUE(hk_tap_is_wanted(g_provider, 3, 0x2));
    TEST_ASSERT_TRUE(hk_tap_is_wanted(g_provider, 3, 0));
    TEST_ASSERT_FALSE(hk_tap_is_wanted(g_provider, 4, 0x2));  // too verbose for it
    TEST_ASSERT_FALSE(hk_tap_is_wanted(g_provider, 3, 0x40)); // of no interest to it
    etw_says(0, 0, 0, 0);
    expect_block(5, 0x41, 0); // ours goes on
    TEST_ASSERT_EQUAL_UINT32(1, g_told.code);
    TEST_ASSERT_FALSE(hk_tap_is_wanted(g_provider, 3, 0x2));
}

static void test_a_session_that_was_there_and_stays(void)
{
    etw_says(1, 5, 0x6, 0x4);
    g_told.calls = 0;
    hk_tap_take(g_provider);
    expect_block(6, 0x47, 0);
    TEST_ASSERT_TRUE(hk_tap_is_wanted(g_provider, 5, 0x4));
    TEST_ASSERT_FALSE(hk_tap_is_wanted(g_provider, 5, 0x2)); // it asked for 4 as well
    hk_tap_give_back(g_provider);
    expect_block(6, 0x6, 0x4);
    TEST_ASSERT_EQUAL_INT(0, g_told.calls);
}

static void test_capture_state_passes_through(void)
{
    hk_tap_take(g_provider);
    etw_says(2, 5, 0x1, 0);
    expect_block(5, 0x41, 0);
    TEST_ASSERT_EQUAL_UINT32(2, g_told.code);
    TEST_ASSERT_EQUAL_UINT64(0x1, g_told.any);
}

static void test_a_change_in_the_moment_that_we_leave(void)
{
    hk_tap_take(g_provider);
    enable_fn *ours = (enable_fn *)(uintptr_t)g_block.callback;
    // ETW has written the block and read where to call; we write the block and are gone.
    hk_tap_give_back(g_provider);
    ours(NULL, 1, 4, 0x10, 0, NULL, &g_block);
    expect_block(5, 0x10, 0);
    TEST_ASSERT_EQUAL_INT(1, g_told.calls);
    TEST_ASSERT_EQUAL_UINT64(0x10, g_told.any);
}

static void test_without_a_callback_and_registered_again(void)
{
    g_block.callback = NULL;
    hk_tap_take(g_provider);
    etw_says(1, 2, 0x8, 0);
    expect_block(5, 0x49, 0);
    // TraceLogging writes its callback anew before it registers.
    g_block.callback = (void *)(uintptr_t)ort_callback;
    hk_tap_reset(g_provider);
    expect_block(0, 0, 0);
    etw_says(1, 2, 0x80, 0); // ETW may tell while it registers
    TEST_ASSERT_EQUAL_UINT32(1, g_told.code);
    hk_tap_take(g_provider);
    expect_block(5, 0xc1, 0);
    hk_tap_give_back(g_provider);
    expect_block(3, 0x80, 0);
    TEST_ASSERT_EQUAL_PTR((void *)(uintptr_t)ort_callback, g_block.callback);
}

static void test_somebody_else_has_taken_the_callback(void)
{
    void *theirs = &g_told;
    hk_tap_take(g_provider);
    g_block.callback = theirs;
    hk_tap_give_back(g_provider);
    TEST_ASSERT_EQUAL_PTR(theirs, g_block.callback);
    expect_block(0, 0, 0);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_switched_on_without_a_call_of_orts_code);
    RUN_TEST(test_a_session_that_comes_and_goes);
    RUN_TEST(test_a_session_that_was_there_and_stays);
    RUN_TEST(test_capture_state_passes_through);
    RUN_TEST(test_a_change_in_the_moment_that_we_leave);
    RUN_TEST(test_without_a_callback_and_registered_again);
    RUN_TEST(test_somebody_else_has_taken_the_callback);
    return UNITY_END();
}
