// SPDX-License-Identifier: MIT
// Parts of exports: numbers, protobuf, thrift, packed bits, gzip, and slices that nest.
#include "export/gzip_stream.h"
#include "export/parquet_column.h"
#include "export/protobuf.h"
#include "export/put_number.h"
#include "export/thrift.h"
#include "export/trace.h"

#include <stdlib.h>
#include <string.h>
#include <unity.h>

void setUp(void) {}

void tearDown(void) {}

static const char *in_us(int64_t ns)
{
    static cm_out out;
    cm_out_deinit(&out);
    cm_out_init_memory(&out);
    vw_put_us(&out, ns);
    return cm_out_string(&out);
}

static void test_microseconds_are_exact(void)
{
    TEST_ASSERT_EQUAL_STRING("0", in_us(0));
    TEST_ASSERT_EQUAL_STRING("0.001", in_us(1));
    TEST_ASSERT_EQUAL_STRING("1.5", in_us(1500));
    TEST_ASSERT_EQUAL_STRING("12.03", in_us(12030));
    TEST_ASSERT_EQUAL_STRING("1000", in_us(1000000));
    TEST_ASSERT_EQUAL_STRING("-1.001", in_us(-1001));
    TEST_ASSERT_EQUAL_STRING("9223372036854775.807", in_us(INT64_MAX));
    TEST_ASSERT_EQUAL_STRING("-9223372036854775.808", in_us(INT64_MIN));
}

static void test_reals_read_back_as_they_were(void)
{
    const double values[] = {0.1, 1.0 / 3, 1e300, -2.5e-10, 123456789.125, 5e-324, 1e15, -7};
    cm_out out;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        cm_out_init_memory(&out);
        vw_put_real(&out, values[i]);
        TEST_ASSERT_TRUE(strtod(cm_out_string(&out), NULL) == values[i]);
        cm_out_deinit(&out);
    }
    cm_out_init_memory(&out);
    vw_put_real(&out, strtod("nan", NULL));
    TEST_ASSERT_EQUAL_STRING("null", cm_out_string(&out));
    cm_out_deinit(&out);
}

static void expect_bytes(cm_buf *b, const char *bytes, size_t len)
{
    TEST_ASSERT_EQUAL_size_t(len, b->len);
    TEST_ASSERT_EQUAL_MEMORY(bytes, b->data, len);
    cm_buf_deinit(b);
}

