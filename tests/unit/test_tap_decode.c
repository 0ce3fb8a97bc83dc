// SPDX-License-Identifier: MIT
// Events of TraceLogging as ORT hands them over: every type of field that it uses, and descriptions
// and values that are wrong, cut or lying.
#include "tap_decode.h"

#include <string.h>
#include <unity.h>

enum { WIDE = 1, TEXT = 2, I8 = 3, U8 = 4, I16 = 5, I32 = 7, U32 = 8, I64 = 9, U64 = 10 };
enum {
    DOUBLE = 12,
    BOOL = 13,
    BINARY = 14,
    IDENTIFIER = 15,
    COUNTED = 23,
    ARRAY = 0x40,
    OUT = 0x80
};
enum { PARTS = 12, ROOM = 600 };

static uint8_t g_description[ROOM];
static size_t g_len;
static hk_tap_part g_parts[PARTS];
static size_t g_count;
static hk_tap_event g_event;

static void put(const void *bytes, size_t len)
{
    memcpy(g_description + g_len, bytes, len);
    g_len += len;
    memcpy(g_description, &(uint16_t){(uint16_t)g_len}, 2);
    g_parts[1] = (hk_tap_part){(uint64_t)(uintptr_t)g_description, (uint32_t)g_len, 1};
}

static void begin(const char *name)
{
    g_len = 2;
    put("", 1); // no tags
    put(name, strlen(name) + 1);
    g_parts[0] = (hk_tap_part){(uint64_t)(uintptr_t) "provider", 8, 2};
    g_count = 2;
}

static void value(const void *bytes, size_t len)
{
    g_parts[g_count++] = (hk_tap_part){(uint64_t)(uintptr_t)bytes, (uint32_t)len, 0};
}

static void field(const char *name, int type, const void *bytes, size_t len)
{
    uint8_t types[] = {(uint8_t)type, 5};
    put(name, strlen(name) + 1);
    put(types, type & OUT ? 2 : 1);
    value(bytes, len);
}

static void text_field(const char *name, const char *text)
{
    field(name, TEXT, text, strlen(text) + 1);
}

static void expect(const char *fields)
{
    TEST_ASSERT_TRUE(hk_tap_decode(g_parts, g_count, &g_event));
    TEST_ASSERT_EQUAL_UINT64(strlen(fields), g_event.fields_len);
    TEST_ASSERT_EQUAL_INT(0, memcmp(fields, g_event.fields, g_event.fields_len));
}

void setUp(void)
{
    begin("SessionCreation");
}

void tearDown(void) {}

static void test_every_type_of_field(void)
{
    static const uint16_t wide[] = {'G', 'r', 0xfc, 0xdf, 0};
    static const int8_t i8 = -5;
    static const uint8_t u8 = 200;
    static const int16_t i16 = -300;
    static const int32_t i32 = INT32_MIN, yes = 1;
    static const int64_t i64 = -1;
    static const double number = 1.5;
    field("i8", I8, &i8, 1);
    field("u8", U8 | OUT, &u8, 1);
    field("i16", I16, &i16, 2);
    field("i32", I32, &i32, 4);
    field("i64", I64, &i64, 8);
    field("b", BOOL, &yes, 4);
    field("d", DOUBLE, &number, 8); // passed over
    field("id", IDENTIFIER, "0123456789abcdef", 16);
    field("w", WIDE, wide, sizeof wide);
    text_field("t", "two\nlines");
    expect("i8=-5\nu8=200\ni16=-300\ni32=-2147483648\ni64=-1\nb=1\nw=Gr\xc3\xbc\xc3\x9f\n"
           "t=two lines");
    TEST_ASSERT_TRUE(hk_tap_is(g_event.name, "SessionCreation"));
}

static void test_facts_of_a_session_and_of_an_error(void)
{
    static const uint32_t session = 3, code = 6, no = 0, yes = 1;
    static const uint64_t tags = 7;
    field("UTCReplace_AppSessionGuid", BOOL, &yes, 4);
    field("PartA_PrivTags", U64, &tags, 8);
    field("sessionId", U32, &session, 4);
    text_field("modelFileName", "a.onnx");
    text_field("modelGraphName", "g");
    text_field("modelMetaData", "long");
    text_field("executionProviderIds", "A,B");
    field("errorCode", U32, &code, 4);
    field("isSuccess", BOOL, &no, 4);
    text_field("frameworkName", ""); // says nothing
    expect("modelFileName=a.onnx\nmodelGraphName=g\nexecutionProviderIds=A,B\n"
           "errorCode=6\nisSuccess=0");
    TEST_ASSERT_EQUAL_UINT32(3, g_event.session);
    TEST_ASSERT_EQUAL_UINT32(6, g_event.code);
    TEST_ASSERT_TRUE(hk_tap_is(g_event.model, "a.onnx"));
    TEST_ASSERT_TRUE(hk_tap_is(g_event.graph, "g"));
    TEST_ASSERT_TRUE(hk_tap_is(g_event.providers, "A,B"));
}

