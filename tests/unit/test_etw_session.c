// SPDX-License-Identifier: MIT
// A session's life on a pretended Windows: what is asked of it, in which order, and what becomes of
// every refusal.
#include "etw_session.h"

#include "etl/etl_classes.h"
#include "etw_providers.h"

#include "unity.h"

#include <stdio.h>
#include <string.h>

#define SELF_PID     4242u
#define SELF_CREATED 0x1db4e7a90c1f200u

typedef struct fake_session {
    char name[64];
    uint32_t mode, flags, buffer_kib;
    uint64_t handle; // 0: free
} fake_session;

static fake_session g_sessions[80];
static char g_log[4096];  // what was called
static char g_said[4096]; // what the user was told
static uint32_t g_kernel_error, g_user_error, g_enable_error, g_stop_error;
static const uint8_t *g_refused; // the provider that g_enable_error is about, NULL: all
static bool g_stub, g_no_handle, g_no_independent, g_profile;
static uint32_t g_alive_pid;
static uint64_t g_alive_created;
static etw_losses g_losses;
static etw_properties g_wanted; // of the last StartTrace

static void note(const char *text)
{
    strcat(g_log, text);
    strcat(g_log, "\n");
}

static void narrow(const uint16_t *wide, char *out)
{
    size_t i = 0;
    do
        out[i] = (char)wide[i];
    while (wide[i++]);
}

static fake_session *named(const char *name)
{
    for (size_t i = 0; i < 80; i++)
        if (g_sessions[i].handle && strcmp(g_sessions[i].name, name) == 0)
            return &g_sessions[i];
    return NULL;
}

static fake_session *add(const char *name)
{
    for (size_t i = 0; i < 80; i++) {
        if (g_sessions[i].handle)
            continue;
        snprintf(g_sessions[i].name, sizeof g_sessions[i].name, "%s", name);
        g_sessions[i].handle = i + 100;
        g_sessions[i].buffer_kib = 64;
        return &g_sessions[i];
    }
    return NULL;
}

static size_t count(void)
{
    size_t n = 0;
    for (size_t i = 0; i < 80; i++)
        n += g_sessions[i].handle != 0;
    return n;
}

static uint32_t start_trace(uint64_t *handle, const uint16_t *wide, etw_properties *p)
{
    char name[64];
    narrow(wide, name);
    g_wanted = *p;
    note(p->mode & ETW_SYSTEM_LOGGER_MODE ? "start system" : "start");
    if (g_stub || g_no_handle) {
        *handle = g_no_handle ? 0 : 0xcafe4242;
        return ETW_OK;
    }
    if (g_no_independent && p->mode & ETW_INDEPENDENT_MODE)
        return ETW_INVALID_PARAMETER;
    uint32_t error = p->mode & ETW_SYSTEM_LOGGER_MODE ? g_kernel_error : g_user_error;
    if (error)
        return error;
    if (named(name))
        return ETW_ALREADY_EXISTS;
    if (count() >= 64)
        return ETW_NO_SYSTEM_RESOURCES;
    fake_session *s = add(name);
    s->mode = p->mode;
    s->flags = p->enable_flags;
    s->buffer_kib = p->buffer_kib;
    *handle = s->handle;
    return ETW_OK;
}

static uint32_t control_trace(uint64_t handle, const uint16_t *wide, etw_properties *p,
                              uint32_t code)
{
    static const char *const names[] = {"query", "stop", "?", "flush"};
    char name[64] = "";
    if (wide)
        narrow(wide, name);
    if (g_stub)
        return ETW_OK; // and nothing filled in
    fake_session *s = wide ? named(name) : NULL;
    for (size_t i = 0; i < 80 && !s; i++)
        if (handle && g_sessions[i].handle == handle)
            s = &g_sessions[i];
    note(names[code]);
    TEST_ASSERT_EQUAL(sizeof(etw_session_block), p->wnode_bytes);
    if (!s)
        return ETW_NO_SUCH_SESSION;
    p->buffer_kib = s->buffer_kib;
    p->events_lost = (uint32_t)g_losses.events;
    p->log_buffers_lost = (uint32_t)g_losses.log_buffers;
    p->real_time_buffers_lost = (uint32_t)g_losses.real_time_buffers;
    if (code == ETW_STOP && g_stop_error)
        return g_stop_error;
    if (code == ETW_STOP)
        s->handle = 0;
    return ETW_OK;
}

