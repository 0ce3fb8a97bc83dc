// SPDX-License-Identifier: MIT
// What the execution-provider shim tells of a node, from an event of ORT's profiler: above all that
// the times of a provider of a device are those of submissions. Needs no such device.
#include "op.h"
#include "shapes.h"
#include "shim.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unity.h>

struct OrtProfilingEvent {
    const char *name, *op_type, *provider;
};

hk_state g_hk;
static tl_Kernel g_kernel; // the last one that was told
static char g_provider[64];
static int g_told;

// ------------------------------------------------------------------- what the rest of the DLL does

void *hk_alloc(size_t bytes)
{
    return calloc(1, bytes);
}

void *hk_alloc_for_good(size_t bytes)
{
    void *memory = _aligned_malloc(bytes, HK_CACHE_LINE);
    return memory ? memset(memory, 0, bytes) : NULL;
}

hk_text hk_text_of(const char *text)
{
    return (hk_text){text ? text : "", text ? strlen(text) : 0};
}

bool hk_emit(hk_thread *t, uint32_t epoch, tl_event event, uint64_t ticks, const void *fixed,
             size_t fixed_bytes, const hk_text *texts, size_t count)
{
    (void)t, (void)epoch, (void)ticks, (void)fixed_bytes;
    if (event != TL_EVENT_Kernel)
        return true;
    TEST_ASSERT_EQUAL_size_t(5, count);
    memcpy(&g_kernel, fixed, sizeof g_kernel);
    memcpy(g_provider, texts[3].bytes, texts[3].len);
    g_provider[texts[3].len] = 0;
    g_told++;
    return true;
}

uint32_t hk_shapes_of_members(hk_thread *t, uint32_t epoch, int direction, size_t count,
                              hk_named_tensor_fn *get, void *context, bool *sent)
{
    (void)t, (void)epoch, (void)direction, (void)count, (void)get, (void)context, (void)sent;
    return 0;
}

// --------------------------------------------------------------------------------------- ORT's
// part

static OrtStatus *get_name(const OrtProfilingEvent *event, const char **out)
{
    *out = event->name;
    return NULL;
}

static OrtStatus *get_argument(const OrtProfilingEvent *event, const char *key, const char **out)
{
    *out = strcmp(key, "op_name") == 0    ? event->op_type
           : strcmp(key, "provider") == 0 ? event->provider
                                          : NULL;
    return NULL;
}

static const void *g_ep_api[EP_SLOT_ProfilingEvent_GetArgValue + 1] = {
    [EP_SLOT_ProfilingEvent_GetName] = (const void *)(uintptr_t)get_name,
    [EP_SLOT_ProfilingEvent_GetArgValue] = (const void *)(uintptr_t)get_argument};

static const void *const *get_ep_api(void)
{
    return g_ep_api;
}

static const void *g_api[ORT_SLOT_GetEpApi + 1] = {[ORT_SLOT_GetEpApi] =
                                                       (const void *)(uintptr_t)get_ep_api};
static hk_module g_module;
static hk_session g_session;

void setUp(void)
{
    g_module.api = (void *)g_api;
    g_module.minor = HK_SHIM_OLDEST_MINOR;
    g_module.id = 3;
    g_session.id = 7;
    g_told = 0;
}

void tearDown(void) {}

static uint32_t tell(const char *name, const char *provider)
{
    OrtProfilingEvent event = {name, "Conv", provider};
    hk_thread thread = {0};
    hk_shim_run run = {&g_module, &g_session, 1, 1, 0};
    return hk_shim_kernel(&thread, &run, &event);
}

static void test_times_of_device_providers_are_of_submissions(void)
{
    static const struct {
        const char *name, *provider;
        int submits;
    } nodes[] = {{"a_kernel_time", "CPUExecutionProvider", 0},
                 {"b_kernel_time", "DmlExecutionProvider", 1},
                 {"c_kernel_time", "CUDAExecutionProvider", 1},
                 {"d_kernel_time", "", 0}};
    for (int i = 0; i < 4; i++) {
        TEST_ASSERT_NOT_EQUAL(0, tell(nodes[i].name, nodes[i].provider));
        TEST_ASSERT_EQUAL_INT(i + 1, g_told);
        TEST_ASSERT_EQUAL_STRING(nodes[i].provider, g_provider);
        TEST_ASSERT_EQUAL_INT(nodes[i].submits, g_kernel.submits);
        TEST_ASSERT_EQUAL_UINT32(7, g_kernel.session);
        TEST_ASSERT_EQUAL_UINT32(3, g_kernel.module);
        TEST_ASSERT_EQUAL_INT(4, g_kernel.source);
    }
}

static void test_a_node_is_told_once(void)
{
    uint32_t first = tell("e_kernel_time", "DmlExecutionProvider");
    TEST_ASSERT_EQUAL_UINT32(first, tell("e_kernel_time", "DmlExecutionProvider"));
    TEST_ASSERT_EQUAL_INT(1, g_told);
    TEST_ASSERT_EQUAL_UINT32(0, tell("e_fence_before", "DmlExecutionProvider")); // no execution
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_times_of_device_providers_are_of_submissions);
    RUN_TEST(test_a_node_is_told_once);
    return UNITY_END();
}
