// SPDX-License-Identifier: MIT
#include "collector/etl_import.h"

#include "etl_rows.h"
#include "etl_text.h"
#include "own_decode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// timeline/kinds.h: process.how, process_end.reason, lost.cause
enum { HOW_RECORDING = 3, REASON_EXITED = 0, REASON_STOPPED = 1 };
enum {
    LOST_UNDECODABLE = 3,
    LOST_NO_ROOM = 4,
    LOST_BY_WINDOWS = 5,
    LOST_DAMAGED = 6,
    LOST_MISSING = 10
};

static int64_t text_id(etl_import *m, const char *text)
{
    return tm_writer_string(m->writer, text, strlen(text));
}

static int64_t begin_of(const etl_import *m, const etl_life *life)
{
    return life->began ? co_etl_ns(m->header, life->begin) : 0;
}

static void write_followed(etl_import *m, const etl_life *life)
{
    const etl_life *parent =
        co_etl_people_process(m->people, life->owner, life->began ? life->begin : INT64_MIN);
    const int64_t process[] = {
        [TM_process_process] = life->number,
        [TM_process_pid] = life->id,
        [TM_process_parent] = parent && parent->followed ? parent->number : 0,
        [TM_process_time] = begin_of(m, life),
        [TM_process_how] = HOW_RECORDING,
        [TM_process_program] = text_id(m, co_etl_people_name(m->people, life)),
        [TM_process_command_line] = text_id(m, co_etl_people_command_line(m->people, life))};
    co_etl_row(m, TM_KIND_process, process);
    m->stats.processes++;
    if (co_etl_people_hooked(m->people, life->id))
        return; // the hook tells of its modules
    const int64_t module[] = {
        [TM_module_module] = life->module, // one a process: its events do not say more
        [TM_module_process] = life->number,
        [TM_module_time] = begin_of(m, life),
        [TM_module_path] = text_id(m, co_etl_people_library(m->people, life->id)),
        [TM_module_version] = text_id(m, co_etl_people_version(m->people, life->id)),
        [TM_module_build] = 0,
        [TM_module_hooked] = 0,
        [TM_module_refused] = 0};
    co_etl_row(m, TM_KIND_module, module);
}

static void write_bystander(etl_import *m, const etl_life *life)
{
    const int64_t row[] = {
        [TM_bystander_process] = life->number,
        [TM_bystander_pid] = life->id,
        [TM_bystander_parent] = life->owner == CO_ETL_UNKNOWN ? -1 : (int64_t)life->owner,
        [TM_bystander_time] = begin_of(m, life),
        [TM_bystander_program] = text_id(m, co_etl_people_name(m->people, life))};
    co_etl_row(m, TM_KIND_bystander, row);
}

static void write_people(etl_import *m)
{
    size_t count;
    const etl_life *lives = co_etl_people_processes(m->people, &count);
    for (size_t i = 0; i < count; i++) {
        if (lives[i].followed)
            write_followed(m, &lives[i]);
        else
            write_bystander(m, &lives[i]);
    }
}

static void write_ends(etl_import *m)
{
    size_t count;
    const etl_life *lives = co_etl_people_processes(m->people, &count);
    for (size_t i = 0; i < count; i++) {
        const etl_life *life = &lives[i];
        if (!life->followed)
            continue;
        const int64_t row[] = {
            [TM_process_end_process] = life->number,
            [TM_process_end_time] = life->ended ? co_etl_ns(m->header, life->end) : m->last_ns,
            [TM_process_end_reason] = life->ended ? REASON_EXITED : REASON_STOPPED,
            [TM_process_end_exit_code] = life->ended ? life->exit_code : -1};
        co_etl_row(m, TM_KIND_process_end, row);
    }
}

static void write_clock(etl_import *m, int64_t ns, int64_t ticks)
{
    const int64_t row[] = {[TM_clock_time] = ns,
                           [TM_clock_ticks] = ticks,
                           [TM_clock_qpc] = ticks,
                           [TM_clock_utc] =
                               (int64_t)(co_etl_start_utc_ns(m->header) + (uint64_t)ns)};
    co_etl_row(m, TM_KIND_clock, row);
}

static void write_loss(etl_import *m, uint32_t process, int cause, uint64_t events)
{
    const int64_t row[] = {[TM_lost_process] = process,
                           [TM_lost_time] = m->last_ns,
                           [TM_lost_cause] = cause,
                           [TM_lost_events] = (int64_t)events};
    if (events)
        co_etl_row(m, TM_KIND_lost, row);
}

// Events of ours that Windows lost are among those that it counts: they must not count twice.
static uint64_t write_missing(etl_import *m)
{
    size_t count;
    uint64_t sum = 0;
    const etl_life *lives = co_etl_people_processes(m->people, &count);
    for (size_t i = 0; i < count; i++) {
        bool again = i && lives[i - 1].id == lives[i].id; // numbers are by pid
        uint64_t missing = again ? 0 : co_etl_own_lost(m, lives[i].id);
        write_loss(m, lives[i].number, LOST_MISSING, missing);
        sum += missing;
    }
    return sum;
}