static void test_values_of_secrets_are_hidden(void)
{
    text_field("Key", "ep.ApI_Key");
    text_field("Value", "1234");
    expect("Key=ep.ApI_Key\nValue=(hidden)");
    begin("SessionOptions_ConfigEntry");
    text_field("Key", "arena");
    text_field("Value", "1");
    expect("Key=arena\nValue=1");
    begin("ProviderOptions");
    text_field("providerId", "X");
    text_field("providerOptions", "a:1,token:2");
    expect("providerId=X\nproviderOptions=(hidden)");
    begin("ONNXRuntimeLogEvent");
    text_field("logger", "token");
    text_field("message", "config_options: {password: 1}");
    expect("logger=token\nmessage=(hidden)");
}

static const uint32_t g_nine = 9;

static void test_counted_text_in_two_parts(void)
{
    static const uint16_t three = 3;
    static const uint8_t type = COUNTED;
    put("c", 2);
    put(&type, 1);
    value(&three, 2);
    value("abc", 3);
    field("n", U32, &g_nine, 4);
    expect("c=abc\nn=9");
}

static void test_ends_at_what_it_does_not_know(void)
{
    field("n", U32, &g_nine, 4);
    field("x", BINARY, "?", 1);
    field("m", U32, &g_nine, 4);
    expect("n=9");
    begin("e");
    field("list", U32 | ARRAY, "?", 1);
    expect("");
}

static void test_values_that_are_cut(void)
{
    static const uint16_t thirty = 30;
    static const uint8_t counted = COUNTED, number = U32;
    field("n", U32, &g_nine, 4);
    field("t", TEXT, "no end", 6);
    field("m", U32, &g_nine, 4);
    expect("n=9");
    begin("e");
    field("n", U32, &g_nine, 3);
    expect("");
    begin("e");
    put("n", 2);
    put(&number, 1); // described, but not there
    expect("");
    begin("e");
    put("c", 2);
    put(&counted, 1);
    value(&thirty, 2);
    value("abc", 3);
    expect("");
}

static void test_descriptions_that_are_cut_or_lie(void)
{
    static const uint16_t lie = 999;
    field("n", U32, &g_nine, 4);
    for (uint16_t size = 0; size < g_len; size++) {
        uint8_t cut[ROOM] = {0};
        hk_tap_part parts[PARTS];
        memcpy(cut, g_description, size);
        memcpy(cut, &size, sizeof size);
        memcpy(parts, g_parts, sizeof parts);
        parts[1] = (hk_tap_part){(uint64_t)(uintptr_t)cut, size, 1};
        if (hk_tap_decode(parts, g_count, &g_event))
            TEST_ASSERT_EQUAL_UINT64(0, g_event.fields_len);
    }
    memcpy(g_description, &lie, 2); // larger than its part
    TEST_ASSERT_FALSE(hk_tap_decode(g_parts, g_count, &g_event));
    TEST_ASSERT_EQUAL_UINT64(0, hk_tap_event_name(g_parts, g_count).len);
    TEST_ASSERT_FALSE(hk_tap_decode(g_parts, 1, &g_event));
}

static void test_what_does_not_fit_is_left_out(void)
{
    static char text[HK_TAP_FIELDS_MAX];
    memset(text, 'x', sizeof text - 1);
    field("long", TEXT, text, sizeof text);
    field("n", U32, &g_nine, 4);
    expect("n=9");
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_every_type_of_field);
    RUN_TEST(test_facts_of_a_session_and_of_an_error);
    RUN_TEST(test_values_of_secrets_are_hidden);
    RUN_TEST(test_counted_text_in_two_parts);
    RUN_TEST(test_ends_at_what_it_does_not_know);
    RUN_TEST(test_values_that_are_cut);
    RUN_TEST(test_descriptions_that_are_cut_or_lie);
    RUN_TEST(test_what_does_not_fit_is_left_out);
    return UNITY_END();
}
