// SPDX-License-Identifier: MIT
// Moving prologues: every form that can be moved, byte for byte, near and far; every refusal; and
// random bytes, which must never crash, overrun a slot or change an output on failure.
#include "reloc_code.h"

void setUp(void) {}

void tearDown(void) {}

typedef struct move_case {
    const char *name;
    const char *function;
    const char *near_by;  // the trampoline at NEAR_BY
    const char *far_away; // and at FAR_AWAY; null where it is refused with OUT_OF_RANGE
    unsigned moved_len;
} move_case;

// A jump back to FUNCTION + 5 from offset 5 of the trampoline is e9 rel32 with
// rel = FUNCTION + 5 - (NEAR_BY + 10) = -0x10005.
static const move_case moves[] = {
    {"five plain bytes", "48 89 5c 24 08 57", "48 89 5c 24 08 e9 fb ff fe ff",
     "48 89 5c 24 08 ff 25 00 00 00 00 05 10 00 40 01 00 00 00", 5},
    {"several short instructions", "55 53 56 48 83 ec 28 90", "55 53 56 48 83 ec 28 e9 fb ff fe ff",
     "55 53 56 48 83 ec 28 ff 25 00 00 00 00 07 10 00 40 01 00 00 00", 7},
    {"RIP-relative load", "48 8b 05 10 00 00 00 c3", "48 8b 05 10 00 ff ff e9 fb ff fe ff", NULL,
     7},
    {"RIP-relative compare with an immediate", "83 3d 10 00 00 00 07 c3",
     "83 3d 10 00 ff ff 07 e9 fb ff fe ff", NULL, 7},
    {"RIP-relative lea of itself", "48 8d 05 f9 ff ff ff c3", "48 8d 05 f9 ff fe ff e9 fb ff fe ff",
     NULL, 7},
    {"short jcc", "48 85 c9 74 10 c3", "48 85 c9 0f 84 0c 00 ff ff e9 f7 ff fe ff",
     "48 85 c9 75 0e ff 25 00 00 00 00 15 10 00 40 01 00 00 00 "
     "ff 25 00 00 00 00 05 10 00 40 01 00 00 00",
     5},
    {"near jcc", "0f 85 00 01 00 00 c3", "0f 85 00 01 ff ff e9 fb ff fe ff",
     "74 0e ff 25 00 00 00 00 06 11 00 40 01 00 00 00 "
     "ff 25 00 00 00 00 06 10 00 40 01 00 00 00",
     6},
    {"near jmp ends the function", "e9 00 01 00 00 cc", "e9 00 01 ff ff",
     "ff 25 00 00 00 00 05 11 00 40 01 00 00 00", 5},
    {"short jmp with padding", "eb 20 cc cc cc", "e9 1d 00 ff ff",
     "ff 25 00 00 00 00 22 10 00 40 01 00 00 00", 2},
    {"indirect jmp, as others patch", "ff 25 00 00 00 00 88", "ff 25 00 00 ff ff", NULL, 6},
    {"jmp with a bnd prefix", "f2 e9 00 01 00 00", "e9 01 01 ff ff",
     "ff 25 00 00 00 00 06 11 00 40 01 00 00 00", 6},
    {"call at the end of the block", "48 83 ec 28 e8 00 01 00 00 c3",
     "48 83 ec 28 e8 00 01 ff ff e9 fb ff fe ff",
     "48 83 ec 28 ff 15 02 00 00 00 eb 08 09 11 00 40 01 00 00 00 "
     "ff 25 00 00 00 00 09 10 00 40 01 00 00 00",
     9},
    {"call of itself", "e8 fb ff ff ff c3", "e8 fb ff fe ff e9 fb ff fe ff",
     "ff 15 02 00 00 00 eb 08 00 10 00 40 01 00 00 00 "
     "ff 25 00 00 00 00 05 10 00 40 01 00 00 00",
     5},
    {"indirect call at the end", "48 83 ec 28 ff d0 c3", "48 83 ec 28 ff d0 e9 fb ff fe ff",
     "48 83 ec 28 ff d0 ff 25 00 00 00 00 06 10 00 40 01 00 00 00", 6},
    {"indirect call through memory", "ff 15 10 00 00 00 c3", "ff 15 10 00 ff ff e9 fb ff fe ff",
     NULL, 6},
    {"loop", "89 c8 90 e2 10", "89 c8 90 e2 02 eb 05 e9 09 00 ff ff e9 f4 ff fe ff",
     "89 c8 90 e2 02 eb 0e ff 25 00 00 00 00 15 10 00 40 01 00 00 00 "
     "ff 25 00 00 00 00 05 10 00 40 01 00 00 00",
     5},
    {"jrcxz", "e3 10 48 89 c8", "e3 02 eb 05 e9 09 00 ff ff 48 89 c8 e9 f4 ff fe ff",
     "e3 02 eb 0e ff 25 00 00 00 00 12 10 00 40 01 00 00 00 48 89 c8 "
     "ff 25 00 00 00 00 05 10 00 40 01 00 00 00",
     5},
    {"jecxz keeps its prefix", "67 e3 10 89 c8",
     "67 e3 02 eb 05 e9 09 00 ff ff 89 c8 e9 f4 ff fe ff",
     "67 e3 02 eb 0e ff 25 00 00 00 00 13 10 00 40 01 00 00 00 89 c8 "
     "ff 25 00 00 00 00 05 10 00 40 01 00 00 00",
     5},
    {"backward loop inside the block", "ff c9 75 fc c3", "ff c9 0f 85 f8 ff ff ff c3",
     "ff c9 0f 85 f8 ff ff ff c3", 5},
    {"forward jump inside the block", "74 01 90 48 89 c8",
     "0f 84 01 00 00 00 90 48 89 c8 e9 f7 ff fe ff",
     "0f 84 01 00 00 00 90 48 89 c8 ff 25 00 00 00 00 06 10 00 40 01 00 00 00", 6},
    {"jump over a byte inside the block", "eb 01 90 89 c8",
     "e9 01 00 00 00 90 89 c8 e9 f8 ff fe ff",
     "e9 01 00 00 00 90 89 c8 ff 25 00 00 00 00 05 10 00 40 01 00 00 00", 5},
    {"loop instruction inside the block", "90 e2 fd 89 c8",
     "90 e2 02 eb 05 e9 f6 ff ff ff 89 c8 e9 f4 ff fe ff",
     "90 e2 02 eb 05 e9 f6 ff ff ff 89 c8 ff 25 00 00 00 00 05 10 00 40 01 00 00 00", 5},
    {"endless loop", "eb fe cc cc cc", "e9 fb ff ff ff", "e9 fb ff ff ff", 2},
    {"tiny body, int3 after it", "8b 01 c3 cc cc", "8b 01 c3", "8b 01 c3", 3},
    {"tiny body, nops after it", "c3 90 66 90 90", "c3", "c3", 1},
    {"tiny body, long nop after it", "33 c0 c3 0f 1f 40 00", "33 c0 c3", "33 c0 c3", 3},
    {"tiny body that traps", "0f 0b cc cc cc", "0f 0b", "0f 0b", 2},
    {"branch over an early return", "85 c9 75 01 c3", "85 c9 0f 85 fd ff fe ff c3",
     "85 c9 74 0e ff 25 00 00 00 00 05 10 00 40 01 00 00 00 c3", 5},
    {"system call stub", "4c 8b d1 b8 18 00 00 00 0f 05", "4c 8b d1 b8 18 00 00 00 e9 fb ff fe ff",
     "4c 8b d1 b8 18 00 00 00 ff 25 00 00 00 00 08 10 00 40 01 00 00 00", 8},
};

