// SPDX-License-Identifier: MIT
// Processors, kinds of core and caches from Windows' list, and what the processor says itself.
#include "machine.h"

#include "host.h"

#include <cpuid.h>
#include <stdio.h>
#include <string.h>

// ------------------------------------------------------------------------------- the system's list

// LOGICAL_PROCESSOR_RELATIONSHIP and PROCESSOR_CACHE_TYPE
enum { OF_CORE = 0, OF_NODE = 1, OF_CACHE = 2, OF_PACKAGE = 3, OF_NODE_EX = 6 };
enum { HOLDS_BOTH = 0, HOLDS_INSTRUCTIONS = 1, HOLDS_DATA = 2, HOLDS_TRACES = 3 };

// SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX: relationship and size, then one of these.
#define RECORD_HEAD      8u
#define CORE_CLASS       1u // PROCESSOR_RELATIONSHIP: EfficiencyClass
#define CORE_GROUP_COUNT 22u
#define CORE_GROUPS      24u // GROUP_AFFINITY, 16 bytes each, the mask first
#define GROUP_BYTES      16u
#define CACHE_LINE       2u
#define CACHE_SIZE       4u
#define CACHE_TYPE       8u
#define CACHE_BYTES      12u

typedef struct cache_kind {
    unsigned level, type, line_bytes, count;
    uint32_t bytes;
} cache_kind;

typedef struct processors {
    int64_t packages, cores, threads, nodes;
    int64_t cores_of_class[256];
    cache_kind caches[CO_FACT_ITEMS_MAX];
    size_t cache_count;
} processors;

