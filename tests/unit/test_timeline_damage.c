// SPDX-License-Identifier: MIT
// Damaged and hostile timelines: cut at every byte, every byte changed, an index that lies. What a
// reader hands out is always exactly the good blocks before the damage, never anything else.
#include "timeline_sample.h"

#include "common/os.h"
#include "reader_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unity.h>

static char g_path[64];
static cm_buf g_file;         // the whole sample
static size_t g_ends[256];    // where each of its objects ends, the header first
static bool g_is_rows[256];   // objects that a reader hands out
static size_t g_object_count; // with index and end
static sample_content g_all;

// Independent of the reader: walks over the objects as any MessagePack library would.
static void find_objects(void)
{
    mp_input in = {g_file.data, g_file.data + g_file.len};
    g_object_count = 0;
    while (in.at < in.end) {
        mp_input object = in;
        mp_token array, name;
        TEST_ASSERT_EQUAL(MP_OK, mp_skip(&in));
        TEST_ASSERT_TRUE(g_object_count < 256);
        bool rows = mp_expect(&object, MP_ARRAY, &array) == MP_OK &&
                    mp_expect(&object, MP_STR, &name) == MP_OK && !mp_text_is(&name, "string") &&
                    !mp_text_is(&name, "index") && !mp_text_is(&name, "end");
        g_is_rows[g_object_count] = rows;
        g_ends[g_object_count++] = (size_t)(in.at - g_file.data);
    }
}

void setUp(void)
{
    snprintf(g_path, sizeof g_path, "test_damage_%llx.ortl", (unsigned long long)cm_utc_ns());
    TEST_ASSERT_EQUAL(CM_OK, sample_write(g_path));
    g_file = sample_load(g_path);
    TEST_ASSERT_FALSE(g_file.failed);
    find_objects();
    tm_reader *r;
    TEST_ASSERT_EQUAL(CM_OK, tm_reader_open_memory(g_file.data, g_file.len, &r));
    TEST_ASSERT_EQUAL(CM_OK, sample_read(r, &g_all));
    TEST_ASSERT_NULL(g_all.damage);
    tm_reader_close(r);
}

void tearDown(void)
{
    sample_free(&g_all);
    cm_buf_deinit(&g_file);
    cm_file_remove(g_path);
}

// How many blocks of rows lie wholly before `offset`.
static size_t blocks_before(size_t offset)
{
    size_t count = 0;
    for (size_t i = 0; i < g_object_count && g_ends[i] <= offset; i++)
        count += g_is_rows[i];
    return count;
}

static void expect_first(const sample_content *got, size_t count)
{
    TEST_ASSERT_EQUAL_size_t(count, got->count);
    for (size_t i = 0; i < count; i++)
        TEST_ASSERT_TRUE(sample_same_block(&g_all.blocks[i], &got->blocks[i]));
}

// The blocks of `got` are the first ones of the wanted kinds.
static void expect_prefix(const sample_content *got, uint64_t mask)
{
    size_t at = 0;
    for (size_t i = 0; i < got->count; i++) {
        while (at < g_all.count && !(mask >> g_all.blocks[at].kind & 1))
            at++;
        TEST_ASSERT_TRUE(at < g_all.count);
        TEST_ASSERT_TRUE(sample_same_block(&g_all.blocks[at++], &got->blocks[i]));
    }
}

static void test_the_sample_has_every_object(void)
{
    TEST_ASSERT_EQUAL_size_t(g_all.count, blocks_before(g_file.len));
    TEST_ASSERT_TRUE(g_all.count >= TM_KIND_COUNT);
    TEST_ASSERT_EQUAL_size_t(TM_END_BYTES, g_ends[g_object_count - 1] - g_ends[g_object_count - 2]);
}

static void test_cut_at_every_byte_gives_the_whole_blocks(void)
{
    for (size_t cut = 0; cut <= g_file.len; cut++) {
        uint8_t *copy = malloc(cut ? cut : 1); // its own, so that the sanitizer sees its end
        memcpy(copy, g_file.data, cut);
        tm_reader *r = NULL;
        cm_status status = tm_reader_open_memory(copy, cut, &r);
        if (cut < g_ends[0]) {
            TEST_ASSERT_EQUAL(CM_CORRUPT, status);
            TEST_ASSERT_NOT_NULL(strstr(cm_error_text(status), cut == 0    ? "empty"
                                                               : cut <= 11 ? "not a timeline"
                                                                           : "too short"));
            free(copy);
            continue;
        }
        TEST_ASSERT_EQUAL(CM_OK, status);
        sample_content got;
        TEST_ASSERT_EQUAL(CM_OK, sample_read(r, &got));
        expect_first(&got, blocks_before(cut));
        TEST_ASSERT_EQUAL(cut == g_file.len, got.damage == NULL);
        sample_free(&got);
        tm_reader_close(r);
        free(copy);
    }
}