static void check_move(const move_case *c, uint64_t trampoline, const char *expected_hex)
{
    hk_reloc_code code = code_of_hex(c->function);
    hk_reloc_result result;
    hk_detour_reason reason = hk_reloc_move(&code, trampoline, 0, &result);
    if (!expected_hex) {
        TEST_ASSERT_EQUAL_STRING_MESSAGE("OUT_OF_RANGE", hk_detour_reason_name(reason), c->name);
    } else {
        uint8_t expected[HK_RELOC_OUT_MAX];
        size_t len = parse_hex(expected_hex, expected, sizeof expected);
        TEST_ASSERT_EQUAL_STRING_MESSAGE("OK", hk_detour_reason_name(reason), c->name);
        TEST_ASSERT_EQUAL_UINT_MESSAGE(len, result.len, c->name);
        TEST_ASSERT_EQUAL_HEX8_ARRAY_MESSAGE(expected, result.bytes, len, c->name);
        TEST_ASSERT_EQUAL_UINT_MESSAGE(c->moved_len, result.moved_len, c->name);
    }
    free_code(code);
}

static void test_forms_that_can_be_moved(void)
{
    for (size_t i = 0; i < sizeof moves / sizeof moves[0]; i++) {
        check_move(&moves[i], NEAR_BY, moves[i].near_by);
        check_move(&moves[i], FAR_AWAY, moves[i].far_away);
    }
}

static void test_longest_block_fits(void)
{
    // Four bytes, then the longest legal instruction (15 bytes).
    enum { LONGEST = 19 };
    hk_reloc_code code = code_of_hex("90 90 90 90 64 67 f0 48 81 84 80 00 00 00 00 78 56 34 12");
    hk_reloc_result result;
    TEST_ASSERT_EQUAL(HK_DETOUR_OK, hk_reloc_move(&code, FAR_AWAY, 0, &result));
    TEST_ASSERT_EQUAL(LONGEST, result.moved_len);
    TEST_ASSERT_EQUAL_HEX8_ARRAY(code.bytes, result.bytes, LONGEST);
    free_code(code);
}

