// SPDX-License-Identifier: MIT
// The picture of `ortscope top` and the keys that a terminal sends.
#include "common/text.h"
#include "screen.h"
#include "top_frame.h"

#include <unity.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

static vw_io g_io;
static da_top g_top;

void setUp(void)
{
    g_io = (vw_io){.unicode = true};
    cm_out_init_memory(&g_io.out);
    g_top = (da_top){.state = DA_RECORDING,
                     .time_s = 75,
                     .duration_s = (double)NAN,
                     .window_s = 5,
                     .machine_percent = 61.2,
                     .overhead_us = 1.2,
                     .process_count = 1,
                     .session_count = 2,
                     .op_count = 40};
    g_top.processes[0] =
        (da_top_process){220, "node.exe", 93.1, 181600000, (double)NAN, "running", (double)NAN};
    for (size_t i = 0; i < 2; i++)
        g_top.sessions[i] = (da_top_session){.id = (int64_t)i + 1,
                                             .model = "cls.onnx",
                                             .runs = 1500,
                                             .in_flight = 1,
                                             .throughput_per_s = 411.25,
                                             .p50_us = 1822.4,
                                             .p95_us = 2714,
                                             .p99_us = 3176,
                                             .max_us = 9760,
                                             .arena_bytes = (double)NAN};
    for (size_t i = 0; i < 40; i++) {
        g_top.ops[i] = (da_top_op){.provider = "CPUExecutionProvider",
                                   .calls = 23500,
                                   .self_us = 286900,
                                   .mean_us = 12.21,
                                   .share = 0.309};
        snprintf(g_top.ops[i].name, sizeof g_top.ops[i].name, "Type%zu", i);
    }
}

void tearDown(void)
{
    cm_out_deinit(&g_io.out);
}

static const char *frame(vw_top_look look)
{
    cm_out_clear(&g_io.out);
    vw_top_frame(&g_io, &g_top, &look);
    return cm_out_string(&g_io.out);
}

// Lines of it; fails where one is wider than the screen.
static unsigned count_lines(const char *text, unsigned columns)
{
    unsigned lines = 0;
    while (*text) {
        char line[1024];
        size_t len = strcspn(text, "\n");
        TEST_ASSERT_LESS_THAN(sizeof line, len);
        memcpy(line, text, len);
        line[len] = 0;
        TEST_ASSERT_LESS_OR_EQUAL_MESSAGE(columns, cm_text_width(line), line);
        lines++;
        text += len + (text[len] == '\n');
    }
    return lines;
}

static void expect(const char *text, const char *part)
{
    if (!strstr(text, part))
        TEST_FAIL_MESSAGE(part);
}

static void test_the_frame_fills_the_screen_and_no_more(void)
{
    static const unsigned sizes[][2] = {{80, 24}, {132, 50}, {200, 60}, {40, 12}, {20, 5}, {1, 1}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const char *text = frame((vw_top_look){.columns = sizes[i][0], .rows = sizes[i][1]});
        TEST_ASSERT_LESS_OR_EQUAL(sizes[i][1], count_lines(text, sizes[i][0]));
    }
    const char *text = frame((vw_top_look){.columns = 80, .rows = 24});
    TEST_ASSERT_EQUAL(24, count_lines(text, 80));
}

static void test_the_numbers_are_there(void)
{
    const char *text = frame((vw_top_look){.columns = 120, .rows = 30});
    expect(text, "recording  1:15");
    expect(text, "node.exe");
    expect(text, "93.1 %");
    expect(text, "181.6 MB");
    expect(text, "1,500");
    expect(text, "411.2");
    expect(text, "1.822 ms");
    expect(text, "3.176 ms");
    expect(text, "Type0");
    expect(text, "30.9 %");
    expect(text, "threads -"); // not known
    expect(text, "q quit");
}

static void test_what_is_foreign_can_do_nothing(void)
{
    strcpy(g_top.sessions[0].model, "\x1b[2Jx\x07\r\n");
    strcpy(g_top.ops[0].name, "\x1b]0;title\x07");
    strcpy(g_top.processes[0].program, "\xff\xfe\x1b[31m");
    const char *text = frame((vw_top_look){.columns = 120, .rows = 30});
    TEST_ASSERT_NULL(strchr(text, 0x1b));
    TEST_ASSERT_NULL(strchr(text, 0x07));
    TEST_ASSERT_NULL(strchr(text, '\r'));
    TEST_ASSERT_EQUAL(30, count_lines(text, 120));
}

