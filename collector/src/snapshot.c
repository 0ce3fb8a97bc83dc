// SPDX-License-Identifier: MIT
// See snapshot.h. The layout of SYSTEM_PROCESS_INFORMATION for 64 bits has been the same since
// Windows 7.
#include "snapshot.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define SOURCE          "system"
#define SHOWN_100NS     200000 // a process that is not followed counts from 20 ms of processor on
#define THREADS_MAX     4096u  // of one process
#define OTHERS_MAX      65536u
#define THREAD_KEYS_MAX 262144u

typedef struct thread_entry {
    int64_t kernel_100ns, user_100ns, created;
    uint32_t wait_time, pad;
    uint64_t start_address, pid, tid;
    int32_t priority, base_priority;
    uint32_t context_switches, state, wait_reason, pad2;
} thread_entry;
_Static_assert(sizeof(thread_entry) == 0x50 && offsetof(thread_entry, context_switches) == 0x40,
               "SYSTEM_THREAD_INFORMATION");

typedef struct process_entry {
    uint32_t next, thread_count;
    int64_t private_working_set;
    uint32_t hard_faults, threads_peak;
    uint64_t cycles;
    int64_t created, user_100ns, kernel_100ns;
    uint64_t name[2];
    int32_t base_priority, pad;
    uint64_t pid, parent_pid;
    uint32_t handles, session;
    uint64_t not_used[19]; // sizes of memory, input and output: process_source tells them
} process_entry;
_Static_assert(sizeof(process_entry) == 0x100 && offsetof(process_entry, pid) == 0x50 &&
                   offsetof(process_entry, handles) == 0x60,
               "SYSTEM_PROCESS_INFORMATION");

typedef struct round_facts {
    co_snapshot *s;
    uint64_t ticks;
    const co_followed *followed;
    size_t followed_count;
    bool tells_switches, tells_hard_faults;
    int64_t processes, threads;
} round_facts;

void co_snapshot_init(co_snapshot *s, atomic_uint *last_id, co_readings *out)
{
    *s = (co_snapshot){0};
    co_series_init(&s->series, last_id, out);
    cm_map_init(&s->other_by_pid);
    cm_map_init(&s->thread_by_id);
}

void co_snapshot_deinit(co_snapshot *s)
{
    co_series_deinit(&s->series);
    cm_map_deinit(&s->other_by_pid);
    cm_map_deinit(&s->thread_by_id);
    free(s->others);
    free(s->threads);
    free(s->switches);
}

static void put(const round_facts *f, co_counter what, bool known, int64_t value)
{
    what.source = SOURCE;
    what.per_unit = strcmp(what.unit, "s") == 0 ? 1000000 : 1;
    co_series_put(&f->s->series, &what, f->ticks, known, value);
}

// ----------------------------------------------------------------------------------------- walking

// One process of the answer. Entries need not be aligned, so they are copied.
typedef struct process_view {
    process_entry entry;
    const uint8_t *threads;
    uint32_t thread_count; // that lie within the answer
} process_view;

static thread_entry thread_at(const process_view *p, uint32_t i)
{
    thread_entry t;
    memcpy(&t, p->threads + i * sizeof t, sizeof t);
    return t;
}

static bool entry_at(const uint8_t *answer, size_t len, size_t offset, process_view *out)
{
    if (offset > len || len - offset < sizeof out->entry)
        return false;
    memcpy(&out->entry, answer + offset, sizeof out->entry);
    size_t room = (len - offset - sizeof out->entry) / sizeof(thread_entry);
    if (room > THREADS_MAX)
        room = THREADS_MAX;
    out->threads = answer + offset + sizeof out->entry;
    out->thread_count = out->entry.thread_count < room ? out->entry.thread_count : (uint32_t)room;
    return true;
}

typedef void (*visit_fn)(round_facts *f, const process_view *p);

static void visit_all(round_facts *f, const void *answer, size_t len, visit_fn visit)
{
    size_t offset = 0;
    process_view p;
    while (entry_at(answer, len, offset, &p)) {
        visit(f, &p);
        if (p.entry.next < sizeof p.entry) // the last one says 0; less than an entry goes round
            break;
        offset += p.entry.next;
    }
}

// -------------------------------------------------------------------------------- context switches

static void *grow(void *array, size_t *capacity, size_t count, size_t size)
{
    if (count < *capacity)
        return array;
    size_t larger = *capacity ? *capacity * 2 : 64;
    void *grown = realloc(array, larger * size);
    if (grown)
        *capacity = larger;
    return grown;
}

// By how much a thread's own count has grown since the last time; all of it for a new thread.
static uint32_t new_switches(co_snapshot *s, const thread_entry *t)
{
    size_t at;
    if (cm_map_find(&s->thread_by_id, (int64_t)t->tid, &at)) {
        co_thread_switches *known = &s->threads[at];
        bool same = known->created == (uint64_t)t->created;
        uint32_t grown = t->context_switches - (same ? known->last : 0);
        *known = (co_thread_switches){(uint64_t)t->created, t->context_switches};
        return grown;
    }
    co_thread_switches *threads =
        s->thread_count < THREAD_KEYS_MAX
            ? grow(s->threads, &s->thread_capacity, s->thread_count, sizeof *threads)
            : NULL;
    if (!threads)
        return 0;
    s->threads = threads;
    if (!cm_map_put(&s->thread_by_id, (int64_t)t->tid, s->thread_count))
        return 0;
    threads[s->thread_count++] = (co_thread_switches){(uint64_t)t->created, t->context_switches};
    return t->context_switches;
}

