// SPDX-License-Identifier: MIT
// The TraceLogging metadata that ETW will get, read by a parser that was written from the format's
// description and knows nothing of our table, and compared with a blob from a real recording.
#include "channel_fixture.h"

#include "metadata.h"

typedef struct parsed_field {
    char name[64];
    uint8_t in_type; // low 7 bits
    uint8_t out_type;
} parsed_field;

typedef struct parsed_event {
    char name[64];
    parsed_field fields[TL_FIELDS_MAX];
    uint32_t field_count;
} parsed_event;

// "WinMain" { ansi string lpCmdLine; int32 nCmdShow; }, as Microsoft's TraceLogging macros encode
// it
static const uint8_t real_blob[] = {
    0x20, 0x00, 0x00, 0x57, 0x69, 0x6e, 0x4d, 0x61, 0x69, 0x6e, 0x00, 0x6c, 0x70, 0x43, 0x6d, 0x64,
    0x4c, 0x69, 0x6e, 0x65, 0x00, 0x02, 0x6e, 0x43, 0x6d, 0x64, 0x53, 0x68, 0x6f, 0x77, 0x00, 0x07};

void setUp(void) {}

void tearDown(void) {}

static size_t parse_name(const uint8_t *at, const uint8_t *end, char out[64])
{
    size_t len = 0;
    while (at + len < end && at[len] != 0 && len < 63) {
        out[len] = (char)at[len];
        len++;
    }
    TEST_ASSERT_TRUE_MESSAGE(at + len < end && at[len] == 0, "a name has no end");
    out[len] = 0;
    return len + 1;
}

static void parse(const uint8_t *blob, size_t bytes, parsed_event *out)
{
    const uint8_t *at = blob;
    const uint8_t *end = blob + bytes;
    memset(out, 0, sizeof *out);
    TEST_ASSERT_EQUAL_UINT64(bytes, (size_t)at[0] | (size_t)at[1] << 8);
    at += 2;
    while ((*at++ & 0x80) != 0)
        TEST_ASSERT_TRUE(at < end);
    at += parse_name(at, end, out->name);
    while (at < end) {
        parsed_field *field = &out->fields[out->field_count++];
        at += parse_name(at, end, field->name);
        TEST_ASSERT_TRUE_MESSAGE(at < end, "a field has no type");
        field->in_type = *at & 0x7f;
        if ((*at++ & 0x80) != 0) {
            TEST_ASSERT_TRUE(at < end);
            field->out_type = *at & 0x7f;
            TEST_ASSERT_EQUAL_HEX8_MESSAGE(0, *at++ & 0x80, "we use no field tags");
        }
    }
}

static void test_parser_reads_a_real_blob(void)
{
    parsed_event parsed;
    parse(real_blob, sizeof real_blob, &parsed);
    TEST_ASSERT_EQUAL_STRING("WinMain", parsed.name);
    TEST_ASSERT_EQUAL_UINT32(2, parsed.field_count);
    TEST_ASSERT_EQUAL_STRING("lpCmdLine", parsed.fields[0].name);
    TEST_ASSERT_EQUAL_HEX8(2, parsed.fields[0].in_type);
    TEST_ASSERT_EQUAL_STRING("nCmdShow", parsed.fields[1].name);
    TEST_ASSERT_EQUAL_HEX8(7, parsed.fields[1].in_type);
}

static void test_writer_makes_the_same_bytes(void)
{
    static const tl_field_info fields[] = {
        {.name = "lpCmdLine", .in_type = 2},
        {.name = "nCmdShow", .in_type = 7},
    };
    const tl_event_info info = {.name = "WinMain", .field_count = 2, .fields = fields};
    uint8_t blob[64];
    TEST_ASSERT_EQUAL_UINT64(sizeof real_blob, tl_metadata_write(&info, blob, sizeof blob));
    TEST_ASSERT_EQUAL_MEMORY(real_blob, blob, sizeof real_blob);
}

