// SPDX-License-Identifier: MIT
// Events of a session in real time: their way through the queue, and which of them become rows of a
// capture. They are made as records of a file, and handed over as Windows would hand them over.
#include "etl_maker.h"
#include "etw_live.h"
#include "etw_providers.h"
#include "etw_queue.h"

#include "etl/etl_classes.h"
#include "timeline/timeline.h"
#include "unity.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH "test_etw_live.ortl"
#define HZ   10000000 // of the clock
#define US   10

enum { APP = 100, APP_THREAD = 101, OTHER = 200, OTHER_THREAD = 201 };

static etl_maker g_maker;
static co_capture *g_capture;
static etw_live *g_live;
static etw_queue g_queue;
static int64_t g_start;
static uint32_t g_app;
static char g_children[256];
static char g_rows[16384]; // "kind: column=value ...", one a line

static uint32_t add_target(uint32_t pid)
{
    uint32_t id = 0;
    co_target target = {.pid = pid, .how = 0, .program = "C:\\app.exe"};
    TEST_ASSERT_EQUAL(CM_OK, co_target_add(g_capture, &target, &id));
    return id;
}

static void note_child(void *context, uint32_t parent_id, uint32_t pid)
{
    (void)context;
    sprintf(g_children + strlen(g_children), "%u of %u\n", pid, parent_id);
}

void setUp(void)
{
    co_anchor start = co_anchor_now();
    g_start = (int64_t)start.qpc;
    g_rows[0] = '\0';
    TEST_ASSERT_EQUAL(CM_OK, co_capture_create(PATH, start, &g_capture));
    TEST_ASSERT_TRUE(co_etw_queue_init(&g_queue, 1 << 16));
    g_children[0] = '\0';
    g_live = co_etw_live_create(g_capture, HZ, &(co_etw_listener){.child = note_child});
    g_app = add_target(APP);
    etl_begin(&g_maker, &etl_head_usual);
}

void tearDown(void)
{
    etl_free(&g_maker);
    co_etw_queue_deinit(&g_queue);
    cm_file_remove(PATH);
}

// As ProcessTrace makes it of a record.
static bool deliver(void *context, const co_etl_event *e)
{
    (void)context;
    etw_item item = {.type = 11, .len = (uint16_t)e->metadata_len};
    item.data = (uint64_t)(uintptr_t)e->metadata;
    etw_record r = {.flags = 0x40,
                    .tid = e->tid,
                    .pid = e->pid,
                    .time = e->time,
                    .id = e->id,
                    .version = (uint8_t)e->version,
                    .level = e->level,
                    .opcode = e->opcode,
                    .processor = (uint8_t)e->cpu,
                    .data_len = (uint16_t)e->data_len,
                    .data = e->data,
                    .keyword = e->keyword};
    memcpy(r.provider, e->provider, 16);
    if (e->family == CO_ETL_KERNEL) {
        bool load = e->group == ETL_GROUP_PROCESS && e->opcode == 10;
        r.flags |= 0x100;
        TEST_ASSERT_TRUE(co_etl_group_guid(load ? ETL_GROUP_IMAGE : e->group, r.provider));
    }
    if (e->family == CO_ETL_CLASSIC)
        r.flags |= 0x100;
    if (e->metadata) {
        r.items = &item;
        r.item_count = 1;
    }
    co_etw_queue_put(&g_queue, &r);
    return true;
}

static void take(void *context, const co_etl_event *e)
{
    (void)context;
    co_etw_live_event(g_live, e);
}

static const etw_reader everything = {.event = take, .until = INT64_MAX, .now = INT64_MAX};

static void add_line(tm_reader *r, const tm_block *b, size_t row)
{
    const tm_kind_info *info = tm_kind_get(b->kind);
    char line[1024];
    size_t len = (size_t)snprintf(line, sizeof line, "%s:", info->name);
    for (unsigned c = 0; c < info->column_count && len < sizeof line; c++) {
        int64_t value = b->columns[c][row];
        const char *name = info->columns[c].name;
        if (info->columns[c].type == TM_STR)
            len += (size_t)snprintf(line + len, sizeof line - len, " %s=\"%s\"", name,
                                    tm_reader_string(r, value));
        else
            len +=
                (size_t)snprintf(line + len, sizeof line - len, " %s=%lld", name, (long long)value);
    }
    if (strlen(g_rows) + len + 2 < sizeof g_rows) {
        strcat(g_rows, line);
        strcat(g_rows, "\n");
    }
}

