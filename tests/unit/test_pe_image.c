// SPDX-License-Identifier: MIT
// Program headers: every kind of file is told apart, and no bytes, however cut or garbled, make the
// classification read outside of them (each is given in an allocation of exactly its size).
#include "pe_image.h"

#include "unity.h"

#include <stdlib.h>
#include <string.h>

void setUp(void) {}

void tearDown(void) {}

static void put16(uint8_t *p, unsigned value)
{
    p[0] = (uint8_t)value;
    p[1] = (uint8_t)(value >> 8);
}

static void put32(uint8_t *p, uint32_t value)
{
    put16(p, value & 0xffff);
    put16(p + 2, value >> 16);
}

enum {
    PE = 0x80,
    OPTIONAL = PE + 24,
    FILE_BYTES = 0x600,
    CLI_RVA = 0x2008,
    CLI_OFFSET = 0x408, // in the second section
};

// A program with two sections; `cli_flags` other than 0 makes it a .NET one.
static void make_file(uint8_t *file, unsigned machine, uint32_t cli_flags)
{
    bool wide = machine != INJ_MACHINE_X86;
    unsigned optional_bytes = wide ? 240 : 224;
    memset(file, 0, FILE_BYTES);
    memcpy(file, "MZ", 2);
    put32(file + 0x3c, PE);
    memcpy(file + PE, "PE\0\0", 4);
    put16(file + PE + 4, machine);
    put16(file + PE + 6, 2);
    put16(file + PE + 20, optional_bytes);
    put16(file + PE + 22, 0x0022);
    put16(file + OPTIONAL, wide ? 0x20b : 0x10b);
    put16(file + OPTIONAL + 68, 3);
    unsigned directories = wide ? 112 : 96;
    put32(file + OPTIONAL + directories - 4, 16);
    uint8_t *sections = file + OPTIONAL + optional_bytes;
    put32(sections + 12, 0x1000);
    put32(sections + 16, 0x100);
    put32(sections + 20, 0x300);
    put32(sections + 40 + 12, 0x2000);
    put32(sections + 40 + 16, 0x200);
    put32(sections + 40 + 20, 0x400);
    if (cli_flags != 0) {
        put32(file + OPTIONAL + directories + 14 * 8, CLI_RVA);
        put32(file + OPTIONAL + directories + 14 * 8 + 4, 72);
        put32(file + CLI_OFFSET, 72);
        put32(file + CLI_OFFSET + 16, cli_flags);
    }
}

// Both steps, as the injector does them, on a copy that ends where the file does.
static inj_image classify(const uint8_t *file, size_t len)
{
    uint8_t *copy = malloc(len > 0 ? len : 1);
    TEST_ASSERT_NOT_NULL(copy);
    memcpy(copy, file, len);
    inj_image image = inj_image_classify(copy, len);
    if (image.cli_offset != 0 && image.cli_offset < len) {
        size_t offset = (size_t)image.cli_offset;
        inj_image_apply_cli(&image, copy + offset, len - offset);
    }
    free(copy);
    return image;
}

static inj_image_kind kind_of(const void *file, size_t len)
{
    return classify(file, len).kind;
}

static void test_machines_are_told_apart(void)
{
    static const struct {
        unsigned machine;
        inj_image_kind kind;
    } cases[] = {
        {INJ_MACHINE_X64, INJ_IMAGE_X64},
        {INJ_MACHINE_X86, INJ_IMAGE_X86},
        {INJ_MACHINE_ARM64, INJ_IMAGE_ARM64},
        {0x01c4, INJ_IMAGE_OTHER_MACHINE},
    };
    uint8_t file[FILE_BYTES];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        make_file(file, cases[i].machine, 0);
        inj_image image = classify(file, sizeof file);
        TEST_ASSERT_EQUAL(cases[i].kind, image.kind);
        TEST_ASSERT_EQUAL_HEX16(cases[i].machine, image.machine);
    }
}

static void test_dotnet_programs(void)
{
    static const struct {
        uint32_t flags;
        inj_image_kind kind;
    } cases[] = {
        {0x00001, INJ_IMAGE_ANYCPU}, // IL only
        {0x00009, INJ_IMAGE_ANYCPU}, // and signed
        {0x00003, INJ_IMAGE_X86},    // 32-bit required
        {0x20003, INJ_IMAGE_X86},    // 32-bit preferred
        {0x20001, INJ_IMAGE_X86},    //
        {0x00010, INJ_IMAGE_X86},    // native code in it
    };
    uint8_t file[FILE_BYTES];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        make_file(file, INJ_MACHINE_X86, cases[i].flags);
        TEST_ASSERT_EQUAL(cases[i].kind, kind_of(file, sizeof file));
    }
    make_file(file, INJ_MACHINE_X86, 1);
    put32(file + OPTIONAL + 96 + 14 * 8, 0x9000); // in no section
    TEST_ASSERT_EQUAL(INJ_IMAGE_X86, kind_of(file, sizeof file));
    make_file(file, INJ_MACHINE_X86, 1);
    put16(file + PE + 6, 0xffff); // more sections than there are bytes
    TEST_ASSERT_EQUAL(INJ_IMAGE_X86, kind_of(file, sizeof file));
}

