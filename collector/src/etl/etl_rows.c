// SPDX-License-Identifier: MIT
// What the kernel tells, as rows. A record of a switch, a sample or a fault names a thread or only
// its processor; the process comes from those who are known to the recording (etl_people.c).
#include "etl_rows.h"

#include "etl_text.h"

int64_t co_etl_intern(etl_import *m, etl_text text)
{
    char utf8[4096];
    if (!text.bytes)
        return 0;
    return tm_writer_string(m->writer, utf8, co_etl_text_utf8(text, utf8, sizeof utf8));
}

void co_etl_row(etl_import *m, tm_kind kind, const int64_t *values)
{
    tm_writer_row(m->writer, kind, values);
    m->stats.rows++;
}

static int64_t thread_number(uint32_t tid)
{
    return tid == CO_ETL_UNKNOWN ? -1 : (int64_t)tid;
}

static const etl_life *owner_life(const etl_import *m, uint32_t tid, int64_t time)
{
    return tid == CO_ETL_UNKNOWN ? NULL : m->who.owner(m->who.context, tid, time);
}

static int64_t owner_of(const etl_import *m, uint32_t tid, int64_t time)
{
    const etl_life *life = owner_life(m, tid, time);
    return life ? m->who.number(m->who.context, life) : 0;
}

// Whether a row about this thread is wanted.
static bool is_wanted(const etl_import *m, uint32_t tid, int64_t time)
{
    const etl_life *life = m->only_followed ? owner_life(m, tid, time) : NULL;
    return !m->only_followed || (life && life->followed);
}

// Whose work the record was made in: as it says, or who is on its processor.
static uint32_t thread_of(const etl_import *m, const co_etl_event *e, const etl_fact *f)
{
    return f->tid != CO_ETL_UNKNOWN ? f->tid : m->running[e->cpu % ETL_CPUS_MAX];
}

static void thread_row(etl_import *m, const co_etl_event *e, const etl_fact *f, int64_t ns)
{
    const etl_life *life = m->who.process(m->who.context, f->pid, e->time);
    if (m->only_followed && !(life && life->followed))
        return;
    int64_t number = life ? m->who.number(m->who.context, life) : 0;
    const int64_t row[] = {[TM_thread_process] = number,
                           [TM_thread_thread] = thread_number(f->tid),
                           [TM_thread_time] = ns,
                           [TM_thread_action] = f->action,
                           [TM_thread_name] =
                               life && life->followed ? co_etl_intern(m, f->name) : 0};
    co_etl_row(m, TM_KIND_thread, row);
}

static void image_row(etl_import *m, const co_etl_event *e, const etl_fact *f, int64_t ns)
{
    const etl_life *life = m->who.process(m->who.context, f->pid, e->time);
    if (!life || !life->followed)
        return;
    const int64_t row[] = {
        [TM_image_process] = life->number,    [TM_image_time] = ns,
        [TM_image_action] = f->action,        [TM_image_base] = (int64_t)f->address,
        [TM_image_bytes] = (int64_t)f->bytes, [TM_image_checksum] = f->checksum,
        [TM_image_stamp] = f->stamp,          [TM_image_path] = co_etl_intern(m, f->name)};
    co_etl_row(m, TM_KIND_image, row);
}

static void switch_row(etl_import *m, const co_etl_event *e, const etl_fact *f, int64_t ns)
{
    m->running[e->cpu % ETL_CPUS_MAX] = f->tid;
    if (!is_wanted(m, f->tid, e->time) && !is_wanted(m, f->old_tid, e->time))
        return;
    const int64_t row[] = {[TM_sched_time] = ns,
                           [TM_sched_cpu] = e->cpu,
                           [TM_sched_new_thread] = thread_number(f->tid),
                           [TM_sched_new_process] = owner_of(m, f->tid, e->time),
                           [TM_sched_old_thread] = thread_number(f->old_tid),
                           [TM_sched_old_process] = owner_of(m, f->old_tid, e->time),
                           [TM_sched_new_priority] = f->new_priority,
                           [TM_sched_old_priority] = f->old_priority,
                           [TM_sched_state] = f->state,
                           [TM_sched_wait_reason] = f->wait_reason,
                           [TM_sched_wait_mode] = f->wait_mode,
                           [TM_sched_waited] = f->waited};
    co_etl_row(m, TM_KIND_sched, row);
    m->stats.switches++;
}

static void ready_row(etl_import *m, const co_etl_event *e, const etl_fact *f, int64_t ns)
{
    if (!is_wanted(m, f->tid, e->time))
        return;
    bool by_dpc = f->flags & 1;
    uint32_t by = by_dpc ? CO_ETL_UNKNOWN : m->running[e->cpu % ETL_CPUS_MAX];
    const int64_t row[] = {[TM_ready_time] = ns,
                           [TM_ready_cpu] = e->cpu,
                           [TM_ready_thread] = thread_number(f->tid),
                           [TM_ready_process] = owner_of(m, f->tid, e->time),
                           [TM_ready_by_thread] = thread_number(by),
                           [TM_ready_by_process] = owner_of(m, by, e->time),
                           [TM_ready_reason] = f->reason,
                           [TM_ready_increment] = f->increment,
                           [TM_ready_flags] = f->flags};
    co_etl_row(m, TM_KIND_ready, row);
}

