// SPDX-License-Identifier: MIT
// Finding kernels in images that are made here: by class names, by the literal, by both, and all
// the ways in which an image can be wrong or lie.
#include "op_scan.h"

#include <string.h>
#include <unity.h>

// One page each: headers, code, read-only data, data, unwind data.
enum {
    PAGE = 0x1000,
    TEXT = PAGE,
    RDATA = 2 * PAGE,
    DATA = 4 * PAGE,
    PDATA = 5 * PAGE,
    SIZE = 6 * PAGE,
    HEADERS = 0x80,
    SECTIONS = HEADERS + 24 + 240,
    // In the code: the function that mentions the literal, its caller, another one
    SPEAKER = TEXT + 0x100,
    CALLER = TEXT + 0x200,
    OTHER = TEXT + 0x300,
    MAKER = OTHER + 0x50, // a constructor takes the address of its vtable
    // In the read-only data
    LITERAL = RDATA + 0x10,
    UNWIND = RDATA + 0x80,
    UNWIND_CHAINED = RDATA + 0x90,
    RTTI = RDATA + 0x400,    // locators, hierarchies, bases: 0x80 per class
    VTABLES = RDATA + 0x800, // 0x40 each, the locator's address 8 before it
    // In the data: type descriptors, 0x80 each
    TYPES = DATA + 0x100,
    ROOM = 16,
    KERNEL_TYPE = 7, // the base class
};

#define BASE 0x180000000u

static uint8_t g_image[SIZE];
static hk_scan g_scan;
static uint32_t g_first[ROOM], g_second[ROOM];
static size_t g_count;
static hk_kernels_found g_found;

static void put16(uint32_t at, uint16_t value)
{
    memcpy(g_image + at, &value, sizeof value);
}

static void put32(uint32_t at, uint32_t value)
{
    memcpy(g_image + at, &value, sizeof value);
}

static void put64(uint32_t at, uint64_t value)
{
    memcpy(g_image + at, &value, sizeof value);
}

static void put_section(unsigned number, uint32_t rva, uint32_t bytes, uint32_t flags)
{
    uint32_t at = SECTIONS + number * 40;
    put32(at + 8, bytes);
    put32(at + 12, rva);
    put32(at + 36, flags);
}

static void put_type(unsigned number, const char *name)
{
    strcpy((char *)g_image + TYPES + number * 0x80 + 16, name);
}

static void put_function(unsigned entry, uint32_t begin, uint32_t unwind)
{
    put32(PDATA + entry * 12, begin);
    put32(PDATA + entry * 12 + 4, begin + 0x80);
    put32(PDATA + entry * 12 + 8, unwind);
}

// A vtable of four functions; the last is ComputeAsync.
static uint32_t put_vtable(unsigned number, uint32_t async)
{
    uint32_t at = VTABLES + number * 0x40;
    for (uint32_t i = 0; i < 3; i++)
        put64(at + 8 * i, BASE + OTHER + 0x10 * i);
    put64(at + 24, BASE + async);
    return at;
}

// Gives the vtable a class that has, behind itself, the base `base_type` at offset `displacement`.
static void put_class(unsigned number, uint32_t base_type, uint32_t displacement)
{
    uint32_t at = RTTI + number * 0x80, hierarchy = at + 0x20, array = at + 0x30, own = at + 0x38,
             base = at + 0x58;
    put32(at, 1);
    put32(at + 4, displacement);
    put32(at + 12, TYPES + number * 0x80);
    put32(at + 16, hierarchy);
    put32(at + 20, at);
    put32(hierarchy + 8, 2);
    put32(hierarchy + 12, array);
    put32(array, own);
    put32(array + 4, base);
    put32(own, TYPES + number * 0x80);
    put32(own + 12, UINT32_MAX);
    put32(base, TYPES + base_type * 0x80);
    put32(base + 8, displacement);
    put32(base + 12, UINT32_MAX);
    put_type(number, ".?AVSome@contrib@onnxruntime@@");
    put64(VTABLES + number * 0x40 - 8, BASE + at);
}

