// SPDX-License-Identifier: MIT
// The option parser: every form of an option, operands in between, and every refusal.
#include "options.h"

#include "collector/etw.h"
#include "etw_words.h"

#include <string.h>
#include <unity.h>

typedef struct test_args {
    bool json;
    const char *output;
    vw_number limit, wait;
    const char *words;
} test_args;

static const vw_option options[] = {
    {"json", 0, VW_FLAG, offsetof(test_args, json), NULL, "flag"},
    {"output", 'o', VW_TEXT, offsetof(test_args, output), "FILE", "text"},
    {"limit", 0, VW_COUNT, offsetof(test_args, limit), "N", "count"},
    {"wait", 'w', VW_DURATION, offsetof(test_args, wait), "TIME", "duration"},
    {"words", 0, VW_WORDS, offsetof(test_args, words), "LIST", "words"},
};

static vw_command g_command;
static test_args g_args;
static vw_parsed g_parsed;
static char *g_argv[16];

void setUp(void)
{
    memset(&g_args, 0, sizeof g_args);
    g_command = (vw_command){.name = "test",
                             .usage = "FILE",
                             .options = options,
                             .option_count = 5,
                             .args_size = sizeof g_args,
                             .max_operands = 9};
}

void tearDown(void) {}

// Words separated by blanks.
static cm_status parse(const char *line)
{
    static char words[256];
    int argc = 0;
    strcpy(words, line);
    for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
        g_argv[argc++] = word;
    return vw_parse(&g_command, argc, g_argv, &g_args, &g_parsed);
}

static void expect_ok(const char *line, int operands)
{
    setUp();
    TEST_ASSERT_EQUAL_INT_MESSAGE(CM_OK, parse(line), line);
    TEST_ASSERT_EQUAL_INT_MESSAGE(operands, g_parsed.operand_count, line);
}

static void expect_refused(const char *line, const char *part)
{
    setUp();
    TEST_ASSERT_EQUAL_INT_MESSAGE(CM_USAGE, parse(line), line);
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(cm_error_text(CM_USAGE), part), cm_error_text(CM_USAGE));
}

static void test_values_joined_and_apart(void)
{
    expect_ok("--limit 5 --output=a.ortl", 0);
    TEST_ASSERT_TRUE(g_args.limit.given);
    TEST_ASSERT_EQUAL_INT64(5, g_args.limit.count);
    TEST_ASSERT_EQUAL_STRING("a.ortl", g_args.output);
    expect_ok("-o b --limit=7", 0);
    TEST_ASSERT_EQUAL_STRING("b", g_args.output);
    TEST_ASSERT_EQUAL_INT64(7, g_args.limit.count);
    expect_ok("-oc", 0);
    TEST_ASSERT_EQUAL_STRING("c", g_args.output);
    expect_ok("--output=", 0);
    TEST_ASSERT_EQUAL_STRING("", g_args.output);
    expect_ok("--output --json", 0); // a value may look like an option
    TEST_ASSERT_EQUAL_STRING("--json", g_args.output);
    TEST_ASSERT_FALSE(g_args.json);
}

static void test_options_between_operands(void)
{
    expect_ok("a --json b - c", 4);
    TEST_ASSERT_TRUE(g_args.json);
    TEST_ASSERT_EQUAL_STRING("a", g_parsed.operands[0]);
    TEST_ASSERT_EQUAL_STRING("b", g_parsed.operands[1]);
    TEST_ASSERT_EQUAL_STRING("-", g_parsed.operands[2]);
    TEST_ASSERT_EQUAL_STRING("c", g_parsed.operands[3]);
    TEST_ASSERT_FALSE(g_args.limit.given);
}

static void test_two_dashes_end_options(void)
{
    expect_ok("--json -- --limit -- -x", 3);
    TEST_ASSERT_EQUAL_STRING("--limit", g_parsed.operands[0]);
    TEST_ASSERT_EQUAL_STRING("--", g_parsed.operands[1]);
    TEST_ASSERT_EQUAL_STRING("-x", g_parsed.operands[2]);
}

static void test_a_program_keeps_its_own_options(void)
{
    g_command.operands_end_options = true;
    TEST_ASSERT_EQUAL_INT(CM_OK, parse("--json app.exe --json --help -- --limit"));
    TEST_ASSERT_EQUAL_INT(5, g_parsed.operand_count);
    TEST_ASSERT_FALSE(g_parsed.help);
    TEST_ASSERT_EQUAL_STRING("--", g_parsed.operands[3]);
}

static void test_raw_commands_take_everything(void)
{
    g_command.raw = true;
    TEST_ASSERT_EQUAL_INT(CM_OK, parse("--frobnicate -- x"));
    TEST_ASSERT_EQUAL_INT(3, g_parsed.operand_count);
}

static void test_help_wins(void)
{
    g_command.min_operands = 1;
    TEST_ASSERT_EQUAL_INT(CM_OK, parse("--json --help --frobnicate"));
    TEST_ASSERT_TRUE(g_parsed.help);
    TEST_ASSERT_EQUAL_INT(CM_OK, parse("-h"));
    TEST_ASSERT_TRUE(g_parsed.help);
}

