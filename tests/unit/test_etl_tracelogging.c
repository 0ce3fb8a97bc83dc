// SPDX-License-Identifier: MIT
// TraceLogging: every in-type, arrays, structs in structs, and metadata that lies.
#include "etl_maker.h"

#include "collector/etl_tracelogging.h"
#include "common/out.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unity.h>

static cm_out g_text;

void setUp(void)
{
    cm_out_init_memory(&g_text);
}

void tearDown(void)
{
    cm_out_deinit(&g_text);
}

static void show(void *context, const co_tlg_token *t)
{
    static const char *const marks[] = {"", "[", "]", "{", "}"};
    int64_t number;
    (void)context;
    bool ends = t->kind == CO_TLG_END_ARRAY || t->kind == CO_TLG_END_STRUCT;
    if (!t->element && !ends)
        cm_out_printf(&g_text, "%.*s=", (int)t->field->name_len, t->field->name);
    cm_out_text(&g_text, marks[t->kind]);
    if (t->kind != CO_TLG_VALUE)
        return;
    if (co_tlg_number(t, &number))
        cm_out_printf(&g_text, "%" PRId64 " ", number);
    else if (t->field->type == CO_TLG_ANSI || t->field->type == CO_TLG_COUNTED_ANSI)
        cm_out_printf(&g_text, "'%.*s' ", (int)t->len, (const char *)t->bytes);
    else
        cm_out_printf(&g_text, "<%zu> ", t->len);
}

// `expected`: the values as shown; NULL: they must be refused.
static void check(etl_bytes *metadata, const etl_bytes *data, size_t left_over,
                  const char *expected)
{
    co_tlg_schema schema;
    size_t residual = SIZE_MAX;
    tlg_finish(metadata);
    // Exact copies, so that the sanitizer sees a step too far.
    uint8_t *m = malloc(metadata->len), *d = malloc(data->len + 1);
    memcpy(m, metadata->data, metadata->len);
    memcpy(d, data->data, data->len);
    bool good = co_tlg_schema_parse(m, metadata->len, &schema) &&
                co_tlg_values(&schema, d, data->len, 8, show, NULL, &residual);
    if (expected) {
        TEST_ASSERT_TRUE(good);
        TEST_ASSERT_EQUAL_STRING(expected, cm_out_string(&g_text));
        TEST_ASSERT_EQUAL_size_t(left_over, residual);
    } else {
        TEST_ASSERT_FALSE(good);
    }
    free(m);
    free(d);
}

static void test_every_type(void)
{
    static const struct {
        unsigned type, bytes;
    } fixed[] = {{3, 1},  {4, 1},  {5, 2},   {6, 2},  {7, 4},  {8, 4},   {9, 8},  {10, 8}, {11, 4},
                 {12, 8}, {13, 4}, {15, 16}, {16, 8}, {17, 8}, {18, 16}, {20, 4}, {21, 8}};
    etl_bytes metadata, data = {.len = 0};
    tlg_name(&metadata, "All");
    tlg_field(&metadata, "null", 0);
    tlg_field(&metadata, "wide", 1);
    put_wide(&data, "abc");
    tlg_field(&metadata, "text", 2);
    put_text(&data, "def");
    for (unsigned i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        char name[] = {'f', (char)('a' + i), 0};
        tlg_field(&metadata, name, fixed[i].type);
        for (unsigned k = 0; k < fixed[i].bytes; k++)
            put8(&data, k == 0 ? 0xfe : 0xff);
    }
    tlg_field(&metadata, "binary", 14);
    put16(&data, 3);
    put8(&data, 1);
    put16(&data, 2);
    tlg_field(&metadata, "sid", 19);
    put16(&data, 0x0201);
    put16(&data, 0);
    put32(&data, 0x05000000);
    put64(&data, 32);
    tlg_field(&metadata, "counted_wide", 22);
    put16(&data, 4);
    put32(&data, 0x00410042);
    tlg_field(&metadata, "counted_text", 23);
    put16(&data, 2);
    put16(&data, 'h' | 'i' << 8);
    tlg_field(&metadata, "counted_binary", 25);
    put16(&data, 0);
    check(
        &metadata, &data, 0,
        "null=<0> wide=<6> text='def' fa=-2 fb=254 fc=-2 fd=65534 fe=-2 ff=4294967294 fg=-2 fh=-2 "
        "fi=<4> fj=<8> fk=4294967294 fl=<16> fm=-2 fn=-2 fo=<16> fp=4294967294 fq=-2 binary=<3> "
        "sid=<16> counted_wide=<4> counted_text='hi' counted_binary=<0> ");
}