typedef struct refusal {
    const char *name;
    const char *function;
    hk_detour_reason reason;
} refusal;

static const refusal refusals[] = {
    {"invalid in 64-bit mode", "06 90 90 90 90", HK_DETOUR_UNDECODABLE},
    {"cut off in the middle", "90 90 90 48 8b", HK_DETOUR_UNDECODABLE},
    {"no bytes at all", "", HK_DETOUR_UNDECODABLE},
    {"breakpoint at the start", "cc 48 83 ec 28", HK_DETOUR_BREAKPOINT},
    {"breakpoint later", "55 cc 48 83 ec 28", HK_DETOUR_BREAKPOINT},
    {"tiny body, then foreign code", "33 c0 c3 48 83 ec 28", HK_DETOUR_TOO_SMALL},
    {"tiny body, padding, foreign code", "c3 cc cc 55 53", HK_DETOUR_TOO_SMALL},
    {"tiny body at the end of memory", "33 c0 c3", HK_DETOUR_TOO_SMALL},
    {"short jmp, then foreign code", "eb 20 48 89 c8", HK_DETOUR_TOO_SMALL},
    {"indirect call that returns inside", "ff d0 48 83 c4 28", HK_DETOUR_CALL_RETURNS_INSIDE},
    {"pushed, then the same", "50 ff d0 58 c3", HK_DETOUR_CALL_RETURNS_INSIDE},
    {"call through memory that returns inside", "ff 10 90 90 90", HK_DETOUR_CALL_RETURNS_INSIDE},
    {"call of the inside", "90 90 90 90 e8 f8 ff ff ff", HK_DETOUR_NOT_RELOCATABLE},
    {"branch into the middle of an instruction", "74 01 48 89 c8 90", HK_DETOUR_NOT_RELOCATABLE},
    {"branch into a straddling instruction", "74 04 90 90 48 89 c8 90", HK_DETOUR_NOT_RELOCATABLE},
    {"jmp with operand-size prefix", "66 e9 00 01 00 00 90", HK_DETOUR_NOT_RELOCATABLE},
    {"transaction begin", "c7 f8 00 01 00 00", HK_DETOUR_NOT_RELOCATABLE},
    {"32-bit RIP-relative address", "67 48 8b 05 00 01 00 00", HK_DETOUR_NOT_RELOCATABLE},
    {"load from its own code", "48 8b 05 f9 ff ff ff", HK_DETOUR_READS_ITSELF},
};

static void test_refusals(void)
{
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        hk_reloc_code code = code_of_hex(refusals[i].function);
        hk_reloc_result result;
        memset(&result, 0xa5, sizeof result);
        hk_reloc_result before = result;
        hk_detour_reason reason = hk_reloc_move(&code, NEAR_BY, 0, &result);
        TEST_ASSERT_EQUAL_STRING_MESSAGE(hk_detour_reason_name(refusals[i].reason),
                                         hk_detour_reason_name(reason), refusals[i].name);
        if (reason != HK_DETOUR_OK)
            TEST_ASSERT_EQUAL_MEMORY_MESSAGE(&before, &result, sizeof before, refusals[i].name);
        free_code(code);
    }
}

static void test_map_leads_both_ways(void)
{
    hk_reloc_code code = code_of_hex("48 85 c9 74 10 c3");
    hk_reloc_result r;
    TEST_ASSERT_EQUAL(HK_DETOUR_OK, hk_reloc_move(&code, NEAR_BY, 0, &r));
    TEST_ASSERT_EQUAL(3, r.map_count);
    TEST_ASSERT_EQUAL(0, hk_reloc_to_trampoline(r.map, r.map_count, 0));
    TEST_ASSERT_EQUAL(3, hk_reloc_to_trampoline(r.map, r.map_count, 3));
    TEST_ASSERT_EQUAL(9, hk_reloc_to_trampoline(r.map, r.map_count, 5));
    TEST_ASSERT_EQUAL(-1, hk_reloc_to_trampoline(r.map, r.map_count, 1));
    TEST_ASSERT_EQUAL(-1, hk_reloc_to_trampoline(r.map, r.map_count, (uint64_t)-1));
    TEST_ASSERT_EQUAL(5, hk_reloc_to_function(r.map, r.map_count, 9));
    TEST_ASSERT_EQUAL(-1, hk_reloc_to_function(r.map, r.map_count, 4));
    free_code(code);
}

static uint64_t g_random = 0x9e3779b97f4a7c15;

static uint32_t next_random(void)
{
    g_random ^= g_random << 13;
    g_random ^= g_random >> 7;
    g_random ^= g_random << 17;
    return (uint32_t)(g_random >> 16);
}

