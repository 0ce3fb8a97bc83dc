// SPDX-License-Identifier: MIT
// A record is a length, a kind and its words, all of 8 bytes; one never wraps: where the end of the
// ring is too near, a filler takes the rest. Positions only grow.
#include "dashboard/feed.h"

#include "common/os.h"
#include "live_state.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define WORDS          (1u << 19) // 4 MiB
#define RESERVED       (WORDS / 4)
#define TEXT_BYTES     1000u // longer ones are cut: live_state.h
#define TEXTS_MOST     (4u << 20)
#define NAP_MS         5u
#define BATCHES_A_TURN 256u // between two looks at the end

enum { KIND_FILLER = 100, KIND_TEXT, KIND_PROGRESS };

struct da_feed {
    da_live *live;
    pthread_t thread;
    atomic_bool stop;
    _Atomic uint64_t written, read, dropped; // in words; rows
    uint8_t *told;                           // a bit for each text; the capture's thread only
    size_t told_bytes;
    uint64_t told_dropped; // the emptying thread's
    uint64_t *words;
};

// ---------------------------------------------------------------------------------------- filling

// The place of `count` words behind a head, NULL if there is no room.
static uint64_t *begin_record(da_feed *f, uint64_t kind, size_t count, size_t reserved,
                              uint64_t *out_end)
{
    uint64_t at = atomic_load_explicit(&f->written, memory_order_relaxed);
    uint64_t read = atomic_load_explicit(&f->read, memory_order_acquire);
    size_t place = (size_t)(at % WORDS), size = count + 1;
    size_t filler = place + size > WORDS ? WORDS - place : 0;
    if (at - read + filler + size > WORDS - reserved)
        return NULL;
    if (filler)
        f->words[place] = (uint64_t)filler << 32 | KIND_FILLER;
    at += filler;
    place = (size_t)(at % WORDS);
    f->words[place] = (uint64_t)size << 32 | kind;
    *out_end = at + size;
    return &f->words[place + 1];
}

static void end_record(da_feed *f, uint64_t end)
{
    atomic_store_explicit(&f->written, end, memory_order_release);
}

static bool add(da_feed *f, uint64_t kind, const int64_t *values, size_t count, size_t reserved)
{
    uint64_t end;
    uint64_t *place = begin_record(f, kind, count, reserved, &end);
    if (!place)
        return false;
    memcpy(place, values, count * sizeof *values);
    end_record(f, end);
    return true;
}

static bool note_told(da_feed *f, int64_t id)
{
    size_t byte = (size_t)id / 8;
    if (byte >= f->told_bytes) {
        size_t bytes = f->told_bytes ? f->told_bytes : 1024;
        while (bytes <= byte)
            bytes *= 2;
        uint8_t *larger = realloc(f->told, bytes);
        if (!larger)
            return false;
        memset(larger + f->told_bytes, 0, bytes - f->told_bytes);
        f->told = larger;
        f->told_bytes = bytes;
    }
    f->told[byte] |= (uint8_t)(1u << (id % 8));
    return true;
}

static bool is_told(const da_feed *f, int64_t id)
{
    size_t byte = (size_t)id / 8;
    return byte < f->told_bytes && f->told[byte] >> (id % 8) & 1;
}

// Texts come before the first row that refers to them.
static void add_text(da_feed *f, const tm_writer *w, int64_t id)
{
    size_t len;
    uint64_t end;
    if (id <= 0 || id > (int64_t)TEXTS_MOST || is_told(f, id))
        return;
    const char *text = tm_writer_text(w, id, &len);
    if (len > TEXT_BYTES) {
        len = TEXT_BYTES;
        while (len && ((uint8_t)text[len] & 0xC0) == 0x80)
            len--;
    }
    uint64_t *place = len ? begin_record(f, KIND_TEXT, 2 + (len + 7) / 8, 0, &end) : NULL;
    if (!place || !note_told(f, id))
        return;
    place[0] = (uint64_t)id;
    place[1] = len;
    memcpy(place + 2, text, len);
    end_record(f, end);
}

