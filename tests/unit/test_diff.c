// SPDX-License-Identifier: MIT
// Comparing recordings: what is matched with what, verdicts on planted changes, conditions.
#include "../timeline_rows.h"
#include "analysis/gate.h"
#include "common/os.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unity.h>

#define US ((int64_t)1000)

static const char *const PATHS[2] = {"test_diff_old.ortl", "test_diff_new.ortl"};
static tm_writer *g_writer;
static tm_reader *g_readers[2];
static an_summary *g_summaries[2];
static an_diff *g_diff;
static uint64_t g_random;

static void forget(void)
{
    an_diff_destroy(g_diff);
    g_diff = NULL;
    for (int side = 0; side < 2; side++) {
        an_summary_destroy(g_summaries[side]);
        tm_reader_close(g_readers[side]);
        g_summaries[side] = NULL;
        g_readers[side] = NULL;
        cm_file_remove(PATHS[side]);
    }
}

void setUp(void)
{
    g_random = 88172645463325252u;
}

void tearDown(void)
{
    forget();
}

static double uniform(void)
{
    g_random ^= g_random << 13;
    g_random ^= g_random >> 7;
    g_random ^= g_random << 17;
    return ((double)(g_random >> 11) + 0.5) / 9007199254740992.0;
}

static int64_t noisy(double typical_us, double noise)
{
    double sum = 0;
    for (int i = 0; i < 6; i++)
        sum += uniform() - 0.5;
    return (int64_t)(typical_us * 1000 * exp(noise * sum * 1.4142));
}

static void begin_side(int side)
{
    tm_header header = {"0.1.0", 1767323045000000000u, "Windows", "CPU", side ? 4 : 8};
    TEST_ASSERT_EQUAL_INT(CM_OK, tm_writer_create(PATHS[side], &header, &g_writer));
}

static void end_side(int side)
{
    TEST_ASSERT_EQUAL_INT(CM_OK, tm_writer_close(g_writer));
    TEST_ASSERT_EQUAL_INT(CM_OK, tm_reader_open(PATHS[side], &g_readers[side]));
    TEST_ASSERT_EQUAL_INT(
        CM_OK, an_summarize_with(g_readers[side], &an_diff_summary_options, &g_summaries[side]));
}

static void compare(an_warmup warmup)
{
    an_diff_options options = {AN_DIFF_MARGIN, warmup};
    TEST_ASSERT_EQUAL_INT(CM_OK, an_diff_make(g_summaries[0], tm_reader_header(g_readers[0]),
                                              g_summaries[1], tm_reader_header(g_readers[1]),
                                              &options, &g_diff));
}

static const an_warmup NO_WARMUP = {AN_WARMUP_RUNS, 0};

static void session(int64_t id, const char *model, int64_t bytes, int64_t hash, const char *graph)
{
    ROW(session, id, 0, id, 5000 * US, 0, 0, TEXT(model), bytes, hash, TEXT(graph), 0,
        TEXT("threads=4"), TEXT("CPUExecutionProvider"), 0, 1);
}

static void runs(int64_t id, int64_t count, double typical_us, double noise)
{
    int64_t at = 1000 * US;
    for (int64_t i = 1; i <= count; i++) {
        int64_t duration = noisy(typical_us, noise);
        ROW(run, id, i, 1, at, duration, 0, 0, 1, 0, 0);
        at += duration + 100 * US;
    }
}

// Two recordings of one model.
static void two(int64_t count, double old_us, double new_us, double noise)
{
    for (int side = 0; side < 2; side++) {
        begin_side(side);
        session(1, "model.onnx", -1, 0, "");
        runs(1, count, side ? new_us : old_us, noise);
        end_side(side);
    }
    compare(NO_WARMUP);
}

static void expect(an_change_verdict verdict)
{
    TEST_ASSERT_EQUAL_UINT64(1, g_diff->matched_count);
    TEST_ASSERT_EQUAL_STRING(an_change_verdict_name(verdict),
                             an_change_verdict_name(g_diff->groups[0].verdict));
    TEST_ASSERT_EQUAL_INT(verdict, g_diff->verdict);
}

// ---------------------------------------------------------------------------------------- verdicts

