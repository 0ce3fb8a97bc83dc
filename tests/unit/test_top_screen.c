// SPDX-License-Identifier: MIT
// The loop of `ortscope top` on a live capture: keys that are scripted, pictures that are caught.
#include "common/os.h"
#include "screen.h"
#include "top_screen.h"

#include <unity.h>

#include <stdio.h>
#include <string.h>

static da_live *g_live;
static const char *g_keys;   // each after a picture; '+' before one: another run ends first
static char g_picture[8192]; // the newest
static int64_t g_runs;
static uint64_t g_clock_ns, g_clock_end_ns; // instead of the real one where it has an end
static unsigned g_pictures;

static int64_t text(const char *t)
{
    static int64_t last = 0;
    last++;
    da_live_string(g_live, last, t, strlen(t));
    return last;
}

static void add_run(void)
{
    int64_t begin = g_runs++ * 2000000;
    const int64_t run[TM_run_COUNT] = {[TM_run_session] = 1,
                                       [TM_run_run] = g_runs,
                                       [TM_run_begin] = begin,
                                       [TM_run_duration] = 1000000};
    const int64_t op[TM_op_COUNT] = {[TM_op_kernel] = 1,
                                     [TM_op_session] = 1,
                                     [TM_op_run] = g_runs,
                                     [TM_op_begin] = begin,
                                     [TM_op_duration] = 1000};
    da_live_row(g_live, TM_KIND_run, run);
    da_live_row(g_live, TM_KIND_op, op);
    da_live_time(g_live, begin + 1000000);
}

void setUp(void)
{
    const da_about about = {.file = "x.ortl"};
    TEST_ASSERT_EQUAL(CM_OK, da_live_create(&about, &g_live));
    const int64_t kernel[TM_kernel_COUNT] = {[TM_kernel_kernel] = 1,
                                             [TM_kernel_session] = 1,
                                             [TM_kernel_node] = text("first_node"),
                                             [TM_kernel_op_type] = text("Gather"),
                                             [TM_kernel_provider] = text("CPUExecutionProvider")};
    da_live_row(g_live, TM_KIND_kernel, kernel);
    g_runs = 0;
    for (unsigned i = 0; i < 7777; i++)
        add_run();
}

void tearDown(void)
{
    da_live_destroy(g_live);
}

// ------------------------------------------------------------------------- instead of the terminal

cm_status __wrap_vw_screen_open(void);
cm_status __wrap_vw_screen_open(void)
{
    return CM_OK;
}

void __wrap_vw_screen_close(void);
void __wrap_vw_screen_close(void) {}

void __wrap_vw_screen_size(unsigned *columns, unsigned *rows);
void __wrap_vw_screen_size(unsigned *columns, unsigned *rows)
{
    *columns = 120;
    *rows = 30;
}

int __wrap_vw_screen_key(unsigned timeout_ms);
int __wrap_vw_screen_key(unsigned timeout_ms)
{
    if (g_clock_end_ns) { // nobody presses anything
        g_clock_ns += timeout_ms * 1000000u;
        return g_clock_ns < g_clock_end_ns ? VW_KEY_NONE : 'q';
    }
    if (*g_keys == '+') {
        add_run();
        g_keys++;
    }
    return *g_keys ? *g_keys++ : 'q';
}

uint64_t __real_cm_monotonic_ns(void);
uint64_t __wrap_cm_monotonic_ns(void);
uint64_t __wrap_cm_monotonic_ns(void)
{
    return g_clock_end_ns ? g_clock_ns : __real_cm_monotonic_ns();
}

cm_status __wrap_cm_stream_write(cm_stream stream, const void *bytes, size_t len);
cm_status __wrap_cm_stream_write(cm_stream stream, const void *bytes, size_t len)
{
    (void)stream;
    g_pictures++;
    snprintf(g_picture, sizeof g_picture, "%.*s", (int)len, (const char *)bytes);
    return CM_OK;
}

// ------------------------------------------------------------------------------------------- tests

static void show(const char *keys)
{
    static vw_io io;
    const da_capture capture = {.live = g_live};
    g_keys = keys;
    TEST_ASSERT_EQUAL(CM_OK, vw_top_screen(&io, &capture, NULL, NULL));
}

static void expect(const char *part, bool there)
{
    if ((strstr(g_picture, part) != NULL) != there)
        TEST_FAIL_MESSAGE(part);
}

static void test_what_is_paused_stands_still(void)
{
    show("p+.");
    expect("paused", true);
    expect("7,777", true);
    show("p+.p");
    expect("7,779", true);
}

static void test_what_is_chosen_while_paused_is_shown(void)
{
    show("p");
    expect("OPERATOR", true);
    expect("Gather", true);
    show("pn");
    expect("NODE", true);
    expect("first_node", true);
    expect("Gather", false);
    show("ps");
    expect(">1", true);
    show("pw");
    expect("last 30 s", true);
}

static void test_there_are_five_pictures_a_second(void)
{
    const unsigned seconds = 60;
    g_clock_ns = 1000000000u;
    g_clock_end_ns = g_clock_ns + seconds * 1000000000ull;
    g_pictures = 0;
    show("");
    g_clock_end_ns = 0;
    TEST_ASSERT_UINT_WITHIN(seconds / 4, 5 * seconds, g_pictures);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_what_is_paused_stands_still);
    RUN_TEST(test_what_is_chosen_while_paused_is_shown);
    RUN_TEST(test_there_are_five_pictures_a_second);
    return UNITY_END();
}
