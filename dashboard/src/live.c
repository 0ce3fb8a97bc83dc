// SPDX-License-Identifier: MIT
// The life of the figures of a capture, and which row goes where.
#include "live_state.h"

#include "common/os.h"

#include <stdlib.h>
#include <string.h>

void da_lock(da_live *l)
{
    pthread_mutex_lock(&l->lock);
}

void da_unlock(da_live *l)
{
    pthread_mutex_unlock(&l->lock);
}

static char *copy_of(const char *text)
{
    return text ? strdup(text) : NULL;
}

static void begin_empty(da_live *l)
{
    l->overhead_ns = -1;
    l->since_utc_ns = cm_utc_ns();
    cm_map_init(&l->kernel_by_id);
    cm_buf_init(&l->tensors);
    cm_map_init(&l->counter_by_id);
    cm_map_init(&l->text_by_id);
    cm_buf_init(&l->texts);
    da_ring_init(&l->marks, sizeof(da_mark), DA_MARKS);
    da_ring_init(&l->outliers, sizeof(da_outlier), DA_OUTLIERS);
}

cm_status da_live_create(const da_about *about, da_live **out)
{
    da_live *l = calloc(1, sizeof *l);
    if (!l || pthread_mutex_init(&l->lock, NULL) != 0) {
        free(l);
        return cm_fail(CM_NO_MEMORY, "There is not enough memory for the live view.");
    }
    l->replay = about->replay;
    l->state = about->replay ? DA_PLAYING : DA_RECORDING;
    l->speed = 1;
    l->file = copy_of(about->file);
    l->duration_s = about->duration_s;
    l->counters_hz = about->counters_hz;
    if (about->header) {
        l->os = copy_of(about->header->os);
        l->cpu = copy_of(about->header->cpu);
        l->version = copy_of(about->header->ortscope_version);
        l->cpu_count = about->header->cpu_count;
        l->start_utc_ns = about->header->start_utc_ns;
    }
    begin_empty(l);
    *out = l;
    return CM_OK;
}

static void forget(da_live *l)
{
    for (size_t i = 0; i < l->session_count; i++)
        da_session_free(l->sessions[i]);
    for (size_t i = 0; i < l->counter_count; i++)
        da_counter_free(l->counters[i]);
    free(l->kernels);
    cm_map_deinit(&l->kernel_by_id);
    cm_buf_deinit(&l->tensors);
    cm_map_deinit(&l->counter_by_id);
    cm_map_deinit(&l->text_by_id);
    cm_buf_deinit(&l->texts);
    da_ring_deinit(&l->marks);
    da_ring_deinit(&l->outliers);
    memset(l->sessions, 0, sizeof l->sessions);
    memset(l->counters, 0, sizeof l->counters);
    l->kernels = NULL;
    l->session_count = l->process_count = l->module_count = l->kernel_count = 0;
    l->kernel_capacity = l->counter_count = l->fact_count = l->source_count = l->thread_count = 0;
    l->now_ns = 0;
    l->no_room = l->lost = 0;
    l->kernels_free = l->free_kernel = 0;
    l->some_over = false;
    l->evicted_session = 0;
}

