// SPDX-License-Identifier: MIT
#include "etl_people.h"

#include "collector/etl_tracelogging.h"
#include "common/map.h"
#include "etl_classes.h"
#include "etl_facts.h"
#include "etl_lives.h"
#include "etl_text.h"
#include "own_decode.h"

#include <stdlib.h>
#include <string.h>

#define NOTES_MAX ((size_t)1 << 20) // of processes, and of threads
#define TEXTS_MAX ((size_t)16 << 20)
#define ORT_MAX   4096u

typedef struct ort_process {
    uint32_t pid;
    bool hooked, tells_ort;
    char version[32], library[512];
} ort_process;

struct co_etl_people {
    cm_buf process_notes, thread_notes; // etl_note
    cm_buf texts;
    cm_buf processes, threads; // etl_life, once settled
    cm_map seen;               // threads and processes that user-mode events come from
    cm_map ort_of;             // pid -> place
    ort_process *ort;
    uint32_t ort_count;
    etl_moment first_clock, last_clock, first_run, latest; // of the hook's events
    uint64_t missing;
    bool command_lines; // somebody asked for them
};

cm_status co_etl_people_create(bool command_lines, co_etl_people **out)
{
    co_etl_people *p = calloc(1, sizeof *p);
    if (!p)
        return cm_fail(CM_NO_MEMORY, "There is not enough memory to read the recording.");
    cm_buf_append_byte(&p->texts, 0); // text 0: none
    p->command_lines = command_lines;
    *out = p;
    return CM_OK;
}

void co_etl_people_destroy(co_etl_people *p)
{
    if (!p)
        return;
    cm_buf *bufs[] = {&p->process_notes, &p->thread_notes, &p->texts, &p->processes, &p->threads};
    for (size_t i = 0; i < sizeof bufs / sizeof *bufs; i++)
        cm_buf_deinit(bufs[i]);
    cm_map_deinit(&p->seen);
    cm_map_deinit(&p->ort_of);
    free(p->ort);
    free(p);
}

// --------------------------------------------------------------------------------------- gathering

static void add_note(co_etl_people *p, cm_buf *notes, etl_note n)
{
    n.order = (uint32_t)(notes->len / sizeof n);
    if (n.order >= NOTES_MAX)
        p->missing++;
    else
        cm_buf_append(notes, &n, sizeof n);
}

static uint32_t keep_text(co_etl_people *p, const char *text)
{
    size_t at = p->texts.len, len = strlen(text) + 1;
    if (len == 1 || at + len > TEXTS_MAX)
        return 0;
    cm_buf_append(&p->texts, text, len);
    return p->texts.failed ? 0 : (uint32_t)at;
}

// Held for all processes, since only the end of the recording tells which ones are followed; only
// theirs are ever written.
static uint32_t keep_command_line(co_etl_people *p, etl_text text)
{
    char line[4096];
    if (!p->command_lines || !text.bytes)
        return 0;
    co_etl_text_utf8(text, line, sizeof line);
    return keep_text(p, line);
}

// NULL when there are too many.
static ort_process *ort_in(co_etl_people *p, uint32_t pid)
{
    size_t place;
    if (cm_map_find(&p->ort_of, pid, &place))
        return &p->ort[place];
    if (p->ort_count == ORT_MAX)
        return NULL;
    ort_process *larger = realloc(p->ort, (p->ort_count + 1) * sizeof *larger);
    if (!larger)
        return NULL;
    p->ort = larger;
    if (!cm_map_put(&p->ort_of, pid, p->ort_count))
        return NULL;
    p->ort[p->ort_count] = (ort_process){.pid = pid};
    return &p->ort[p->ort_count++];
}

bool co_etl_is_ort_library(const char *path)
{
    static const char *const names[] = {"onnxruntime.dll", "onnxruntime_pybind11_state.pyd"};
    const char *name = co_etl_base_name(path);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n = 0;
        while (names[i][n] && (name[n] | 0x20) == (names[i][n] | 0x20))
            n++;
        if (!names[i][n] && !name[n])
            return true;
    }
    return false;
}