// Threads take their counts with them when they end, so the process's sum is kept here.
static int64_t add_switches(co_snapshot *s, uint32_t process, uint32_t grown)
{
    size_t i = 0;
    while (i < s->switch_count && s->switches[i].process != process)
        i++;
    if (i == s->switch_count) {
        co_process_switches *larger =
            grow(s->switches, &s->switch_capacity, s->switch_count, sizeof *larger);
        if (!larger)
            return 0;
        s->switches = larger;
        s->switches[s->switch_count++] = (co_process_switches){process, 0};
    }
    return s->switches[i].total += grown;
}

// ------------------------------------------------------------------------------------- one process

static void put_thread(const round_facts *f, uint32_t process, const thread_entry *t)
{
    co_counter what = {.about = CO_ABOUT_THREAD,
                       .process = process,
                       .number = (int64_t)t->tid,
                       .unit = "s",
                       .total = true};
    what.name = "cpu_user";
    put(f, what, true, t->user_100ns / 10);
    what.name = "cpu_kernel";
    put(f, what, true, t->kernel_100ns / 10);
    what.name = "context_switches";
    what.unit = "1";
    put(f, what, f->tells_switches, t->context_switches);
}

static void put_followed(const round_facts *f, uint32_t process, const process_view *view)
{
    const process_entry *p = &view->entry;
    co_counter what = {
        .about = CO_ABOUT_PROCESS, .process = process, .number = -1, .unit = "s", .total = true};
    if (f->s->process_times) {
        what.name = "cpu_user";
        put(f, what, true, p->user_100ns / 10);
        what.name = "cpu_kernel";
        put(f, what, true, p->kernel_100ns / 10);
    }
    uint32_t switches = 0;
    for (uint32_t i = 0; i < view->thread_count; i++) {
        thread_entry t = thread_at(view, i);
        put_thread(f, process, &t);
        switches += new_switches(f->s, &t);
    }
    what.unit = "1";
    what.name = "context_switches";
    put(f, what, f->tells_switches, add_switches(f->s, process, switches));
    what.name = "hard_faults";
    put(f, what, f->tells_hard_faults, p->hard_faults);
    what.total = false;
    what.name = "threads";
    put(f, what, true, p->thread_count);
    what.name = "handles";
    put(f, what, p->handles > 0, p->handles);
}

static uint64_t processor_100ns(const process_entry *p)
{
    return (uint64_t)p->user_100ns + (uint64_t)p->kernel_100ns;
}

static co_other *find_other(co_snapshot *s, const process_entry *p)
{
    size_t at;
    co_other fresh = {(uint32_t)p->pid, (uint64_t)p->created, processor_100ns(p), false};
    if (cm_map_find(&s->other_by_pid, (int64_t)p->pid, &at)) {
        if (s->others[at].created != fresh.created)
            s->others[at] = fresh; // its number was given to another process
        return &s->others[at];
    }
    co_other *others = s->other_count < OTHERS_MAX
                           ? grow(s->others, &s->other_capacity, s->other_count, sizeof *others)
                           : NULL;
    if (!others)
        return NULL;
    s->others = others;
    if (!cm_map_put(&s->other_by_pid, (int64_t)p->pid, s->other_count))
        return NULL;
    others[s->other_count] = fresh;
    return &others[s->other_count++];
}

// Only those that do something get a counter. Their names are nobody's business.
static void put_other(const round_facts *f, const process_entry *p)
{
    if (p->pid == 0 || p->pid == f->s->own_pid)
        return;
    co_other *other = find_other(f->s, p);
    uint64_t now = processor_100ns(p);
    if (!other || (!other->shown && now - other->first_100ns < SHOWN_100NS))
        return;
    other->shown = true;
    co_counter what = {
        .about = CO_ABOUT_PROCESS, .number = other->pid, .name = "cpu", .unit = "s", .total = true};
    put(f, what, true, (int64_t)(now / 10));
}

static void look_what_is_told(round_facts *f, const process_view *p)
{
    f->tells_hard_faults = f->tells_hard_faults || p->entry.hard_faults;
    for (uint32_t i = 0; i < p->thread_count && !f->tells_switches; i++)
        f->tells_switches = thread_at(p, i).context_switches != 0;
}

static void put_process(round_facts *f, const process_view *p)
{
    f->processes++;
    f->threads += p->entry.thread_count;
    for (size_t i = 0; i < f->followed_count; i++) {
        if (f->followed[i].pid == p->entry.pid) {
            put_followed(f, f->followed[i].id, p);
            return;
        }
    }
    put_other(f, &p->entry);
}

void co_snapshot_add(co_snapshot *s, const void *answer, size_t len, uint64_t ticks,
                     const co_followed *followed, size_t followed_count)
{
    round_facts f = {
        .s = s, .ticks = ticks, .followed = followed, .followed_count = followed_count};
    visit_all(&f, answer, len, look_what_is_told);
    visit_all(&f, answer, len, put_process);
    co_counter what = {.about = CO_ABOUT_MACHINE, .number = -1, .unit = "1"};
    what.name = "processes";
    put(&f, what, f.processes > 0, f.processes);
    what.name = "threads";
    put(&f, what, f.processes > 0, f.threads);
    co_series_end_round(&s->series, ticks);
}