static uint32_t enable_trace(uint64_t handle, const uint8_t provider[16], uint32_t code,
                             uint8_t level, uint64_t any, uint64_t all, uint32_t timeout_ms,
                             etw_enable *parameters)
{
    static const char *const codes[] = {"disable", "enable", "state"};
    char text[128];
    bool ids = code == ETW_ENABLE_PROVIDER && parameters->filter_count;
    (void)handle;
    TEST_ASSERT_EQUAL_UINT64(0, all);
    TEST_ASSERT_EQUAL_UINT32(0, timeout_ms);
    const char *who = memcmp(provider, co_etl_guid_ort, 16) == 0              ? "ort"
                      : memcmp(provider, co_etl_guid_kernel_process, 16) == 0 ? "kernel-process"
                      : memcmp(provider, co_etw_guid_dxgkrnl, 16) == 0        ? "dxgkrnl"
                                                                              : "?";
    snprintf(text, sizeof text, "%s %s %u %llx%s", codes[code], who, level, (unsigned long long)any,
             ids ? " ids" : "");
    note(text);
    bool refused = !g_refused || memcmp(g_refused, provider, 16) == 0;
    return code == ETW_ENABLE_PROVIDER && refused ? g_enable_error : ETW_OK;
}

static uint32_t query_all(etw_properties **blocks, uint32_t capacity, uint32_t *out)
{
    uint32_t n = 0;
    for (size_t i = 0; i < 80 && n < capacity && !g_stub; i++) {
        if (!g_sessions[i].handle)
            continue;
        etw_properties *p = blocks[n++];
        uint16_t *name = (uint16_t *)(void *)((char *)p + p->logger_name_offset);
        for (size_t c = 0; c == 0 || g_sessions[i].name[c - 1]; c++)
            name[c] = (uint8_t)g_sessions[i].name[c];
    }
    *out = n;
    return ETW_OK;
}

static bool is_alive(uint32_t pid, uint64_t created)
{
    return pid == g_alive_pid && (!created || created == g_alive_created);
}

static bool allow_profile(void)
{
    return g_profile;
}

static const etw_api api = {.start_trace = start_trace,
                            .control_trace = control_trace,
                            .enable_trace = enable_trace,
                            .query_all = query_all,
                            .is_alive = is_alive,
                            .allow_profile = allow_profile};

static void hear(void *context, int level, const char *sentence)
{
    (void)context;
    (void)level;
    strcat(g_said, sentence);
    strcat(g_said, "\n");
}

static const etw_tell tell = {NULL, hear};
static etw_session g_session;

static bool start(unsigned parts)
{
    etw_wish wish = {.parts = parts, .processors = 2, .self = {SELF_PID, SELF_CREATED}};
    return co_etw_session_start(&g_session, &api, &wish, &tell);
}

void setUp(void)
{
    memset(g_sessions, 0, sizeof g_sessions);
    g_log[0] = g_said[0] = '\0';
    g_kernel_error = g_user_error = g_enable_error = g_stop_error = 0;
    g_refused = NULL;
    g_stub = g_no_handle = g_no_independent = false;
    g_profile = true;
    g_alive_pid = 0;
    g_losses = (etw_losses){0};
}

void tearDown(void) {}

static void says(const char *words)
{
    if (!strstr(g_said, words))
        TEST_FAIL_MESSAGE(g_said);
}

static void test_all_parts_share_one_session(void)
{
    TEST_ASSERT_TRUE(start(CO_ETW_ALL));
    TEST_ASSERT_EQUAL(CO_ETW_ALL, g_session.parts);
    TEST_ASSERT_EQUAL(1, count());
    TEST_ASSERT_EQUAL_STRING("", g_said);
    TEST_ASSERT_EQUAL_STRING("start system\nquery\nenable ort 5 400000000101\n"
                             "enable dxgkrnl 4 1 ids\n",
                             g_log);
    TEST_ASSERT_EQUAL_HEX32(ETW_REAL_TIME_MODE | ETW_SYSTEM_LOGGER_MODE | ETW_INDEPENDENT_MODE,
                            g_wanted.mode);
    TEST_ASSERT_EQUAL_HEX32(0x01003917, g_wanted.enable_flags);
    TEST_ASSERT_EQUAL(ETW_CLOCK_QPC, g_wanted.client_context);
    TEST_ASSERT_TRUE(g_wanted.minimum_buffers >= 64 &&
                     g_wanted.maximum_buffers > g_wanted.minimum_buffers);
    TEST_ASSERT_NOT_NULL(named("ortscope-4242-1db4e7a90c1f200"));
}

