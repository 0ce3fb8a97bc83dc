// SPDX-License-Identifier: MIT
// The reader of .etl files on files of our own: every kind of header, clocks, order, compression,
// and what becomes of it when it is cut or changed anywhere.
#include "etl_maker.h"

#include "collector/etl.h"
#include "collector/etl_census.h"
#include "collector/etl_import.h"
#include "collector/etl_kernel.h"
#include "etl_facts.h"
#include "etl_lz77.h"

#include <stdlib.h>
#include <string.h>
#include <unity.h>

static etl_maker g_maker;

typedef struct seen {
    co_etl_event events[64];
    size_t count;
    int damages;
} seen;

static bool on_event(void *context, const co_etl_event *e)
{
    seen *s = context;
    if (s->count < 64)
        s->events[s->count] = *e; // its pointers are not looked at
    s->count++;
    return true;
}

static void on_damage(void *context, const char *sentence)
{
    TEST_ASSERT_NOT_NULL(strstr(sentence, "buffer at byte"));
    ((seen *)context)->damages++;
}

void setUp(void)
{
    etl_begin(&g_maker, &etl_head_usual);
}

void tearDown(void)
{
    etl_free(&g_maker);
}

static seen read_back(co_etl_order order)
{
    seen s = {.count = 0};
    co_etl *e = NULL;
    co_etl_visitor v = {.context = &s, .event = on_event, .damage = on_damage};
    TEST_ASSERT_EQUAL(CM_OK, co_etl_open_memory(g_maker.file.data, g_maker.file.len, &e));
    TEST_ASSERT_EQUAL(CM_OK, co_etl_read(e, order, &v));
    co_etl_close(e);
    return s;
}

static void expect(const co_etl_event *e, co_etl_family family, int64_t time, uint32_t pid,
                   uint32_t tid, size_t data_len)
{
    TEST_ASSERT_EQUAL(family, e->family);
    TEST_ASSERT_EQUAL_INT64(time, e->time);
    TEST_ASSERT_EQUAL_UINT32(pid, e->pid);
    TEST_ASSERT_EQUAL_UINT32(tid, e->tid);
    TEST_ASSERT_EQUAL_size_t(data_len, e->data_len);
}

static void test_header_of_the_file(void)
{
    co_etl *e = NULL;
    etl_end(&g_maker);
    TEST_ASSERT_EQUAL(CM_OK, co_etl_open_memory(g_maker.file.data, g_maker.file.len, &e));
    const co_etl_header *h = co_etl_header_of(e);
    TEST_ASSERT_EQUAL_UINT32(19045, h->build);
    TEST_ASSERT_EQUAL_UINT32(4, h->processors);
    TEST_ASSERT_EQUAL_INT64(10000000, h->perf_freq);
    TEST_ASSERT_EQUAL_UINT64(ETL_START, h->start_time);
    TEST_ASSERT_EQUAL_STRING("logger", h->logger_name);
    TEST_ASSERT_EQUAL_STRING("C:\\file.etl", h->file_name);
    co_etl_close(e);
}

static void test_header_with_pointers_of_four_bytes(void)
{
    etl_head head = etl_head_usual;
    co_etl *e = NULL;
    head.pointer_size = 4;
    etl_free(&g_maker);
    etl_begin(&g_maker, &head);
    etl_end(&g_maker);
    TEST_ASSERT_EQUAL(CM_OK, co_etl_open_memory(g_maker.file.data, g_maker.file.len, &e));
    TEST_ASSERT_EQUAL_STRING("logger", co_etl_header_of(e)->logger_name);
    TEST_ASSERT_EQUAL_UINT64(ETL_START, co_etl_header_of(e)->start_time);
    co_etl_close(e);
}

