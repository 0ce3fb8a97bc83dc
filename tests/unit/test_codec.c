// SPDX-License-Identifier: MIT
// Payloads encoded as the hook does and decoded again, by our own schema, by schemas of other
// versions, and by schemas and payloads that make no sense.
#include "channel_fixture.h"

#include "tracelogging/codec.h"

#include "common/status.h"

// A schema of another version, built field by field.
typedef struct schema_builder {
    uint8_t bytes[4096];
    size_t used;
    size_t blob; // where the current event's blob begins
    uint16_t events;
} schema_builder;

static tl_decoder *decoder;
static tl_event event;
static tl_field_value values[TL_FIELDS_MAX];

void setUp(void)
{
    decoder = NULL;
    event = TL_EVENT_COUNT;
    memset(values, 0xee, sizeof values);
}

void tearDown(void)
{
    tl_decoder_destroy(decoder);
}

static void add(schema_builder *b, const void *bytes, size_t len)
{
    memcpy(b->bytes + b->used, bytes, len);
    b->used += len;
}

static void begin_event(schema_builder *b, uint16_t id, const char *name)
{
    static const uint8_t level_keyword_size_tags[1 + 8 + 2 + 1] = {4};
    uint32_t magic = TL_SCHEMA_MAGIC;
    if (b->used == 0) {
        add(b, &magic, sizeof magic);
        b->used += sizeof b->events;
    }
    add(b, &id, sizeof id);
    b->blob = b->used + 9;
    add(b, level_keyword_size_tags, sizeof level_keyword_size_tags);
    add(b, name, strlen(name) + 1);
    b->events++;
    memcpy(b->bytes + sizeof magic, &b->events, sizeof b->events);
}

static void add_field(schema_builder *b, const char *name, uint8_t in_type)
{
    add(b, name, strlen(name) + 1);
    add(b, &in_type, 1);
}

static void end_event(schema_builder *b)
{
    uint16_t size = (uint16_t)(b->used - b->blob);
    memcpy(b->bytes + b->blob, &size, sizeof size);
}

static void use(const schema_builder *b)
{
    tl_decoder_destroy(decoder);
    decoder = tl_decoder_create(b->bytes, b->used);
    TEST_ASSERT_NOT_NULL(decoder);
}

static void use_own(void)
{
    decoder = tl_decoder_create(NULL, 0);
    TEST_ASSERT_NOT_NULL(decoder);
}

static void assert_text(const char *expected, const tl_field_value *value)
{
    TEST_ASSERT_NOT_NULL(value->text);
    TEST_ASSERT_EQUAL_UINT32(strlen(expected), value->count);
    TEST_ASSERT_EQUAL_INT(0, memcmp(expected, value->text, value->count));
}

static void test_run_round_trip(void)
{
    tl_Run run = {.duration_ticks = 1u + (1ull << 40),
                  .session = 2,
                  .run = UINT32_MAX,
                  .inputs = 3,
                  .outputs = 4,
                  .in_flight = 65535,
                  .call = 255,
                  .status = 6};
    use_own();
    TEST_ASSERT_TRUE(
        tl_decode(decoder, TL_EVENT_Run, (const uint8_t *)&run, sizeof run, &event, values));
    TEST_ASSERT_EQUAL_INT(TL_EVENT_Run, event);
    TEST_ASSERT_EQUAL_INT64(1 + (1ll << 40), values[TL_Run_duration_ticks].number);
    TEST_ASSERT_EQUAL_INT64(2, values[TL_Run_session].number);
    TEST_ASSERT_EQUAL_INT64(UINT32_MAX, values[TL_Run_run].number);
    TEST_ASSERT_EQUAL_INT64(3, values[TL_Run_inputs].number);
    TEST_ASSERT_EQUAL_INT64(4, values[TL_Run_outputs].number);
    TEST_ASSERT_EQUAL_INT64(65535, values[TL_Run_in_flight].number);
    TEST_ASSERT_EQUAL_INT64(255, values[TL_Run_call].number);
    TEST_ASSERT_EQUAL_INT64(6, values[TL_Run_status].number);
}