// The examples of the description of Protocol Buffers' encoding.
static void test_protobuf_is_encoded_as_described(void)
{
    cm_buf b = CM_BUF_INIT, inner = CM_BUF_INIT;
    vw_pb_uint(&b, 1, 150);
    expect_bytes(&b, "\x08\x96\x01", 3);
    vw_pb_text(&b, 2, "testing");
    expect_bytes(&b, "\x12\x07testing", 9);
    vw_pb_int(&b, 1, -2);
    expect_bytes(&b, "\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11);
    vw_pb_uint(&inner, 1, 150);
    vw_pb_message(&b, 3, &inner);
    cm_buf_deinit(&inner);
    expect_bytes(&b, "\x1a\x03\x08\x96\x01", 5);
    vw_pb_double(&b, 44, 1.0);
    expect_bytes(&b, "\xe1\x02\0\0\0\0\0\0\xf0\x3f", 10);
}

static void test_thrift_is_compact(void)
{
    cm_buf b = CM_BUF_INIT;
    vw_thrift t;
    vw_th_begin(&t, &b);
    vw_th_i32(&t, 1, -1);
    vw_th_i64(&t, 3, 150);
    vw_th_begin_struct(&t, 20);
    vw_th_text(&t, 1, "x");
    vw_th_end(&t);
    vw_th_list(&t, 21, VW_TH_I32, 1);
    vw_th_bare_i32(&t, 2);
    vw_th_end(&t);
    expect_bytes(&b, "\x15\x01\x26\xac\x02\x0c\x28\x18\x01x\x00\x19\x15\x04\x00", 15);
}

// The example of Parquet's description: the numbers 0 to 7 in three bits each.
static void test_bits_are_packed_as_described(void)
{
    const int64_t numbers[] = {0, 1, 2, 3, 4, 5, 6, 7}, same[] = {300, 300, 300};
    cm_buf b = CM_BUF_INIT;
    vw_pq_pack(numbers, 8, 3, &b);
    expect_bytes(&b, "\x03\x88\xc6\xfa", 4);
    vw_pq_pack(same, 3, 9, &b);
    expect_bytes(&b, "\x06\x2c\x01", 3);
    vw_pq_pack(same, 0, 9, &b);
    TEST_ASSERT_EQUAL_size_t(0, b.len);
}

static void test_gzip_begins_like_a_file_and_shrinks(void)
{
    static char zeros[300000];
    cm_buf b = CM_BUF_INIT;
    TEST_ASSERT_EQUAL(CM_OK, vw_gzip_block(zeros, sizeof zeros, &b));
    TEST_ASSERT_EQUAL_HEX8(0x1f, b.data[0]);
    TEST_ASSERT_EQUAL_HEX8(0x8b, b.data[1]);
    TEST_ASSERT_LESS_THAN(2000, b.len);
    uint32_t size = 0; // the last four bytes: how long it was
    for (unsigned i = 0; i < 4; i++)
        size |= (uint32_t)b.data[b.len - 4 + i] << 8 * i;
    TEST_ASSERT_EQUAL_UINT32(sizeof zeros, size);
    cm_buf_deinit(&b);
    TEST_ASSERT_EQUAL(CM_OK, vw_gzip_block("", 0, &b));
    TEST_ASSERT_GREATER_THAN(10, b.len);
    cm_buf_deinit(&b);
}

// ---------------------------------------------------------------------------------------- nesting

#define MANY 200

static void expect_nested(const vw_ex_slice *s, size_t count)
{
    size_t open[MANY], depth = 0;
    for (size_t i = 0; i < count; i++) {
        TEST_ASSERT_TRUE(s[i].begin_ns <= s[i].end_ns);
        TEST_ASSERT_TRUE(i == 0 || s[i - 1].begin_ns <= s[i].begin_ns);
        while (depth && s[open[depth - 1]].end_ns <= s[i].begin_ns)
            depth--;
        if (depth)
            TEST_ASSERT_TRUE(s[i].end_ns <= s[open[depth - 1]].end_ns);
        open[depth++] = i;
    }
}

static void nest(vw_ex_slice *s, size_t count)
{
    uint32_t stack[MANY];
    vw_ex_window_sort(s, count);
    vw_ex_nest(s, count, stack);
    expect_nested(s, count);
}

static void test_what_nests_is_left_alone(void)
{
    vw_ex_slice s[] = {{.begin_ns = 10, .end_ns = 20, .what = VW_EX_SLICE_OP},
                       {.begin_ns = 5, .end_ns = 40, .what = VW_EX_SLICE_RUN},
                       {.begin_ns = 20, .end_ns = 40, .what = VW_EX_SLICE_OP},
                       {.begin_ns = 40, .end_ns = 50, .what = VW_EX_SLICE_RUN},
                       {.begin_ns = 40, .end_ns = 50, .what = VW_EX_SLICE_OP}};
    nest(s, 5);
    TEST_ASSERT_EQUAL_INT64(5, s[0].begin_ns);
    TEST_ASSERT_EQUAL_INT64(40, s[0].end_ns);
    TEST_ASSERT_EQUAL_INT64(20, s[1].end_ns);
    TEST_ASSERT_EQUAL_INT64(20, s[2].begin_ns);
    TEST_ASSERT_EQUAL_UINT8(VW_EX_SLICE_RUN, s[3].what);
    TEST_ASSERT_EQUAL_UINT8(VW_EX_SLICE_OP, s[4].what);
}

static void test_rounding_does_not_turn_a_run_inside_out(void)
{
    // The operator seems to begin 3 ns before its run, and the next run 1 ns before its end.
    vw_ex_slice s[] = {{.begin_ns = 997, .end_ns = 4999, .what = VW_EX_SLICE_OP},
                       {.begin_ns = 1000, .end_ns = 5000, .what = VW_EX_SLICE_RUN},
                       {.begin_ns = 4999, .end_ns = 9000, .what = VW_EX_SLICE_RUN}};
    nest(s, 3);
    TEST_ASSERT_EQUAL_UINT8(VW_EX_SLICE_RUN, s[0].what);
    TEST_ASSERT_EQUAL_INT64(1000, s[0].begin_ns);
    TEST_ASSERT_EQUAL_INT64(4999, s[0].end_ns);
    TEST_ASSERT_EQUAL_UINT8(VW_EX_SLICE_OP, s[1].what);
    TEST_ASSERT_EQUAL_INT64(1000, s[1].begin_ns);
    TEST_ASSERT_EQUAL_INT64(4999, s[2].begin_ns);
    TEST_ASSERT_EQUAL_INT64(9000, s[2].end_ns);
}

static void test_anything_nests_afterwards(void)
{
    vw_ex_slice s[MANY];
    srand(1);
    for (int round = 0; round < 2000; round++) {
        size_t count = 1 + (size_t)rand() % MANY;
        int span = 1 + rand() % 100000;
        for (size_t i = 0; i < count; i++) {
            int64_t begin = rand() % span;
            s[i] = (vw_ex_slice){.begin_ns = begin,
                                 .end_ns = begin + rand() % (1 + span / (1 + rand() % 8)),
                                 .what = (uint8_t)(rand() % 2),
                                 .depth = (uint16_t)(rand() % 3)};
        }
        nest(s, count);
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_microseconds_are_exact);
    RUN_TEST(test_reals_read_back_as_they_were);
    RUN_TEST(test_protobuf_is_encoded_as_described);
    RUN_TEST(test_thrift_is_compact);
    RUN_TEST(test_bits_are_packed_as_described);
    RUN_TEST(test_gzip_begins_like_a_file_and_shrinks);
    RUN_TEST(test_what_nests_is_left_alone);
    RUN_TEST(test_rounding_does_not_turn_a_run_inside_out);
    RUN_TEST(test_anything_nests_afterwards);
    return UNITY_END();
}