static bool on_event(void *context, const co_etl_event *e)
{
    etl_import *m = context;
    etl_fact fact;
    if (e->timed) {
        int64_t ns = co_etl_ns(m->header, e->time);
        m->last_ns = ns > m->last_ns ? ns : m->last_ns;
    }
    if (co_etl_is_ort(e))
        co_etl_write_ort(m, e);
    else if (co_own_is(e))
        co_etl_write_own(m, e);
    else if (co_own_is_collector(e))
        co_etl_write_mark(m, e);
    else if (co_etl_fact(e, &fact))
        co_etl_write_fact(m, e, &fact);
    return true;
}

static bool on_progress(void *context, uint64_t bytes, uint64_t total)
{
    const co_etl_import_options *o = ((etl_import *)context)->options;
    return !o->progress || o->progress(o->context, bytes, total);
}

static cm_status open_timeline(etl_import *m, const char *path)
{
    const co_etl_header *h = m->header;
    char os[64], cpu[64] = "";
    snprintf(os, sizeof os, "Windows %u.%u.%u", h->version[0], h->version[1], h->build);
    if (h->cpu_mhz)
        snprintf(cpu, sizeof cpu, "%u MHz", h->cpu_mhz);
    tm_header header = {.ortscope_version = ORTSCOPE_VERSION,
                        .start_utc_ns = co_etl_start_utc_ns(h),
                        .os = os,
                        .cpu = cpu,
                        .cpu_count = (int)(h->processors < 65536 ? h->processors : 65536)};
    return tm_writer_create(path, &header, &m->writer);
}

static cm_status write_rows(etl_import *m, co_etl *recording)
{
    co_etl_visitor visitor = {.context = m, .event = on_event, .progress = on_progress};
    write_clock(m, 0, m->header->first_time);
    write_people(m);
    CM_TRY(co_etl_read(recording, CO_ETL_BY_TIME, &visitor));
    co_etl_ort_end(m);
    co_etl_own_end(m);
    write_ends(m);
    uint64_t lost = m->header->events_lost, missing = write_missing(m);
    write_loss(m, 0, LOST_BY_WINDOWS, lost > missing ? lost - missing : 0);
    write_loss(m, 0, LOST_DAMAGED, m->options->damages);
    write_loss(m, 0, LOST_UNDECODABLE, m->stats.unread);
    write_loss(m, 0, LOST_NO_ROOM, co_etl_people_missing(m->people) + m->stats.no_room);
    return CM_OK;
}

void co_etl_import_init(etl_import *m)
{
    memset(m->running, 0xff, sizeof m->running);
    cm_out_init_memory(&m->text);
}

void co_etl_import_deinit(etl_import *m)
{
    co_etl_own_free(m);
    cm_buf_deinit(&m->session_states);
    cm_buf_deinit(&m->ort_threads);
    cm_map_deinit(&m->ort_thread_of);
    cm_map_deinit(&m->only_session_of);
    cm_map_deinit(&m->qnn_lanes);
    cm_out_deinit(&m->text);
}

static const etl_life *process_of(void *people, uint32_t pid, int64_t time)
{
    return co_etl_people_process(people, pid, time);
}

static const etl_life *owner_of(void *people, uint32_t tid, int64_t time)
{
    return co_etl_people_owner(people, tid, time);
}

static uint32_t number_of(void *people, const etl_life *life)
{
    (void)people;
    return life->number;
}

cm_status co_etl_import(co_etl *recording, co_etl_people *people,
                        const co_etl_import_options *options, co_etl_import_stats *out)
{
    if (!co_etl_has_time(co_etl_header_of(recording)))
        return cm_fail(
            CM_UNSUPPORTED,
            "The recording does not say how fast its clock was, so that its events have "
            "no place on a timeline; `ortscope import --json` still tells what is in it.");
    CM_TRY(co_etl_people_settle(people));
    etl_import *m = calloc(1, sizeof *m);
    if (!m)
        return cm_fail(CM_NO_MEMORY, "There is not enough memory to import the recording.");
    m->header = co_etl_header_of(recording);
    m->people = people;
    m->who = (etl_who){people, process_of, owner_of, number_of};
    m->options = options;
    m->qnn = co_etl_write_qnn;
    m->qnn_context = m;
    co_etl_import_init(m);
    cm_status status = co_etl_own_begin(m);
    if (status == CM_OK)
        status = open_timeline(m, options->output);
    if (status == CM_OK) {
        status = write_rows(m, recording);
        cm_status closed = tm_writer_close(m->writer);
        status = status == CM_OK ? closed : status;
        if (status != CM_OK)
            cm_file_discard(options->output);
    }
    *out = m->stats;
    co_etl_import_deinit(m);
    free(m);
    return status;
}