static uint8_t random_byte(void)
{
    static const uint8_t spice[] = {0xe8, 0xe9, 0xeb, 0x74, 0x0f, 0x84, 0xe2, 0xe3, 0xff, 0x25,
                                    0x15, 0x48, 0x8b, 0x05, 0x67, 0x66, 0xc3, 0xcc, 0x90, 0x02};
    uint32_t r = next_random();
    return r & 1 ? spice[(r >> 8) % sizeof spice] : (uint8_t)(r >> 8);
}

// Wherever an instruction has gone, it must lead to the same place as before.
static void check_same_meaning(const hk_reloc_code *code, const hk_reloc_result *r, uint64_t base)
{
    hk_reloc_code out = {.bytes = r->bytes, .len = r->len, .address = base};
    for (size_t i = 0; i < r->map_count; i++) {
        hk_insn was;
        hk_insn is;
        TEST_ASSERT_LESS_THAN(r->len, r->map[i].to);
        TEST_ASSERT_TRUE(hk_insn_decode(&out, r->map[i].to, &is));
        if (r->map[i].from == r->moved_len || !hk_insn_decode(code, r->map[i].from, &was))
            continue;
        if (was.kind == HK_INSN_PLAIN || was.kind == HK_INSN_END) {
            TEST_ASSERT_EQUAL(was.kind, is.kind);
            TEST_ASSERT_EQUAL(was.len, is.len);
            TEST_ASSERT_EQUAL_HEX64(was.disp_offset ? was.target : 0,
                                    is.disp_offset ? is.target : 0);
        }
        bool moved_inside = was.target - code->address < r->moved_len;
        if (was.kind == HK_INSN_JCC && is.kind == HK_INSN_JCC && is.len == 6 && !moved_inside) {
            TEST_ASSERT_EQUAL(was.condition, is.condition);
            TEST_ASSERT_EQUAL_HEX64(was.target, is.target);
        }
    }
}

static void check_random_result(const hk_reloc_code *code, const hk_reloc_result *result,
                                uint64_t base, bool is_whole)
{
    size_t out_max = is_whole ? HK_RELOC_OUT_MAX : HK_RELOC_SHORT_OUT;
    TEST_ASSERT_LESS_OR_EQUAL(out_max, result->len);
    TEST_ASSERT_LESS_OR_EQUAL(HK_RELOC_INSNS_MAX + 1, result->map_count);
    TEST_ASSERT_LESS_OR_EQUAL(HK_RELOC_MOVED_MAX + 15, result->moved_len);
    TEST_ASSERT_LESS_OR_EQUAL(code->len, result->moved_len);
    check_same_meaning(code, result, base);
}

static void test_random_bytes(void)
{
    unsigned moved = 0;
    unsigned moved_more = 0;
    for (int round = 0; round < 200000; round++) {
        uint8_t bytes[160];
        size_t len = next_random() % sizeof bytes;
        for (size_t i = 0; i < len; i++)
            bytes[i] = random_byte();
        hk_reloc_code code = code_of(bytes, len);
        uint64_t base = round & 1 ? NEAR_BY : FAR_AWAY;
        hk_reloc_result result;
        hk_reloc_result whole;
        if (hk_reloc_move(&code, base, 0, &result) == HK_DETOUR_OK) {
            check_random_result(&code, &result, base, false);
            moved++;
            if (hk_reloc_move_function(&code, &code, base, &whole) == HK_DETOUR_OK) {
                check_random_result(&code, &whole, base, true);
                moved_more += whole.moved_len > result.moved_len;
            }
        }
        TEST_ASSERT_LESS_OR_EQUAL(len, hk_reloc_guess_extent(&code));
        free_code(code);
    }
    TEST_ASSERT_GREATER_THAN(20000, moved);
    TEST_ASSERT_GREATER_THAN(100, moved_more);
}

static void test_every_reason_has_a_sentence(void)
{
    for (int i = 0; i < HK_DETOUR_REASON_COUNT; i++) {
        TEST_ASSERT_GREATER_THAN(3, strlen(hk_detour_reason_text((hk_detour_reason)i)));
        TEST_ASSERT_GREATER_THAN(1, strlen(hk_detour_reason_name((hk_detour_reason)i)));
    }
    TEST_ASSERT_EQUAL_STRING("UNKNOWN", hk_detour_reason_name(HK_DETOUR_REASON_COUNT));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_forms_that_can_be_moved);
    RUN_TEST(test_longest_block_fits);
    RUN_TEST(test_refusals);
    RUN_TEST(test_map_leads_both_ways);
    RUN_TEST(test_random_bytes);
    RUN_TEST(test_every_reason_has_a_sentence);
    return UNITY_END();
}
