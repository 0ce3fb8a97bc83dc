// SPDX-License-Identifier: MIT
// See histogram.h. Must never lose a value in silence and never grow beyond 56 blocks of 4 KB.
#include "common/histogram.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define PART_BITS    9
#define OCTAVE_COUNT (64 - PART_BITS + 1) // the first one holds 0 .. 511, one bucket a value

_Static_assert(1 << PART_BITS == CM_HISTOGRAM_PARTS, "the two describe the same buckets");

typedef struct bucket {
    unsigned octave;
    unsigned part;
} bucket;

static bucket bucket_of(uint64_t value)
{
    if (value < CM_HISTOGRAM_PARTS)
        return (bucket){0, (unsigned)value};
    unsigned top_bit = 63u - (unsigned)__builtin_clzll(value);
    unsigned shift = top_bit - PART_BITS;
    return (bucket){shift + 1, (unsigned)(value >> shift) & (CM_HISTOGRAM_PARTS - 1)};
}

static uint64_t middle_of(unsigned octave, unsigned part)
{
    if (octave == 0)
        return part;
    unsigned shift = octave - 1;
    uint64_t low = ((uint64_t)CM_HISTOGRAM_PARTS + part) << shift;
    return low + (((uint64_t)1 << shift) >> 1);
}

void cm_histogram_init(cm_histogram *h)
{
    memset(h, 0, sizeof *h);
}

void cm_histogram_deinit(cm_histogram *h)
{
    if (h->octaves)
        for (unsigned i = 0; i < OCTAVE_COUNT; i++)
            free(h->octaves[i]);
    free(h->octaves);
    free(h->exact);
    memset(h, 0, sizeof *h);
}

static void add_to_bucket(cm_histogram *h, bucket at, uint64_t times)
{
    uint64_t *octave = h->octaves[at.octave];
    if (!octave) {
        octave = calloc(CM_HISTOGRAM_PARTS, sizeof *octave);
        if (!octave) {
            h->uncounted += times;
            return;
        }
        h->octaves[at.octave] = octave;
    }
    octave[at.part] += times;
}

static bool start_buckets(cm_histogram *h)
{
    h->octaves = calloc(OCTAVE_COUNT, sizeof *h->octaves);
    if (!h->octaves)
        return false;
    for (uint32_t i = 0; i < h->exact_count; i++)
        add_to_bucket(h, bucket_of(h->exact[i]), 1);
    free(h->exact);
    h->exact = NULL;
    h->exact_count = h->exact_capacity = 0;
    return true;
}

static bool add_exact(cm_histogram *h, uint64_t value)
{
    if (h->exact_count == CM_HISTOGRAM_EXACT)
        return false;
    if (h->exact_count == h->exact_capacity) {
        uint32_t capacity = h->exact_capacity ? h->exact_capacity * 2 : 8;
        uint64_t *grown = realloc(h->exact, capacity * sizeof *grown);
        if (!grown)
            return false;
        h->exact = grown;
        h->exact_capacity = capacity;
    }
    h->exact[h->exact_count++] = value;
    return true;
}

// Into the list or the buckets; count and moments are the caller's business.
static void store(cm_histogram *h, uint64_t value)
{
    if (!h->octaves) {
        if (add_exact(h, value))
            return;
        if (!start_buckets(h)) {
            h->uncounted++;
            return;
        }
    }
    add_to_bucket(h, bucket_of(value), 1);
}

static uint64_t add_saturating(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

void cm_histogram_add(cm_histogram *h, uint64_t value)
{
    store(h, value);
    if (h->count == 0 || value < h->min)
        h->min = value;
    if (value > h->max)
        h->max = value;
    h->count++;
    h->sum = add_saturating(h->sum, value);
    double delta = (double)value - h->mean;
    h->mean += delta / (double)h->count;
    h->m2 += delta * ((double)value - h->mean);
}

void cm_histogram_merge(cm_histogram *into, const cm_histogram *from)
{
    if (from->count == 0)
        return;
    for (uint32_t i = 0; i < from->exact_count; i++)
        store(into, from->exact[i]);
    if (from->octaves && !into->octaves && !start_buckets(into)) {
        into->uncounted += from->count - from->uncounted;
    } else if (from->octaves) {
        for (unsigned o = 0; o < OCTAVE_COUNT; o++)
            for (unsigned p = 0; from->octaves[o] && p < CM_HISTOGRAM_PARTS; p++)
                if (from->octaves[o][p])
                    add_to_bucket(into, (bucket){o, p}, from->octaves[o][p]);
    }
    into->uncounted += from->uncounted;
    // Chan's formula for the moments of two samples together
    double a = (double)into->count, b = (double)from->count, delta = from->mean - into->mean;
    into->mean += delta * b / (a + b);
    into->m2 += from->m2 + delta * delta * a * b / (a + b);
    if (into->count == 0 || from->min < into->min)
        into->min = from->min;
    if (from->max > into->max)
        into->max = from->max;
    into->count += from->count;
    into->sum = add_saturating(into->sum, from->sum);
}

static int compare_values(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t exact_at_rank(const cm_histogram *h, uint64_t rank)
{
    uint64_t sorted[CM_HISTOGRAM_EXACT];
    memcpy(sorted, h->exact, h->exact_count * sizeof *sorted);
    qsort(sorted, h->exact_count, sizeof *sorted, compare_values);
    return sorted[rank - 1];
}

static uint64_t bucket_at_rank(const cm_histogram *h, uint64_t rank)
{
    uint64_t seen = 0;
    for (unsigned o = 0; o < OCTAVE_COUNT; o++) {
        for (unsigned p = 0; h->octaves[o] && p < CM_HISTOGRAM_PARTS; p++) {
            seen += h->octaves[o][p];
            if (seen >= rank) {
                uint64_t value = middle_of(o, p);
                return value < h->min ? h->min : value > h->max ? h->max : value;
            }
        }
    }
    return h->max;
}

uint64_t cm_histogram_percentile(const cm_histogram *h, uint32_t millionths)
{
    const uint64_t million = 1000000;
    uint64_t n = h->count - h->uncounted;
    if (n == 0 || millionths >= million)
        return h->max;
    // ceil(n * millionths / million) without overflow and without rounding
    uint64_t rank = n / million * millionths + (n % million * millionths + million - 1) / million;
    if (rank <= 1)
        return h->min;
    if (rank == n)
        return h->max;
    return h->octaves ? bucket_at_rank(h, rank) : exact_at_rank(h, rank);
}

double cm_histogram_stddev(const cm_histogram *h)
{
    return h->count < 2 ? 0.0 : sqrt(h->m2 / (double)(h->count - 1));
}

uint64_t cm_histogram_count_between(const cm_histogram *h, uint64_t low, uint64_t high)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < h->exact_count; i++)
        total += h->exact[i] >= low && h->exact[i] < high;
    for (unsigned o = 0; h->octaves && o < OCTAVE_COUNT; o++) {
        for (unsigned p = 0; h->octaves[o] && p < CM_HISTOGRAM_PARTS; p++) {
            uint64_t middle = middle_of(o, p);
            if (middle >= low && middle < high)
                total += h->octaves[o][p];
        }
    }
    return total;
}

uint64_t cm_round_step(uint64_t low, uint64_t top, uint64_t most)
{
    static const uint64_t factors[] = {1, 2, 5};
    for (uint64_t power = 1; power < UINT64_MAX / 100; power *= 10)
        for (size_t i = 0; i < 3; i++)
            if (top / (power * factors[i]) - low / (power * factors[i]) < most)
                return power * factors[i];
    return 0;
}