void da_live_destroy(da_live *l)
{
    if (!l)
        return;
    forget(l);
    free(l->file);
    free(l->failure);
    free(l->os);
    free(l->cpu);
    free(l->version);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

void da_live_reset(da_live *l)
{
    da_lock(l);
    forget(l);
    begin_empty(l);
    l->version_count++;
    da_unlock(l);
}

// ------------------------------------------------------------------------------------------ texts

const char *da_text(const da_live *l, int64_t id)
{
    size_t offset;
    if (id <= 0 || !cm_map_find(&l->text_by_id, id, &offset))
        return NULL;
    return (const char *)l->texts.data + offset;
}

void da_take_text(da_live *l, int64_t id, const char *text, size_t len)
{
    if (len > DA_TEXT_LEN) {
        len = DA_TEXT_LEN;
        while (len && ((uint8_t)text[len] & 0xC0) == 0x80)
            len--; // not through a character
    }
    size_t offset = l->texts.len;
    if (id > 0 && !da_text(l, id) && offset + len < DA_TEXT_BYTES) {
        cm_buf_append(&l->texts, text, len);
        cm_buf_append_byte(&l->texts, 0);
        if (l->texts.failed || !cm_map_put(&l->text_by_id, id, offset))
            l->no_room++;
    } else if (id > 0 && offset + len >= DA_TEXT_BYTES) {
        l->no_room++;
    }
}

void da_live_string(da_live *l, int64_t id, const char *text, size_t len)
{
    da_lock(l);
    da_take_text(l, id, text, len);
    da_unlock(l);
}

// ---------------------------------------------------------------------------------- smaller rows

static void on_fact(da_live *l, const int64_t *row)
{
    if (l->fact_count == DA_FACTS) {
        l->no_room++;
        return;
    }
    l->facts[l->fact_count++] = (da_fact){row[TM_fact_about], row[TM_fact_number],
                                          row[TM_fact_name], row[TM_fact_text], row[TM_fact_value]};
}

static void on_mark(da_live *l, const int64_t *row)
{
    da_mark *mark = da_ring_add(&l->marks);
    if (mark)
        *mark = (da_mark){row[TM_mark_time], row[TM_mark_text]};
}

static void on_lost(da_live *l, const int64_t *row)
{
    l->lost += row[TM_lost_events] > 0 ? (uint64_t)row[TM_lost_events] : 0;
}

static void on_overhead(da_live *l, const int64_t *row)
{
    l->overhead_ns = row[TM_overhead_per_run];
}

// ------------------------------------------------------------------------------------------- rows

typedef void (*row_function)(da_live *l, const int64_t *row);

static const row_function functions[TM_KIND_COUNT] = {
    [TM_KIND_process] = da_on_process,
    [TM_KIND_process_end] = da_on_process_end,
    [TM_KIND_module] = da_on_module,
    [TM_KIND_session] = da_on_session,
    [TM_KIND_session_end] = da_on_session_end,
    [TM_KIND_run] = da_on_run,
    [TM_KIND_lost] = on_lost,
    [TM_KIND_overhead] = on_overhead,
    [TM_KIND_mark] = on_mark,
    [TM_KIND_kernel] = da_on_kernel,
    [TM_KIND_kernel_tensor] = da_on_kernel_tensor,
    [TM_KIND_op] = da_on_op,
    [TM_KIND_memory] = da_on_memory,
    [TM_KIND_run_memory] = da_on_run_memory,
    [TM_KIND_counter] = da_on_counter,
    [TM_KIND_sample] = da_on_sample,
    [TM_KIND_sampling] = da_on_sampling,
    [TM_KIND_fact] = on_fact,
};

bool da_live_wants(tm_kind kind)
{
    return kind < TM_KIND_COUNT && functions[kind];
}

void da_take_row(da_live *l, tm_kind kind, const int64_t *values)
{
    if (!da_live_wants(kind))
        return;
    functions[kind](l, values);
    l->version_count++;
}

void da_live_row(da_live *l, tm_kind kind, const int64_t *values)
{
    da_lock(l);
    da_take_row(l, kind, values);
    da_unlock(l);
}

void da_take_time(da_live *l, int64_t now_ns)
{
    if (now_ns > l->now_ns)
        l->now_ns = now_ns;
}

// Both clocks were read one after the other, and the thread may have been kept waiting between: the
// least difference of a second is the true one. Over a longer time the clocks drift apart.
void da_take_utc(da_live *l, int64_t now_ns, uint64_t utc_ns)
{
    int64_t offset = (int64_t)(utc_ns - (uint64_t)now_ns);
    int64_t second = now_ns / 1000000000;
    if (l->has_utc && second == l->utc_second) {
        l->utc_least_ns = offset < l->utc_least_ns ? offset : l->utc_least_ns;
    } else {
        l->utc_offset_ns = l->has_utc ? l->utc_least_ns : offset;
        l->utc_least_ns = offset;
        l->utc_second = second;
    }
    l->utc_offset_ns = offset < l->utc_offset_ns ? offset : l->utc_offset_ns;
    l->has_utc = true;
}

void da_live_time(da_live *l, int64_t now_ns)
{
    da_lock(l);
    da_take_time(l, now_ns);
    da_unlock(l);
}

void da_live_state(da_live *l, da_state state, double speed)
{
    da_lock(l);
    if (l->state == DA_ENDED && !l->replay) { // a pause that came too late
        da_unlock(l);
        return;
    }
    l->version_count += l->state != state;
    if (l->state != state && state == DA_PAUSED)
        l->paused_version = l->version_count;
    l->state = state;
    l->speed = speed;
    da_unlock(l);
}

void da_live_file_bytes(da_live *l, uint64_t bytes)
{
    da_lock(l);
    l->file_bytes = bytes;
    da_unlock(l);
}

void da_live_dropped(da_live *l, uint64_t rows)
{
    da_lock(l);
    l->dropped = rows;
    da_unlock(l);
}

void da_live_counters_hz(da_live *l, double hz)
{
    da_lock(l);
    l->counters_hz = hz;
    l->version_count++;
    da_unlock(l);
}

void da_live_failure(da_live *l, const char *sentence)
{
    da_lock(l);
    free(l->failure);
    l->failure = copy_of(sentence);
    l->version_count++;
    da_unlock(l);
}

uint64_t da_live_version(da_live *l)
{
    da_lock(l);
    uint64_t version = l->state == DA_PAUSED ? l->paused_version : l->version_count;
    da_unlock(l);
    return version;
}