static void test_strings_and_arrays_round_trip(void)
{
    static const int64_t dims[] = {1, -1, INT64_MIN, INT64_MAX};
    tl_Tensor fixed = {.set = 9, .index = 1, .onnx_type = 1, .element_type = 7};
    uint8_t payload[200];
    tl_encoder e = {payload, payload + sizeof payload};
    memcpy(e.at, &fixed, sizeof fixed);
    e.at += sizeof fixed;
    tl_put_string(&e, "caf\xc3\xa9", 5);
    tl_put_i64s(&e, dims, 4);
    use_own();
    size_t bytes = (size_t)(e.at - payload);
    TEST_ASSERT_EQUAL_UINT64(sizeof fixed + 2 + 5 + 2 + 32, bytes);
    TEST_ASSERT_TRUE(tl_decode(decoder, TL_EVENT_Tensor, payload, bytes, &event, values));
    TEST_ASSERT_EQUAL_INT64(9, values[TL_Tensor_set].number);
    assert_text("caf\xc3\xa9", &values[TL_Tensor_name]);
    TEST_ASSERT_EQUAL_UINT32(4, values[TL_Tensor_dims].count);
    for (uint32_t i = 0; i < 4; i++)
        TEST_ASSERT_EQUAL_INT64(dims[i], tl_array_get(&values[TL_Tensor_dims], i));
    TEST_ASSERT_EQUAL_INT64(0, tl_array_get(&values[TL_Tensor_dims], 4));
    TEST_ASSERT_EQUAL_INT64(0, tl_array_get(&values[TL_Tensor_name], 0));
}

static void test_negative_batch(void)
{
    tl_ShapeSet set = {.batch = -1, .set = 1};
    use_own();
    TEST_ASSERT_TRUE(
        tl_decode(decoder, TL_EVENT_ShapeSet, (const uint8_t *)&set, sizeof set, &event, values));
    TEST_ASSERT_EQUAL_INT64(-1, values[TL_ShapeSet_batch].number);
}

// A payload of every event, cut at every length: decodes only at a boundary of variable fields.
static void test_payload_cut_anywhere(void)
{
    use_own();
    for (int id = 1; id < TL_EVENT_COUNT; id++) {
        const tl_event_info *info = tl_event_get((tl_event)id);
        uint8_t payload[512] = {0};
        bool boundary[513] = {false};
        tl_encoder e = {payload, payload + sizeof payload};
        for (uint32_t i = 0; i < info->field_count; i++)
            e.at += info->fields[i].fixed_bytes;
        boundary[e.at - payload] = true;
        for (uint32_t i = 0; i < info->field_count; i++) {
            if (info->fields[i].fixed_bytes != 0)
                continue;
            if (strcmp(info->fields[i].type, "STR") == 0)
                tl_put_string(&e, "0123456789", i % 10 + 1);
            else
                tl_put_i64s(&e, (const int64_t[]){1, 2, 3}, 3);
            boundary[e.at - payload] = true;
        }
        size_t whole = (size_t)(e.at - payload);
        for (size_t bytes = 0; bytes <= whole + 9; bytes++) {
            uint8_t *exact = malloc(bytes + 1); // the sanitizer sees one byte too many
            memcpy(exact, payload, bytes);
            TEST_ASSERT_EQUAL_INT_MESSAGE(
                boundary[bytes], tl_decode(decoder, (uint16_t)id, exact, bytes, &event, values),
                info->name);
            free(exact);
        }
    }
}

static void test_missing_variable_fields_read_as_empty(void)
{
    tl_Module fixed = {.module = 1};
    use_own();
    TEST_ASSERT_TRUE(
        tl_decode(decoder, TL_EVENT_Module, (const uint8_t *)&fixed, sizeof fixed, &event, values));
    assert_text("", &values[TL_Module_path]);
    assert_text("", &values[TL_Module_build]);
}