static void test_images_that_are_no_programs(void)
{
    uint8_t file[FILE_BYTES];
    make_file(file, INJ_MACHINE_X64, 0);
    put16(file + PE + 22, 0x2022);
    TEST_ASSERT_EQUAL(INJ_IMAGE_LIBRARY, kind_of(file, sizeof file));
    make_file(file, INJ_MACHINE_X64, 0);
    put16(file + OPTIONAL + 68, 1); // a driver
    TEST_ASSERT_EQUAL(INJ_IMAGE_NOT_PROGRAM, kind_of(file, sizeof file));
    put16(file + OPTIONAL + 68, 2); // a window
    TEST_ASSERT_EQUAL(INJ_IMAGE_X64, kind_of(file, sizeof file));
    make_file(file, INJ_MACHINE_X64, 0);
    put16(file + PE + 22, 0x0020);
    TEST_ASSERT_EQUAL(INJ_IMAGE_DAMAGED, kind_of(file, sizeof file));
    make_file(file, INJ_MACHINE_X64, 0);
    put16(file + OPTIONAL, 0x10b); // 64-bit machine, 32-bit header
    TEST_ASSERT_EQUAL(INJ_IMAGE_DAMAGED, kind_of(file, sizeof file));
}

static void test_other_files(void)
{
    uint8_t file[FILE_BYTES];
    TEST_ASSERT_EQUAL(INJ_IMAGE_NOT_PE, kind_of("", 0));
    TEST_ASSERT_EQUAL(INJ_IMAGE_NOT_PE, kind_of("M", 1));
    TEST_ASSERT_EQUAL(INJ_IMAGE_NOT_PE, kind_of("@echo off", 9));
    TEST_ASSERT_EQUAL(INJ_IMAGE_NOT_PE, kind_of("\177ELF", 4));
    TEST_ASSERT_EQUAL(INJ_IMAGE_DOS, kind_of("MZ", 2));
    make_file(file, INJ_MACHINE_X64, 0);
    memcpy(file + PE, "NE\0\0", 4);
    TEST_ASSERT_EQUAL(INJ_IMAGE_DOS, kind_of(file, sizeof file));
    put32(file + 0x3c, 0xfffffff0u);
    TEST_ASSERT_EQUAL(INJ_IMAGE_DOS, kind_of(file, sizeof file));
}

static void test_cut_anywhere(void)
{
    uint8_t file[FILE_BYTES];
    make_file(file, INJ_MACHINE_X86, 1);
    for (size_t len = 0; len <= sizeof file; len++) {
        inj_image_kind kind = kind_of(file, len);
        bool whole = len >= CLI_OFFSET + INJ_CLI_HEADER_BYTES;
        TEST_ASSERT_EQUAL(whole, kind == INJ_IMAGE_ANYCPU);
    }
}

static uint32_t g_random = 1;

static uint32_t next_random(void)
{
    g_random = g_random * 1664525u + 1013904223u;
    return g_random >> 8;
}

static void test_garbled_headers_stay_in_bounds(void)
{
    uint8_t file[FILE_BYTES];
    for (int round = 0; round < 20000; round++) {
        make_file(file, INJ_MACHINE_X86, 1);
        for (uint32_t i = 0, count = 1 + next_random() % 8; i < count; i++)
            file[next_random() % 0x1f0] = (uint8_t)next_random();
        kind_of(file, next_random() % (FILE_BYTES + 1));
    }
}

// ----------------------------------------------------------------------------------------- exports

enum { IMAGE_BYTES = 0x1000, EXPORTS = 0x200, NAME_COUNT = 5 };

typedef struct image {
    uint8_t bytes[IMAGE_BYTES];
    unsigned reads;
} image;

static bool read_image(void *context, uint32_t rva, void *out, size_t len)
{
    image *i = context;
    i->reads++;
    if (rva > IMAGE_BYTES || len > IMAGE_BYTES - rva)
        return false;
    memcpy(out, i->bytes + rva, len);
    return true;
}

