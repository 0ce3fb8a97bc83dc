// SPDX-License-Identifier: MIT
// ort_driver: calls ONNX Runtime in every way that ortscope claims to see, from several threads,
// failing calls among them, and prints as one JSON document exactly what it did.
//
//   ort_driver --dll PATH --models FOLDER [options]
//     --threads N --iterations N --seed N    how much, and which choices (8, 100, 1)
//     --exit-code N                          exit code at the end
//     --report FILE                          report there instead of to standard output
//     --pid-file FILE --go-file FILE         writes its PID, starts when the go file appears
//     --go-first                             waits for the go file before the runtime is loaded
//                                            or the child started
//     --loop-seconds S --stop-file FILE      repeats until then, or until the file appears
//     --counter FILE                         mapped: finished runs as a 64-bit number at offset 0
//     --two-copies DLL                       drives this runtime too, at the same time
//     --late MS | --never                    waits before loading the runtime; never loads it
//     --unload                               unloads the runtime, loads it again, repeats
//     --crash av|abort|fastfail|raise|terminate|exit-thread
//                                            half the work, report, then this
//     --crash-busy                           the crash comes in the middle of the work, no report
//     --spawn | --spawn-suspended            does it all in a child process
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

drv_arguments g_drv = {.threads = 8, .iterations = 100, .seed = 1, .loop_seconds = -1.0};
drv_file g_drv_files[DRV_FILES];

#define COPIES 2

static const wchar_t *value_of(int argc, wchar_t **argv, int *at)
{
    if (*at + 1 >= argc)
        drv_die("%ls needs a value", argv[*at]);
    return argv[++*at];
}

static bool parse_switch(const wchar_t *name)
{
    const struct {
        const wchar_t *name;
        bool *flag;
    } flags[] = {{L"--never", &g_drv.never},       {L"--unload", &g_drv.unload},
                 {L"--go-first", &g_drv.go_first}, {L"--crash-busy", &g_drv.crash_busy},
                 {L"--spawn", &g_drv.spawn},       {L"--spawn-suspended", &g_drv.spawn_suspended}};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        if (!wcscmp(name, flags[i].name))
            return *flags[i].flag = true;
    }
    return false;
}

static bool parse_text(const wchar_t *name, const wchar_t *value)
{
    const struct {
        const wchar_t *name;
        const wchar_t **text;
    } texts[] = {{L"--dll", &g_drv.dll},           {L"--two-copies", &g_drv.second_dll},
                 {L"--models", &g_drv.models},     {L"--report", &g_drv.report},
                 {L"--pid-file", &g_drv.pid_file}, {L"--go-file", &g_drv.go_file},
                 {L"--counter", &g_drv.counter},   {L"--stop-file", &g_drv.stop_file}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (!wcscmp(name, texts[i].name)) {
            *texts[i].text = value;
            return true;
        }
    }
    return false;
}

static bool parse_number(const wchar_t *name, const wchar_t *value)
{
    if (!wcscmp(name, L"--threads"))
        g_drv.threads = _wtoi(value);
    else if (!wcscmp(name, L"--iterations"))
        g_drv.iterations = _wtoi(value);
    else if (!wcscmp(name, L"--seed"))
        g_drv.seed = (uint64_t)_wtoi64(value);
    else if (!wcscmp(name, L"--exit-code"))
        g_drv.exit_code = wcstoul(value, NULL, 0);
    else if (!wcscmp(name, L"--loop-seconds"))
        g_drv.loop_seconds = wcstod(value, NULL);
    else if (!wcscmp(name, L"--late"))
        g_drv.late_ms = _wtoi(value);
    else if (!wcscmp(name, L"--crash"))
        g_drv.crash = drv_utf8(value);
    else
        return false;
    return true;
}

static void parse(int argc, wchar_t **argv)
{
    for (int i = 1; i < argc; i++) {
        const wchar_t *name = argv[i];
        if (parse_switch(name))
            continue;
        const wchar_t *value = value_of(argc, argv, &i);
        if (!parse_text(name, value) && !parse_number(name, value))
            drv_die("unknown argument %ls; the head of ort_driver.c lists them", name);
    }
    if (!g_drv.never && (!g_drv.dll || !g_drv.models))
        drv_die("--dll and --models are needed");
    if (g_drv.threads < 1 || g_drv.threads > 256)
        drv_die("--threads must be 1 to 256");
}

static void load_models(void)
{
    static const wchar_t *const names[DRV_FILES] = {L"affine", L"counts",  L"pick",
                                                    L"pieces", L"unknown", L"garbage"};
    for (int i = 0; i < DRV_FILES; i++) {
        wchar_t path[512];
        _snwprintf(path, 511, L"%ls\\%ls.onnx", g_drv.models, names[i]);
        path[511] = 0;
        drv_read_file(path, &g_drv_files[i]);
    }
}

typedef struct copy_job {
    drv_runtime *runtime;
    int worker_base;
} copy_job;

static DWORD WINAPI drive(void *context)
{
    copy_job *job = context;
    drv_scenario(job->runtime, job->worker_base);
    return 0;
}

// One round with each copy of the runtime at the same time; appends to the report.
static void round_of_copies(int round, drv_text *report)
{
    const wchar_t *dlls[COPIES] = {g_drv.dll, g_drv.second_dll};
    copy_job jobs[COPIES];
    HANDLE threads[COPIES];
    int count = g_drv.second_dll ? COPIES : 1;
    for (int i = 0; i < count; i++)
        jobs[i] = (copy_job){drv_runtime_load(dlls[i]), (round * COPIES + i) * g_drv.threads};
    for (int i = 0; i < count; i++)
        threads[i] = CreateThread(NULL, 0, drive, &jobs[i], 0, NULL);
    for (int i = 0; i < count; i++) {
        WaitForSingleObject(threads[i], INFINITE);
        CloseHandle(threads[i]);
    }
    for (int i = 0; i < count; i++) {
        drv_text_add(report, round || i ? ",\n" : "\n");
        drv_report_runtime(report, jobs[i].runtime, round);
        if (g_drv.unload)
            drv_runtime_unload(jobs[i].runtime);
    }
}

int wmain(int argc, wchar_t **argv);
int wmain(int argc, wchar_t **argv)
{
    setvbuf(stderr, NULL, _IONBF, 0);
    parse(argc, argv);
    if (g_drv.spawn || g_drv.spawn_suspended) {
        if (g_drv.go_first)
            drv_await_go();
        return drv_spawn(argc, argv);
    }
    drv_text report = {0};
    drv_text_add(&report,
                 "{\"program\":\"ort_driver\",\"role\":\"driver\",\"pid\":%lu,\"threads\":%d,"
                 "\"iterations\":%d,\"seed\":%llu,\"exit_code\":%u,\"runtimes\":[",
                 GetCurrentProcessId(), g_drv.threads, g_drv.iterations,
                 (unsigned long long)g_drv.seed, g_drv.exit_code);
    drv_open_counter(g_drv.counter);
    Sleep((DWORD)g_drv.late_ms);
    if (g_drv.never || g_drv.go_first)
        drv_await_go();
    if (!g_drv.never) {
        load_models();
        for (int round = 0; round < (g_drv.unload ? 2 : 1); round++)
            round_of_copies(round, &report);
    }
    drv_text_add(&report, "]}\n");
    drv_write_file(g_drv.report, report.data, report.len);
    if (g_drv.crash)
        drv_crash(g_drv.crash);
    return (int)g_drv.exit_code;
}
