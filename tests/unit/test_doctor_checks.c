// SPDX-License-Identifier: MIT
// What `ortscope doctor` makes of probes of machines that are not at hand.
#include "doctor.h"

#include <string.h>
#include <unity.h>

enum { MACHINE, PROCESS, THREAD, CORE, DEVICE };

static co_probe g_probe;
static co_facts g_facts;
static vw_checks g_checks;

static void item(const char *source, const char *name, int about, unsigned instances,
                 unsigned known, const char *subject)
{
    co_probe_item *i = &g_probe.items[g_probe.item_count++];
    *i = (co_probe_item){
        .source = source, .name = name, .about = about, .instances = instances, .known = known};
    if (subject) {
        strcpy(i->subjects[0], subject);
        i->subject_count = 1;
    }
}

static co_probe_source *source(const char *name, bool opened)
{
    co_probe_source *s = &g_probe.sources[g_probe.source_count++];
    *s = (co_probe_source){.name = name, .opened = opened, .answered = true};
    return s;
}

// What every machine has.
static void own_counters(void)
{
    source("process", true);
    source("system", true);
    item("process", "cpu_user", PROCESS, 1, 1, NULL);
    item("process", "page_faults", PROCESS, 1, 1, NULL);
    item("system", "cpu_user", THREAD, 9, 9, NULL);
    item("process", "cpu_user", CORE, 8, 8, NULL);
}

void setUp(void)
{
    g_probe = (co_probe){0};
    g_facts.count = 0;
    g_checks.count = 0;
}

void tearDown(void) {}

static const vw_check *check(const char *name)
{
    for (size_t i = 0; i < g_checks.count; i++)
        if (strcmp(g_checks.items[i].name, name) == 0)
            return &g_checks.items[i];
    TEST_FAIL_MESSAGE(name);
    return NULL;
}

static void expect(const char *name, vw_state state, const char *what, const char *fix)
{
    const vw_check *c = check(name);
    TEST_ASSERT_EQUAL_INT_MESSAGE(state, c->state, name);
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(c->what, what), c->what);
    if (fix)
        TEST_ASSERT_NOT_NULL_MESSAGE(strstr(c->fix, fix), c->fix);
    else
        TEST_ASSERT_EQUAL_STRING_MESSAGE("", c->fix, name);
}

static void test_a_machine_with_everything(void)
{
    own_counters();
    source("pdh", true);
    source("nvml", true);
    item("pdh", "utility", CORE, 8, 8, NULL);
    item("pdh", "gpu_utilization", DEVICE, 1, 1, "luid_0x0_0xd1a2_phys_0");
    item("pdh", "npu_utilization", DEVICE, 1, 1, "luid_0x0_0x14f1d_phys_0");
    item("pdh", "power", MACHINE, 1, 1, "RAPL_Package0_PKG");
    item("pdh", "temperature", MACHINE, 1, 1, "\\_TZ.TZ00");
    item("nvml", "gpu_utilization", DEVICE, 1, 1, "NVIDIA RTX 4090");
    co_facts_text(&g_facts, "npu", 0, "name", "Intel(R) AI Boost");
    vw_check_counters(&g_checks, &g_probe, &g_facts);
    expect("processes", VW_WORKS, "processor time", NULL);
    expect("threads", VW_WORKS, "processor time", NULL);
    expect("cores", VW_WORKS, "processor time", NULL);
    expect("core clocks", VW_WORKS, "8 cores", NULL);
    expect("GPU", VW_WORKS, "luid_0x0_0xd1a2_phys_0", NULL);
    expect("NPU", VW_WORKS, "Intel(R) AI Boost", NULL);
    expect("NVIDIA (nvml)", VW_WORKS, "NVIDIA RTX 4090", NULL);
    expect("energy meters", VW_WORKS, "RAPL_Package0_PKG", NULL);
    expect("heat", VW_WORKS, "TZ00", NULL);
}

static void test_broken_performance_counters_are_to_be_rebuilt(void)
{
    own_counters();
    source("pdh", false);
    vw_check_counters(&g_checks, &g_probe, &g_facts);
    expect("core clocks", VW_MISSING, "missing", "lodctr /R");
    expect("GPU", VW_NOT_HERE, "none", NULL);
    expect("heat", VW_NOT_HERE, "no thermal zone", NULL);
}

static void test_under_wine_nothing_is_to_be_rebuilt(void)
{
    own_counters();
    source("pdh", false);
    co_facts_text(&g_facts, "machine", CO_FACT_ONLY, "wine", "8.0");
    co_facts_text(&g_facts, "gpu", 0, "name", "Wine Adapter");
    vw_check_counters(&g_checks, &g_probe, &g_facts);
    expect("core clocks", VW_NOT_HERE, "Wine", NULL);
    expect("GPU", VW_NOT_HERE, "Wine", NULL);
    expect("NVIDIA (nvml)", VW_NOT_HERE, "no NVIDIA device", NULL);
}

