// SPDX-License-Identifier: MIT
// Shapes as ORT's profiler writes them: read exactly, or not at all.
#include "shim_text.h"

#include <unity.h>

void setUp(void) {}

void tearDown(void) {}

static void test_reads_types_and_dims(void)
{
    static const char text[] = "[{\"float\":[1,3,48,192]},{\"int64\":[]},{\"bool\":[0]}]";
    hk_shim_tensor t;
    TEST_ASSERT_EQUAL_INT(3, hk_shim_count(text, 3));
    hk_shim_read(text, 0, &t);
    TEST_ASSERT_EQUAL_INT(1, t.element_type);
    TEST_ASSERT_EQUAL_size_t(4, t.rank);
    TEST_ASSERT_EQUAL_INT64(192, t.dims[3]);
    hk_shim_read(text, 1, &t);
    TEST_ASSERT_EQUAL_INT(7, t.element_type);
    TEST_ASSERT_EQUAL_size_t(0, t.rank);
    hk_shim_read(text, 2, &t);
    TEST_ASSERT_EQUAL_INT(9, t.element_type);
    TEST_ASSERT_EQUAL_INT64(0, t.dims[0]);
}

static void test_small_types_as_ort_writes_them(void)
{
    static const char text[] = "[{\"Float8E4M3FN\":[1]},{\"UInt4x2\":[1]},{\"Int4x2\":[1]},"
                               "{\"Float4E2M1\":[1]},{\"UInt2x4\":[1]},{\"Int2x4\":[1]},"
                               "{\"Float8E8M0\":[1]}]";
    static const int types[] = {17, 21, 22, 23, 24, 25, 26};
    TEST_ASSERT_EQUAL_INT(7, hk_shim_count(text, 8));
    for (int i = 0; i < 7; i++) {
        hk_shim_tensor t;
        hk_shim_read(text, i, &t);
        TEST_ASSERT_EQUAL_INT(types[i], t.element_type);
    }
}

static void test_nothing_is_a_set_too(void)
{
    TEST_ASSERT_EQUAL_INT(0, hk_shim_count("[]", 8));
}

static void test_types_we_do_not_know_are_no_failure(void)
{
    hk_shim_tensor t;
    TEST_ASSERT_EQUAL_INT(1, hk_shim_count("[{\"float99\":[2]}]", 8));
    hk_shim_read("[{\"float99\":[2]}]", 0, &t);
    TEST_ASSERT_EQUAL_INT(0, t.element_type);
    hk_shim_read("[{\"floa\":[2]}]", 0, &t);
    TEST_ASSERT_EQUAL_INT(0, t.element_type);
    hk_shim_read("[{\"\":[2]}]", 0, &t);
    TEST_ASSERT_EQUAL_INT(0, t.element_type);
}

static void test_other_forms_are_not_read(void)
{
    static const char *const wrong[] = {
        "",
        "[",
        "[]x",
        "{\"float\":[1]}",
        "[{\"float\":[1]}",
        "[{\"float\":[1,]}]",
        "[{\"float\":[1 ]}]",
        "[{\"float\":[,1]}]",
        "[{\"float\":[1]},]",
        "[{\"float\":1}]",
        "[{\"float\":[99999999999999999999]}]",
        "[{\"float\":[-]}]",
        "[{\"float:[1]}]",
        // one dimension more than fits
        "[{\"float\":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}]",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        TEST_ASSERT_EQUAL_INT_MESSAGE(-1, hk_shim_count(wrong[i], 8), wrong[i]);
    TEST_ASSERT_EQUAL_INT(-1, hk_shim_count(NULL, 8));
    TEST_ASSERT_EQUAL_INT(-1, hk_shim_count("[{\"float\":[1]},{\"float\":[1]}]", 1));
}

static void test_numbers(void)
{
    int64_t n = 5;
    TEST_ASSERT_TRUE(hk_shim_number("0", &n));
    TEST_ASSERT_EQUAL_INT64(0, n);
    TEST_ASSERT_TRUE(hk_shim_number("-27648", &n));
    TEST_ASSERT_EQUAL_INT64(-27648, n);
    TEST_ASSERT_FALSE(hk_shim_number("", &n));
    TEST_ASSERT_FALSE(hk_shim_number(NULL, &n));
    TEST_ASSERT_FALSE(hk_shim_number("12 ", &n));
    TEST_ASSERT_FALSE(hk_shim_number("9223372036854775808", &n));
    TEST_ASSERT_EQUAL_INT64(-27648, n);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_reads_types_and_dims);
    RUN_TEST(test_small_types_as_ort_writes_them);
    RUN_TEST(test_nothing_is_a_set_too);
    RUN_TEST(test_types_we_do_not_know_are_no_failure);
    RUN_TEST(test_other_forms_are_not_read);
    RUN_TEST(test_numbers);
    return UNITY_END();
}