static void test_every_kind_of_header(void)
{
    static const uint8_t unknown[16] = {16, 0, 0x63, 0xc0};
    etl_bytes four = {.data = {1, 2, 3, 4}, .len = 4}, counters = {.len = 0};
    for (int i = 0; i < 3; i++)
        put64(&counters, 7);
    put32(&counters, 9);
    etl_kernel(&g_maker, 0x01, 2, 3, 1, 2001, 11, 12, &four);
    etl_kernel(&g_maker, 0x04, 2, 3, 1, 2002, 11, 12, &four);
    etl_kernel(&g_maker, 0x10, 2, 15, 46, 2003, 0, 0, &four);
    etl_kernel(&g_maker, 0x11, 0x8202, 15, 46, 2004, 0, 0, &counters); // an index, two counters
    etl_classic(&g_maker, 0x14, etl_thread_guid, 3, 1, 2005, 21, 22, &four);
    etl_classic(&g_maker, 0x0b, etl_thread_guid, 3, 1, 2006, 21, 22, &four);
    etl_event(&g_maker, etl_kernel_process_guid, 5, 1, 4, 2007, 31, 32, NULL, &four);
    etl_message(&g_maker, 2008, etl_thread_guid, 41, 42);
    etl_raw(&g_maker, unknown, sizeof unknown);
    etl_end(&g_maker);
    seen s = read_back(CO_ETL_BY_FILE);
    TEST_ASSERT_EQUAL_size_t(10, s.count);
    expect(&s.events[1], CO_ETL_KERNEL, 2001, 11, 12, 4);
    TEST_ASSERT_EQUAL(4, s.events[1].pointer_size);
    expect(&s.events[2], CO_ETL_KERNEL, 2002, 11, 12, 4);
    TEST_ASSERT_EQUAL(8, s.events[2].pointer_size);
    expect(&s.events[3], CO_ETL_KERNEL, 2003, CO_ETL_UNKNOWN, CO_ETL_UNKNOWN, 4);
    expect(&s.events[4], CO_ETL_KERNEL, 2004, CO_ETL_UNKNOWN, CO_ETL_UNKNOWN, 4);
    TEST_ASSERT_EQUAL(2, s.events[4].version);
    expect(&s.events[5], CO_ETL_CLASSIC, 2005, 21, 22, 4);
    expect(&s.events[6], CO_ETL_CLASSIC, 2006, 21, 22, 4);
    TEST_ASSERT_EQUAL_MEMORY(etl_thread_guid, s.events[6].provider, 16);
    expect(&s.events[7], CO_ETL_EVENT, 2007, 31, 32, 4);
    TEST_ASSERT_EQUAL(5, s.events[7].id);
    expect(&s.events[8], CO_ETL_MESSAGE, 2008, 41, 42, 3);
    TEST_ASSERT_EQUAL(77, s.events[8].id);
    TEST_ASSERT_EQUAL(CO_ETL_OTHER, s.events[9].family);
    TEST_ASSERT_FALSE(s.events[9].timed);
    TEST_ASSERT_EQUAL(1, s.damages);
}

static void test_clocks(void)
{
    co_etl_header h = {
        .clock = CO_ETL_QPC, .perf_freq = 3000000, .start_time = ETL_START, .first_time = 700};
    TEST_ASSERT_EQUAL_INT64(1000000000, co_etl_ns(&h, 3000700));
    TEST_ASSERT_EQUAL_INT64(-1000000000, co_etl_ns(&h, -2999300));
    TEST_ASSERT_EQUAL_UINT64(ETL_START + 10000000, co_etl_filetime(&h, 3000700));
    TEST_ASSERT_EQUAL_INT64(333, co_etl_span_ns(&h, 1));
    h.clock = CO_ETL_SYSTEM_TIME;
    TEST_ASSERT_EQUAL_UINT64(ETL_START + 5, co_etl_filetime(&h, (int64_t)ETL_START + 5));
    TEST_ASSERT_EQUAL_INT64(500, co_etl_ns(&h, (int64_t)ETL_START + 5));
    h.clock = CO_ETL_CPU_CYCLES;
    h.cpu_mhz = 2000;
    TEST_ASSERT_EQUAL_INT64(1000, co_etl_ns(&h, 2700));
    TEST_ASSERT_TRUE(co_etl_has_time(&h));
    h.clock = CO_ETL_QPC;
    h.perf_freq = 0;
    TEST_ASSERT_FALSE(co_etl_has_time(&h));
    TEST_ASSERT_EQUAL_INT64(0, co_etl_ns(&h, 5));
}

// Two buffers of each of three processors, one of them compressed.
static void interleaved(void)
{
    static const uint16_t cpus[] = {2, 0, 1, 0, 2, 1};
    static const int64_t times[][3] = {{2000, 2010, 2500}, {2005, 2010, 2020}, {2001, 2002, 9000},
                                       {2021, 2600, 2700}, {2500, 2501, 8999}, {9000, 9001, 9002}};
    etl_bytes none = {.len = 0};
    for (unsigned i = 0; i < 6; i++) {
        etl_buffer(&g_maker, cpus[i]);
        if (i == 2)
            etl_compressed(&g_maker);
        for (unsigned k = 0; k < 3; k++)
            etl_kernel(&g_maker, 0x11, 2, 15, 46, times[i][k], 0, 0, &none);
    }
    etl_end(&g_maker);
}