static const char *const export_names[NAME_COUNT] = {"Alpha", "Beta", "OrtGetApiBase", "Zulu",
                                                     "ZuluTwo"};

// Function k of name k is at 0xc00 + k, but through ordinals in reverse order.
static void make_image(image *i)
{
    memset(i, 0, sizeof *i);
    make_file(i->bytes, INJ_MACHINE_X64, 0);
    put32(i->bytes + OPTIONAL + 112, EXPORTS);
    put32(i->bytes + OPTIONAL + 116, 0x300);
    uint8_t *directory = i->bytes + EXPORTS;
    put32(directory + 20, NAME_COUNT);
    put32(directory + 24, NAME_COUNT);
    put32(directory + 28, 0x240);
    put32(directory + 32, 0x280);
    put32(directory + 36, 0x2c0);
    uint32_t text = 0x300;
    for (unsigned k = 0; k < NAME_COUNT; k++) {
        put32(i->bytes + 0x240 + 4 * (NAME_COUNT - 1 - k), 0xc00 + k);
        put32(i->bytes + 0x280 + 4 * k, text);
        put16(i->bytes + 0x2c0 + 2 * k, NAME_COUNT - 1 - k);
        strcpy((char *)i->bytes + text, export_names[k]);
        text += (uint32_t)strlen(export_names[k]) + 1;
    }
}

static void test_every_export_is_found(void)
{
    static image i;
    make_image(&i);
    for (unsigned k = 0; k < NAME_COUNT; k++) {
        uint32_t rva = 0;
        TEST_ASSERT_TRUE(inj_image_find_export(read_image, &i, export_names[k], &rva));
        TEST_ASSERT_EQUAL_HEX32(0xc00 + k, rva);
    }
}

static void test_name_right_before_the_end_is_read(void)
{
    static image i;
    uint32_t rva = 0;
    make_image(&i);
    memmove(i.bytes + IMAGE_BYTES - 5, "Beta", 5); // a longer name can't be read as a whole there
    put32(i.bytes + 0x280 + 4 * 1, IMAGE_BYTES - 5);
    TEST_ASSERT_TRUE(inj_image_find_export(read_image, &i, "Alpha", &rva));
    TEST_ASSERT_TRUE(inj_image_find_export(read_image, &i, "Beta", &rva));
    TEST_ASSERT_EQUAL_HEX32(0xc01, rva);
    TEST_ASSERT_FALSE(inj_image_find_export(read_image, &i, "BetaTest", &rva));
}

static void test_missing_exports_and_forwarders_are_not(void)
{
    static image i;
    static const char *const missing[] = {"", "A", "Alph", "AlphaX", "Ortz", "zz", "ZuluTw"};
    uint32_t rva = 7;
    make_image(&i);
    for (size_t k = 0; k < sizeof missing / sizeof missing[0]; k++)
        TEST_ASSERT_FALSE(inj_image_find_export(read_image, &i, missing[k], &rva));
    put32(i.bytes + 0x240 + 4 * 2, EXPORTS + 0x150); // into the directory: a forwarder
    TEST_ASSERT_FALSE(inj_image_find_export(read_image, &i, "OrtGetApiBase", &rva));
    make_image(&i);
    put32(i.bytes + OPTIONAL + 112, 0); // no exports at all
    TEST_ASSERT_FALSE(inj_image_find_export(read_image, &i, "Alpha", &rva));
    TEST_ASSERT_EQUAL_UINT32(7, rva);
}

static void test_garbled_export_tables_are_bounded(void)
{
    static image i;
    for (int round = 0; round < 20000; round++) {
        make_image(&i);
        for (uint32_t k = 0, count = 1 + next_random() % 8; k < count; k++)
            i.bytes[EXPORTS + next_random() % 0x140] = (uint8_t)next_random();
        uint32_t rva;
        inj_image_find_export(read_image, &i, "OrtGetApiBase", &rva);
        // 17 steps of a search through 65536 names, each of at most 14 bytes and its pointer.
        TEST_ASSERT_TRUE(i.reads < 5 + 18 * 16);
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_machines_are_told_apart);
    RUN_TEST(test_dotnet_programs);
    RUN_TEST(test_images_that_are_no_programs);
    RUN_TEST(test_other_files);
    RUN_TEST(test_cut_anywhere);
    RUN_TEST(test_garbled_headers_stay_in_bounds);
    RUN_TEST(test_every_export_is_found);
    RUN_TEST(test_name_right_before_the_end_is_read);
    RUN_TEST(test_missing_exports_and_forwarders_are_not);
    RUN_TEST(test_garbled_export_tables_are_bounded);
    return UNITY_END();
}