static void take_image(co_etl_people *p, const etl_fact *f)
{
    char path[sizeof p->ort->library];
    co_etl_text_utf8(f->name, path, sizeof path);
    ort_process *ort = co_etl_is_ort_library(path) ? ort_in(p, f->pid) : NULL;
    if (ort && !ort->library[0])
        memcpy(ort->library, path, sizeof path);
}

static void take_fact(co_etl_people *p, const etl_fact *f, int64_t time)
{
    char name[512];
    etl_note n = {.time = time, .action = (uint8_t)f->action, .exit_code = (int32_t)f->exit_code};
    if (f->kind == ETL_FACT_IMAGE) {
        take_image(p, f);
    } else if (f->kind == ETL_FACT_PROCESS) {
        co_etl_text_utf8(f->name, name, sizeof name);
        n.id = f->pid;
        n.owner = f->parent;
        n.name = keep_text(p, co_etl_base_name(name));
        n.command_line = keep_command_line(p, f->command_line);
        add_note(p, &p->process_notes, n);
    } else if (f->kind == ETL_FACT_THREAD && f->action != ETL_NAMED) {
        n.id = f->tid;
        n.owner = f->pid;
        add_note(p, &p->thread_notes, n);
    }
}

static void take_version(void *context, const co_tlg_token *t)
{
    ort_process *ort = context;
    if (t->kind == CO_TLG_VALUE && t->field->name_len == 14 &&
        memcmp(t->field->name, "runtimeVersion", 14) == 0 && t->field->type == CO_TLG_ANSI)
        co_etl_text_utf8((etl_text){t->bytes, t->len, false}, ort->version, sizeof ort->version);
}

static void take_ort(co_etl_people *p, const co_etl_event *e)
{
    co_tlg_schema schema;
    size_t residual;
    ort_process *ort = ort_in(p, e->pid);
    if (ort && !ort->version[0] && e->metadata &&
        co_tlg_schema_parse(e->metadata, e->metadata_len, &schema))
        co_tlg_values(&schema, e->data, e->data_len, e->pointer_size, take_version, ort, &residual);
}

// A recording of user-mode providers alone names processes and threads in the records only.
static void take_sender(co_etl_people *p, const co_etl_event *e)
{
    size_t known;
    int64_t key = (int64_t)((uint64_t)e->pid << 32 | e->tid);
    if (e->pid == CO_ETL_UNKNOWN || e->tid == CO_ETL_UNKNOWN ||
        cm_map_find(&p->seen, key, &known) || p->seen.count >= NOTES_MAX ||
        !cm_map_put(&p->seen, key, 0))
        return;
    etl_note n = {.time = e->time, .action = ETL_IS_THERE, .id = e->tid, .owner = e->pid};
    add_note(p, &p->thread_notes, n);
    n.id = e->pid;
    n.owner = CO_ETL_UNKNOWN;
    add_note(p, &p->process_notes, n);
}

static bool is_named(const co_tlg_schema *s, const char *name)
{
    return s->name_len == strlen(name) && memcmp(s->name, name, s->name_len) == 0;
}

static void take_own(co_etl_people *p, const co_etl_event *e)
{
    co_tlg_schema schema;
    etl_moment moment;
    ort_process *ort = ort_in(p, e->pid);
    if (!ort || !co_tlg_schema_parse(e->metadata, e->metadata_len, &schema))
        return;
    ort->hooked = true;
    ort->tells_ort |= is_named(&schema, "OrtEvent");
    co_etl_moment_of(e, &moment);
    if (moment.ticks > p->latest.ticks)
        p->latest = (etl_moment){moment.ticks, moment.time, 0};
    if (is_named(&schema, "Run") && (!p->first_run.ticks || moment.ticks < p->first_run.ticks))
        p->first_run = (etl_moment){moment.ticks, moment.time, 0};
    if (!is_named(&schema, "Clock") || !moment.ticks)
        return;
    if (!p->first_clock.ticks || moment.ticks < p->first_clock.ticks)
        p->first_clock = moment;
    if (moment.ticks > p->last_clock.ticks)
        p->last_clock = moment;
}