static void profile_row(etl_import *m, const co_etl_event *e, const etl_fact *f, int64_t ns)
{
    if (!is_wanted(m, f->tid, e->time))
        return;
    const int64_t row[] = {[TM_profile_time] = ns,
                           [TM_profile_cpu] = e->cpu,
                           [TM_profile_thread] = thread_number(f->tid),
                           [TM_profile_process] = owner_of(m, f->tid, e->time),
                           [TM_profile_address] = (int64_t)f->address,
                           [TM_profile_count] = f->count,
                           [TM_profile_flags] = f->flags};
    co_etl_row(m, TM_KIND_profile, row);
    m->stats.samples++;
}

static void fault_row(etl_import *m, const co_etl_event *e, const etl_fact *f, int64_t ns)
{
    uint32_t tid = thread_of(m, e, f);
    if (!is_wanted(m, tid, e->time))
        return;
    bool timed = f->has_begin && f->begin > 0 && f->begin <= e->time;
    int64_t begin = timed ? co_etl_ns(m->header, f->begin) : ns;
    const int64_t row[] = {[TM_fault_time] = begin,
                           [TM_fault_cpu] = e->cpu,
                           [TM_fault_thread] = thread_number(tid),
                           [TM_fault_process] = owner_of(m, tid, e->time),
                           [TM_fault_fault] = f->what,
                           [TM_fault_address] = (int64_t)f->address,
                           [TM_fault_duration] = co_etl_between_ns(begin, ns),
                           [TM_fault_bytes] = (int64_t)f->bytes};
    co_etl_row(m, TM_KIND_fault, row);
}

// The record is written when the transfer is over.
static void disk_row(etl_import *m, const co_etl_event *e, const etl_fact *f, int64_t ns)
{
    if (!is_wanted(m, f->tid, e->time))
        return;
    int64_t duration =
        f->duration < INT64_MAX ? co_etl_span_ns(m->header, (int64_t)f->duration) : 0;
    const int64_t row[] = {[TM_disk_begin] = (int64_t)((uint64_t)ns - (uint64_t)duration),
                           [TM_disk_duration] = duration,
                           [TM_disk_thread] = thread_number(f->tid),
                           [TM_disk_process] = owner_of(m, f->tid, e->time),
                           [TM_disk_action] = f->what,
                           [TM_disk_disk] = f->disk,
                           [TM_disk_bytes] = (int64_t)f->bytes,
                           [TM_disk_offset] = (int64_t)f->offset};
    co_etl_row(m, TM_KIND_disk, row);
}

static void interrupt_row(etl_import *m, const co_etl_event *e, const etl_fact *f, int64_t ns)
{
    bool timed = f->has_begin && f->begin > 0 && f->begin <= e->time;
    int64_t begin = timed ? co_etl_ns(m->header, f->begin) : ns;
    const int64_t row[] = {[TM_interrupt_begin] = begin,
                           [TM_interrupt_duration] = co_etl_between_ns(begin, ns),
                           [TM_interrupt_cpu] = e->cpu,
                           [TM_interrupt_what] = f->what,
                           [TM_interrupt_routine] = (int64_t)f->address};
    co_etl_row(m, TM_KIND_interrupt, row);
}

// One that counts something else than time is kept as it is: a number of events.
static void interval_row(etl_import *m, const co_etl_event *e, const etl_fact *f, int64_t ns)
{
    (void)e;
    const int64_t row[] = {[TM_profiling_time] = ns,
                           [TM_profiling_source] = f->what,
                           [TM_profiling_interval] =
                               (int64_t)f->duration * (f->what == 0 ? 100 : 1)};
    if (f->duration)
        co_etl_row(m, TM_KIND_profiling, row);
}

void co_etl_write_fact(etl_import *m, const co_etl_event *e, const etl_fact *f)
{
    static void (*const rows[])(etl_import *, const co_etl_event *, const etl_fact *, int64_t) = {
        [ETL_FACT_THREAD] = thread_row,     [ETL_FACT_IMAGE] = image_row,
        [ETL_FACT_SWITCH] = switch_row,     [ETL_FACT_READY] = ready_row,
        [ETL_FACT_PROFILE] = profile_row,   [ETL_FACT_FAULT] = fault_row,
        [ETL_FACT_DISK] = disk_row,         [ETL_FACT_INTERRUPT] = interrupt_row,
        [ETL_FACT_INTERVAL] = interval_row,
    };
    if (rows[f->kind]) // processes are written before all others
        rows[f->kind](m, e, f, co_etl_ns(m->header, e->time));
}
