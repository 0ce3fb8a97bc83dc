// SPDX-License-Identifier: MIT
#include "capture_internal.h"

#include "common/os.h"
#include "common/text.h"
#include "host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AGE_FLUSHES  8u          // an event is read long before that many flushes are over
#define CLOCK_ROW_NS 1000000000u // an anchor in the file every second

enum { LEVEL_WARNING = 3 }; // timeline/kinds.h: log.level

int64_t co_intern(co_capture *c, const char *text, size_t len)
{
    int64_t id = tm_writer_string(c->writer, text, len);
    c->textless += len && !id;
    return id;
}

static void add_clock_row(co_capture *c, const co_anchor *anchor)
{
    const int64_t row[] = {[TM_clock_time] = (int64_t)anchor->ticks,
                           [TM_clock_ticks] = (int64_t)anchor->ticks,
                           [TM_clock_qpc] = (int64_t)anchor->qpc,
                           [TM_clock_utc] = (int64_t)anchor->utc_ns};
    co_pending_add(&c->pending, TM_KIND_clock, row);
    c->last_clock_row = anchor->qpc_ns;
}

// "Not found" and "access denied" are about targets for whoever reads the exit code.
static cm_status file_failure(cm_status status)
{
    char sentence[1024];
    snprintf(sentence, sizeof sentence, "%s", cm_error_text(status));
    return cm_fail(CM_IO, "%s Name another file with -o.", sentence);
}

cm_status co_capture_check(const char *path)
{
    cm_status status = cm_file_can_create(path);
    return status == CM_OK ? CM_OK : file_failure(status);
}

cm_status co_capture_create(const char *path, co_anchor start, co_capture **out)
{
    co_capture *c = calloc(1, sizeof *c);
    if (!c)
        return cm_fail(CM_NO_MEMORY, "Out of memory while starting the capture.");
    co_clock_start(&c->clock, start);
    co_host host;
    co_host_facts(&host);
    tm_header header = {.ortscope_version = ORTSCOPE_VERSION,
                        .start_utc_ns = start.utc_ns,
                        .os = host.os,
                        .cpu = host.cpu,
                        .cpu_count = host.cpu_count};
    cm_status status = tm_writer_create(path, &header, &c->writer);
    if (status != CM_OK) {
        free(c);
        return file_failure(status);
    }
    add_clock_row(c, &start);
    co_marks_open(&c->marks, tl_etw_system());
    co_marks_capture_begin(&c->marks, start.utc_ns, path);
    *out = c;
    return CM_OK;
}

static void tell_choice(co_capture *c, uint64_t ticks)
{
    const co_op_keep *k = &c->op_keep;
    const int64_t row[] = {[TM_op_choice_time] = (int64_t)ticks,
                           [TM_op_choice_mode] = k->choice.mode,
                           [TM_op_choice_value] = k->choice.value,
                           [TM_op_choice_left_out] = (int64_t)k->left_out};
    co_pending_add(&c->pending, TM_KIND_op_choice, row);
}

void co_capture_choose_ops(co_capture *c, co_op_choice choice)
{
    c->op_keep.choice = choice;
    tell_choice(c, c->clock.first.ticks);
}

// ----------------------------------------------------------------------------------------- targets

static cm_status open_channel(target_state *t, const co_target *target)
{
    t->consumer = tl_consumer_create(target->section, target->ring_count, target->ring_bytes);
    if (!t->consumer)
        return CM_FAILED;
    uint8_t schema[TL_SCHEMA_BYTES];
    size_t bytes = tl_consumer_schema(t->consumer, schema);
    t->decoder = tl_decoder_create(schema, bytes);
    if (!t->decoder) {
        tl_consumer_destroy(t->consumer);
        return cm_fail(CM_CORRUPT,
                       "The hook in process %u describes its events in a way that this "
                       "ortscope does not understand; restart that program.",
                       target->pid);
    }
    return CM_OK;
}