// Hands over all that was made, ends the capture and reads it.
static void finish(void)
{
    co_etl *e = NULL;
    tm_reader *reader = NULL;
    tm_block block;
    etl_end(&g_maker);
    TEST_ASSERT_EQUAL(CM_OK, co_etl_open_memory(g_maker.file.data, g_maker.file.len, &e));
    co_etl_visitor v = {.event = deliver};
    TEST_ASSERT_EQUAL(CM_OK, co_etl_read(e, CO_ETL_BY_FILE, &v));
    co_etl_close(e);
    co_etw_queue_take(&g_queue, &everything);
    TEST_ASSERT_EQUAL_UINT64(0, atomic_load(&g_queue.full));
    co_etw_live_losses(g_live, &(etw_losses){0}, 0);
    co_etw_live_end(g_live, true);
    co_etw_live_destroy(g_live);
    TEST_ASSERT_EQUAL(CM_OK, co_capture_close(g_capture));
    TEST_ASSERT_EQUAL(CM_OK, tm_reader_open(PATH, &reader));
    while (tm_reader_next(reader, &block) == CM_OK)
        for (size_t i = 0; i < block.row_count; i++)
            add_line(reader, &block, i);
    TEST_ASSERT_NULL(tm_reader_damage(reader));
    tm_reader_close(reader);
}

static unsigned count(const char *start)
{
    unsigned n = 0;
    for (const char *at = g_rows; *at; at = strchr(at, '\n') + 1)
        n += strncmp(at, start, strlen(start)) == 0;
    return n;
}

static void has(const char *text)
{
    if (!strstr(g_rows, text)) {
        fprintf(stderr, "%s\nnot in:\n%s", text, g_rows);
        TEST_FAIL_MESSAGE(text);
    }
}

static void lacks(const char *text)
{
    if (strstr(g_rows, text)) {
        fprintf(stderr, "%s\nin:\n%s", text, g_rows);
        TEST_FAIL_MESSAGE(text);
    }
}

static int64_t at(int us)
{
    return g_start + (int64_t)us * US;
}

static void everybody(void)
{
    etl_process(&g_maker, 3, at(1), APP, 4, "app.exe");
    etl_process(&g_maker, 3, at(1), OTHER, 4, "other.exe");
    etl_process(&g_maker, 3, at(1), 201, 4, "third.exe");
    etl_thread(&g_maker, 3, at(2), APP, APP_THREAD);
    etl_thread(&g_maker, 3, at(2), OTHER, OTHER_THREAD);
    etl_thread(&g_maker, 3, at(2), 201, 202);
}

static void test_switches_from_and_to_the_followed(void)
{
    everybody();
    etl_switch(&g_maker, at(10), APP_THREAD, 0, 0, 2);
    etl_switch(&g_maker, at(20), OTHER_THREAD, APP_THREAD, 32, 1); // preempted
    etl_switch(&g_maker, at(30), 202, OTHER_THREAD, 15, 5);        // nobody's business
    etl_switch(&g_maker, at(40), APP_THREAD, 202, 15, 5);
    finish();
    TEST_ASSERT_EQUAL(3, count("sched:"));
    TEST_ASSERT_EQUAL(1, count("thread:"));
    has("sched: time=20000 cpu=0 new_thread=201 new_process=2 old_thread=101 old_process=1");
    has("program=\"other.exe\"");
    has("program=\"third.exe\"");
    lacks("secret");
}

static void test_of_others_only_the_name_and_only_if_needed(void)
{
    everybody();
    etl_image(&g_maker, at(3), APP, "C:\\app\\onnxruntime.dll");
    etl_image(&g_maker, at(3), OTHER, "C:\\private\\diary.dll");
    etl_switch(&g_maker, at(30), 202, OTHER_THREAD, 15, 5);
    finish();
    TEST_ASSERT_EQUAL(1, count("image:"));
    has("path=\"C:\\app\\onnxruntime.dll\"");
    lacks("diary");
    lacks("other.exe");
    TEST_ASSERT_EQUAL(0, count("bystander:"));
}

static void sample(int us, uint32_t tid)
{
    etl_bytes b = {.len = 0};
    put64(&b, 0x7ff812345678u);
    put32(&b, tid);
    put32(&b, 1);
    etl_kernel(&g_maker, 0x11, 2, 15, 46, at(us), 0, 0, &b);
}