static void put_headers(void)
{
    memcpy(g_image, "MZ", 2);
    put32(0x3c, HEADERS);
    memcpy(g_image + HEADERS, "PE\0\0", 4);
    put16(HEADERS + 6, 4);
    put16(HEADERS + 20, 240);
    put16(HEADERS + 24, 0x20b);
    put32(HEADERS + 24 + 108, 16);
    put32(HEADERS + 24 + 112 + 24, PDATA);
    put32(HEADERS + 24 + 112 + 28, 3 * 12);
    put_section(0, TEXT, PAGE, 0x60000020);
    put_section(1, RDATA, 2 * PAGE, 0x40000040);
    put_section(2, DATA, PAGE, 0xc0000040);
    put_section(3, PDATA, PAGE, 0x40000040);
}

// Two kernel classes, found by both ways.
void setUp(void)
{
    memset(g_image, 0, sizeof g_image);
    put_headers();
    put_function(0, SPEAKER, UNWIND);
    put_function(1, CALLER, UNWIND);
    put_function(2, OTHER, UNWIND);
    strcpy((char *)g_image + LITERAL, "onnxruntime::OpKernel::ComputeAsync");
    memcpy(g_image + SPEAKER + 0x10, "\x48\x8d\x0d", 3); // lea rcx, [literal]
    put32(SPEAKER + 0x13, LITERAL - (SPEAKER + 0x17));
    memcpy(g_image + MAKER, "\x48\x8d\x05", 3); // lea rax, [the second vtable]
    put32(MAKER + 3, VTABLES + 0x40 - (MAKER + 7));
    put_type(KERNEL_TYPE, ".?AVOpKernel@onnxruntime@@");
    for (unsigned i = 0; i < 2; i++) {
        put_vtable(i, SPEAKER);
        put_class(i, KERNEL_TYPE, 0);
    }
}

void tearDown(void) {}

static hk_kernels_verdict scan(void)
{
    TEST_ASSERT_TRUE(hk_scan_open(&g_scan, g_image, sizeof g_image, BASE));
    return hk_scan_kernels(&g_scan, g_first, g_second, ROOM, &g_count, &g_found);
}

static void expect(hk_kernels_verdict verdict, size_t count)
{
    TEST_ASSERT_EQUAL(verdict, scan());
    if (verdict == HK_KERNELS_AGREED || verdict == HK_KERNELS_RTTI || verdict == HK_KERNELS_ANCHOR)
        TEST_ASSERT_EQUAL_size_t(count, g_count);
    for (size_t i = 0; i < count; i++)
        TEST_ASSERT_EQUAL_HEX32(VTABLES + 0x40 * i, g_first[i]);
}

static void lose_literal(void)
{
    g_image[LITERAL] = 'x';
}

static void lose_types(void)
{
    memset(g_image + TYPES, 0, 8 * 0x80);
}

// ------------------------------------------------------------------------------------------ found

static void test_both_ways_agree(void)
{
    expect(HK_KERNELS_AGREED, 2);
    TEST_ASSERT_EQUAL_size_t(2, g_found.by_rtti);
    TEST_ASSERT_EQUAL_size_t(2, g_found.by_anchor);
    TEST_ASSERT_EQUAL_STRING(".?AVSome@contrib@onnxruntime@@",
                             hk_scan_class_name(&g_scan, g_first[1]));
}

static void test_one_way_is_enough(void)
{
    lose_types();
    expect(HK_KERNELS_ANCHOR, 2);
    TEST_ASSERT_NULL(hk_scan_class_name(&g_scan, g_first[0]));
    setUp();
    lose_literal();
    expect(HK_KERNELS_RTTI, 2);
}

// A runtime whose ComputeAsync is in another slot than we know, and without names
static void test_literal_alone_needs_a_constructor(void)
{
    lose_types();
    put32(MAKER + 3, VTABLES + 0x48 - (MAKER + 7));
    expect(HK_KERNELS_UNCLEAR, 0);
}

static void test_nothing_there(void)
{
    lose_types();
    lose_literal();
    expect(HK_KERNELS_NONE, 0);
}

