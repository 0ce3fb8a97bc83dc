// SPDX-License-Identifier: MIT
#include "tensor_layout.h"

#include "hook.h"

#define SCAN_BYTES 128u // a tensor is larger than this in every version
#define SAMPLES    5u

typedef struct sample {
    int element_type;
    size_t rank;
    int64_t dims[8];
    OrtValue *value;
    uint64_t words[3]; // the OrtValue
    uint8_t tensor[SCAN_BYTES];
} sample;

enum { SAMPLE_FLOAT = 1, SAMPLE_INT64 = 7 };

// Different ranks (none, few, more than fit inside the object) and two element types.
static const sample g_samples[SAMPLES] = {
    {.element_type = SAMPLE_FLOAT, .rank = 3, .dims = {2, 3, 5}},
    {.element_type = SAMPLE_FLOAT, .rank = 2, .dims = {7, 11}},
    {.element_type = SAMPLE_INT64, .rank = 3, .dims = {2, 3, 5}},
    {.element_type = SAMPLE_FLOAT, .rank = 7, .dims = {2, 1, 3, 1, 2, 1, 2}},
    {.element_type = SAMPLE_FLOAT, .rank = 0},
};

// Copies memory that may not be there.
static bool peek(uint64_t address, void *to, size_t bytes)
{
    SIZE_T done = 0;
    return ReadProcessMemory(GetCurrentProcess(), (const void *)(uintptr_t)address, to, bytes,
                             &done) &&
           done == bytes;
}

static uint64_t word_at(const sample *s, uint32_t offset)
{
    uint64_t word;
    memcpy(&word, s->tensor + offset, sizeof word);
    return word;
}

static bool dims_match(const sample *s, uint64_t address)
{
    int64_t dims[8];
    if (s->rank == 0)
        return true;
    return peek(address, dims, s->rank * sizeof *dims) &&
           memcmp(dims, s->dims, s->rank * sizeof *dims) == 0;
}

static bool explains_all(const sample *samples, uint32_t rank_at, uint32_t dims_at)
{
    for (uint32_t i = 0; i < SAMPLES; i++)
        if (word_at(&samples[i], rank_at) != samples[i].rank ||
            !dims_match(&samples[i], word_at(&samples[i], dims_at)))
            return false;
    return true;
}

// A span is a length and a pointer side by side, in either order.
static bool find_span(hk_tensor_layout *layout, const sample *samples)
{
    for (uint32_t at = 0; at + 16 <= SCAN_BYTES; at += 8) {
        for (uint32_t order = 0; order < 2; order++) {
            layout->rank_at = at + (order ? 8 : 0);
            layout->dims_at = at + (order ? 0 : 8);
            if (explains_all(samples, layout->rank_at, layout->dims_at))
                return true;
        }
    }
    return false;
}

static bool in_module(const hk_module *m, uint64_t address)
{
    return address - (uint64_t)(uintptr_t)m->base < m->size;
}

// Element types are objects inside the runtime's own data.
static bool find_type(const hk_module *m, hk_tensor_layout *layout, const sample *samples)
{
    for (uint32_t at = 0; at + 8 <= SCAN_BYTES; at += 8) {
        uint64_t of_float = word_at(&samples[0], at), of_int64 = word_at(&samples[2], at);
        bool fits = of_float != of_int64 && in_module(m, of_float) && in_module(m, of_int64);
        for (uint32_t i = 0; i < SAMPLES && fits; i++)
            fits = word_at(&samples[i], at) ==
                   (samples[i].element_type == SAMPLE_FLOAT ? of_float : of_int64);
        layout->type_at = at;
        if (fits)
            return true;
    }
    return false;
}

static bool take_sample(hk_module *m, OrtMemoryInfo *cpu, sample *s)
{
    static int64_t storage[80]; // never read: tensors of this size need an address
    size_t bytes = s->element_type == SAMPLE_INT64 ? 8 : 4;
    for (size_t i = 0; i < s->rank; i++)
        bytes *= (size_t)s->dims[i];
    OrtStatus *status = ORT_CALL(m, CreateTensorWithDataAsOrtValue)(
        cpu, storage, bytes, s->dims, s->rank, s->element_type, &s->value);
    if (status) {
        ORT_CALL(m, ReleaseStatus)(status);
        return false;
    }
    return peek((uint64_t)(uintptr_t)s->value, s->words, sizeof s->words) &&
           peek(s->words[0], s->tensor, sizeof s->tensor);
}

static bool same_type(const hk_module *m, const sample *samples)
{
    for (uint32_t i = 0; i < SAMPLES; i++)
        if (samples[i].words[2] != samples[0].words[2])
            return false;
    return in_module(m, samples[0].words[2]);
}

static bool find(hk_module *m, hk_tensor_layout *layout, sample *samples, OrtMemoryInfo *cpu)
{
    for (uint32_t i = 0; i < SAMPLES; i++)
        if (!take_sample(m, cpu, &samples[i]))
            return false;
    if (!same_type(m, samples) || !find_span(layout, samples) || !find_type(m, layout, samples))
        return false;
    layout->tensor_type = samples[0].words[2];
    hk_layout_learn(layout, samples[0].value, SAMPLE_FLOAT);
    hk_layout_learn(layout, samples[2].value, SAMPLE_INT64);
    return true;
}

void hk_layout_find(hk_module *m)
{
    static SRWLOCK lock = SRWLOCK_INIT;
    hk_tensor_layout *layout = &m->layout;
    AcquireSRWLockExclusive(&lock);
    if (atomic_load(&layout->state) == HK_LAYOUT_UNKNOWN) {
        sample samples[SAMPLES];
        memcpy(samples, g_samples, sizeof samples);
        OrtMemoryInfo *cpu = NULL;
        OrtStatus *status = ORT_CALL(m, CreateCpuMemoryInfo)(0, 0, &cpu);
        bool found = !status && find(m, layout, samples, cpu);
        for (uint32_t i = 0; i < SAMPLES; i++)
            if (samples[i].value)
                ORT_CALL(m, ReleaseValue)(samples[i].value);
        if (cpu)
            ORT_CALL(m, ReleaseMemoryInfo)(cpu);
        if (status)
            ORT_CALL(m, ReleaseStatus)(status);
        atomic_store(&layout->state, found ? HK_LAYOUT_USABLE : HK_LAYOUT_UNUSABLE);
    }
    ReleaseSRWLockExclusive(&lock);
}

void hk_layout_learn(hk_tensor_layout *layout, const OrtValue *value, int element_type)
{
    static SRWLOCK lock = SRWLOCK_INIT;
    const uint64_t *words = (const uint64_t *)value;
    if (words[2] != layout->tensor_type || !words[0])
        return;
    uint64_t type = *(const uint64_t *)((const uint8_t *)(uintptr_t)words[0] + layout->type_at);
    AcquireSRWLockExclusive(&lock);
    uint32_t count = atomic_load(&layout->type_count);
    uint32_t i = 0;
    while (i < count && layout->types[i].pointer != type)
        i++;
    if (i == count && count < HK_LAYOUT_TYPES) {
        layout->types[count].pointer = type;
        layout->types[count].element_type = element_type;
        atomic_store_explicit(&layout->type_count, count + 1, memory_order_release);
    }
    ReleaseSRWLockExclusive(&lock);
}