static void test_samples_faults_transfers_of_the_followed(void)
{
    etl_bytes fault = {.len = 0}, disk = {.len = 0}, ready = {.len = 0};
    everybody();
    sample(5, APP_THREAD);
    sample(6, OTHER_THREAD);
    put64(&fault, 0x10000);
    put64(&fault, 0x20000);
    etl_switch(&g_maker, at(10), APP_THREAD, 0, 0, 2);
    etl_kernel(&g_maker, 0x11, 2, 2, 11, at(11), 0, 0, &fault); // on the processor of our thread
    etl_switch(&g_maker, at(12), OTHER_THREAD, APP_THREAD, 0, 5);
    etl_kernel(&g_maker, 0x11, 2, 2, 11, at(13), 0, 0, &fault);
    put32(&ready, APP_THREAD);
    put32(&ready, 0x0001);
    etl_kernel(&g_maker, 0x11, 2, 5, 50, at(14), 0, 0, &ready);
    for (int i = 0; i < 4; i++)
        put32(&disk, i == 2 ? 4096 : 0);
    put64(&disk, 512);
    put64(&disk, 1);
    put64(&disk, 2);
    put64(&disk, 30 * US);
    put32(&disk, APP_THREAD);
    etl_kernel(&g_maker, 0x02, 3, 1, 10, at(60), APP, APP_THREAD, &disk);
    finish();
    TEST_ASSERT_EQUAL(1, count("profile: time=5000"));
    TEST_ASSERT_EQUAL(1, count("profile:"));
    TEST_ASSERT_EQUAL(1, count("fault: time=11000 cpu=0 thread=101 process=1 fault=1"));
    TEST_ASSERT_EQUAL(1, count("fault:"));
    TEST_ASSERT_EQUAL(1, count("ready: time=14000 cpu=0 thread=101 process=1 by_thread=201"));
    TEST_ASSERT_EQUAL(1, count("disk: begin=30000 duration=30000 thread=101 process=1"));
}

static void test_runs_of_a_process_without_the_hook(void)
{
    etl_image(&g_maker, at(3), APP, "C:\\app\\onnxruntime.dll");
    etl_ort(&g_maker, "SessionCreationStart", at(100), APP, APP_THREAD, -1);
    etl_ort(&g_maker, "SessionCreation", at(200), APP, APP_THREAD, 1);
    etl_ort(&g_maker, "EvaluationStart", at(300), APP, APP_THREAD, 1);
    etl_ort(&g_maker, "EvaluationStop", at(350), APP, APP_THREAD, 1);
    etl_ort(&g_maker, "EvaluationStart", at(300), OTHER, OTHER_THREAD, 1);
    etl_ort(&g_maker, "EvaluationStop", at(350), OTHER, OTHER_THREAD, 1);
    finish();
    TEST_ASSERT_EQUAL(1, count("run:"));
    has("run: session=1 run=1 thread=101 begin=300000 duration=50000 call=3 status=0");
    has("session: session=1 module=1 time=100000 load=100000 source=8");
    TEST_ASSERT_EQUAL(1, count("module: module=1 process=1"));
    has("path=\"C:\\app\\onnxruntime.dll\"");
}

static void lost_events(int us)
{
    etl_bytes b = {.len = 0};
    put32(&b, 1);
    etl_classic(&g_maker, 0x14, co_etw_guid_lost, 0, 32, at(us), 4, 8, &b);
}

static void test_what_was_lost_makes_no_run(void)
{
    etl_ort(&g_maker, "EvaluationStart", at(100), APP, APP_THREAD, 1);
    etl_ort(&g_maker, "EvaluationStart", at(200), APP, APP_THREAD, 1); // an end is missing
    etl_ort(&g_maker, "EvaluationStop", at(210), APP, APP_THREAD, 1);  // the first run
    etl_ort(&g_maker, "EvaluationStart", at(300), APP, APP_THREAD, 1);
    etl_ort(&g_maker, "EvaluationStop", at(305), APP, APP_THREAD, 2); // its begin is missing
    etl_ort(&g_maker, "EvaluationStart", at(400), APP, APP_THREAD, -1);
    lost_events(410); // an end and a begin
    etl_ort(&g_maker, "EvaluationStop", at(500), APP, APP_THREAD, -1);
    for (int i = 0; i < 20; i++) { // ends are missing again and again
        etl_ort(&g_maker, "EvaluationStart", at(600 + i), APP, APP_THREAD, -1);
        lost_events(600 + i);
    }
    etl_ort(&g_maker, "EvaluationStart", at(700), APP, APP_THREAD, -1);
    etl_ort(&g_maker, "EvaluationStop", at(720), APP, APP_THREAD, -1); // the second run
    finish();
    TEST_ASSERT_EQUAL(2, count("run:"));
    has("begin=200000 duration=10000");
    has("begin=700000 duration=20000");
    has("told of 23 runs that began, but not for certain of their end");
}