static void test_scrolling_and_choosing(void)
{
    const char *text =
        frame((vw_top_look){.columns = 120, .rows = 30, .first_op = 5, .session = 2});
    TEST_ASSERT_NULL(strstr(text, "Type4 "));
    expect(text, "Type5 ");
    expect(text, ">2");
}

static void test_what_is_left_out_is_told(void)
{
    TEST_ASSERT_NULL(strstr(frame((vw_top_look){.columns = 120}), " more"));
    g_top.more_ops = 171;
    expect(frame((vw_top_look){.columns = 120}), "\n  171 more\n");
    const char *text = frame((vw_top_look){.columns = 120, .rows = 24});
    TEST_ASSERT_NULL(strstr(text, "171 more")); // there are others before
    TEST_ASSERT_EQUAL(24, count_lines(text, 120));
    expect(frame((vw_top_look){.columns = 120, .rows = 24, .first_op = 39}), "171 more");
}

// As da_top_take tells them: the one that runs is the newest.
static void fill_sessions(size_t session_count)
{
    g_top.session_count = session_count;
    for (size_t i = 0; i < session_count; i++) {
        g_top.sessions[i] = g_top.sessions[0];
        g_top.sessions[i].id = (int64_t)(session_count - i);
        g_top.sessions[i].ended = i > 0;
        snprintf(g_top.sessions[i].model, sizeof g_top.sessions[i].model, "model%lld.onnx",
                 (long long)g_top.sessions[i].id);
    }
}

// Lines with that text.
static unsigned count_with(const char *text, const char *part)
{
    unsigned found = 0;
    for (; (text = strstr(text, part)) != NULL; text++)
        found++;
    return found;
}

static void test_the_chosen_session_is_always_on_the_screen(void)
{
    static const unsigned rows[] = {24, 12, 10, 60};
    fill_sessions(40);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        vw_top_look look = {.columns = 120, .rows = rows[i]};
        expect(frame(look), "model40.onnx"); // the one that runs
        for (look.session = 1; look.session <= 40; look.session++) {
            char chosen[60], more[30];
            snprintf(chosen, sizeof chosen, ">%lld  model%lld.onnx", (long long)look.session,
                     (long long)look.session);
            const char *text = frame(look);
            expect(text, chosen);
            TEST_ASSERT_EQUAL(rows[i], count_lines(text, 120));
            unsigned shown = count_with(text, ".onnx");
            snprintf(more, sizeof more, "\n  %u more\n", 40 - shown);
            TEST_ASSERT_EQUAL(shown < 40, strstr(text, more) != NULL);
            expect(text, "OPERATOR");
        }
    }
    TEST_ASSERT_EQUAL(40, count_with(frame((vw_top_look){.columns = 120}), ".onnx"));
    TEST_ASSERT_NULL(strstr(frame((vw_top_look){.columns = 120}), " more"));
}

static void test_processes_that_are_left_out_are_counted(void)
{
    g_top.process_count = DA_TOP_PROCESSES;
    for (size_t i = 1; i < DA_TOP_PROCESSES; i++)
        g_top.processes[i] = g_top.processes[0];
    TEST_ASSERT_NULL(strstr(frame((vw_top_look){.columns = 120, .rows = 40}), " more"));
    g_top.more_processes = 2;
    expect(frame((vw_top_look){.columns = 120, .rows = 40}), "\n  2 more\n");
    const char *text = frame((vw_top_look){.columns = 120, .rows = 14});
    TEST_ASSERT_EQUAL(5, count_with(text, "node.exe"));
    expect(text, "\n  5 more\n");
    TEST_ASSERT_EQUAL(14, count_lines(text, 120));
}