static void expect_seconds(const char *line, double seconds)
{
    expect_ok(line, 0);
    TEST_ASSERT_DOUBLE_WITHIN(1e-15, seconds, g_args.wait.seconds);
}

static void test_durations(void)
{
    expect_seconds("--wait 1.5", 1.5);
    expect_seconds("--wait 250ms", 0.25);
    expect_seconds("-w 2m", 120);
    expect_seconds("-w1h", 3600);
    expect_seconds("--wait=3s", 3);
    expect_seconds("--wait .5us", 0.5e-6);
    expect_seconds("--wait 10ns", 10e-9);
    expect_seconds("--wait 0", 0);
    expect_refused("--wait soon", "needs seconds");
    expect_refused("--wait -1", "needs seconds");
    expect_refused("--wait 1d", "needs seconds");
    expect_refused("--wait 1e3", "needs seconds");
    expect_refused("--wait 0x10", "needs seconds");
    expect_refused("--wait inf", "needs seconds");
    expect_refused("--wait .", "needs seconds");
    expect_refused("--wait=", "needs seconds");
}

static void test_counts(void)
{
    expect_ok("--limit 0", 0);
    TEST_ASSERT_TRUE(g_args.limit.given);
    expect_ok("--limit 9223372036854775807", 0);
    expect_refused("--limit 9223372036854775808", "whole number");
    expect_refused("--limit -1", "whole number");
    expect_refused("--limit +1", "whole number");
    expect_refused("--limit 1.5", "whole number");
    expect_refused("--limit=", "whole number");
    expect_refused("--limit 5x", "whole number");
}

static void test_refusals_name_the_nearest(void)
{
    expect_refused("--jsno", "did you mean --json?");
    expect_refused("--ouput=x", "did you mean --output?");
    expect_refused("--limits 5", "did you mean --limit?");
    expect_refused("--entirely-different", "has no option --entirely-different;");
    expect_refused("-x", "has no option -x");
}

static void test_other_refusals(void)
{
    expect_refused("--json=1", "takes no value");
    expect_refused("--limit", "needs a value: --limit N");
    expect_refused("-o", "needs a value");
    g_command.min_operands = 2;
    TEST_ASSERT_EQUAL_INT(CM_USAGE, parse("one"));
    g_command.min_operands = 0;
    g_command.max_operands = 1;
    TEST_ASSERT_EQUAL_INT(CM_USAGE, parse("one two"));
    TEST_ASSERT_NOT_NULL(strstr(cm_error_text(CM_USAGE), "\"two\""));
}

static void test_a_list_may_be_left_out(void)
{
    expect_ok("--words a,b file", 1);
    TEST_ASSERT_EQUAL_STRING("a,b", g_args.words);
    expect_ok("--words --json file", 1);
    TEST_ASSERT_EQUAL_STRING("", g_args.words);
    TEST_ASSERT_TRUE(g_args.json);
    expect_ok("--words -- file", 1);
    TEST_ASSERT_EQUAL_STRING("", g_args.words);
    expect_ok("file --words", 1);
    TEST_ASSERT_EQUAL_STRING("", g_args.words);
    expect_ok("--words=x file", 1);
    TEST_ASSERT_EQUAL_STRING("x", g_args.words);
}

static void expect_etw(const char *text, unsigned expected)
{
    unsigned parts = 99;
    TEST_ASSERT_EQUAL(CM_OK, vw_read_etw(text, &parts));
    TEST_ASSERT_EQUAL(expected, parts);
}

static void test_parts_of_event_tracing(void)
{
    unsigned parts = 0;
    expect_etw(NULL, 0);
    expect_etw("", CO_ETW_KERNEL | CO_ETW_ORT);
    expect_etw("ort", CO_ETW_ORT);
    expect_etw("gpu,kernel", CO_ETW_GPU | CO_ETW_KERNEL);
    expect_etw("all", CO_ETW_ALL);
    expect_etw("off", 0);
    TEST_ASSERT_EQUAL(CM_USAGE, vw_read_etw("foo", &parts));
    TEST_ASSERT_NOT_NULL(strstr(cm_error_text(CM_USAGE), "some of kernel, ort, gpu"));
    TEST_ASSERT_EQUAL(CM_USAGE, vw_read_etw("ort,,gpu", &parts));
    TEST_ASSERT_EQUAL(CM_USAGE, vw_read_etw("4242", &parts));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_values_joined_and_apart);
    RUN_TEST(test_options_between_operands);
    RUN_TEST(test_two_dashes_end_options);
    RUN_TEST(test_a_program_keeps_its_own_options);
    RUN_TEST(test_raw_commands_take_everything);
    RUN_TEST(test_help_wins);
    RUN_TEST(test_durations);
    RUN_TEST(test_counts);
    RUN_TEST(test_refusals_name_the_nearest);
    RUN_TEST(test_other_refusals);
    RUN_TEST(test_a_list_may_be_left_out);
    RUN_TEST(test_parts_of_event_tracing);
    return UNITY_END();
}
