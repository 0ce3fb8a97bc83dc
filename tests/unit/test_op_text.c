// SPDX-License-Identifier: MIT
// What the names of providers and classes tell.
#include "op_text.h"

#include <unity.h>

void setUp(void) {}

void tearDown(void) {}

static void test_providers_of_devices_submit(void)
{
    static const char *const names[] = {
        "DmlExecutionProvider",           "CUDAExecutionProvider", "TensorrtExecutionProvider",
        "NvTensorRTRTXExecutionProvider", "ROCMExecutionProvider", "MIGraphXExecutionProvider",
        "WebGpuExecutionProvider",        "JsExecutionProvider",   "WebNNExecutionProvider",
        "CANNExecutionProvider"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        TEST_ASSERT_TRUE_MESSAGE(hk_provider_submits(names[i]), names[i]);
}

static void test_others_are_done_when_they_return(void)
{
    static const char *const names[] = {"",
                                        "CPUExecutionProvider",
                                        "XnnpackExecutionProvider",
                                        "DnnlExecutionProvider",
                                        "OpenVINOExecutionProvider",
                                        "QNNExecutionProvider",
                                        "ExecutionProvider",
                                        "DmlExecutionProvide",
                                        "dmlExecutionProvider",
                                        "DmlExecutionProviderX"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        TEST_ASSERT_FALSE_MESSAGE(hk_provider_submits(names[i]), names[i]);
}

static void test_class_names(void)
{
    char text[128];
    static const char expected[] = "onnxruntime::contrib::NchwcConv";
    TEST_ASSERT_EQUAL_size_t(
        sizeof expected - 1,
        hk_class_text(".?AVNchwcConv@contrib@onnxruntime@@", text, sizeof text));
    TEST_ASSERT_EQUAL_STRING(expected, text);
    hk_class_text(".?AV?$Add@M@onnxruntime@@", text, sizeof text);
    TEST_ASSERT_EQUAL_STRING(".?AV?$Add@M@onnxruntime@@", text);
    TEST_ASSERT_EQUAL_size_t(7, hk_class_text(".?AV?$Add@M@onnxruntime@@", text, 8));
    TEST_ASSERT_EQUAL_STRING(".?AV?$A", text);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_providers_of_devices_submit);
    RUN_TEST(test_others_are_done_when_they_return);
    RUN_TEST(test_class_names);
    return UNITY_END();
}