// Blocks that are skipped unread may be cut as well.
static void test_cut_is_told_to_who_skips_everything(void)
{
    for (size_t cut = g_ends[0], object = 0; cut < g_file.len; cut++) {
        tm_reader *r;
        tm_block block;
        while (g_ends[object + 1] <= cut)
            object++;
        TEST_ASSERT_EQUAL(CM_OK, tm_reader_open_memory(g_file.data, cut, &r));
        tm_reader_only(r, 0);
        TEST_ASSERT_EQUAL(CM_END, tm_reader_next(r, &block));
        const char *expected =
            cut == g_ends[object] ? "no end mark" : "ends in the middle of a block";
        TEST_ASSERT_NOT_NULL(tm_reader_damage(r));
        TEST_ASSERT_NOT_NULL(strstr(tm_reader_damage(r), expected));
        tm_reader_close(r);
    }
}

static void test_cut_files_on_disk_too(void)
{
    for (size_t cut = g_ends[0]; cut <= g_file.len; cut += 97) {
        cm_file *f;
        tm_reader *r;
        sample_content got;
        TEST_ASSERT_EQUAL(CM_OK, cm_file_create(g_path, &f));
        TEST_ASSERT_EQUAL(CM_OK, cm_file_write(f, g_file.data, cut));
        cm_file_close(f);
        TEST_ASSERT_EQUAL(CM_OK, tm_reader_open(g_path, &r));
        TEST_ASSERT_EQUAL(CM_OK, sample_read(r, &got));
        expect_first(&got, blocks_before(cut));
        sample_free(&got);
        tm_reader_close(r);
    }
}

// One changed byte: what is before its block comes, the block and what is behind does not, and the
// damage is told. (In the header nothing comes, or all when the byte did not matter.)
static void check_changed_byte(size_t place, uint64_t mask)
{
    tm_reader *r = NULL;
    sample_content got;
    cm_status status = tm_reader_open_memory(g_file.data, g_file.len, &r);
    if (status != CM_OK) {
        TEST_ASSERT_TRUE(place < g_ends[0]);
        return;
    }
    if (mask != UINT64_MAX)
        tm_reader_only(r, mask);
    TEST_ASSERT_EQUAL(CM_OK, sample_read(r, &got));
    if (mask != UINT64_MAX) {
        expect_prefix(&got, mask);
    } else if (place < g_ends[0]) {
        expect_prefix(&got, mask);
        TEST_ASSERT_TRUE(got.damage != NULL || got.count == g_all.count);
    } else {
        size_t object = 0;
        while (g_ends[object] <= place)
            object++;
        expect_first(&got, blocks_before(g_ends[object - 1]));
        if (object < g_object_count - 1)
            TEST_ASSERT_NOT_NULL(got.damage);
    }
    sample_free(&got);
    tm_reader_close(r);
}

static void test_every_changed_byte_is_noticed(void)
{
    static const uint8_t changes[] = {0x01, 0x40, 0xff};
    for (size_t place = 0; place < g_file.len; place++)
        for (size_t i = 0; i < sizeof changes; i++) {
            g_file.data[place] ^= changes[i];
            check_changed_byte(place, UINT64_MAX);
            if (i == 0)
                check_changed_byte(place, TM_BIT(run) | TM_BIT(mark));
            g_file.data[place] ^= changes[i];
        }
}

static void test_bytes_behind_the_end_are_told(void)
{
    tm_reader *r;
    sample_content got;
    cm_buf_append(&g_file, "\x93\xa3", 2);
    TEST_ASSERT_EQUAL(CM_OK, tm_reader_open_memory(g_file.data, g_file.len, &r));
    TEST_ASSERT_EQUAL(CM_OK, sample_read(r, &got));
    expect_first(&got, g_all.count);
    TEST_ASSERT_NOT_NULL(strstr(got.damage, "behind its end"));
    sample_free(&got);
    tm_reader_close(r);
}

static void test_other_files_are_refused(void)
{
    static const char *const others[] = {
        "MZ\x90", "\x1f\x8b",           "{\"magic\":\"ortl\"}", "\x81\xa5magic\xa4ortx",
        "\x80",   "\x8a\xa7version\x01"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        tm_reader *r = NULL;
        TEST_ASSERT_EQUAL(CM_CORRUPT, tm_reader_open_memory(others[i], strlen(others[i]), &r));
        TEST_ASSERT_NOT_NULL(strstr(cm_error_text(CM_CORRUPT), "not a timeline"));
        TEST_ASSERT_NULL(r);
    }
    tm_reader *r = NULL;
    static const char newer[] = "\x82\xa5magic\xa4ortl\xa7version\x02";
    TEST_ASSERT_EQUAL(CM_UNSUPPORTED, tm_reader_open_memory(newer, sizeof newer - 1, &r));
    TEST_ASSERT_NOT_NULL(strstr(cm_error_text(CM_UNSUPPORTED), "newer ortscope"));
}

// ------------------------------------------------------------------------------------- the index

