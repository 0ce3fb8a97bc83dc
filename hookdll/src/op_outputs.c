// SPDX-License-Identifier: MIT
// The outputs of a kernel that has just run. The C API can only make outputs, not look at them, so
// we look where the runtime keeps them. All values of a graph lie in one array; a table tells, node
// by node, the numbers of its inputs and outputs in that array; the context knows where its node
// begins in the table. The C API tells the addresses of the inputs, and this is how the places are
// found and checked: an arrangement is used only if it leads to the very addresses of all inputs
// that the C API gave, when it is found and again each time. Short lists lie inside their owner
// instead of being pointed to, so both are tried. No address is followed that the system does not
// call readable.
#include "op.h"

#define CONTEXT_WORDS 16u
#define FRAME_WORDS   24u
#define INFO_WORDS    6u
#define VALUE_BYTES   24u // an OrtValue: object, its owner's block, type
#define ATTEMPTS_MAX  200u
#define INDEX_MAX     (1 << 24)
#define NODE_VALUES   64u

enum { CONTEXT_FRAME = 1, CONTEXT_KERNEL = 2 }; // words of a context

typedef struct starts {
    int32_t inputs, implicit, outputs;
} starts;

static bool are_starts(const starts *s, size_t input_count)
{
    return s->inputs >= 0 && s->inputs < INDEX_MAX &&
           (size_t)(s->implicit - s->inputs) == input_count && s->outputs >= s->implicit &&
           s->outputs - s->implicit < 4096;
}

// True if the numbers lead from `all` to each input; at least `needed` of them must be there.
static bool leads_to_inputs(uint64_t all, const int32_t *indexes, const OrtValue *const *inputs,
                            size_t count, size_t needed)
{
    size_t met = 0;
    for (size_t i = 0; i < count; i++) {
        if (!inputs[i])
            continue;
        if (indexes[i] < 0 || indexes[i] >= INDEX_MAX ||
            all + (uint64_t)indexes[i] * VALUE_BYTES != (uint64_t)(uintptr_t)inputs[i])
            return false;
        met++;
    }
    return met >= needed;
}

// ------------------------------------------------------------------------------- an arrangement

// What is to be explained, and copies of what may explain it.
typedef struct scene {
    const uint64_t *context;
    const OrtValue *const *inputs;
    size_t input_count;
    starts starts;
    uint64_t frame_address, info_address;
    uint64_t frame[FRAME_WORDS], info[INFO_WORDS];
} scene;

static bool take_frame(scene *s)
{
    s->frame_address = s->context[CONTEXT_FRAME];
    return hk_copy_living(s->frame_address, s->frame, sizeof s->frame);
}

// How memory is copied: what may be anything, while places are looked for, or what they lead to.
typedef bool copy_fn(uint64_t address, void *to, size_t bytes);

static bool take_info(scene *s, uint32_t info_at, copy_fn *copy)
{
    s->info_address = s->frame[info_at / 8];
    return (s->info_address & 7) == 0 && copy(s->info_address, s->info, sizeof s->info);
}

static bool take_numbers(const scene *s, uint64_t indexes, int32_t numbers[NODE_VALUES],
                         copy_fn *copy)
{
    return copy(indexes + 4 * (uint64_t)(uint32_t)s->starts.inputs, numbers, 4 * s->input_count);
}

// A list's elements are where its word points to, or begin with that word.
static uint64_t pointed_or_here(const uint64_t *words, uint64_t address, uint32_t at, bool here)
{
    return here ? address + at : words[at / 8];
}

// The address of all values if the numbers lead from there to the inputs, else 0.
static uint64_t values_from(const scene *s, const int32_t *numbers, uint32_t values_at,
                            size_t needed)
{
    for (int here = 0; here < 2; here++) {
        uint64_t all = pointed_or_here(s->frame, s->frame_address, values_at, here);
        if (leads_to_inputs(all, numbers, s->inputs, s->input_count, needed))
            return all;
    }
    return 0;
}

// ---------------------------------------------------------------------------------------- finding