static void test_no_run_reaches_into_a_time_of_losses(void)
{
    for (int us = 100; us < 1000; us += 100) {
        etl_ort(&g_maker, "EvaluationStart", at(us), APP, APP_THREAD, 1);
        etl_ort(&g_maker, "EvaluationStop", at(us + 60), APP, APP_THREAD, 1);
    }
    co_etw_live_loss_between(g_live, at(330), at(390)); // in the third, behind its begin
    co_etw_live_loss_between(g_live, at(390), at(530)); // goes on, up to within the fifth
    co_etw_live_loss_between(g_live, at(870), at(890)); // between two
    finish();
    TEST_ASSERT_EQUAL(6, count("run:"));
    has("begin=200000 ");
    lacks("begin=300000 ");
    lacks("begin=400000 ");
    lacks("begin=500000 ");
    has("begin=600000 ");
    has("begin=800000 ");
    has("begin=900000 ");
}

static unsigned g_gaps;

static void count_gap(void *context)
{
    (void)context;
    g_gaps++;
}

static void test_the_queue_keeps_what_is_for_later_and_marks_gaps(void)
{
    etw_reader reader = {.event = take, .gap = count_gap, .until = 20, .now = 100};
    etw_record r = {.time = 10};
    uint8_t data[60000] = {0};
    co_etw_queue_put(&g_queue, &r);
    r.time = 200; // nobody can wait for that
    co_etw_queue_put(&g_queue, &r);
    r.time = 30;
    co_etw_queue_put(&g_queue, &r);
    TEST_ASSERT_EQUAL(2, co_etw_queue_take(&g_queue, &reader));
    TEST_ASSERT_EQUAL(0, co_etw_queue_take(&g_queue, &reader));
    r.data = data;
    r.data_len = sizeof data;
    co_etw_queue_put(&g_queue, &r);
    co_etw_queue_put(&g_queue, &r); // no room
    r.data_len = 0;
    co_etw_queue_put(&g_queue, &r);
    reader.until = 30;
    g_gaps = 0;
    TEST_ASSERT_EQUAL(3, co_etw_queue_take(&g_queue, &reader));
    TEST_ASSERT_EQUAL(1, g_gaps);
    TEST_ASSERT_EQUAL_UINT64(1, atomic_exchange(&g_queue.full, 0));
    finish();
}

static void hook_app(void)
{
    co_watched *w = co_watched_of(g_capture, g_app);
    w->hooked = true;
}

static void qnn(int us)
{
    etl_bytes metadata, data = {.len = 0};
    static const struct {
        const char *name, *value;
    } fields[] = {{"Message", "EXECUTE"},
                  {"Value", "250"},
                  {"Unit of Measurement", "US"},
                  {"Event Identifier", "Accelerator (execute) time"}};
    tlg_name(&metadata, "QNNProfilingEvent");
    for (size_t i = 0; i < 4; i++) {
        tlg_field(&metadata, fields[i].name, 2);
        put_text(&data, fields[i].value);
    }
    tlg_finish(&metadata);
    etl_event(&g_maker, etl_ort_guid, 0, 0, 5, at(us), APP, APP_THREAD, &metadata, &data);
}

static void test_runs_that_the_hook_tells_are_not_told_again(void)
{
    hook_app();
    etl_ort(&g_maker, "EvaluationStart", at(300), APP, APP_THREAD, 1);
    etl_ort(&g_maker, "EvaluationStop", at(350), APP, APP_THREAD, 1);
    etl_ort(&g_maker, "SessionCreation", at(200), APP, APP_THREAD, 1);
    qnn(400);
    finish();
    TEST_ASSERT_EQUAL(0, count("run:"));
    TEST_ASSERT_EQUAL(0, count("session:"));
    TEST_ASSERT_EQUAL(1, count("ort_event:"));
    TEST_ASSERT_EQUAL(1, count("sample:"));
    has("subject=\"execute: Accelerator (execute) time\"");
}