static void test_planted_changes_are_found(void)
{
    static const double changes[] = {1.01, 1.02, 1.05, 1.1, 1.2, 1.5};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        double noise = (changes[i] - 1) / 2; // the change is twice the noise
        two(100, 1000, 1000 * changes[i], noise);
        expect(AN_WORSE);
        an_interval found = g_diff->groups[0].changes[AN_METRIC_LATENCY].ratio;
        TEST_ASSERT_TRUE(found.low <= changes[i] && changes[i] <= found.high);
        forget();
        two(100, 1000 * changes[i], 1000, noise);
        expect(AN_BETTER);
        forget();
    }
}

static void test_the_same_noise_is_no_change(void)
{
    int alarms = 0, same = 0;
    for (int i = 0; i < 100; i++) {
        two(200, 1000, 1000, 0.03);
        alarms += g_diff->verdict == AN_WORSE || g_diff->verdict == AN_BETTER;
        same += g_diff->verdict == AN_SAME;
        forget();
    }
    TEST_ASSERT_LESS_OR_EQUAL_INT(5, alarms);
    TEST_ASSERT_GREATER_OR_EQUAL_INT(90, same);
}

static void test_few_runs_are_inconclusive_not_the_same(void)
{
    two(8, 1000, 1000, 0.01);
    expect(AN_INCONCLUSIVE);
    forget();
    two(8, 1000, 3000, 0.01);
    expect(AN_INCONCLUSIVE);
    forget();
    two(0, 1000, 1000, 0.01);
    expect(AN_INCONCLUSIVE);
    TEST_ASSERT_TRUE(__builtin_isnan(g_diff->groups[0].changes[AN_METRIC_P50].ratio.value));
}

static void test_wide_noise_is_inconclusive(void)
{
    two(30, 1000, 1020, 0.4);
    expect(AN_INCONCLUSIVE);
}

static void test_warming_up_is_left_out(void)
{
    for (int side = 0; side < 2; side++) {
        begin_side(side);
        session(1, "model.onnx", -1, 0, "");
        int64_t at = 0;
        for (int64_t i = 1; i <= 100; i++) {
            int64_t duration = noisy(side && i <= 10 ? 9000 : 1000, 0.02);
            ROW(run, 1, i, 1, at, duration, 0, 0, 1, 0, 0);
            at += duration;
        }
        end_side(side);
    }
    compare((an_warmup){AN_WARMUP_AUTO, 0});
    TEST_ASSERT_EQUAL_UINT64(0, g_diff->groups[0].parts[0].warmup_runs);
    TEST_ASSERT_EQUAL_UINT64(10, g_diff->groups[0].parts[1].warmup_runs);
    TEST_ASSERT_EQUAL_INT(AN_SAME, g_diff->groups[0].changes[AN_METRIC_MEAN].verdict);
    an_diff_destroy(g_diff);
    compare(NO_WARMUP);
    TEST_ASSERT_GREATER_THAN_INT(
        1700, (int)g_diff->groups[0].changes[AN_METRIC_MEAN].new_value.value / 1000);
}

// ---------------------------------------------------------------------------------------- matching

static const an_diff_group *group_named(const char *name)
{
    for (size_t i = 0; i < g_diff->group_count; i++)
        if (strcmp(g_diff->groups[i].name, name) == 0)
            return &g_diff->groups[i];
    TEST_FAIL_MESSAGE(name);
    return NULL;
}

static void test_models_are_matched_by_path_hash_and_graph(void)
{
    begin_side(0);
    session(1, "C:\\old\\a\\model.onnx", -1, 0, "");
    session(2, "C:\\old\\b\\model.onnx", -1, 0, "");
    session(3, "", 1000, 77, "bytes");
    session(4, "", 1000, 78, "renamed_bytes");
    session(5, "gone.onnx", -1, 0, "");
    session(6, "gone_too.onnx", -1, 0, "");
    end_side(0);
    begin_side(1);
    session(1, "/new/b/MODEL.onnx", -1, 0, "");
    session(2, "/new/a/model.onnx", -1, 0, "");
    session(3, "", 1200, 99, "renamed_bytes");
    session(4, "", 1000, 77, "other");
    session(5, "added.onnx", -1, 0, "");
    end_side(1);
    compare(NO_WARMUP);
    TEST_ASSERT_EQUAL_UINT64(4, g_diff->matched_count);
    TEST_ASSERT_EQUAL_UINT64(7, g_diff->group_count);
    TEST_ASSERT_EQUAL_INT64(2, g_diff->groups[0].parts[1].sessions[0]->id);
    TEST_ASSERT_EQUAL_INT64(1, g_diff->groups[1].parts[1].sessions[0]->id);
    TEST_ASSERT_EQUAL_INT64(4, g_diff->groups[2].parts[1].sessions[0]->id);
    TEST_ASSERT_EQUAL_INT64(3, g_diff->groups[3].parts[1].sessions[0]->id);
    TEST_ASSERT_EQUAL_UINT64(0, group_named("gone.onnx")->parts[1].session_count);
    TEST_ASSERT_EQUAL_UINT64(0, group_named("added.onnx")->parts[0].session_count);
}