// What TraceLogging calls the types of our table.
static void expect_types(const char *type, uint8_t *in_type, uint8_t *out_type)
{
    static const struct {
        const char *type;
        uint8_t in_type, out_type;
    } known[] = {
        {"U8", 4, 0},   {"U16", 6, 0},    {"U32", 8, 0},   {"I64", 9, 0},
        {"U64", 10, 0}, {"HEX64", 21, 0}, {"STR", 23, 35}, {"I64S", 0x40 | 9, 0},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(known[i].type, type) == 0) {
            *in_type = known[i].in_type;
            *out_type = known[i].out_type;
            return;
        }
    }
    TEST_FAIL_MESSAGE("a field type that this test does not know: add it to the list above");
}

static void test_every_event_says_what_the_table_says(void)
{
    for (int id = 1; id < TL_EVENT_COUNT; id++) {
        const tl_event_info *info = tl_event_get((tl_event)id);
        uint8_t blob[2048];
        parsed_event parsed;
        parse(blob, tl_event_metadata((tl_event)id, blob, sizeof blob), &parsed);
        TEST_ASSERT_EQUAL_STRING(info->name, parsed.name);
        TEST_ASSERT_EQUAL_UINT32(info->field_count, parsed.field_count);
        for (uint32_t i = 0; i < info->field_count; i++) {
            uint8_t in_type = 0, out_type = 0;
            expect_types(info->fields[i].type, &in_type, &out_type);
            TEST_ASSERT_EQUAL_STRING(info->fields[i].name, parsed.fields[i].name);
            TEST_ASSERT_EQUAL_HEX8(in_type, parsed.fields[i].in_type);
            TEST_ASSERT_EQUAL_HEX8(out_type, parsed.fields[i].out_type);
        }
    }
}

// ETW's guidance, and our own rule for the payload structs.
static void test_every_event_is_well_formed(void)
{
    for (int id = 1; id < TL_EVENT_COUNT; id++) {
        const tl_event_info *info = tl_event_get((tl_event)id);
        bool variable = false;
        TEST_ASSERT_NOT_EQUAL_UINT8(0, info->level);
        TEST_ASSERT_NOT_EQUAL_UINT64(0, info->keyword);
        TEST_ASSERT_GREATER_THAN_UINT64(0, strlen(info->text));
        for (uint32_t i = 0; i < info->field_count; i++) {
            variable = variable || info->fields[i].fixed_bytes == 0;
            TEST_ASSERT_TRUE_MESSAGE(!variable || info->fields[i].fixed_bytes == 0, info->name);
            for (uint32_t other = 0; other < i; other++)
                TEST_ASSERT_TRUE(strcmp(info->fields[i].name, info->fields[other].name) != 0);
        }
    }
}

static void test_capacity_is_respected(void)
{
    for (int id = 1; id < TL_EVENT_COUNT; id++) {
        uint8_t blob[2048];
        size_t bytes = tl_event_metadata((tl_event)id, blob, sizeof blob);
        for (size_t capacity = 0; capacity < bytes; capacity++) {
            uint8_t *exact = malloc(capacity + 1);
            TEST_ASSERT_EQUAL_UINT64(0, tl_event_metadata((tl_event)id, exact, capacity));
            free(exact);
        }
        TEST_ASSERT_EQUAL_UINT64(bytes, tl_event_metadata((tl_event)id, blob, bytes));
    }
}

static void test_no_metadata_for_what_is_no_event(void)
{
    uint8_t blob[64];
    TEST_ASSERT_NULL(tl_event_get(TL_EVENT_PAD));
    TEST_ASSERT_NULL(tl_event_get(TL_EVENT_COUNT));
    TEST_ASSERT_EQUAL_UINT64(0, tl_event_metadata(TL_EVENT_PAD, blob, sizeof blob));
    TEST_ASSERT_EQUAL_UINT64(0, tl_event_metadata(TL_EVENT_COUNT, blob, sizeof blob));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_parser_reads_a_real_blob);
    RUN_TEST(test_writer_makes_the_same_bytes);
    RUN_TEST(test_every_event_says_what_the_table_says);
    RUN_TEST(test_every_event_is_well_formed);
    RUN_TEST(test_capacity_is_respected);
    RUN_TEST(test_no_metadata_for_what_is_no_event);
    return UNITY_END();
}