static uint32_t take32(const uint8_t *bytes)
{
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

static void add_core(processors *p, const uint8_t *core, size_t len)
{
    if (len < CORE_GROUPS)
        return;
    p->cores++;
    p->cores_of_class[core[CORE_CLASS]]++;
    uint16_t groups;
    memcpy(&groups, core + CORE_GROUP_COUNT, sizeof groups);
    for (size_t i = 0; i < groups && CORE_GROUPS + (i + 1) * GROUP_BYTES <= len; i++) {
        uint64_t mask;
        memcpy(&mask, core + CORE_GROUPS + i * GROUP_BYTES, sizeof mask);
        p->threads += __builtin_popcountll(mask);
    }
}

static void add_cache(processors *p, const uint8_t *cache, size_t len)
{
    if (len < CACHE_BYTES)
        return;
    uint16_t line;
    memcpy(&line, cache + CACHE_LINE, sizeof line);
    cache_kind kind = {.level = cache[0],
                       .type = take32(cache + CACHE_TYPE),
                       .line_bytes = line,
                       .count = 1,
                       .bytes = take32(cache + CACHE_SIZE)};
    if (!kind.bytes)
        return;
    for (size_t i = 0; i < p->cache_count; i++) {
        cache_kind *same = &p->caches[i];
        if (same->level == kind.level && same->type == kind.type && same->bytes == kind.bytes &&
            same->line_bytes == kind.line_bytes) {
            same->count++;
            return;
        }
    }
    if (p->cache_count < CO_FACT_ITEMS_MAX)
        p->caches[p->cache_count++] = kind;
}

static void read_records(processors *p, const uint8_t *at, size_t len)
{
    while (len >= RECORD_HEAD) {
        uint32_t relation = take32(at), size = take32(at + 4);
        if (size < RECORD_HEAD || size > len)
            return;
        const uint8_t *record = at + RECORD_HEAD;
        if (relation == OF_CORE)
            add_core(p, record, size - RECORD_HEAD);
        else if (relation == OF_CACHE)
            add_cache(p, record, size - RECORD_HEAD);
        p->packages += relation == OF_PACKAGE;
        p->nodes += relation == OF_NODE || relation == OF_NODE_EX;
        at += size;
        len -= size;
    }
}

// The highest class is the fast one; where all are alike there is nothing to tell.
static void tell_classes(co_facts *f, const processors *p)
{
    int highest = 255;
    while (highest > 0 && !p->cores_of_class[highest])
        highest--;
    int64_t fast = p->cores_of_class[highest];
    if (fast == p->cores)
        return;
    co_facts_number(f, "processor", CO_FACT_ONLY, "performance_cores", fast);
    co_facts_number(f, "processor", CO_FACT_ONLY, "efficiency_cores", p->cores - fast);
}

static void tell_caches(co_facts *f, const processors *p)
{
    static const char *const holds[] = {"both", "instructions", "data", "traces"};
    for (size_t i = 0; i < p->cache_count; i++) {
        const cache_kind *c = &p->caches[i];
        int64_t number = (int64_t)i;
        co_facts_number(f, "cache", number, "level", c->level);
        if (c->type <= HOLDS_TRACES)
            co_facts_text(f, "cache", number, "holds", holds[c->type]);
        co_facts_number(f, "cache", number, "bytes", c->bytes);
        co_facts_number(f, "cache", number, "line_bytes", c->line_bytes);
        co_facts_number(f, "cache", number, "count", c->count);
    }
}

void co_machine_processors(co_facts *f, const void *records, size_t len)
{
    processors p = {0};
    read_records(&p, records, len);
    const struct {
        const char *name;
        int64_t value;
    } counts[] = {
        {"packages", p.packages}, {"cores", p.cores}, {"threads", p.threads}, {"nodes", p.nodes}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (counts[i].value)
            co_facts_number(f, "processor", CO_FACT_ONLY, counts[i].name, counts[i].value);
    tell_classes(f, &p);
    tell_caches(f, &p);
}

// --------------------------------------------------------------------------- the processor's word

typedef struct cpuid_words {
    unsigned a, b, c, d;
} cpuid_words;

static cpuid_words ask(unsigned leaf, unsigned subleaf)
{
    cpuid_words w = {0};
    __get_cpuid_count(leaf, subleaf, &w.a, &w.b, &w.c, &w.d);
    return w;
}

// Which registers the system saves: instructions on others can't be used.
static uint64_t saved_registers(const cpuid_words *one)
{
    unsigned low = 0, high = 0;
    if (one->c & 1u << 27)
        __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

#define SAVES_AVX    0x6u
#define SAVES_AVX512 0xe6u
#define SAVES_AMX    0x60000u

static void tell_instructions(co_facts *f)
{
    cpuid_words one = ask(1, 0), seven = ask(7, 0), more = ask(7, 1);
    uint64_t saved = saved_registers(&one);
    const struct {
        const char *name;
        unsigned word, bit;
        uint64_t saves;
    } all[] = {{"avx", one.c, 28, SAVES_AVX},
               {"f16c", one.c, 29, SAVES_AVX},
               {"fma", one.c, 12, SAVES_AVX},
               {"avx2", seven.b, 5, SAVES_AVX},
               {"avx_vnni", more.a, 4, SAVES_AVX},
               {"avx512f", seven.b, 16, SAVES_AVX512},
               {"avx512_vnni", seven.c, 11, SAVES_AVX512},
               {"avx512_bf16", more.a, 5, SAVES_AVX512},
               {"amx_int8", seven.d, 25, SAVES_AMX},
               {"amx_bf16", seven.d, 22, SAVES_AMX}};
    char text[CO_FACT_BYTES] = "";
    size_t len = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if ((all[i].word & 1u << all[i].bit) && (saved & all[i].saves) == all[i].saves)
            len += (size_t)snprintf(text + len, sizeof text - len, "%s%s", len ? " " : "",
                                    all[i].name);
    co_facts_text(f, "processor", CO_FACT_ONLY, "instructions", text);
}

const char *co_machine_hypervisor(const char *letters)
{
    static const char *const known[][2] = {
        {"KVMKVMKVM", "KVM"},           {"VMwareVMware", "VMware"},
        {"VBoxVBoxVBox", "VirtualBox"}, {"XenVMMXenVMM", "Xen"},
        {"Microsoft Hv", "Hyper-V"},    {"TCGTCGTCGTCG", "QEMU"},
        {"prl hyperv  ", "Parallels"},  {" lrpepyh  vr", "Parallels"},
        {"bhyve bhyve ", "bhyve"},      {"ACRNACRNACRN", "ACRN"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(letters, known[i][0]) == 0)
            return known[i][1];
    return "";
}

// Windows itself runs on Hyper-V where that is switched on; only its guests are virtual machines.
static void tell_hypervisor(co_facts *f)
{
    cpuid_words one = ask(1, 0), vendor, features;
    if (!(one.c & 1u << 31))
        return;
    __cpuid(0x40000000u, vendor.a, vendor.b, vendor.c, vendor.d);
    char letters[13] = "";
    memcpy(letters, &vendor.b, 12);
    const char *name = co_machine_hypervisor(letters);
    if (strcmp(name, "Hyper-V") == 0) {
        __cpuid(0x40000003u, features.a, features.b, features.c, features.d);
        if (features.b & 1u) // it may create machines of its own
            return;
    }
    co_facts_text(f, "machine", CO_FACT_ONLY, "hypervisor", name[0] ? name : letters);
}

bool co_machine_steady_ticks(void)
{
    return ask(0x80000007u, 0).d & 1u << 8;
}

void co_machine_cpuid(co_facts *f)
{
    char name[64];
    co_host_cpu_name(name, sizeof name);
    co_facts_text(f, "processor", CO_FACT_ONLY, "name", name);
    tell_instructions(f);
    co_facts_number(f, "processor", CO_FACT_ONLY, "steady_ticks", co_machine_steady_ticks());
    tell_hypervisor(f);
}