static void test_order_over_processors(void)
{
    interleaved();
    seen s = read_back(CO_ETL_BY_TIME);
    TEST_ASSERT_EQUAL_size_t(19, s.count);
    for (size_t i = 1; i < s.count; i++) {
        TEST_ASSERT_GREATER_OR_EQUAL_INT64(s.events[i - 1].time, s.events[i].time);
        if (s.events[i].time == s.events[i - 1].time)
            TEST_ASSERT_GREATER_OR_EQUAL(s.events[i - 1].cpu, s.events[i].cpu);
    }
    seen by_file = read_back(CO_ETL_BY_FILE);
    TEST_ASSERT_EQUAL_size_t(19, by_file.count);
    TEST_ASSERT_EQUAL_INT64(2000, by_file.events[1].time);
}

static void test_circular_file_that_came_round(void)
{
    static const int64_t sequences[] = {9, 10, 5, 6, 7, 8};
    etl_head head = etl_head_usual;
    etl_bytes none = {.len = 0};
    head.mode = 2;
    etl_free(&g_maker);
    etl_begin(&g_maker, &head);
    for (unsigned i = 0; i < 6; i++) {
        etl_buffer(&g_maker, 0);
        g_maker.sequence = sequences[i];
        etl_kernel(&g_maker, 0x11, 2, 15, 46, 1000 * sequences[i], 0, 0, &none);
    }
    etl_end(&g_maker);
    seen s = read_back(CO_ETL_BY_TIME);
    TEST_ASSERT_EQUAL_size_t(7, s.count);
    for (size_t i = 1; i < s.count; i++)
        TEST_ASSERT_EQUAL_INT64(1000 * (int64_t)(i + 4), s.events[i].time);
}

static void test_unpacking(void)
{
    // From the description of the format: 100 times "abc".
    static const uint8_t packed[] = {0xff, 0xff, 0xff, 0x1f, 0x61, 0x62, 0x63,
                                     0x17, 0x00, 0x0f, 0xff, 0x26, 0x01};
    uint8_t out[300];
    size_t len;
    TEST_ASSERT_TRUE(co_etl_lz77(packed, sizeof packed, out, sizeof out, &len));
    TEST_ASSERT_EQUAL_size_t(300, len);
    for (size_t i = 0; i < 300; i++)
        TEST_ASSERT_EQUAL('a' + i % 3, out[i]);
    TEST_ASSERT_FALSE(co_etl_lz77(packed, 6, out, sizeof out, &len)); // cut: what is there
    TEST_ASSERT_EQUAL_size_t(2, len);
    TEST_ASSERT_FALSE(co_etl_lz77(packed, sizeof packed, out, 200, &len)); // too long: damaged
    TEST_ASSERT_EQUAL_size_t(0, len);
    static const uint8_t before_start[] = {0xff, 0xff, 0xff, 0xff, 0x08, 0x00};
    TEST_ASSERT_FALSE(co_etl_lz77(before_start, sizeof before_start, out, sizeof out, &len));
    TEST_ASSERT_EQUAL_size_t(0, len);
}

// ------------------------------------------------------------------------------------------ damage

static void sample(void)
{
    etl_bytes metadata, data = {.len = 0}, none = {.len = 0};
    tlg_name(&metadata, "Named");
    tlg_field(&metadata, "text", 1);
    tlg_field(&metadata, "list", 0x40 | 7);
    tlg_finish(&metadata);
    put_wide(&data, "hello");
    put16(&data, 2);
    put64(&data, 5);
    etl_process(&g_maker, 3, 2000, 100, 4, "app.exe");
    etl_buffer(&g_maker, 1);
    etl_thread(&g_maker, 1, 2100, 100, 200);
    etl_event(&g_maker, etl_ort_guid, 0, 0, 5, 2200, 100, 200, &metadata, &data);
    etl_ort(&g_maker, "EvaluationStart", 2300, 100, 200, 1);
    etl_buffer(&g_maker, 0);
    etl_compressed(&g_maker);
    etl_switch(&g_maker, 2350, 200, 0, 0, 2);
    etl_ort(&g_maker, "EvaluationStop", 2400, 100, 200, 1);
    etl_message(&g_maker, 2450, etl_ort_guid, 1, 2);
    etl_kernel(&g_maker, 0x11, 2, 15, 46, 2500, 0, 0, &none);
    etl_end(&g_maker);
}

static bool census_and_people(void *context, const co_etl_event *e)
{
    void **both = context;
    co_etl_census_event(both[0], e);
    co_etl_people_event(both[1], e);
    return true;
}

static bool facts(void *context, const co_etl_event *e)
{
    etl_fact fact;
    (void)context;
    co_etl_fact(e, &fact);
    return true;
}

