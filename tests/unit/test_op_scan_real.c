// SPDX-License-Identifier: MIT
// The scanner on every onnxruntime.dll that scripts/targets has fetched, laid out in memory as the
// loader would: how many kernel classes each way finds, and that the two ways agree; that the
// functions in which parts of a session's creation begin are found (api_map.h, LITERAL); which
// classes are allocators, and that they are not found where another version has their functions.
//
//     test_op_scan_real FOLDER             looks at FOLDER/ort-VERSION/onnxruntime.dll
//     test_op_scan_real FOLDER VERSION     at this one alone, whose numbers it only tells
#include "alloc_scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unity.h>

enum { SKIPPED = 77, ROOM = 4096 };

typedef struct expectation {
    const char *version;
    hk_kernels_verdict verdict;
    size_t count;
    uint32_t allocators;
} expectation;

static const expectation expectations[] = {
    {"1.15.0", HK_KERNELS_ANCHOR, 465, 2}, {"1.15.1", HK_KERNELS_ANCHOR, 465, 2},
    {"1.16.0", HK_KERNELS_ANCHOR, 476, 2}, {"1.16.1", HK_KERNELS_ANCHOR, 476, 2},
    {"1.16.2", HK_KERNELS_ANCHOR, 481, 2}, {"1.16.3", HK_KERNELS_ANCHOR, 481, 2},
    {"1.17.0", HK_KERNELS_ANCHOR, 507, 2}, {"1.17.3", HK_KERNELS_AGREED, 541, 6},
    {"1.18.0", HK_KERNELS_AGREED, 543, 6}, {"1.19.0", HK_KERNELS_AGREED, 548, 6},
    {"1.19.2", HK_KERNELS_AGREED, 548, 6}, {"1.20.0", HK_KERNELS_AGREED, 569, 5},
    {"1.20.1", HK_KERNELS_AGREED, 569, 5}, {"1.21.0", HK_KERNELS_AGREED, 626, 5},
    {"1.21.1", HK_KERNELS_AGREED, 626, 5}, {"1.22.0", HK_KERNELS_AGREED, 748, 6},
    {"1.23.0", HK_KERNELS_AGREED, 758, 6}, {"1.23.2", HK_KERNELS_AGREED, 760, 6},
    {"1.24.1", HK_KERNELS_AGREED, 776, 6}, {"1.24.2", HK_KERNELS_AGREED, 776, 6},
    {"1.24.3", HK_KERNELS_AGREED, 776, 6}, {"1.25.1", HK_KERNELS_AGREED, 800, 7},
    {"1.26.0", HK_KERNELS_AGREED, 807, 7}, {"1.27.0", HK_KERNELS_AGREED, 810, 7},
    {"1.29.0", HK_KERNELS_AGREED, 829, 8}, {"1.30.0", HK_KERNELS_AGREED, 844, 8},
};

static const char *g_folder;
static unsigned g_seen;

void setUp(void) {}

void tearDown(void) {}

static uint32_t get32(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static uint8_t *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    fseek(file, 0, SEEK_SET);
    uint8_t *bytes = malloc(*size);
    TEST_ASSERT_NOT_NULL(bytes);
    TEST_ASSERT_EQUAL_size_t(*size, fread(bytes, 1, *size, file));
    fclose(file);
    return bytes;
}

static uint8_t *lay_out(const uint8_t *file, size_t file_size, size_t *size, uint64_t *base)
{
    const uint8_t *pe = file + get32(file + 0x3c);
    const uint8_t *optional = pe + 24, *sections = optional + (get32(pe + 20) & 0xffff);
    *size = get32(optional + 56);
    memcpy(base, optional + 24, sizeof *base);
    uint8_t *image = calloc(1, *size);
    TEST_ASSERT_NOT_NULL(image);
    memcpy(image, file, get32(optional + 60));
    for (uint32_t i = 0; i < (get32(pe + 4) >> 16); i++) {
        const uint8_t *section = sections + (size_t)i * 40;
        uint32_t rva = get32(section + 12), raw = get32(section + 16), at = get32(section + 20);
        TEST_ASSERT_TRUE(at <= file_size && raw <= file_size - at && rva + raw <= *size + 4096);
        memcpy(image + rva, file + at, raw <= *size - rva ? raw : *size - rva);
    }
    return image;
}

static void check_names(const hk_scan *s, const uint32_t *rvas, size_t count, bool with_rtti)
{
    for (size_t i = 0; i < count; i++) {
        const char *name = hk_scan_class_name(s, rvas[i]);
        if (!with_rtti)
            continue;
        TEST_ASSERT_NOT_NULL(name);
        TEST_ASSERT_EQUAL_MEMORY(".?A", name, 3);
    }
}