static void test_the_last_two_are_versions_of_each_other(void)
{
    for (int side = 0; side < 2; side++) {
        begin_side(side);
        session(1, side ? "net_v2.onnx" : "net_v1.onnx", -1, 0, "");
        runs(1, 50, 1000, 0.01);
        end_side(side);
    }
    compare(NO_WARMUP);
    expect(AN_SAME);
    TEST_ASSERT_EQUAL_STRING("net_v2.onnx", g_diff->groups[0].name);
    bool told = false;
    for (size_t i = 0; i < g_diff->note_count; i++)
        told = told || (strcmp(g_diff->notes[i].what, "model") == 0 &&
                        strcmp(g_diff->notes[i].texts[0], "net_v1.onnx") == 0 &&
                        strcmp(g_diff->notes[i].texts[1], "net_v2.onnx") == 0);
    TEST_ASSERT_TRUE(told);
}

static const an_diff_note *note_named(const char *what)
{
    for (size_t i = 0; i < g_diff->note_count; i++)
        if (strcmp(g_diff->notes[i].what, what) == 0)
            return &g_diff->notes[i];
    return NULL;
}

static void fact(const char *about, const char *name, const char *text)
{
    ROW(fact, 0, TEXT(about), -1, TEXT(name), TEXT(text), 0);
}

// What both recordings tell of their machines and is not the same; what one does not tell is none.
static void test_another_machine_is_a_caveat(void)
{
    for (int side = 0; side < 2; side++) {
        begin_side(side);
        session(1, "model.onnx", -1, 0, "");
        runs(1, 50, 1000, 0.01);
        fact("power", "plan", side ? "Power saver" : "Balanced");
        fact("power", "source", "mains");
        fact("machine", "model", "XPS 15");
        if (side) {
            fact("machine", "hypervisor", "KVM");
            fact("processor", "instructions", "avx2");
        }
        ROW(fact, 0, TEXT("memory"), -1, TEXT("bytes"), 0, side ? 16000000000 : 32000000000);
        end_side(side);
    }
    compare(NO_WARMUP);
    static const char *const expected[] = {"power plan", "memory of the machine", "virtual machine",
                                           "processors"};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const an_diff_note *n = note_named(expected[i]);
        TEST_ASSERT_NOT_NULL_MESSAGE(n, expected[i]);
        TEST_ASSERT_TRUE(n->caveat && !n->group);
    }
    TEST_ASSERT_EQUAL_STRING("Balanced", note_named("power plan")->texts[0]);
    TEST_ASSERT_EQUAL_STRING("none", note_named("virtual machine")->texts[0]);
    TEST_ASSERT_NULL(note_named("power"));
    TEST_ASSERT_NULL(note_named("machine"));
    TEST_ASSERT_NULL(note_named("instructions"));
}

static void test_memory_and_energy_of_recordings_are_compared(void)
{
    for (int side = 0; side < 2; side++) {
        begin_side(side);
        ROW(process, 1, 42, 0, 0, 0, TEXT("app.exe"), 0);
        session(1, "model.onnx", -1, 0, "");
        runs(1, 100, 1000, 0.01);
        ROW(counter, 1, 0, TEXT("process"), TEXT("peak_working_set"), TEXT("B"), 1, 0, 1, 1, -1, 0);
        ROW(sample, 1, 0, side ? 300000000 : 200000000, 1);
        ROW(counter, 2, 0, TEXT("pdh"), TEXT("energy"), TEXT("J"), 1000, 1, 4, 0, 0,
            TEXT("Package"));
        ROW(sample, 2, 0, 5000, 1);
        ROW(sample, 2, 200000 * US, side ? 105000 : 55000, 1); // 100 J and 50 J in 100 runs
        end_side(side);
    }
    compare(NO_WARMUP);
    TEST_ASSERT_EQUAL_DOUBLE(1.5, g_diff->process_memory.ratio.value);
    TEST_ASSERT_EQUAL_DOUBLE(3e8, g_diff->process_memory.new_value.value);
    TEST_ASSERT_EQUAL_UINT64(1, g_diff->meter_count);
    TEST_ASSERT_EQUAL_DOUBLE(0.5, g_diff->meters[0].change.old_value.value);
    TEST_ASSERT_EQUAL_DOUBLE(1, g_diff->meters[0].change.new_value.value);
}