cm_status co_target_add(co_capture *c, const co_target *target, uint32_t *out_id)
{
    if (c->target_count == c->target_capacity) {
        size_t capacity = c->target_capacity ? c->target_capacity * 2 : 4;
        target_state *larger = realloc(c->targets, capacity * sizeof *larger);
        if (!larger)
            return cm_fail(CM_NO_MEMORY, "Out of memory while adding process %u.", target->pid);
        c->targets = larger;
        c->target_capacity = capacity;
    }
    target_state t = {.id = c->last_target_id + 1, .pid = target->pid};
    if (target->section)
        CM_TRY(open_channel(&t, target));
    co_watched watched = {
        .pid = target->pid, .id = t.id, .hooked = target->section, .end_qpc = UINT64_MAX};
    cm_buf_append(&c->watched, &watched, sizeof watched);
    c->last_target_id = t.id;
    c->targets[c->target_count++] = t;
    co_anchor now = co_anchor_now();
    const int64_t row[] = {
        [TM_process_process] = t.id,
        [TM_process_pid] = target->pid,
        [TM_process_parent] = target->parent_id,
        [TM_process_time] = (int64_t)now.ticks,
        [TM_process_how] = target->how,
        [TM_process_program] = co_intern(c, target->program, strlen(target->program)),
        [TM_process_command_line] =
            target->command_line ? co_intern(c, target->command_line, strlen(target->command_line))
                                 : 0};
    co_pending_add(&c->pending, TM_KIND_process, row);
    co_marks_target_begin(&c->marks, target->pid, t.id, target->how, target->program);
    *out_id = t.id;
    return CM_OK;
}

typedef struct drain_context {
    co_capture *c;
    target_state *t;
} drain_context;

// Whatever is missing of it, an event counts once.
static void take_event(co_capture *c, const target_state *t, const tl_record *record,
                       tl_event event, const tl_field_value *values)
{
    uint64_t textless = c->textless;
    if (!co_rows_from_event(c, t, record, event, values))
        c->unnumbered++;
    else if (c->textless > textless)
        c->textless = textless + 1;
}

static void on_record(void *context, const tl_record *record, const uint8_t *payload)
{
    drain_context *d = context;
    tl_event event;
    tl_field_value values[TL_FIELDS_MAX];
    if (tl_decode(d->t->decoder, record->event, payload, record->size - sizeof *record, &event,
                  values))
        take_event(d->c, d->t, record, event, values);
    else
        d->t->undecodable++;
}

static size_t drain_target(co_capture *c, target_state *t)
{
    drain_context context = {c, t};
    return !t->consumer ? 0 : tl_consumer_drain(t->consumer, on_record, &context);
}

size_t co_capture_drain(co_capture *c)
{
    size_t records = 0;
    for (size_t i = 0; i < c->target_count; i++)
        records += drain_target(c, &c->targets[i]);
    return records;
}

// timeline/kinds.h: lost.cause
enum { LOST_UNDECODABLE = 3, LOST_NO_ROOM = 4 };

bool co_tell_loss(co_capture *c, uint32_t process, int cause, uint64_t events)
{
    co_anchor now = co_anchor_now();
    const int64_t row[] = {[TM_lost_process] = process,
                           [TM_lost_time] = (int64_t)now.ticks,
                           [TM_lost_cause] = cause,
                           [TM_lost_events] = (int64_t)events};
    if (!co_pending_try(&c->pending, TM_KIND_lost, row))
        return false;
    c->stats.lost_events += events;
    co_marks_loss(&c->marks, process, cause, events);
    return true;
}

// The limits are those of the whole capture, so no process is named.
static void tell_no_room(co_capture *c)
{
    uint64_t now = c->unnumbered + c->textless + c->pending.unstored;
    if (now != c->no_room_told && co_tell_loss(c, 0, LOST_NO_ROOM, now - c->no_room_told))
        c->no_room_told = now;
}

// Rows for what was lost since the last time; what finds no memory is told the next time.
static void tell_losses(co_capture *c, target_state *t)
{
    if (!t->consumer)
        return;
    tl_losses now = tl_consumer_losses(t->consumer);
    const uint64_t lost[] = {now.ring_full, now.no_ring, now.damaged, t->undecodable};
    uint64_t *const told[] = {&t->told.ring_full, &t->told.no_ring, &t->told.damaged,
                              &t->undecodable_told};
    for (int cause = 0; cause <= LOST_UNDECODABLE; cause++)
        if (lost[cause] != *told[cause] &&
            co_tell_loss(c, t->id, cause, lost[cause] - *told[cause]))
            *told[cause] = lost[cause];
}

void co_target_end(co_capture *c, uint32_t id, int reason, int64_t exit_code)
{
    size_t i = 0;
    while (i < c->target_count && c->targets[i].id != id)
        i++;
    if (i == c->target_count)
        return;
    target_state *t = &c->targets[i];
    // What was published before the end may be more than one drain hands on.
    for (int round = 0; round < 4 && drain_target(c, t); round++)
        continue;
    tell_losses(c, t);
    co_anchor now = co_anchor_now();
    const int64_t row[] = {[TM_process_end_process] = id,
                           [TM_process_end_time] = (int64_t)now.ticks,
                           [TM_process_end_reason] = reason,
                           [TM_process_end_exit_code] = exit_code};
    co_pending_add(&c->pending, TM_KIND_process_end, row);
    co_marks_target_end(&c->marks, t->pid, id, reason, exit_code);
    co_watched *watched = co_watched_of(c, id);
    if (watched)
        watched->end_qpc = now.qpc;
    if (t->consumer) {
        tl_decoder_destroy(t->decoder);
        tl_consumer_destroy(t->consumer);
    }
    c->targets[i] = c->targets[--c->target_count];
}

