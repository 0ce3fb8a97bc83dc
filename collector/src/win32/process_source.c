// SPDX-License-Identifier: MIT
// The followed processes by their handles, the cores, the memory of the machine and ortscope's own
// processor time: what is cheap enough for many times a second.
#include "counters_internal.h"

#include <stdlib.h>

#include <psapi.h>

#define CORES_MAX       256u
#define PROCESSOR_TIMES 8 // SystemProcessorPerformanceInformation

typedef struct process_source {
    co_series series;
    co_counters *owner;
    bool times_are_wrong;
    uint64_t ticks;
} process_source;

typedef struct processor_times { // kernel time includes idle time
    LARGE_INTEGER idle, kernel, user, dpc, interrupt;
    ULONG interrupts;
} processor_times;

// Wine answers GetProcessTimes about another process with the times of the caller; the answer about
// all processes is right.
bool co_process_times_are_wrong(void)
{
    return GetProcAddress(GetModuleHandleW(L"ntdll.dll"), "wine_get_version") != NULL;
}

static void *open_source(const co_source_env *env)
{
    process_source *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->owner = env->context;
    s->times_are_wrong = co_process_times_are_wrong();
    co_series_init(&s->series, env->last_id, env->out);
    return s;
}

static void close_source(void *state)
{
    process_source *s = state;
    co_series_deinit(&s->series);
    free(s);
}

static void put(process_source *s, co_counter what, bool known, int64_t value)
{
    what.source = "process";
    co_series_put(&s->series, &what, s->ticks, known, value);
}

static int64_t microseconds(FILETIME time)
{
    return (int64_t)(((uint64_t)time.dwHighDateTime << 32 | time.dwLowDateTime) / 10);
}

// --------------------------------------------------------------------------------------- processes

static void put_times(process_source *s, co_counter what, HANDLE process)
{
    FILETIME created, ended, kernel, user;
    bool known = GetProcessTimes(process, &created, &ended, &kernel, &user);
    what.unit = "s";
    what.per_unit = 1000000;
    what.total = true;
    what.name = "cpu_user";
    put(s, what, known, known ? microseconds(user) : 0);
    what.name = "cpu_kernel";
    put(s, what, known, known ? microseconds(kernel) : 0);
}

static void put_memory(process_source *s, co_counter what, HANDLE process)
{
    PROCESS_MEMORY_COUNTERS_EX m = {.cb = sizeof m};
    if (!GetProcessMemoryInfo(process, (PROCESS_MEMORY_COUNTERS *)&m, sizeof m))
        m = (PROCESS_MEMORY_COUNTERS_EX){0};
    // None of them is 0 in a process that runs. Both of the last two are its committed memory.
    size_t private_bytes = m.PrivateUsage ? m.PrivateUsage : m.PagefileUsage;
    what.unit = "B";
    what.name = "working_set";
    put(s, what, m.WorkingSetSize > 0, (int64_t)m.WorkingSetSize);
    what.name = "peak_working_set";
    put(s, what, m.PeakWorkingSetSize > 0, (int64_t)m.PeakWorkingSetSize);
    what.name = "private";
    put(s, what, private_bytes > 0, (int64_t)private_bytes);
    what.unit = "1";
    what.total = true;
    what.name = "page_faults";
    put(s, what, m.PageFaultCount > 0, m.PageFaultCount);
}

static void put_io(process_source *s, co_counter what, HANDLE process)
{
    IO_COUNTERS io = {0};
    // A process that does nothing else has at least loaded its libraries.
    bool known = GetProcessIoCounters(process, &io) &&
                 (io.ReadOperationCount || io.WriteOperationCount || io.OtherOperationCount);
    const struct {
        const char *name, *unit;
        uint64_t value;
    } totals[] = {
        {"io_reads", "1", io.ReadOperationCount},   {"io_writes", "1", io.WriteOperationCount},
        {"io_others", "1", io.OtherOperationCount}, {"io_read", "B", io.ReadTransferCount},
        {"io_written", "B", io.WriteTransferCount}, {"io_other", "B", io.OtherTransferCount}};
    what.total = true;
    for (size_t i = 0; i < sizeof totals / sizeof *totals; i++) {
        what.name = totals[i].name;
        what.unit = totals[i].unit;
        put(s, what, known, (int64_t)totals[i].value);
    }
}

static void put_process(process_source *s, const co_live_target *t)
{
    co_counter what = {
        .about = CO_ABOUT_PROCESS, .process = t->followed.id, .number = -1, .per_unit = 1};
    if (!s->times_are_wrong)
        put_times(s, what, t->process);
    put_memory(s, what, t->process);
    put_io(s, what, t->process);
}

// ------------------------------------------------------------------------------------- the machine

static void put_cores(process_source *s)
{
    static const co_counter blank = {
        .about = CO_ABOUT_CORE, .unit = "s", .per_unit = 1000000, .total = true};
    processor_times cores[CORES_MAX];
    ULONG len = 0;
    if (NtQuerySystemInformation(PROCESSOR_TIMES, cores, sizeof cores, &len) < 0)
        return;
    for (ULONG i = 0; i < len / sizeof *cores && i < CORES_MAX; i++) {
        co_counter what = blank;
        what.number = i;
        what.name = "cpu_user";
        put(s, what, true, cores[i].user.QuadPart / 10);
        what.name = "cpu_kernel";
        put(s, what, true, (cores[i].kernel.QuadPart - cores[i].idle.QuadPart) / 10);
    }
}

static void put_machine(process_source *s)
{
    MEMORYSTATUSEX m = {.dwLength = sizeof m};
    bool known = GlobalMemoryStatusEx(&m);
    co_counter what = {.about = CO_ABOUT_MACHINE, .number = -1, .unit = "B", .per_unit = 1};
    what.name = "memory_available";
    put(s, what, known, (int64_t)m.ullAvailPhys);
    what.name = "memory_committed";
    put(s, what, known, (int64_t)(m.ullTotalPageFile - m.ullAvailPageFile));
    FILETIME created, ended, kernel, user;
    known = GetProcessTimes(GetCurrentProcess(), &created, &ended, &kernel, &user);
    what.name = "ortscope_cpu";
    what.unit = "s";
    what.per_unit = 1000000;
    what.total = true;
    put(s, what, known, known ? microseconds(user) + microseconds(kernel) : 0);
}

static bool sample(void *state, uint64_t ticks)
{
    process_source *s = state;
    co_live_target targets[CO_FOLLOWED_MAX];
    size_t count = co_counters_targets(s->owner, targets, CO_FOLLOWED_MAX);
    s->ticks = ticks;
    for (size_t i = 0; i < count; i++) {
        put_process(s, &targets[i]);
        if (targets[i].ended)
            co_counters_release(s->owner, targets[i].followed.id);
    }
    put_cores(s);
    put_machine(s);
    co_series_end_round(&s->series, ticks);
    return true;
}

const co_source co_process_source = {
    .name = "process", .open = open_source, .sample = sample, .close = close_source};