static void test_sessions_of_one_model_count_together(void)
{
    for (int side = 0; side < 2; side++) {
        begin_side(side);
        for (int64_t id = 1; id <= 30; id++) {
            ROW(session, id, 0, id, noisy(side ? 900 : 600, 0.05), 0, 0, TEXT("m.onnx"), -1, 0, 0,
                0, 0, 0, 0, 1);
            ROW(run, id, 1, 1, id * 5000 * US, noisy(1000, 0.01), 0, 0, 1, 0, 0);
        }
        end_side(side);
    }
    compare((an_warmup){AN_WARMUP_AUTO, 0});
    expect(AN_SAME);
    TEST_ASSERT_EQUAL_UINT64(30, g_diff->groups[0].parts[0].latency_count);
    TEST_ASSERT_EQUAL_INT(AN_WORSE, g_diff->groups[0].changes[AN_METRIC_LOAD].verdict);
}

// ---------------------------------------------------------------------------------- operators etc.

static void test_operators_are_matched_and_judged(void)
{
    for (int side = 0; side < 2; side++) {
        begin_side(side);
        session(1, "m.onnx", -1, 0, "");
        const char *const nodes[] = {"conv", "fc", side ? "fused" : "relu", ""};
        const char *const types[] = {"Conv", "Gemm", side ? "FusedRelu" : "Relu", "Cast"};
        for (int64_t k = 0; k < 4; k++)
            ROW(kernel, k + 1, 1, 0, 0, TEXT(nodes[k]), TEXT(types[k]), 0, 1, 0, 0, 1, 0);
        for (int64_t i = 1; i <= 200; i++) {
            int64_t at = i * 5000 * US, times[] = {noisy(side ? 600 : 400, 0.03), noisy(300, 0.03),
                                                   noisy(50, 0.03), noisy(10, 0.03)};
            for (int64_t k = 0; k < 4; k++) {
                ROW(op, k + 1, 1, i, 1, at, times[k], 0, 0);
                at += times[k];
            }
            ROW(run, 1, i, 1, i * 5000 * US, at - i * 5000 * US, 0, 0, 1, 0, 0);
        }
        end_side(side);
    }
    compare(NO_WARMUP);
    const an_diff_ops *nodes = &g_diff->groups[0].nodes;
    TEST_ASSERT_EQUAL_UINT64(5, nodes->count);
    TEST_ASSERT_EQUAL_STRING("conv", nodes->items[0].identity.node);
    TEST_ASSERT_EQUAL_INT(AN_WORSE, nodes->items[0].change.verdict);
    TEST_ASSERT_DOUBLE_WITHIN(0.03, 1.5, nodes->items[0].change.ratio.value);
    TEST_ASSERT_DOUBLE_WITHIN(1e-9, 1, nodes->items[0].calls[1]);
    for (size_t i = 1; i < nodes->count; i++) {
        bool both = nodes->items[i].here[0] && nodes->items[i].here[1];
        TEST_ASSERT_TRUE(nodes->items[i].change.verdict == (both ? AN_SAME : AN_INCONCLUSIVE));
    }
    TEST_ASSERT_EQUAL_UINT64(5, g_diff->groups[0].types.count);
}

// -------------------------------------------------------------------------------------- conditions

static void count_finding(void *context, const an_gate_finding *f)
{
    (void)f;
    ++*(int *)context;
}

static an_gate_result check(const char *text)
{
    an_gate gate;
    int findings = 0;
    TEST_ASSERT_EQUAL_INT_MESSAGE(CM_OK, an_gate_parse(text, &gate), text);
    an_gate_result result = an_gate_check(&gate, g_diff, count_finding, &findings);
    TEST_ASSERT_GREATER_OR_EQUAL_INT(1, findings);
    return result;
}