// ---------------------------------------------------------------------------------------- the file

void co_capture_log(co_capture *c, uint32_t target_id, int level, const char *text)
{
    co_anchor now = co_anchor_now();
    const int64_t row[] = {[TM_log_process] = target_id,
                           [TM_log_time] = (int64_t)now.ticks,
                           [TM_log_level] = level,
                           [TM_log_message] = co_intern(c, text, strlen(text))};
    co_pending_add(&c->pending, TM_KIND_log, row);
}

void co_capture_mark(co_capture *c, const char *text)
{
    co_anchor now = co_anchor_now();
    const int64_t row[] = {
        [TM_mark_time] = (int64_t)now.ticks, [TM_mark_text] = co_intern(c, text, strlen(text))};
    co_pending_add(&c->pending, TM_KIND_mark, row);
}

void co_capture_watch(co_capture *c, tm_row_watcher watcher, void *context)
{
    tm_writer_watch(c->writer, watcher, context);
}

void co_capture_settle(co_capture *c)
{
    for (size_t i = 0; i < c->target_count; i++)
        tell_losses(c, &c->targets[i]);
    tell_no_room(c);
    co_anchor now = co_anchor_now();
    co_clock_add(&c->clock, now);
    if (now.qpc_ns - c->last_clock_row >= CLOCK_ROW_NS)
        add_clock_row(c, &now);
    co_pending_write(&c->pending, &c->clock, c->writer);
    c->stats.elapsed_ns = now.qpc_ns - c->clock.first.qpc_ns;
    c->stats.utc_ns = now.utc_ns;
}

// A slow run has all its operators only where it was alone, and the file would not show it. How
// many are missing is known at the end, which a recording that is killed never sees.
static void tell_leaving_out(co_capture *c)
{
    if (!c->op_keep.left_out || c->leaving_out_told)
        return;
    c->leaving_out_told = true;
    tell_choice(c, co_anchor_now().ticks);
    co_capture_log(
        c, 0, LEVEL_WARNING,
        "It is not known which run some operators belong to, mostly because several were "
        "under way at once: these are left out, so slow runs may lack some of theirs. "
        "How many is told at the end of the recording.");
}

static void tell_left_out(co_capture *c)
{
    char count[32], text[128];
    if (!c->op_keep.left_out)
        return;
    cm_format_count(count, sizeof count, c->op_keep.left_out);
    snprintf(text, sizeof text,
             "%s execution%s of operators left out: which run they belong to is not known.", count,
             c->op_keep.left_out == 1 ? "" : "s");
    co_capture_log(c, 0, LEVEL_WARNING, text);
    tell_choice(c, co_anchor_now().ticks);
    c->leaving_out_told = true; // nobody has to wait for the end any more
}

cm_status co_capture_flush(co_capture *c)
{
    tell_leaving_out(c);
    co_capture_settle(c);
    co_op_keep_write(&c->op_keep, &c->pending, &c->clock, c->writer);
    if (++c->flushes % AGE_FLUSHES == 0)
        co_ids_age(&c->kernels); // sessions may come and go for hours, and kernels with them
    cm_status status = tm_writer_flush(c->writer);
    c->stats.file_bytes = tm_writer_file_bytes(c->writer);
    return status;
}

co_stats co_capture_stats(const co_capture *c)
{
    return c->stats;
}

cm_status co_capture_close(co_capture *c)
{
    while (c->target_count)
        co_target_end(c, c->targets[0].id, 1, -1);
    cm_status decided = co_capture_flush(c);
    co_op_keep_end(&c->op_keep);
    tell_left_out(c);
    cm_status flushed = co_capture_flush(c);
    cm_status closed = tm_writer_close(c->writer);
    co_marks_capture_end(&c->marks, c->stats.runs, c->stats.lost_events);
    co_marks_close(&c->marks);
    co_pending_deinit(&c->pending);
    co_op_keep_deinit(&c->op_keep);
    co_ids_deinit(&c->modules);
    co_ids_deinit(&c->sessions);
    co_ids_deinit(&c->shapes);
    co_ids_deinit(&c->kernels);
    co_readings_deinit(&c->qnn);
    cm_map_deinit(&c->qnn_lanes);
    co_ids_deinit(&c->allocators);
    cm_buf_deinit(&c->watched);
    free(c->targets);
    free(c);
    return decided != CM_OK ? decided : flushed != CM_OK ? flushed : closed;
}