static void check_phases(const hk_scan *s, const char *version)
{
    uint32_t initialize = 0, save = 0;
    clock_t begin = clock();
    hk_scan_outcome first = hk_scan_mention(s, "Initializing session.", &initialize);
    hk_scan_outcome second = hk_scan_mention(s, "Saving initialized tensors.", &save);
    printf("%s: parts begin at %x and %x, %ld us\n", version, (unsigned)initialize, (unsigned)save,
           (long)((clock() - begin) * 1000000 / CLOCKS_PER_SEC));
    TEST_ASSERT_EQUAL_MESSAGE(HK_SCAN_OK, first, version);
    TEST_ASSERT_EQUAL_MESSAGE(HK_SCAN_OK, second, version);
    TEST_ASSERT_TRUE_MESSAGE(initialize != save, version);
}

static void check_allocators(const hk_scan *s, const expectation *e, bool with_rtti)
{
    hk_allocators found;
    int minor = atoi(e->version + 2);
    uint32_t arenas = 0;
    const char *problem = hk_scan_allocators(s, minor, &found);
    TEST_ASSERT_NULL_MESSAGE(problem, problem);
    TEST_ASSERT_EQUAL_INT_MESSAGE(with_rtti, found.by_name, e->version);
    printf("%s: %u allocator classes\n", e->version, (unsigned)found.count);
    if (e->count)
        TEST_ASSERT_EQUAL_UINT32_MESSAGE(e->allocators, found.count, e->version);
    for (uint32_t i = 0; i < found.count; i++) {
        const char *name = hk_scan_class_name(s, found.rvas[i]);
        arenas += found.is_arena[i];
        if (with_rtti)
            TEST_ASSERT_EQUAL_INT_MESSAGE(strstr(name, "BFCArena") || strstr(name, "AwareArena"),
                                          found.is_arena[i], name);
    }
    TEST_ASSERT_EQUAL_UINT32_MESSAGE(2, arenas, e->version);
    TEST_ASSERT_NOT_NULL(hk_scan_allocators(s, minor < 23 ? 23 : 22, &found));
    TEST_ASSERT_NOT_NULL(hk_scan_allocators(s, 14, &found));
}

static void check_version(const expectation *e)
{
    static uint32_t first[ROOM], second[ROOM];
    char path[1024];
    size_t file_size, size, count;
    uint64_t base;
    hk_scan s;
    hk_kernels_found found;
    snprintf(path, sizeof path, "%s/ort-%s/onnxruntime.dll", g_folder, e->version);
    uint8_t *file = read_file(path, &file_size);
    if (!file)
        return;
    g_seen++;
    uint8_t *image = lay_out(file, file_size, &size, &base);
    free(file);
    clock_t begin = clock();
    TEST_ASSERT_TRUE(hk_scan_open(&s, image, size, base));
    hk_kernels_verdict verdict = hk_scan_kernels(&s, first, second, ROOM, &count, &found);
    printf("%s: verdict %d, %zu kernel classes (RTTI %zu, anchor %zu, overriding %zu), %ld us\n",
           e->version, (int)verdict, count, found.by_rtti, found.by_anchor, found.overriding,
           (long)((clock() - begin) * 1000000 / CLOCKS_PER_SEC));
    if (e->count)
        TEST_ASSERT_EQUAL_MESSAGE(e->verdict, verdict, e->version);
    TEST_ASSERT_TRUE_MESSAGE(count > 400 && count < 2000, e->version);
    if (e->count)
        TEST_ASSERT_EQUAL_size_t_MESSAGE(e->count, count, e->version);
    check_names(&s, first, count, verdict == HK_KERNELS_AGREED);
    check_phases(&s, e->version);
    check_allocators(&s, e, verdict == HK_KERNELS_AGREED);
    free(image);
}

static const char *g_version;

static void test_every_version(void)
{
    if (g_version) {
        check_version(&(expectation){.version = g_version});
        return;
    }
    for (size_t i = 0; i < sizeof expectations / sizeof *expectations; i++)
        check_version(&expectations[i]);
}

int main(int argc, char **argv)
{
    g_folder = argc > 1 ? argv[1] : ".";
    g_version = argc > 2 ? argv[2] : NULL;
    UNITY_BEGIN();
    RUN_TEST(test_every_version);
    int failures = UNITY_END();
    return failures ? 1 : g_seen ? 0 : SKIPPED;
}