static void test_conditions(void)
{
    two(400, 1000, 1200, 0.03);
    TEST_ASSERT_EQUAL_INT(AN_GATE_MET, check("p50>5%"));
    TEST_ASSERT_EQUAL_INT(AN_GATE_MET, check("latency > 10 %"));
    TEST_ASSERT_EQUAL_INT(AN_GATE_OK, check("p50>30%"));
    TEST_ASSERT_EQUAL_INT(AN_GATE_UNSURE, check("mean>20%"));
    TEST_ASSERT_EQUAL_INT(AN_GATE_MET, check("p50>+100us"));
    TEST_ASSERT_EQUAL_INT(AN_GATE_OK, check("p50>+300us"));
    TEST_ASSERT_EQUAL_INT(AN_GATE_MET, check("p90>1.1ms"));
    TEST_ASSERT_EQUAL_INT(AN_GATE_OK, check("p90>0.002s"));
    TEST_ASSERT_EQUAL_INT(AN_GATE_MET, check("throughput<5%"));
    TEST_ASSERT_EQUAL_INT(AN_GATE_MET, check("throughput<-5%"));
    TEST_ASSERT_EQUAL_INT(AN_GATE_MET, check("throughput<900/s"));
    TEST_ASSERT_EQUAL_INT(AN_GATE_OK, check("throughput<30%"));
    TEST_ASSERT_EQUAL_INT(AN_GATE_UNSURE, check("memory_peak>5%")); // not recorded
    TEST_ASSERT_EQUAL_INT(AN_GATE_UNSURE, check("memory_growth>1kB"));
    TEST_ASSERT_EQUAL_INT(AN_GATE_UNSURE, check("joules>5%"));
    TEST_ASSERT_EQUAL_INT(AN_GATE_UNSURE, check("op:Conv>5%"));
    TEST_ASSERT_EQUAL_INT(AN_GATE_UNSURE, check("load>5%")); // one value each
}

static void test_wrong_conditions(void)
{
    static const char *const wrong[] = {"",
                                        "p99",
                                        ">5%",
                                        "p98>5%",
                                        "p99>5",
                                        "p99>",
                                        "p99>x%",
                                        "p99>5kB",
                                        "p99>inf%",
                                        "p99>1e3%",
                                        "op:>5%",
                                        "p99>>5%",
                                        "p99>0x5%",
                                        "P99>5%",
                                        "p99>5%%",
                                        "joules>5ms",
                                        "memory_growth>5%",
                                        "p99=5%",
                                        "p99>+-5ms"};
    an_gate gate;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        TEST_ASSERT_EQUAL_INT_MESSAGE(CM_USAGE, an_gate_parse(wrong[i], &gate), wrong[i]);
    TEST_ASSERT_EQUAL_INT(CM_OK, an_gate_parse("op:a>b>5%", &gate));
    TEST_ASSERT_EQUAL_STRING("a>b", gate.op);
}

// Rows may say anything.
static void test_hostile_rows(void)
{
    for (int side = 0; side < 2; side++) {
        begin_side(side);
        session(1, "m.onnx", INT64_MIN, -1, "");
        for (int64_t i = 0; i < 200; i++) {
            int64_t odd = i % 3 ? INT64_MAX - i : INT64_MIN + i;
            ROW(run, 1, odd, 1, i % 2 ? odd : i, odd, odd, 0, odd, odd, odd);
            ROW(op, 1, 1, odd, 1, i, odd, odd, 0);
            ROW(run_memory, 1, odd, odd, odd, odd, odd, odd, odd, odd, odd);
        }
        end_side(side);
    }
    compare((an_warmup){AN_WARMUP_AUTO, 0});
    TEST_ASSERT_EQUAL_UINT64(1, g_diff->matched_count);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_planted_changes_are_found);
    RUN_TEST(test_the_same_noise_is_no_change);
    RUN_TEST(test_few_runs_are_inconclusive_not_the_same);
    RUN_TEST(test_wide_noise_is_inconclusive);
    RUN_TEST(test_warming_up_is_left_out);
    RUN_TEST(test_models_are_matched_by_path_hash_and_graph);
    RUN_TEST(test_the_last_two_are_versions_of_each_other);
    RUN_TEST(test_another_machine_is_a_caveat);
    RUN_TEST(test_memory_and_energy_of_recordings_are_compared);
    RUN_TEST(test_sessions_of_one_model_count_together);
    RUN_TEST(test_operators_are_matched_and_judged);
    RUN_TEST(test_conditions);
    RUN_TEST(test_wrong_conditions);
    RUN_TEST(test_hostile_rows);
    return UNITY_END();
}