static void test_encoder_cuts_and_never_overruns(void)
{
    static const char text[] = "a\xc3\xa9\xe6\xbc\xa2\xf0\x9f\x98\x80z"; // 1 + 2 + 3 + 4 + 1 bytes
    static const uint16_t cut[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11};
    for (size_t capacity = 0; capacity < 16; capacity++) {
        uint8_t payload[32];
        memset(payload, 0xcc, sizeof payload);
        tl_encoder e = {payload, payload + capacity};
        tl_put_string(&e, text, sizeof text - 1);
        for (size_t i = capacity; i < sizeof payload; i++)
            TEST_ASSERT_EQUAL_HEX8(0xcc, payload[i]);
        if (capacity < 2) {
            TEST_ASSERT_TRUE(e.at == payload);
            continue;
        }
        uint16_t count;
        memcpy(&count, payload, 2);
        TEST_ASSERT_EQUAL_UINT16(cut[capacity - 2 < 11 ? capacity - 2 : 11], count);
        TEST_ASSERT_TRUE(e.at == payload + 2 + count);
        TEST_ASSERT_EQUAL_INT(0, memcmp(text, payload + 2, count));
    }
    for (size_t capacity = 0; capacity < 30; capacity++) {
        uint8_t payload[32];
        tl_encoder e = {payload, payload + capacity};
        tl_put_i64s(&e, (const int64_t[]){1, 2, 3}, 3);
        size_t fit = capacity < 2 ? 0 : (capacity - 2) / 8 > 3 ? 3 : (capacity - 2) / 8;
        TEST_ASSERT_TRUE(e.at == payload + (capacity < 2 ? 0 : 2 + 8 * fit));
    }
}

static void test_encoder_cuts_text_that_is_no_utf8(void)
{
    uint8_t payload[10];
    tl_encoder e = {payload, payload + sizeof payload};
    tl_put_string(&e, "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80", 12);
    TEST_ASSERT_TRUE(e.at == payload + sizeof payload);
    e = (tl_encoder){payload, payload + sizeof payload};
    tl_put_string(&e, NULL, 0);
    TEST_ASSERT_TRUE(e.at == payload + 2);
}

static void test_string_longer_than_its_count_can_say(void)
{
    enum { BIG = 70000 };
    char *text = malloc(BIG);
    uint8_t *payload = malloc(BIG + 2);
    memset(text, 'x', BIG);
    tl_encoder e = {payload, payload + BIG + 2};
    tl_put_string(&e, text, BIG);
    TEST_ASSERT_TRUE(e.at == payload + 2 + 65535);
    free(text);
    free(payload);
}

// ------------------------------------------------------------------------------- other versions

static void test_fields_reordered_added_removed(void)
{
    schema_builder b = {0};
    begin_event(&b, 1, "Unknown");
    add_field(&b, "anything", 25);
    end_event(&b);
    begin_event(&b, 700, "Run");
    add_field(&b, "status", 8);          // wider than ours
    add_field(&b, "new_float", 12);      // not known to us
    add_field(&b, "session", 7);         // signed on the wire
    add_field(&b, "new_text", 22);       // UTF-16, not known
    add_field(&b, "inputs", 23);         // a string where we have a number
    add_field(&b, "new_list", 15 | 64);  // array of GUIDs
    add_field(&b, "duration_ticks", 10); // behind variable fields
    end_event(&b);
    use(&b);

    uint8_t payload[] = {1,    2,    3,    4,                                      // status
                         0,    0,    0,    0,    0,   0, 0, 0,                     // new_float
                         0xff, 0xff, 0xff, 0xff,                                   // session
                         4,    0,    'h',  0,    'i', 0,                           // new_text
                         1,    0,    'x',                                          // inputs
                         1,    0,    0,    0,    0,   0, 0, 0, 0, 0, 0, 0,   0, 0, // new_list
                         0,    0,    0,    0,    9,   0, 0, 0, 0, 0, 0, 0x80};     // duration_ticks
    TEST_ASSERT_TRUE(tl_decode(decoder, 700, payload, sizeof payload, &event, values));
    TEST_ASSERT_EQUAL_INT(TL_EVENT_Run, event);
    TEST_ASSERT_EQUAL_INT64(0x04030201, values[TL_Run_status].number);
    TEST_ASSERT_EQUAL_INT64(-1, values[TL_Run_session].number);
    TEST_ASSERT_EQUAL_INT64(0, values[TL_Run_inputs].number);
    TEST_ASSERT_EQUAL_INT64(INT64_MIN + 9, values[TL_Run_duration_ticks].number);
    TEST_ASSERT_EQUAL_INT64(0, values[TL_Run_run].number);
    TEST_ASSERT_EQUAL_INT64(0, values[TL_Run_outputs].number);

    TEST_ASSERT_TRUE(tl_decode(decoder, 1, (const uint8_t[]){1, 0, 7}, 3, &event, values));
    TEST_ASSERT_EQUAL_INT(TL_EVENT_PAD, event);
    TEST_ASSERT_FALSE(tl_decode(decoder, 1, (const uint8_t[]){2, 0, 7}, 3, &event, values));
    TEST_ASSERT_TRUE(tl_decode(decoder, 2, payload, 5, &event, values));
    TEST_ASSERT_EQUAL_INT(TL_EVENT_PAD, event);
    TEST_ASSERT_TRUE(tl_decode(decoder, 0, payload, 5, &event, values));
    TEST_ASSERT_TRUE(tl_decode(decoder, UINT16_MAX, payload, 5, &event, values));
    TEST_ASSERT_EQUAL_INT(TL_EVENT_PAD, event);
}