// The function that mentions the literal is called by the one in the vtables.
static void test_literal_in_a_function_of_its_own(void)
{
    for (unsigned i = 0; i < 2; i++)
        put_vtable(i, CALLER);
    g_image[CALLER + 0x20] = 0xe8;
    put32(CALLER + 0x21, (uint32_t)(SPEAKER - (CALLER + 0x25)));
    expect(HK_KERNELS_AGREED, 2);
    g_image[OTHER + 0x20] = 0xe8; // a second caller: which one?
    put32(OTHER + 0x21, (uint32_t)(SPEAKER - (OTHER + 0x25)));
    lose_types();
    expect(HK_KERNELS_UNCLEAR, 0);
}

// The literal stands in a later part of the function, whose unwind data leads to the first.
static void test_function_in_parts(void)
{
    memset(g_image + SPEAKER + 0x10, 0, 7);
    memcpy(g_image + CALLER + 0x10, "\x4c\x8d\x05", 3);
    put32(CALLER + 0x13, LITERAL - (CALLER + 0x17));
    g_image[UNWIND_CHAINED] = 1 | 4 << 3;
    g_image[UNWIND_CHAINED + 2] = 1; // one code, padded to two
    put32(UNWIND_CHAINED + 8, SPEAKER);
    put32(UNWIND_CHAINED + 12, SPEAKER + 0x80);
    put32(UNWIND_CHAINED + 16, UNWIND);
    put_function(1, CALLER, UNWIND_CHAINED);
    expect(HK_KERNELS_AGREED, 2);
}

// A class with a ComputeAsync of its own is seen by its name only.
static void test_class_that_overrides(void)
{
    put_vtable(2, OTHER);
    put_class(2, KERNEL_TYPE, 0);
    expect(HK_KERNELS_AGREED, 3);
    TEST_ASSERT_EQUAL_size_t(1, g_found.overriding);
}

// The base may stand further back in the object, but then only that part's vtable counts.
static void test_base_at_an_offset(void)
{
    put_class(1, KERNEL_TYPE, 16);
    expect(HK_KERNELS_AGREED, 2);
    put32(RTTI + 0x80 + 4, 0); // the locator speaks of the object's beginning
    put_vtable(1, OTHER);
    expect(HK_KERNELS_AGREED, 1);
}

// --------------------------------------------------------------------------------------- not sure

static void test_contradiction(void)
{
    put_class(1, 3, 0); // its name says that it is no kernel
    expect(HK_KERNELS_DISAGREE, 0);
}

static void test_more_than_there_is_room_for(void)
{
    size_t count;
    TEST_ASSERT_TRUE(hk_scan_open(&g_scan, g_image, sizeof g_image, BASE));
    TEST_ASSERT_EQUAL(HK_KERNELS_TOO_MANY,
                      hk_scan_kernels(&g_scan, g_first, g_second, 1, &count, &g_found));
    TEST_ASSERT_EQUAL_size_t(2, g_found.by_rtti);
}

static void test_literal_mentioned_twice(void)
{
    memcpy(g_image + OTHER + 0x10, "\x48\x8d\x0d", 3);
    put32(OTHER + 0x13, LITERAL - (OTHER + 0x17));
    expect(HK_KERNELS_RTTI, 2);
    lose_types();
    expect(HK_KERNELS_UNCLEAR, 0);
}

static void test_literal_twice(void)
{
    strcpy((char *)g_image + LITERAL + 0x200, "onnxruntime::OpKernel::ComputeAsync");
    lose_types();
    expect(HK_KERNELS_UNCLEAR, 0);
}

// Slots that lead out of the code: somebody else was here first.
static void test_vtable_changed_by_somebody_else(void)
{
    put64(VTABLES + 0x40 + 8, 0x7ff812345678);
    expect(HK_KERNELS_AGREED, 1);
    put64(VTABLES + 0x40 + 8, BASE + DATA);
    expect(HK_KERNELS_AGREED, 1);
}

// ---------------------------------------------------------------------------------------- hostile

