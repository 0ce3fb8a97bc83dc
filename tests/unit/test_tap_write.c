// SPDX-License-Identifier: MIT
// How long a session is being created that only ORT's own events tell of: until its end is told,
// its caller has returned or we have come again.
#include "tap.h"

#include <string.h>
#include <unity.h>

enum { EPOCH = 1, ROOM = 128, DEEP = 8192 };

hk_state g_hk;
hk_tap_provider g_hk_tap[HK_TAP_PROVIDERS];
hk_tap_register_fn *g_hk_tap_real_register;
hk_tap_write_fn *g_hk_tap_real_write;
static const uint8_t g_description[] = "provider";
static const void *const g_api[1];
static hk_module g_module = {.api = g_api};
static hk_thread g_thread;

void hk_tap_take(hk_tap_provider *p)
{
    (void)p;
}

void hk_tap_reset(hk_tap_provider *p)
{
    (void)p;
}

void hk_tap_tell_ort(const hk_tap_provider *p, bool listens)
{
    (void)p, (void)listens;
}

bool hk_tap_is_wanted(const hk_tap_provider *p, uint8_t level, uint64_t keyword)
{
    (void)p, (void)level, (void)keyword;
    return false;
}

bool hk_hidden_note(hk_module *m, hk_tap_text version)
{
    (void)m, (void)version;
    return false;
}

uint32_t hk_session_with_ort_id(const hk_module *m, uint32_t ort_id)
{
    (void)m, (void)ort_id;
    return 0;
}

hk_thread *hk_thread_slow(void)
{
    return NULL;
}

bool hk_emit(hk_thread *t, uint32_t epoch, tl_event event, uint64_t ticks, const void *fixed,
             size_t fixed_bytes, const hk_text *texts, size_t count)
{
    (void)t, (void)epoch, (void)event, (void)ticks;
    (void)fixed, (void)fixed_bytes, (void)texts, (void)count;
    return true;
}

hk_text hk_text_of(const char *text)
{
    return (hk_text){text, 0};
}

void hk_tap_session_begins(hk_thread *t, uint32_t epoch, uintptr_t stack)
{
    hk_creation_begins(t, epoch, stack);
}

void hk_tap_session_created(hk_thread *t, uint32_t epoch, hk_tap_provider *p, const hk_tap_event *e,
                            uint64_t now)
{
    (void)t, (void)epoch, (void)p, (void)e, (void)now;
}

void hk_tap_run_begins(hk_thread *t, uint32_t epoch, hk_tap_provider *p, uint32_t ort_session,
                       uintptr_t stack, uint64_t now)
{
    (void)t, (void)epoch, (void)p, (void)ort_session, (void)stack, (void)now;
}

void hk_tap_run_ends(hk_thread *t, uint32_t epoch, uintptr_t stack, uint64_t now)
{
    (void)t, (void)epoch, (void)stack, (void)now;
}

void hk_tap_run_fails(hk_thread *t, uint32_t epoch, const hk_tap_event *e, uintptr_t stack,
                      uint64_t now)
{
    (void)t, (void)epoch, (void)e, (void)stack, (void)now;
}

// An event without fields, as ORT hands it over.
static __attribute__((noinline)) void ort_tells(const char *name)
{
    uint8_t event[ROOM] = {0};
    uint8_t descriptor[16] = {0};
    uint16_t len = (uint16_t)(3 + strlen(name) + 1); // its own length, no tags, the name
    memcpy(event, &len, sizeof len);
    memcpy(event + 3, name, strlen(name));
    hk_tap_part parts[] = {{(uint64_t)(uintptr_t)g_description, sizeof g_description, 2},
                           {(uint64_t)(uintptr_t)event, len, 1}};
    hk_tap_write(1, descriptor, NULL, NULL, 2, parts);
}

static __attribute__((noinline)) bool is_loading(uint32_t epoch)
{
    return hk_is_loading(&g_thread, epoch);
}

// As InferenceSession::Initialize: it tells, and has work done by others. Far down the stack.
static __attribute__((noinline)) bool create(const char *end, uint32_t epoch)
{
    volatile uint8_t deep[DEEP];
    deep[0] = 0;
    ort_tells("SessionCreationStart");
    bool loading = is_loading(epoch);
    if (end)
        ort_tells(end);
    return loading && deep[0] == 0;
}

void setUp(void)
{
    memset(&g_thread, 0, sizeof g_thread);
    atomic_store(&g_hk.epoch, EPOCH);
    memset(g_hk_tap, 0, sizeof g_hk_tap);
    g_hk_tap[0].module = &g_module;
    atomic_store(&g_hk_tap[0].description, g_description);
}

void tearDown(void) {}

static void test_loading_until_the_end_is_told(void)
{
    static const char *const ends[] = {"SessionCreation", "SessionCreationEnd", "RuntimeError"};
    TEST_ASSERT_FALSE(is_loading(EPOCH));
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        TEST_ASSERT_TRUE(create(ends[i], EPOCH));
        TEST_ASSERT_EQUAL_UINT32(0, g_thread.inside);
    }
}

static void test_an_end_without_a_word(void)
{
    TEST_ASSERT_TRUE(create(NULL, EPOCH));
    TEST_ASSERT_FALSE(is_loading(EPOCH));
    TEST_ASSERT_EQUAL_UINT32(0, g_thread.inside);
}

static void test_an_end_while_we_were_not_there(void)
{
    TEST_ASSERT_FALSE(create(NULL, EPOCH + 2));
    TEST_ASSERT_EQUAL_UINT32(0, g_thread.inside);
}

// The session hooks take their own mark away.
static void test_a_creation_that_a_hook_sees_stays(void)
{
    g_thread.inside = HK_INSIDE_CREATE;
    create(NULL, EPOCH);
    TEST_ASSERT_TRUE(is_loading(EPOCH + 2));
    TEST_ASSERT_EQUAL_UINT32(HK_INSIDE_CREATE, g_thread.inside);
}

int main(void)
{
    g_hk.tls = TlsAlloc();
    TlsSetValue(g_hk.tls, &g_thread);
    UNITY_BEGIN();
    RUN_TEST(test_loading_until_the_end_is_told);
    RUN_TEST(test_an_end_without_a_word);
    RUN_TEST(test_an_end_while_we_were_not_there);
    RUN_TEST(test_a_creation_that_a_hook_sees_stays);
    return UNITY_END();
}