static bool try_info(hk_context_layout *layout, const scene *s)
{
    int32_t numbers[NODE_VALUES];
    for (uint32_t j = 0; j < 2 * INFO_WORDS; j++) {
        layout->indexes_at = 8 * (j / 2);
        uint64_t indexes = pointed_or_here(s->info, s->info_address, layout->indexes_at, j % 2);
        if (!take_numbers(s, indexes, numbers, hk_copy_readable))
            continue;
        for (uint32_t i = 1; i < FRAME_WORDS; i++) {
            layout->values_at = 8 * i;
            if (values_from(s, numbers, layout->values_at, 2))
                return true;
        }
    }
    return false;
}

static bool find(hk_context_layout *layout, scene *s)
{
    for (uint32_t at = 8 * (CONTEXT_KERNEL + 1); at + sizeof s->starts <= 8 * CONTEXT_WORDS;
         at += 4) {
        memcpy(&s->starts, (const uint8_t *)s->context + at, sizeof s->starts);
        layout->starts_at = at;
        if (!are_starts(&s->starts, s->input_count))
            continue;
        for (uint32_t i = 1; i < FRAME_WORDS; i++) {
            layout->info_at = 8 * i;
            if (take_info(s, layout->info_at, hk_copy_readable) && try_info(layout, s))
                return true;
        }
    }
    return false;
}

// Two different inputs are needed: one alone could be met by chance.
static bool is_telling(const scene *s)
{
    for (size_t i = 1; i < s->input_count; i++)
        if (s->inputs[0] && s->inputs[i] && s->inputs[i] != s->inputs[0])
            return true;
    return false;
}

static void find_once(hk_context_layout *layout, scene *s)
{
    static SRWLOCK lock = SRWLOCK_INIT;
    if (!is_telling(s))
        return;
    AcquireSRWLockExclusive(&lock);
    if (atomic_load(&layout->state) == HK_LAYOUT_UNKNOWN) {
        if (find(layout, s))
            atomic_store(&layout->state, HK_LAYOUT_USABLE);
        else if (++layout->attempts == ATTEMPTS_MAX)
            atomic_store(&layout->state, HK_LAYOUT_UNUSABLE);
    }
    ReleaseSRWLockExclusive(&lock);
}

// ----------------------------------------------------------------------------------------- using

// NULL: nothing is in it.
static const OrtValue *value_at(uint64_t all, int32_t index)
{
    uint64_t value[3], address = all + (uint64_t)(uint32_t)index * VALUE_BYTES;
    if (index < 0 || index >= INDEX_MAX || !hk_copy_living(address, value, sizeof value))
        return NULL;
    return value[0] && value[2] ? (const OrtValue *)(uintptr_t)address : NULL;
}

static bool take_outputs(const scene *s, uint64_t indexes, uint64_t all, const OrtValue **outputs,
                         size_t count)
{
    int32_t numbers[NODE_VALUES];
    if (count > NODE_VALUES ||
        !hk_copy_living(indexes + 4 * (uint64_t)(uint32_t)s->starts.outputs, numbers, 4 * count))
        return false;
    for (size_t i = 0; i < count; i++)
        outputs[i] = value_at(all, numbers[i]);
    return true;
}

bool hk_context_outputs(hk_context_layout *layout, const void *self, const void *context,
                        const OrtValue *const *inputs, size_t input_count, const OrtValue **outputs,
                        size_t output_count)
{
    scene s = {.context = context, .inputs = inputs, .input_count = input_count};
    int32_t numbers[NODE_VALUES];
    if (s.context[CONTEXT_KERNEL] != (uint64_t)(uintptr_t)self || input_count > NODE_VALUES ||
        !take_frame(&s))
        return false;
    if (atomic_load(&layout->state) == HK_LAYOUT_UNKNOWN)
        find_once(layout, &s);
    if (atomic_load(&layout->state) != HK_LAYOUT_USABLE)
        return false;
    memcpy(&s.starts, (const uint8_t *)context + layout->starts_at, sizeof s.starts);
    if (!are_starts(&s.starts, input_count) || !take_info(&s, layout->info_at, hk_copy_living))
        return false;
    for (int here = 0; here < 2; here++) {
        uint64_t indexes = pointed_or_here(s.info, s.info_address, layout->indexes_at, here);
        uint64_t all = take_numbers(&s, indexes, numbers, hk_copy_living)
                           ? values_from(&s, numbers, layout->values_at, 1)
                           : 0;
        if (all)
            return take_outputs(&s, indexes, all, outputs, output_count);
    }
    return false;
}