static void test_not_an_image(void)
{
    TEST_ASSERT_FALSE(hk_scan_open(&g_scan, g_image, 10, BASE));
    TEST_ASSERT_FALSE(hk_scan_open(&g_scan, g_image, HEADERS + 10, BASE));
    TEST_ASSERT_FALSE(hk_scan_open(&g_scan, g_image, SECTIONS + 50, BASE));
    put32(0x3c, SIZE - 2);
    TEST_ASSERT_FALSE(hk_scan_open(&g_scan, g_image, SIZE, BASE));
    put32(0x3c, UINT32_MAX);
    TEST_ASSERT_FALSE(hk_scan_open(&g_scan, g_image, SIZE, BASE));
    put32(0x3c, HEADERS);
    put16(HEADERS + 24, 0x10b); // 32 bits
    TEST_ASSERT_FALSE(hk_scan_open(&g_scan, g_image, SIZE, BASE));
}

static void test_sections_beyond_the_end_are_cut(void)
{
    put_section(1, RDATA, UINT32_MAX, 0x40000040);
    put_section(2, SIZE - 16, 4096, 0xc0000040);
    scan();
    TEST_ASSERT_EQUAL_UINT32(SIZE - RDATA, g_scan.sections[1].bytes);
    TEST_ASSERT_EQUAL_UINT32(16, g_scan.sections[2].bytes);
}

// Every 32-bit word of the structures set to values that lead astray, one after the other: the
// sanitizers see to it that nothing outside is touched.
static void test_every_word_can_lie(void)
{
    static const uint32_t lies[] = {
        0,        1,          SIZE - 1,   SIZE - 4,   SIZE,
        SIZE + 1, 0x7fffffff, 0x80000000, UINT32_MAX, RDATA + PAGE * 2 - 4};
    static const struct {
        uint32_t from, to;
    } places[] = {{HEADERS, SECTIONS + 160}, {RTTI, RTTI + 0x100},
                  {PDATA, PDATA + 36},       {VTABLES - 8, VTABLES + 0x80},
                  {UNWIND, UNWIND + 0x20},   {SPEAKER + 0x13, SPEAKER + 0x14}};
    for (size_t p = 0; p < sizeof places / sizeof *places; p++)
        for (uint32_t at = places[p].from; at < places[p].to; at += 4)
            for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
                setUp();
                put32(at, lies[i]);
                if (hk_scan_open(&g_scan, g_image, sizeof g_image, BASE)) {
                    hk_scan_kernels(&g_scan, g_first, g_second, ROOM, &g_count, &g_found);
                    for (uint32_t v = VTABLES; v < VTABLES + 0x80; v += 8)
                        hk_scan_class_name(&g_scan, v);
                }
            }
}

static void test_class_name_without_an_end(void)
{
    scan();
    memset(g_image + TYPES, 'x', DATA + PAGE - TYPES);
    TEST_ASSERT_NULL(hk_scan_class_name(&g_scan, VTABLES));
    TEST_ASSERT_NULL(hk_scan_class_name(&g_scan, 0));
    TEST_ASSERT_NULL(hk_scan_class_name(&g_scan, SIZE));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_both_ways_agree);
    RUN_TEST(test_one_way_is_enough);
    RUN_TEST(test_literal_alone_needs_a_constructor);
    RUN_TEST(test_nothing_there);
    RUN_TEST(test_literal_in_a_function_of_its_own);
    RUN_TEST(test_function_in_parts);
    RUN_TEST(test_class_that_overrides);
    RUN_TEST(test_base_at_an_offset);
    RUN_TEST(test_contradiction);
    RUN_TEST(test_more_than_there_is_room_for);
    RUN_TEST(test_literal_mentioned_twice);
    RUN_TEST(test_literal_twice);
    RUN_TEST(test_vtable_changed_by_somebody_else);
    RUN_TEST(test_not_an_image);
    RUN_TEST(test_sections_beyond_the_end_are_cut);
    RUN_TEST(test_every_word_can_lie);
    RUN_TEST(test_class_name_without_an_end);
    return UNITY_END();
}