static void test_measurements_of_qnn_count_once(void)
{
    hook_app();
    co_watched_of(g_capture, g_app)->tells_qnn = true;
    qnn(400);
    finish();
    TEST_ASSERT_EQUAL(0, count("sample:"));
}

static void test_a_pid_that_is_used_again_is_somebody_else(void)
{
    co_target_end(g_capture, g_app, 0, 0);
    co_watched_of(g_capture, g_app)->end_qpc = (uint64_t)at(1000);
    etl_ort(&g_maker, "EvaluationStart", at(900), APP, APP_THREAD, 1);
    etl_ort(&g_maker, "EvaluationStop", at(950), APP, APP_THREAD, 1);
    etl_ort(&g_maker, "EvaluationStart", at(1100), APP, APP_THREAD, 1);
    etl_ort(&g_maker, "EvaluationStop", at(1150), APP, APP_THREAD, 1);
    finish();
    TEST_ASSERT_EQUAL(1, count("run:"));
}

static void test_children_of_the_followed_are_told_once(void)
{
    etl_process(&g_maker, 3, at(1), 500, APP, "before.exe");
    etl_process(&g_maker, 1, at(5), 501, APP, "child.exe");
    etl_process(&g_maker, 1, at(6), 501, APP, "child.exe"); // by another provider
    etl_process(&g_maker, 1, at(7), 502, OTHER, "else.exe");
    finish();
    TEST_ASSERT_EQUAL_STRING("501 of 1\n", g_children);
}

#define CONTEXT 0xffff800012340000u

static void packet(int us, unsigned id, uint32_t pid, uint32_t sequence)
{
    etl_bytes b = {.len = 0};
    put64(&b, CONTEXT);
    put32(&b, 0);
    put32(&b, sequence);
    put64(&b, 0);
    etl_event(&g_maker, co_etw_guid_dxgkrnl, id, 1, 4, at(us), pid, 7, NULL, &b);
}

// What an engine gets and has done.
static void dma(int us, unsigned id, uint32_t sequence, unsigned version)
{
    etl_bytes b = {.len = 0};
    put64(&b, CONTEXT);
    if (id == 175)
        put64(&b, CONTEXT + 8);
    put32(&b, 0);
    put64(&b, 77);
    put32(&b, sequence);
    etl_event(&g_maker, co_etw_guid_dxgkrnl, id, version, 4, at(us), 4, 7, NULL, &b);
}

static void test_packets_of_the_graphics_kernel_are_counted(void)
{
    packet(10, 178, APP, 1);
    packet(20, 178, APP, 2);
    packet(25, 178, OTHER, 3);
    packet(60, 180, 4, 1); // told by whoever was on the processor
    packet(65, 180, 4, 3);
    finish();
    TEST_ASSERT_EQUAL(3, count("counter:"));
    has("source=\"etw\" name=\"gpu_packets\"");
    has("value=2 known=1");
    has("value=50000 known=1");
}

static void test_an_engine_takes_packets_one_after_the_other(void)
{
    packet(10, 178, APP, 1);
    packet(11, 178, APP, 2);
    dma(20, 175, 1, 1);
    dma(25, 175, 2, 1); // waits for the first
    dma(30, 175, 0, 1); // nothing that runs
    dma(60, 177, 1, 1); // 40
    dma(90, 177, 2, 1); // 30
    dma(95, 177, 0, 1);
    dma(95, 177, 9, 1); // begun before we came
    dma(96, 175, 3, 0); // of a layout that is not known
    dma(99, 177, 3, 0);
    packet(92, 180, APP, 1);
    packet(100, 178, OTHER, 4); // somebody else's now
    dma(101, 175, 4, 1);
    dma(102, 177, 4, 1);
    finish();
    has("name=\"gpu_engine_time\" unit=\"s\" per_unit=1000000000 total=1 about=1 process=1");
    has("value=70000 known=1");
    TEST_ASSERT_EQUAL(3, count("counter:"));
    TEST_ASSERT_EQUAL(3, count("sample:"));
}