void co_etl_people_event(co_etl_people *p, const co_etl_event *e)
{
    etl_fact fact;
    if (co_etl_fact(e, &fact)) {
        take_fact(p, &fact, e->time);
    } else if (e->family == CO_ETL_EVENT && (memcmp(e->provider, co_etl_guid_ort, 16) == 0 ||
                                             memcmp(e->provider, co_etl_guid_ort_log, 16) == 0)) {
        take_sender(p, e);
        take_ort(p, e);
    } else if (co_own_is(e)) {
        take_sender(p, e);
        take_own(p, e);
    }
}

// ---------------------------------------------------------------------------------------- settling

cm_status co_etl_people_settle(co_etl_people *p)
{
    co_etl_lives_settle(&p->process_notes, &p->processes);
    co_etl_lives_settle(&p->thread_notes, &p->threads);
    cm_buf_deinit(&p->process_notes);
    cm_buf_deinit(&p->thread_notes);
    etl_life *l = (etl_life *)(void *)p->processes.data;
    for (size_t i = 0; i < p->processes.len / sizeof *l; i++) {
        size_t place;
        l[i].number = l[i].module = (uint32_t)i + 1;
        l[i].followed = cm_map_find(&p->ort_of, l[i].id, &place);
    }
    CM_TRY(cm_buf_status(&p->processes));
    return cm_buf_status(&p->threads);
}

// ------------------------------------------------------------------------------------------ asking

const etl_life *co_etl_people_processes(const co_etl_people *p, size_t *count)
{
    *count = p->processes.len / sizeof(etl_life);
    return (const etl_life *)(const void *)p->processes.data;
}

const etl_life *co_etl_people_process(const co_etl_people *p, uint32_t pid, int64_t time)
{
    return co_etl_lives_find(&p->processes, pid, time);
}

const etl_life *co_etl_people_owner(const co_etl_people *p, uint32_t tid, int64_t time)
{
    const etl_life *thread = tid ? co_etl_lives_find(&p->threads, tid, time) : NULL;
    if (tid && !thread)
        return NULL;
    return co_etl_lives_find(&p->processes, thread ? thread->owner : 0,
                             time); // thread 0 is process 0, idle
}

const char *co_etl_people_name(const co_etl_people *p, const etl_life *life)
{
    return life->name ? (const char *)p->texts.data + life->name : "";
}

const char *co_etl_people_command_line(const co_etl_people *p, const etl_life *life)
{
    return life->command_line ? (const char *)p->texts.data + life->command_line : "";
}

bool co_etl_people_hooked(const co_etl_people *p, uint32_t pid)
{
    size_t place;
    return cm_map_find(&p->ort_of, pid, &place) && p->ort[place].hooked;
}

bool co_etl_people_tells_ort(const co_etl_people *p, uint32_t pid)
{
    size_t place;
    return cm_map_find(&p->ort_of, pid, &place) && p->ort[place].tells_ort;
}

bool co_etl_people_clock(const co_etl_people *p, etl_moment *first, etl_moment *last,
                         etl_moment *latest)
{
    *first = p->first_clock.ticks ? p->first_clock : p->first_run.ticks ? p->first_run : p->latest;
    *last = p->last_clock.ticks ? p->last_clock : p->latest;
    *latest = p->latest;
    return p->latest.ticks != 0;
}

const char *co_etl_people_version(const co_etl_people *p, uint32_t pid)
{
    size_t place;
    return cm_map_find(&p->ort_of, pid, &place) ? p->ort[place].version : "";
}

const char *co_etl_people_library(const co_etl_people *p, uint32_t pid)
{
    size_t place;
    return cm_map_find(&p->ort_of, pid, &place) ? p->ort[place].library : "";
}

uint64_t co_etl_people_missing(const co_etl_people *p)
{
    return p->missing;
}