// The sample's blocks with another index and end, each with a checksum that fits.
static void with_index(cm_buf *out, const tm_index_entry *entries, size_t count, uint64_t link)
{
    cm_buf scratch = CM_BUF_INIT;
    cm_buf_clear(out);
    cm_buf_append(out, g_file.data, g_ends[g_object_count - 3]);
    uint64_t offset = out->len;
    if (count)
        tm_encode_index(out, &scratch, entries, count);
    tm_encode_end(out, link == UINT64_MAX ? offset : link);
    cm_buf_deinit(&scratch);
}

static void expect_all_of(const cm_buf *file, uint64_t mask)
{
    tm_reader *r;
    sample_content got;
    TEST_ASSERT_EQUAL(CM_OK, tm_reader_open_memory(file->data, file->len, &r));
    tm_reader_only(r, mask);
    TEST_ASSERT_EQUAL(CM_OK, sample_read(r, &got));
    expect_prefix(&got, mask);
    size_t wanted = 0;
    for (size_t i = 0; i < g_all.count; i++)
        wanted += mask >> g_all.blocks[i].kind & 1;
    TEST_ASSERT_EQUAL_size_t(wanted, got.count);
    TEST_ASSERT_EQUAL_STRING("model.onnx", tm_reader_string(r, 1));
    sample_free(&got);
    tm_reader_close(r);
}

static void expect_all_runs(const cm_buf *file)
{
    expect_all_of(file, TM_BIT(run) | TM_BIT(session) | TM_BIT(mark));
}

static size_t true_index(tm_index_entry *entries)
{
    tm_reader *r;
    TEST_ASSERT_EQUAL(CM_OK, tm_reader_open_memory(g_file.data, g_file.len, &r));
    tm_reader_load_index(r);
    TEST_ASSERT_NOT_NULL(r->index);
    TEST_ASSERT_EQUAL_size_t(g_object_count - 3, r->index_count);
    for (size_t i = 0; i < r->index_count; i++)
        TEST_ASSERT_EQUAL_UINT64(g_ends[i], r->index[i].offset);
    memcpy(entries, r->index, r->index_count * sizeof *entries);
    for (size_t i = 0; i < r->index_count; i++)
        entries[i].last_time = (int64_t)i;
    tm_reader_close(r);
    return g_object_count - 3;
}

static void test_a_wrong_index_changes_nothing(void)
{
    tm_index_entry good[256], bad[256];
    size_t count = true_index(good);
    cm_buf file = CM_BUF_INIT;
    with_index(&file, good, count, UINT64_MAX);
    expect_all_runs(&file);
    for (size_t i = 0; i < count; i++) {
        for (int change = 0; change < 7; change++) {
            memcpy(bad, good, sizeof bad);
            if (change == 0)
                bad[i].offset += 1;
            else if (change == 1)
                bad[i].offset = UINT64_MAX;
            else if (change == 2)
                bad[i].offset = good[0].offset;
            else if (change == 3)
                bad[i].rows ^= 1;
            else if (change == 4)
                bad[i].rows = UINT32_MAX;
            else if (change == 5 && bad[i].kind == TM_KIND_run)
                bad[i].kind = TM_KIND_mark;
            else if (change == 6 && bad[i].kind == TM_INDEX_STRING)
                bad[i].kind = TM_KIND_session;
            with_index(&file, bad, count, UINT64_MAX);
            expect_all_runs(&file);
        }
    }
    with_index(&file, good + 1, count - 1, UINT64_MAX); // the first block is missing
    expect_all_runs(&file);
    for (size_t i = 1; i < count; i++) { // one behind a block that is read is missing
        memcpy(bad, good, sizeof bad);
        memmove(bad + i, bad + i + 1, (count - i - 1) * sizeof *bad);
        with_index(&file, bad, count - 1, UINT64_MAX);
        if (good[i - 1].kind != TM_KIND_env)
            expect_all_of(&file, ~(TM_BIT(env)));
    }
    cm_buf_deinit(&file);
}

static void test_a_wrong_end_mark_changes_nothing(void)
{
    tm_index_entry good[256];
    size_t count = true_index(good);
    cm_buf file = CM_BUF_INIT;
    uint64_t links[] = {0, 1, g_ends[0], g_ends[3], g_ends[3] + 1, g_file.len, UINT64_MAX - 1};
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        with_index(&file, good, count, links[i]);
        expect_all_runs(&file);
        with_index(&file, NULL, 0, links[i]);
        expect_all_runs(&file);
    }
    file.len -= TM_END_BYTES; // no end at all
    expect_all_runs(&file);
    cm_buf_deinit(&file);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_the_sample_has_every_object);
    RUN_TEST(test_cut_at_every_byte_gives_the_whole_blocks);
    RUN_TEST(test_cut_is_told_to_who_skips_everything);
    RUN_TEST(test_cut_files_on_disk_too);
    RUN_TEST(test_every_changed_byte_is_noticed);
    RUN_TEST(test_bytes_behind_the_end_are_told);
    RUN_TEST(test_other_files_are_refused);
    RUN_TEST(test_a_wrong_index_changes_nothing);
    RUN_TEST(test_a_wrong_end_mark_changes_nothing);
    return UNITY_END();
}