static void test_it_is_asked_for_its_losses_before_it_is_stopped(void)
{
    etw_losses lost = {0};
    TEST_ASSERT_TRUE(start(CO_ETW_ORT));
    g_losses = (etw_losses){7, 2, 3};
    g_log[0] = '\0';
    co_etw_session_rundown(&g_session);
    co_etw_session_flush(&g_session);
    co_etw_session_stop(&g_session, &lost);
    co_etw_session_stop(&g_session, &lost);
    TEST_ASSERT_EQUAL_STRING("state ort 5 400000000101\nstate kernel-process 4 70\nflush\n"
                             "disable ort 5 400000000101\ndisable kernel-process 4 70\n"
                             "query\nstop\n",
                             g_log);
    TEST_ASSERT_EQUAL_UINT64(7, lost.events);
    TEST_ASSERT_EQUAL_UINT64(2, lost.log_buffers);
    TEST_ASSERT_EQUAL_UINT64(3, lost.real_time_buffers);
    TEST_ASSERT_EQUAL(0, count());
}

static void test_without_rights_for_the_kernel_the_others_remain(void)
{
    g_kernel_error = ETW_ACCESS_DENIED;
    TEST_ASSERT_TRUE(start(CO_ETW_KERNEL | CO_ETW_ORT));
    TEST_ASSERT_EQUAL(CO_ETW_ORT, g_session.parts);
    says("--etw kernel needs administrator rights");
    TEST_ASSERT_NULL(strstr(g_said, "--etw ort"));
    TEST_ASSERT_NOT_NULL(strstr(g_log, "start system\nstart\n"));
    TEST_ASSERT_NOT_NULL(strstr(g_log, "enable kernel-process"));
}

static void test_without_any_rights_each_part_says_what_it_needs(void)
{
    g_kernel_error = g_user_error = ETW_ACCESS_DENIED;
    TEST_ASSERT_FALSE(start(CO_ETW_ALL));
    says("--etw kernel needs administrator rights");
    says("Performance Log Users: `net localgroup \"Performance Log Users\" \"%USERNAME%\" /add`");
    says("--etw gpu needs");
    TEST_ASSERT_EQUAL_UINT64(0, g_session.handle);
}

static void test_a_refused_provider_takes_only_its_part_away(void)
{
    g_enable_error = ETW_ACCESS_DENIED;
    g_refused = co_etw_guid_dxgkrnl;
    TEST_ASSERT_TRUE(start(CO_ETW_ORT | CO_ETW_GPU));
    TEST_ASSERT_EQUAL(CO_ETW_ORT, g_session.parts);
    says("--etw gpu needs");
    setUp();
    g_enable_error = ETW_ACCESS_DENIED;
    TEST_ASSERT_FALSE(start(CO_ETW_ORT));
    TEST_ASSERT_EQUAL(0, count());
    // Nobody misses what only stands in for the kernel.
    setUp();
    g_enable_error = ETW_ACCESS_DENIED;
    g_refused = co_etl_guid_kernel_process;
    TEST_ASSERT_TRUE(start(CO_ETW_ORT));
    TEST_ASSERT_EQUAL_STRING("", g_said);
}

static void test_samples_need_a_privilege(void)
{
    g_profile = false;
    TEST_ASSERT_TRUE(start(CO_ETW_KERNEL));
    TEST_ASSERT_EQUAL_HEX32(0x00003917, g_wanted.enable_flags);
    says("no samples of the processor");
}

static void test_a_stub_is_not_believed(void)
{
    g_stub = true;
    TEST_ASSERT_FALSE(start(CO_ETW_ALL));
    says("Event tracing (--etw) is not available here");
    setUp();
    g_no_handle = true;
    TEST_ASSERT_FALSE(start(CO_ETW_ORT));
    says("Event tracing (--etw) is not available here");
}

static void test_too_many_sessions(void)
{
    for (int i = 0; i < 64; i++)
        add("somebody else");
    TEST_ASSERT_FALSE(start(CO_ETW_ORT));
    says("as many event tracing sessions as Windows allows (64)");
    TEST_ASSERT_EQUAL(64, count());
}

static void test_too_many_system_loggers(void)
{
    g_kernel_error = ETW_NO_SYSTEM_RESOURCES;
    TEST_ASSERT_TRUE(start(CO_ETW_KERNEL | CO_ETW_ORT));
    says("no more than eight sessions hear the kernel");
    TEST_ASSERT_EQUAL(CO_ETW_ORT, g_session.parts);
}

static void test_other_failures_tell_their_number(void)
{
    g_user_error = 1234;
    TEST_ASSERT_FALSE(start(CO_ETW_ORT));
    says("error 1234");
}

static void test_our_name_taken_by_an_earlier_life(void)
{
    add("ortscope-4242-1db4e7a90c1f200");
    g_alive_pid = SELF_PID; // as we are
    g_alive_created = SELF_CREATED;
    TEST_ASSERT_TRUE(start(CO_ETW_ORT));
    TEST_ASSERT_EQUAL(1, count());
    TEST_ASSERT_NOT_NULL(strstr(g_log, "start\nstop\nstart\n"));
}