static bool is_frequent(tm_kind kind)
{
    return kind == TM_KIND_run || kind == TM_KIND_op || kind == TM_KIND_sample ||
           kind == TM_KIND_run_memory || kind == TM_KIND_memory;
}

void da_feed_row(void *context, const tm_writer *w, tm_kind kind, const int64_t *values)
{
    da_feed *f = context;
    if (!da_live_wants(kind))
        return;
    const tm_kind_info *info = tm_kind_get(kind);
    for (unsigned i = 0; i < info->column_count && !is_frequent(kind); i++)
        if (info->columns[i].type == TM_STR)
            add_text(f, w, values[i]);
    if (!add(f, kind, values, info->column_count, is_frequent(kind) ? RESERVED : 0))
        atomic_fetch_add_explicit(&f->dropped, 1, memory_order_relaxed);
}

void da_feed_progress(da_feed *f, int64_t now_ns, uint64_t utc_ns, uint64_t file_bytes)
{
    const int64_t values[] = {now_ns, (int64_t)utc_ns, (int64_t)file_bytes};
    add(f, KIND_PROGRESS, values, 3, RESERVED);
}

// --------------------------------------------------------------------------------------- emptying

static void take(da_live *live, uint64_t kind, const uint64_t *words)
{
    int64_t values[TM_MAX_COLUMNS];
    if (kind < TM_KIND_COUNT) {
        memcpy(values, words, tm_kind_get((tm_kind)kind)->column_count * sizeof *values);
        da_take_row(live, (tm_kind)kind, values);
    } else if (kind == KIND_TEXT) {
        da_take_text(live, (int64_t)words[0], (const char *)(words + 2), (size_t)words[1]);
    } else if (kind == KIND_PROGRESS) {
        da_take_time(live, (int64_t)words[0]);
        da_take_utc(live, (int64_t)words[0], words[1]);
        live->file_bytes = words[2];
    }
}

// Under one lock; false: there was nothing.
static bool take_batch(da_feed *f)
{
    uint64_t read = atomic_load_explicit(&f->read, memory_order_relaxed);
    uint64_t written = atomic_load_explicit(&f->written, memory_order_acquire);
    if (read == written)
        return false;
    da_lock(f->live);
    for (unsigned i = 0; i < DA_BATCH && read < written; i++) {
        const uint64_t *words = &f->words[read % WORDS];
        take(f->live, words[0] & 0xFFFFFFFF, words + 1);
        read += words[0] >> 32;
    }
    da_unlock(f->live);
    atomic_store_explicit(&f->read, read, memory_order_release);
    return true;
}

static bool empty(da_feed *f)
{
    bool any = false;
    for (unsigned i = 0; i < BATCHES_A_TURN && take_batch(f); i++)
        any = true;
    uint64_t dropped = atomic_load_explicit(&f->dropped, memory_order_relaxed);
    if (dropped != f->told_dropped)
        da_live_dropped(f->live, dropped);
    f->told_dropped = dropped;
    return any;
}

static void *feed_thread(void *context)
{
    da_feed *f = context;
    for (;;) {
        bool stop = atomic_load(&f->stop);
        if (empty(f))
            continue;
        if (stop)
            return NULL;
        cm_sleep_ms(NAP_MS);
    }
}

cm_status da_feed_start(da_live *live, da_feed **out)
{
    da_feed *f = calloc(1, sizeof *f);
    if (f)
        f->words = malloc(WORDS * sizeof *f->words);
    if (!f || !f->words) {
        free(f);
        return cm_fail(CM_NO_MEMORY, "There is not enough memory for the live view.");
    }
    f->live = live;
    if (pthread_create(&f->thread, NULL, feed_thread, f) != 0) {
        free(f->words);
        free(f);
        return cm_fail(CM_FAILED, "The system did not start another thread.");
    }
    *out = f;
    return CM_OK;
}

void da_feed_stop(da_feed *f)
{
    if (!f)
        return;
    atomic_store(&f->stop, true);
    pthread_join(f->thread, NULL);
    free(f->told);
    free(f->words);
    free(f);
}