// Files are slow to make: not each time.
static void import(co_etl *e, co_etl_people *people)
{
    static unsigned times;
    co_etl_visitor v = {.event = facts};
    co_etl_import_stats stats;
    co_etl_import_options options = {.output = "test_etl.ortl"};
    cm_status status = times++ % 64 == 0 ? co_etl_import(e, people, &options, &stats)
                                         : co_etl_read(e, CO_ETL_BY_TIME, &v);
    TEST_ASSERT_TRUE(status == CM_OK || status == CM_UNSUPPORTED || status == CM_NO_MEMORY);
}

// Everything that `ortscope import` does. Returns the number of events, -1 if it was refused.
static int64_t use(const uint8_t *bytes, size_t len)
{
    co_etl *e = NULL;
    co_etl_census *census = NULL;
    co_etl_people *people = NULL;
    if (co_etl_open_memory(bytes, len, &e) != CM_OK) {
        TEST_ASSERT_NOT_NULL(strstr(cm_error_text(CM_UNSUPPORTED), "no recording"));
        return -1;
    }
    TEST_ASSERT_EQUAL(CM_OK, co_etl_census_create(co_etl_header_of(e), &census));
    TEST_ASSERT_EQUAL(CM_OK, co_etl_people_create(false, &people));
    void *both[] = {census, people};
    co_etl_visitor v = {.context = both, .event = census_and_people};
    TEST_ASSERT_EQUAL(CM_OK, co_etl_read(e, CO_ETL_BY_FILE, &v));
    int64_t count = (int64_t)co_etl_census_events(census);
    import(e, people);
    co_etl_census_destroy(census);
    co_etl_people_destroy(people);
    co_etl_close(e);
    return count;
}

// A copy that ends where the file does, so that the sanitizer sees a step too far.
static int64_t use_copy(const uint8_t *bytes, size_t len, size_t place, uint8_t change)
{
    uint8_t *copy = malloc(len ? len : 1);
    TEST_ASSERT_NOT_NULL(copy);
    memcpy(copy, bytes, len);
    if (place < len)
        copy[place] ^= change;
    int64_t count = use(copy, len);
    free(copy);
    return count;
}

// Only filler and padding may be cut or changed without anybody noticing.
static void test_cut_at_every_byte(void)
{
    sample();
    int64_t before = -1;
    for (size_t len = 0; len <= g_maker.file.len; len++) {
        if (len > 1200 && len < 8100) // filler of the first buffer
            continue;
        int64_t count = use_copy(g_maker.file.data, len, SIZE_MAX, 0);
        TEST_ASSERT_GREATER_OR_EQUAL_INT64(before, count);
        before = count;
    }
    TEST_ASSERT_EQUAL_INT64(9, before);
}

static void test_every_byte_changed(void)
{
    static const uint8_t changes[] = {0x01, 0x80, 0xff};
    sample();
    for (size_t place = 0; place < g_maker.file.len; place++) {
        if (g_maker.file.data[place] == 0xff && place % 8192 > 1200)
            continue; // filler
        for (unsigned i = 0; i < sizeof changes; i++)
            TEST_ASSERT_LESS_OR_EQUAL_INT64(
                300, use_copy(g_maker.file.data, g_maker.file.len, place, changes[i]));
    }
    cm_file_remove("test_etl.ortl");
}

static void test_no_recording_is_refused(void)
{
    co_etl *e = NULL;
    static const uint8_t zeros[4096];
    TEST_ASSERT_EQUAL(CM_UNSUPPORTED, co_etl_open_memory(zeros, 0, &e));
    TEST_ASSERT_NOT_NULL(strstr(cm_error_text(CM_UNSUPPORTED), "empty"));
    TEST_ASSERT_EQUAL(CM_UNSUPPORTED, co_etl_open_memory(zeros, sizeof zeros, &e));
    TEST_ASSERT_EQUAL(CM_NOT_FOUND, co_etl_open("there_is_no_such.etl", &e));
    TEST_ASSERT_NULL(e);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_header_of_the_file);
    RUN_TEST(test_header_with_pointers_of_four_bytes);
    RUN_TEST(test_every_kind_of_header);
    RUN_TEST(test_clocks);
    RUN_TEST(test_order_over_processors);
    RUN_TEST(test_circular_file_that_came_round);
    RUN_TEST(test_unpacking);
    RUN_TEST(test_cut_at_every_byte);
    RUN_TEST(test_every_byte_changed);
    RUN_TEST(test_no_recording_is_refused);
    return UNITY_END();
}
