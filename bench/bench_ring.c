// SPDX-License-Identifier: MIT
// Nanoseconds per record of the size of a Run event, timestamp included, with a consumer that keeps
// up. Prints key=value lines.
#include "common/os.h"
#include "tracelogging/channel_inline.h"
#include "tracelogging/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RING_BYTES (256u * 1024u)
#define BATCH      4096 // records between two drains; fits the ring
#define BATCHES    500

static void ignore(void *context, const tl_record *record, const uint8_t *payload)
{
    (void)record;
    (void)payload;
    ++*(uint64_t *)context;
}

static uint64_t write_batch(tl_producer *p)
{
    uint64_t begin = cm_monotonic_ns();
    for (uint32_t i = 0; i < BATCH; i++) {
        tl_Run *run = tl_producer_begin_inline(p, sizeof *run);
        if (!run)
            continue;
        *run = (tl_Run){.duration_ticks = i, .session = 1, .run = i, .in_flight = 1};
        tl_producer_end_inline(p, TL_EVENT_Run, __builtin_ia32_rdtsc(), sizeof *run);
    }
    return cm_monotonic_ns() - begin;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

int main(void)
{
    static uint64_t times[BATCHES];
    size_t bytes = tl_section_bytes(4, RING_BYTES);
    char *block = calloc(1, bytes + 4096);
    if (!block)
        return 1;
    void *section = block + (4096 - (uintptr_t)block % 4096);
    tl_section_init(section, 4, RING_BYTES);
    tl_consumer *consumer = tl_consumer_create(section, 4, RING_BYTES);
    tl_producer producer = {0};
    uint64_t seen = 0;
    tl_producer_claim(&producer, section, 1);
    for (int i = 0; i < BATCHES; i++) {
        times[i] = write_batch(&producer);
        tl_consumer_drain(consumer, ignore, &seen);
    }
    qsort(times, BATCHES, sizeof *times, by_value);
    printf("record_ns_p10=%.2f\n", (double)times[BATCHES / 10] / BATCH);
    printf("record_ns_p50=%.2f\n", (double)times[BATCHES / 2] / BATCH);
    printf("records_seen=%llu\n", (unsigned long long)seen);
    tl_consumer_destroy(consumer);
    free(block);
    return seen == (uint64_t)BATCH * BATCHES ? 0 : 1;
}