static void test_performance_counters_that_hang(void)
{
    own_counters();
    source("pdh", true)->answered = false;
    vw_check_counters(&g_checks, &g_probe, &g_facts);
    expect("core clocks", VW_MISSING, "did not answer", "lodctr /R");
    expect("energy meters", VW_MISSING, "did not answer", "lodctr /R");
}

static void test_devices_without_their_drivers(void)
{
    own_counters();
    source("pdh", true);
    source("nvml", false);
    item("pdh", "utility", CORE, 8, 8, NULL);
    co_facts_text(&g_facts, "gpu", 0, "name", "NVIDIA GeForce GT 710");
    co_facts_text(&g_facts, "npu", 0, "name", "Unknown accelerator");
    vw_check_counters(&g_checks, &g_probe, &g_facts);
    expect("GPU", VW_MISSING, "GT 710 has no performance counters", "driver");
    expect("NPU", VW_MISSING, "Unknown accelerator", "driver");
    expect("NVIDIA (nvml)", VW_MISSING, "nvml.dll is not there", "nvidia-smi");
    expect("energy meters", VW_NOT_HERE, "no meter", NULL);
}

static void test_nvml_that_does_not_start_says_why(void)
{
    own_counters();
    co_probe_source *nvml = source("nvml", false);
    strcpy(nvml->remark, "it does not start (NVML error 9).");
    nvml->remark_level = 4;
    vw_check_counters(&g_checks, &g_probe, &g_facts);
    expect("NVIDIA (nvml)", VW_MISSING, "NVML error 9", "driver");
}

static void test_what_a_system_does_not_tell_is_named_once(void)
{
    own_counters();
    item("process", "io_reads", PROCESS, 1, 0, NULL);
    item("process", "handles", PROCESS, 1, 0, NULL);
    item("system", "handles", PROCESS, 1, 1, NULL); // told by somebody else
    vw_check_counters(&g_checks, &g_probe, &g_facts);
    expect("processes", VW_WORKS, "not told here: io_reads", NULL);
    TEST_ASSERT_EQUAL_STRING("io_reads", strstr(check("processes")->what, "io_reads"));
}

static void test_our_own_sources_that_hang(void)
{
    source("process", true)->answered = false;
    source("system", true);
    vw_check_counters(&g_checks, &g_probe, &g_facts);
    expect("processes", VW_MISSING, "did not answer", "--counters");
    expect("threads", VW_NOT_HERE, "no processor time", NULL);
}

static void test_long_lists_stay_within_their_bounds(void)
{
    own_counters();
    for (int i = 0; i < 60; i++)
        item("process", "a_counter_with_a_rather_long_name", 10 + i, 1, 0, NULL);
    for (int i = 0; i < 20; i++)
        item("process", &"abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz"[i], PROCESS, 1, 0,
             NULL);
    vw_check_counters(&g_checks, &g_probe, &g_facts);
    TEST_ASSERT_TRUE(strlen(check("processes")->what) < sizeof check("processes")->what);
}

static void test_only_essential_ones_decide_the_exit_code(void)
{
    vw_check_add(&g_checks, "a", VW_MISSING, "x");
    vw_check_add(&g_checks, "b", VW_WORKS, "x")->essential = true;
    TEST_ASSERT_TRUE(vw_checks_good(&g_checks));
    vw_check_add(&g_checks, "c", VW_MISSING, "x")->essential = true;
    TEST_ASSERT_FALSE(vw_checks_good(&g_checks));
    for (int i = 0; i < 100; i++)
        vw_check_fix(vw_check_add(&g_checks, "more", VW_WORKS, "%d", i), "no room");
    TEST_ASSERT_EQUAL_size_t(VW_CHECKS_MAX, g_checks.count);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_machine_with_everything);
    RUN_TEST(test_broken_performance_counters_are_to_be_rebuilt);
    RUN_TEST(test_under_wine_nothing_is_to_be_rebuilt);
    RUN_TEST(test_performance_counters_that_hang);
    RUN_TEST(test_devices_without_their_drivers);
    RUN_TEST(test_nvml_that_does_not_start_says_why);
    RUN_TEST(test_what_a_system_does_not_tell_is_named_once);
    RUN_TEST(test_our_own_sources_that_hang);
    RUN_TEST(test_long_lists_stay_within_their_bounds);
    RUN_TEST(test_only_essential_ones_decide_the_exit_code);
    return UNITY_END();
}