static void test_lists_of_another_element_size_are_not_ours(void)
{
    static const uint8_t types[] = {4 | 64, 8 | 64, 12 | 64, 15 | 64};
    static const uint8_t sizes[] = {1, 4, 8, 16};
    for (size_t i = 0; i < sizeof types; i++) {
        schema_builder b = {0};
        begin_event(&b, 7, "Tensor");
        add_field(&b, "dims", types[i]);
        end_event(&b);
        use(&b);
        uint8_t payload[2 + 16] = {1};
        TEST_ASSERT_TRUE(tl_decode(decoder, 7, payload, 2u + sizes[i], &event, values));
        TEST_ASSERT_EQUAL_UINT32(0, values[TL_Tensor_dims].count);
        TEST_ASSERT_NULL(values[TL_Tensor_dims].array);
    }
}

static void test_types_that_we_can_not_measure_end_the_event(void)
{
    static const uint8_t types[] = {0, 1, 2, 16, 19, 24, 26, 31, 1 | 64, 23 | 64};
    for (size_t i = 0; i < sizeof types; i++) {
        schema_builder b = {0};
        begin_event(&b, 5, "SessionEnd");
        add_field(&b, "session", 8);
        add_field(&b, "strange", types[i]);
        add_field(&b, "later", 8);
        end_event(&b);
        use(&b);
        uint8_t payload[] = {1, 0, 0, 0, 9, 9, 9, 9, 9, 9, 9};
        for (size_t bytes = 4; bytes <= sizeof payload; bytes++) {
            TEST_ASSERT_TRUE(tl_decode(decoder, 5, payload, bytes, &event, values));
            TEST_ASSERT_EQUAL_INT64(1, values[TL_SessionEnd_session].number);
        }
        TEST_ASSERT_FALSE(tl_decode(decoder, 5, payload, 3, &event, values));
    }
}

static void test_tags_and_custom_types_are_stepped_over(void)
{
    schema_builder b = {0};
    begin_event(&b, 5, "SessionEnd");
    add_field(&b, "tagged", 8 | 0x80);
    add(&b, "\x84\x81\x01", 3); // out-type 4 with two tag bytes
    add_field(&b, "session", 8);
    add_field(&b, "four", 8 | 0x20);
    add(&b, "\x04\x00", 2);
    add_field(&b, "custom", 8 | 0x60);
    add(&b, "\x03\x00xyz", 5);
    end_event(&b);
    use(&b);
    uint8_t payload[] = {9, 0, 0, 0, 7, 0, 0, 0, 1, 2, 3};
    TEST_ASSERT_TRUE(tl_decode(decoder, 5, payload, sizeof payload, &event, values));
    TEST_ASSERT_EQUAL_INT64(7, values[TL_SessionEnd_session].number);
}

// ------------------------------------------------------------------------------ hostile schemas