static void test_arrays_and_structs(void)
{
    etl_bytes metadata, data = {.len = 0};
    tlg_name(&metadata, "Nested");
    tlg_field(&metadata, "fixed", 0x20 | 0x80 | 4); // with an out-type and a tag
    put8(&metadata, 0x80 | 3);
    put8(&metadata, 5);
    put16(&metadata, 2);
    put16(&data, 0x0201);
    tlg_field(&metadata, "variable", 0x40 | 6);
    put16(&data, 3);
    put16(&data, 7);
    put32(&data, 0x00090008);
    tlg_field(&metadata, "outer", 0x40 | 0x80 | 24); // an array of structs of two
    put8(&metadata, 2);
    tlg_field(&metadata, "x", 4);
    tlg_field(&metadata, "inner", 0x80 | 24);
    put8(&metadata, 1);
    tlg_field(&metadata, "y", 0x40 | 4);
    put16(&data, 2);
    put8(&data, 1); // first: x, then two of y
    put16(&data, 2);
    put16(&data, 0x0605);
    put8(&data, 2); // second: x, no y
    put16(&data, 0);
    tlg_field(&metadata, "custom", 0x60 | 14);
    put16(&metadata, 3);
    put_text(&metadata, "ab");
    put16(&data, 1);
    put8(&data, 0xcc);
    tlg_field(&metadata, "last", 7);
    put32(&data, 42);
    put8(&data, 99); // nobody claims it
    check(&metadata, &data, 1,
          "fixed=[1 2 ]variable=[7 8 9 ]outer=[{x=1 inner={y=[5 6 ]}}{x=2 inner={y=[]}}]custom=<1> "
          "last=42 ");
}

static void test_empty_array_of_structs_skips_their_fields(void)
{
    etl_bytes metadata, data = {.len = 0};
    tlg_name(&metadata, "Empty");
    tlg_field(&metadata, "none", 0x40 | 0x80 | 24);
    put8(&metadata, 2);
    tlg_field(&metadata, "a", 7);
    tlg_field(&metadata, "b", 7);
    tlg_field(&metadata, "after", 4);
    put16(&data, 0);
    put8(&data, 5);
    check(&metadata, &data, 0, "none=[]after=5 ");
}

static void test_data_that_ends_early(void)
{
    etl_bytes metadata, data = {.len = 0};
    tlg_name(&metadata, "Short");
    tlg_field(&metadata, "a", 4);
    tlg_field(&metadata, "b", 8);
    put32(&data, 1);
    check(&metadata, &data, 0, NULL);
    TEST_ASSERT_EQUAL_STRING("a=1 ", cm_out_string(&g_text)); // what was there is handed out
}

static void test_metadata_that_lies(void)
{
    etl_bytes metadata, data = {.len = 0};
    put64(&data, 0xffffffffffffffffu);
    tlg_name(&metadata, "Members");
    tlg_field(&metadata, "struct", 0x80 | 24);
    put8(&metadata, 9); // more than there are
    tlg_field(&metadata, "a", 4);
    check(&metadata, &data, 0, NULL);
    tlg_name(&metadata, "Type");
    tlg_field(&metadata, "a", 31);
    check(&metadata, &data, 0, NULL);
    tlg_name(&metadata, "Cut");
    tlg_field(&metadata, "a", 0x80 | 4);
    check(&metadata, &data, 0, NULL);
    tlg_name(&metadata, "Endless"); // arrays of nothing in arrays of nothing
    tlg_field(&metadata, "a", 0x40 | 0x80 | 24);
    put8(&metadata, 1);
    tlg_field(&metadata, "b", 0x20 | 0);
    put16(&metadata, 65535);
    check(&metadata, &data, 0, NULL);
    tlg_name(&metadata, "Deep");
    for (int i = 0; i < 20; i++) {
        tlg_field(&metadata, "s", 0x80 | 24);
        put8(&metadata, 1);
    }
    tlg_field(&metadata, "x", 4);
    check(&metadata, &data, 0, NULL);
}

static void test_name_of_the_provider(void)
{
    static const uint8_t traits[] = {7, 0, 'N', 'a', 'm', 'e', 0};
    const char *name;
    size_t len;
    TEST_ASSERT_TRUE(co_tlg_provider_name(traits, sizeof traits, &name, &len));
    TEST_ASSERT_EQUAL_size_t(4, len);
    TEST_ASSERT_EQUAL_MEMORY("Name", name, 4);
    TEST_ASSERT_FALSE(co_tlg_provider_name(traits, 6, &name, &len));
    TEST_ASSERT_FALSE(co_tlg_provider_name(traits, 1, &name, &len));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_every_type);
    RUN_TEST(test_arrays_and_structs);
    RUN_TEST(test_empty_array_of_structs_skips_their_fields);
    RUN_TEST(test_data_that_ends_early);
    RUN_TEST(test_metadata_that_lies);
    RUN_TEST(test_name_of_the_provider);
    return UNITY_END();
}