static void test_times_of_submissions_are_marked(void)
{
    static const unsigned columns[] = {80, 100, 120};
    TEST_ASSERT_NULL(strstr(frame((vw_top_look){.columns = 120}), "submits"));
    strcpy(g_top.ops[3].provider, "CUDAExecutionProvider");
    g_top.ops[3].submits = true;
    for (size_t i = 0; i < 3; i++) {
        const char *text = frame((vw_top_look){.columns = columns[i]});
        const char *line = strstr(text, "Type3 "), *mark = strstr(text, "CUDA, submits");
        TEST_ASSERT_TRUE(line && mark && mark > line && mark < strchr(line, '\n'));
        TEST_ASSERT_NULL(strstr(text, "CPU, submits"));
        count_lines(text, columns[i]);
    }
}

static void test_states_have_words(void)
{
    expect(frame((vw_top_look){.columns = 120, .rows = 30, .paused = true}),
           "paused, the recording goes on");
    g_top.state = DA_ENDED;
    g_top.processes[0].state = "exited";
    g_top.processes[0].exit_code = 3;
    g_top.lost_events = 12;
    const char *text = frame((vw_top_look){.columns = 120, .rows = 30});
    expect(text, "the recording has ended");
    expect(text, "ended with code 3");
    expect(text, "12 events lost");
    g_top.replay = true;
    g_top.duration_s = 100;
    expect(frame((vw_top_look){.columns = 120, .rows = 30}), "1:15 of 1:40");
}

static void test_without_rows_there_are_no_keys(void)
{
    const char *text = frame((vw_top_look){.columns = 100});
    TEST_ASSERT_NULL(strstr(text, "q quit"));
    expect(text, "Type39");
}

static int decode(const char *bytes, size_t *taken)
{
    return vw_screen_decode(bytes, strlen(bytes), taken);
}

static void test_keys(void)
{
    size_t taken;
    TEST_ASSERT_EQUAL('q', decode("qx", &taken));
    TEST_ASSERT_EQUAL(1, taken);
    TEST_ASSERT_EQUAL(VW_KEY_UP, decode("\x1b[Ax", &taken));
    TEST_ASSERT_EQUAL(3, taken);
    TEST_ASSERT_EQUAL(VW_KEY_DOWN, decode("\x1bOB", &taken));
    TEST_ASSERT_EQUAL(27, decode("\x1b", &taken));
    TEST_ASSERT_EQUAL(VW_KEY_QUIT, decode("\x03", &taken));
    TEST_ASSERT_EQUAL(VW_KEY_NONE, decode("\x1b[15~q", &taken)); // F5, not five keys
    TEST_ASSERT_EQUAL(5, taken);
    TEST_ASSERT_EQUAL(VW_KEY_NONE, decode("\x1b[1;5", &taken)); // cut off
    TEST_ASSERT_EQUAL(5, taken);
    TEST_ASSERT_EQUAL(VW_KEY_NONE, decode("\xc3\xa4", &taken));
    TEST_ASSERT_EQUAL(VW_KEY_NONE, decode("", &taken));
    TEST_ASSERT_EQUAL(0, taken);
}

static void test_sequences_that_are_cut(void)
{
    static const char *const cut[] = {"\x1b", "\x1b[", "\x1bO", "\x1b[1;5"};
    static const char *const whole[] = {"", "q", "\x1b[A", "\x1bOB", "\x1b[15~", "\x1bq", "q\x1b"};
    for (size_t i = 0; i < sizeof cut / sizeof *cut; i++)
        TEST_ASSERT_TRUE_MESSAGE(vw_screen_is_cut(cut[i], strlen(cut[i])), cut[i]);
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        TEST_ASSERT_FALSE_MESSAGE(vw_screen_is_cut(whole[i], strlen(whole[i])), whole[i]);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_the_frame_fills_the_screen_and_no_more);
    RUN_TEST(test_the_numbers_are_there);
    RUN_TEST(test_what_is_foreign_can_do_nothing);
    RUN_TEST(test_scrolling_and_choosing);
    RUN_TEST(test_what_is_left_out_is_told);
    RUN_TEST(test_the_chosen_session_is_always_on_the_screen);
    RUN_TEST(test_processes_that_are_left_out_are_counted);
    RUN_TEST(test_times_of_submissions_are_marked);
    RUN_TEST(test_states_have_words);
    RUN_TEST(test_without_rows_there_are_no_keys);
    RUN_TEST(test_keys);
    RUN_TEST(test_sequences_that_are_cut);
    return UNITY_END();
}