static void assert_refused(const uint8_t *schema, size_t bytes)
{
    uint8_t *exact = malloc(bytes + 1);
    memcpy(exact, schema, bytes);
    TEST_ASSERT_NULL(tl_decoder_create(exact, bytes));
    TEST_ASSERT_GREATER_THAN_UINT64(20, strlen(cm_error_text(CM_CORRUPT)));
    free(exact);
}

static void test_schema_cut_anywhere_is_refused(void)
{
    static uint8_t schema[TL_SCHEMA_BYTES + 1];
    size_t bytes = tl_schema_serialize(schema, TL_SCHEMA_BYTES);
    TEST_ASSERT_GREATER_THAN_UINT64(500, bytes);
    for (size_t i = 0; i < bytes; i++) {
        assert_refused(schema, i);
        TEST_ASSERT_EQUAL_UINT64(0, tl_schema_serialize(schema, i));
    }
    TEST_ASSERT_EQUAL_UINT64(bytes, tl_schema_serialize(schema, bytes));
    assert_refused(schema, bytes + 1);
}

static void test_schema_with_wrong_numbers_is_refused(void)
{
    schema_builder b = {0};
    begin_event(&b, 5, "A");
    end_event(&b);
    begin_event(&b, 5, "B"); // the same id
    end_event(&b);
    assert_refused(b.bytes, b.used);
    b = (schema_builder){0};
    begin_event(&b, 0, "A");
    end_event(&b);
    assert_refused(b.bytes, b.used);
    b = (schema_builder){0};
    begin_event(&b, 1, "A");
    add_field(&b, "tagged", 8 | 0x80);
    add(&b, "\x80\x80\x80\x80\x80\x80", 6); // tags without end
    end_event(&b);
    assert_refused(b.bytes, b.used);
    static uint8_t big[65537] = {0x74, 0x6c, 0x73, 0x31};
    assert_refused(big, sizeof big);
}

static void test_random_schemas_and_payloads(void)
{
    static uint8_t schema[TL_SCHEMA_BYTES];
    size_t bytes = tl_schema_serialize(schema, sizeof schema);
    uint64_t random = 99;
    unsigned accepted = 0;
    for (int round = 0; round < 20000; round++) {
        uint8_t *copy = malloc(bytes);
        memcpy(copy, schema, bytes);
        for (uint64_t i = fixture_random(&random) % 4 + 1; i > 0; i--)
            copy[fixture_random(&random) % bytes] = (uint8_t)fixture_random(&random);
        tl_decoder *d = tl_decoder_create(copy, bytes);
        free(copy); // nothing of it is kept
        accepted += d != NULL;
        for (int i = 0; d != NULL && i < 20; i++) {
            size_t len = fixture_random(&random) % 100;
            uint8_t *payload = malloc(len + 1);
            for (size_t at = 0; at < len; at++)
                payload[at] = (uint8_t)(fixture_random(&random) % 5);
            tl_decode(d, (uint16_t)(fixture_random(&random) % 12), payload, len, &event, values);
            free(payload);
        }
        tl_decoder_destroy(d);
    }
    TEST_ASSERT_GREATER_THAN_UINT64(1000, accepted);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_run_round_trip);
    RUN_TEST(test_strings_and_arrays_round_trip);
    RUN_TEST(test_negative_batch);
    RUN_TEST(test_payload_cut_anywhere);
    RUN_TEST(test_missing_variable_fields_read_as_empty);
    RUN_TEST(test_encoder_cuts_and_never_overruns);
    RUN_TEST(test_encoder_cuts_text_that_is_no_utf8);
    RUN_TEST(test_string_longer_than_its_count_can_say);
    RUN_TEST(test_fields_reordered_added_removed);
    RUN_TEST(test_lists_of_another_element_size_are_not_ours);
    RUN_TEST(test_types_that_we_can_not_measure_end_the_event);
    RUN_TEST(test_tags_and_custom_types_are_stepped_over);
    RUN_TEST(test_schema_cut_anywhere_is_refused);
    RUN_TEST(test_schema_with_wrong_numbers_is_refused);
    RUN_TEST(test_random_schemas_and_payloads);
    return UNITY_END();
}