static void test_losses_are_told_as_they_grow(void)
{
    etw_losses lost = {5, 1, 2};
    co_etw_live_losses(g_live, &lost, 0);
    co_etw_live_losses(g_live, &lost, 0);
    lost.events = 12;
    co_etw_live_losses(g_live, &lost, 3);
    TEST_ASSERT_EQUAL_UINT64(18, co_capture_stats(g_capture).lost_events);
    finish();
    TEST_ASSERT_EQUAL(5, count("lost:"));
    has("cause=5 events=5");
    has("cause=5 events=7");
    has("cause=7 events=1");
    has("cause=8 events=2");
    has("cause=9 events=3");
}

// --------------------------------------------------------------------------------------- the queue

static uint64_t g_next, g_wrong;

static void check(void *context, const co_etl_event *e)
{
    (void)context;
    g_wrong += (uint64_t)e->time < g_next || e->data_len != (size_t)(e->time * 7 % 300);
    for (size_t i = 0; i < e->data_len; i++)
        g_wrong += e->data[i] != (uint8_t)e->time;
    g_next = (uint64_t)e->time + 1;
}

static const etw_reader checking = {.event = check, .until = INT64_MAX, .now = INT64_MAX};
static atomic_bool g_written;

static void *write_many(void *context)
{
    uint8_t data[300];
    for (int64_t i = 0; i < *(int64_t *)context; i++) {
        memset(data, (uint8_t)i, sizeof data);
        etw_record r = {.time = i, .data = data, .data_len = (uint16_t)(i * 7 % 300)};
        co_etw_queue_put(&g_queue, &r);
    }
    atomic_store(&g_written, true);
    return NULL;
}

static void test_the_queue_loses_what_it_counts_and_nothing_else(void)
{
    int64_t attempts = 200000;
    size_t seen = 0;
    pthread_t writer;
    g_next = g_wrong = 0;
    atomic_store(&g_written, false);
    pthread_create(&writer, NULL, write_many, &attempts);
    for (bool last = false; !last;) {
        last = atomic_load(&g_written);
        seen += co_etw_queue_take(&g_queue, &checking);
    }
    pthread_join(writer, NULL);
    TEST_ASSERT_EQUAL_UINT64(0, g_wrong);
    TEST_ASSERT_EQUAL_UINT64((uint64_t)attempts, seen + atomic_load(&g_queue.full));
    TEST_ASSERT_EQUAL_UINT64(seen, atomic_load(&g_queue.written));
    atomic_store(&g_queue.full, 0);
    finish();
}

static void test_a_full_queue_takes_nothing_more(void)
{
    uint8_t data[2000] = {0};
    etw_record r = {.data = data, .data_len = sizeof data};
    for (int i = 0; i < 100; i++)
        co_etw_queue_put(&g_queue, &r);
    uint64_t full = atomic_load(&g_queue.full);
    TEST_ASSERT_TRUE(full > 0 && full < 100);
    TEST_ASSERT_EQUAL(100 - full, co_etw_queue_take(&g_queue, &everything));
    co_etw_queue_put(&g_queue, &r);
    TEST_ASSERT_EQUAL(1, co_etw_queue_take(&g_queue, &everything));
    atomic_store(&g_queue.full, 0);
    finish();
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_switches_from_and_to_the_followed);
    RUN_TEST(test_of_others_only_the_name_and_only_if_needed);
    RUN_TEST(test_samples_faults_transfers_of_the_followed);
    RUN_TEST(test_runs_of_a_process_without_the_hook);
    RUN_TEST(test_what_was_lost_makes_no_run);
    RUN_TEST(test_no_run_reaches_into_a_time_of_losses);
    RUN_TEST(test_the_queue_keeps_what_is_for_later_and_marks_gaps);
    RUN_TEST(test_runs_that_the_hook_tells_are_not_told_again);
    RUN_TEST(test_measurements_of_qnn_count_once);
    RUN_TEST(test_a_pid_that_is_used_again_is_somebody_else);
    RUN_TEST(test_children_of_the_followed_are_told_once);
    RUN_TEST(test_packets_of_the_graphics_kernel_are_counted);
    RUN_TEST(test_an_engine_takes_packets_one_after_the_other);
    RUN_TEST(test_losses_are_told_as_they_grow);
    RUN_TEST(test_the_queue_loses_what_it_counts_and_nothing_else);
    RUN_TEST(test_a_full_queue_takes_nothing_more);
    return UNITY_END();
}