static void test_old_windows_without_independent_sessions(void)
{
    g_no_independent = true;
    TEST_ASSERT_TRUE(start(CO_ETW_ORT));
    TEST_ASSERT_EQUAL_HEX32(ETW_REAL_TIME_MODE, g_wanted.mode);
}

static void test_sessions_of_the_dead_are_stopped(void)
{
    add("ortscope-77-1db0000000000"); // gone
    add("ortscope-88-1db1111111111"); // its PID is somebody else's now
    add("ortscope-99-1db2222222222"); // alive
    add("ortscope-recorder");         // not ours
    add("ortscope-77-xyz");
    add("NT Kernel Logger");
    g_alive_pid = 99;
    g_alive_created = 0x1db2222222222;
    TEST_ASSERT_EQUAL(2, co_etw_stop_stale(&api, &tell));
    TEST_ASSERT_NULL(named("ortscope-77-1db0000000000"));
    TEST_ASSERT_NULL(named("ortscope-88-1db1111111111"));
    TEST_ASSERT_EQUAL(4, count());
    says("Stopped the event tracing session ortscope-77-1db0000000000");
    setUp();
    add("ortscope-88-1db1111111111");
    g_alive_pid = 88;
    g_alive_created = 5;
    TEST_ASSERT_EQUAL(1, co_etw_stop_stale(&api, &tell));
}

static void test_one_that_can_not_be_stopped_is_told(void)
{
    add("ortscope-77-1db0000000000");
    g_stop_error = ETW_ACCESS_DENIED;
    TEST_ASSERT_EQUAL(0, co_etw_stop_stale(&api, &tell));
    says("`logman stop ortscope-77-1db0000000000 -ets`");
}

static void test_the_check_leaves_nothing_behind(void)
{
    co_etw_findings f;
    etw_identity self = {SELF_PID, SELF_CREATED};
    g_kernel_error = ETW_ACCESS_DENIED;
    co_etw_check_with(&api, self, &f);
    TEST_ASSERT_EQUAL(CO_ETW_NO_RIGHTS, f.kernel.answer);
    TEST_ASSERT_NOT_NULL(strstr(f.kernel.fix, "RunAs"));
    TEST_ASSERT_EQUAL(CO_ETW_AVAILABLE, f.ort.answer);
    TEST_ASSERT_EQUAL(0, count());
    g_user_error = ETW_ACCESS_DENIED;
    co_etw_check_with(&api, self, &f);
    TEST_ASSERT_EQUAL(CO_ETW_NO_RIGHTS, f.ort.answer);
    TEST_ASSERT_EQUAL_STRING("net localgroup \"Performance Log Users\" \"%USERNAME%\" /add",
                             f.ort.fix);
    g_user_error = g_kernel_error = ETW_NO_SYSTEM_RESOURCES;
    co_etw_check_with(&api, self, &f);
    TEST_ASSERT_EQUAL(CO_ETW_NO_ROOM, f.kernel.answer);
    TEST_ASSERT_EQUAL(CO_ETW_NO_ROOM, f.ort.answer);
    g_stub = true;
    co_etw_check_with(&api, self, &f);
    TEST_ASSERT_EQUAL(CO_ETW_NOT_AVAILABLE, f.kernel.answer);
    co_etw_check_with(NULL, self, &f);
    TEST_ASSERT_EQUAL(CO_ETW_NOT_AVAILABLE, f.ort.answer);
    TEST_ASSERT_EQUAL_STRING("", f.ort.fix);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_all_parts_share_one_session);
    RUN_TEST(test_it_is_asked_for_its_losses_before_it_is_stopped);
    RUN_TEST(test_without_rights_for_the_kernel_the_others_remain);
    RUN_TEST(test_without_any_rights_each_part_says_what_it_needs);
    RUN_TEST(test_a_refused_provider_takes_only_its_part_away);
    RUN_TEST(test_samples_need_a_privilege);
    RUN_TEST(test_a_stub_is_not_believed);
    RUN_TEST(test_too_many_sessions);
    RUN_TEST(test_too_many_system_loggers);
    RUN_TEST(test_other_failures_tell_their_number);
    RUN_TEST(test_our_name_taken_by_an_earlier_life);
    RUN_TEST(test_old_windows_without_independent_sessions);
    RUN_TEST(test_sessions_of_the_dead_are_stopped);
    RUN_TEST(test_one_that_can_not_be_stopped_is_told);
    RUN_TEST(test_the_check_leaves_nothing_behind);
    return UNITY_END();
}
