// SPDX-License-Identifier: MIT
// Creates sessions and lets ORT's own log tell how far each has come: for every line that ORT logs
// while it creates one, the program asks for the environment again, with the line as the log id.
// That call is an ordinary one of the C API, so whoever records this program has the line's time
// beside everything else, on the same clock.
//
//   load_log --dll FILE [--bytes] [--inside MODEL] [--pid-file FILE --go-file FILE] MODEL...
//
// --bytes: models are given in memory. --inside: another session is made while the first one is
// being created, when its weights are about to be saved. Prints one line per session: 0, or the
// error code.
#include "ort_calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <windows.h>

static ort_calls ort;
static OrtEnv *g_env;
static const wchar_t *g_inside;
static bool g_bytes, g_busy;

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "load_log: %s\n", what);
    exit(99);
}

static void must(OrtStatus *status)
{
    if (status)
        die(ort.GetErrorMessage(status));
}

static void *read_file(const wchar_t *path, size_t *size)
{
    FILE *file = _wfopen(path, L"rb");
    if (!file)
        die("a model can't be read");
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    fseek(file, 0, SEEK_SET);
    void *bytes = malloc(*size ? *size : 1);
    if (!bytes || fread(bytes, 1, *size, file) != *size)
        die("a model can't be read");
    fclose(file);
    return bytes;
}

static void create(const wchar_t *model)
{
    OrtSession *session = NULL;
    OrtSessionOptions *options = NULL;
    OrtStatus *status;
    must(ort.CreateSessionOptions(&options));
    must(ort.SetIntraOpNumThreads(options, 1));
    if (g_bytes) {
        size_t size;
        void *bytes = read_file(model, &size);
        status = ort.CreateSessionFromArray(g_env, bytes, size, options, &session);
        free(bytes);
    } else {
        status = ort.CreateSession(g_env, model, options, &session);
    }
    printf("%d\n", status ? ort.GetErrorCode(status) : 0);
    if (status)
        ort.ReleaseStatus(status);
    else
        ort.ReleaseSession(session);
    ort.ReleaseSessionOptions(options);
}

static void log_line(void *param, int severity, const char *category, const char *log_id,
                     const char *location, const char *message)
{
    (void)param, (void)severity, (void)category, (void)log_id, (void)location;
    OrtEnv *again = NULL;
    if (!g_env || g_busy)
        return;
    g_busy = true;
    must(ort.CreateEnv(0, message, &again));
    ort.ReleaseEnv(again);
    if (g_inside && strcmp(message, "Saving initialized tensors.") == 0) {
        const wchar_t *model = g_inside;
        g_inside = NULL;
        create(model);
    }
    g_busy = false;
}

static void load(const wchar_t *dll)
{
    typedef struct api_base {
        const ort_slot *(*GetApi)(uint32_t version);
        const char *(*GetVersionString)(void);
    } api_base;
    HMODULE module = LoadLibraryExW(dll, NULL, LOAD_WITH_ALTERED_SEARCH_PATH);
    FARPROC entry = module ? GetProcAddress(module, "OrtGetApiBase") : NULL;
    if (!entry)
        die("the runtime does not load");
    const api_base *(*get_base)(void) = (const api_base *(*)(void))(ort_slot)entry;
    int minor = atoi(get_base()->GetVersionString() + 2);
    const ort_slot *table = get_base()->GetApi((uint32_t)minor);
#define X(slot, since, result, name, parameters)                                                   \
    ort.name = minor >= since ? (result(*) parameters)table[slot] : NULL;
    ORT_CALLS(X)
#undef X
    must(ort.CreateEnvWithCustomLogger(log_line, NULL, 0, "load_log", &g_env));
}

static void await_go(const wchar_t *pid_file, const wchar_t *go_file)
{
    wchar_t temporary[512];
    swprintf(temporary, 512, L"%ls.new", pid_file);
    FILE *file = _wfopen(temporary, L"w");
    if (!file)
        die("cannot write the PID file");
    fprintf(file, "%lu", GetCurrentProcessId());
    fclose(file);
    MoveFileExW(temporary, pid_file, MOVEFILE_REPLACE_EXISTING);
    while (GetFileAttributesW(go_file) == INVALID_FILE_ATTRIBUTES)
        Sleep(5);
}

int wmain(int argc, wchar_t **argv);
int wmain(int argc, wchar_t **argv)
{
    const wchar_t *dll = NULL, *pid_file = NULL, *go_file = NULL;
    int i = 1;
    for (; i < argc && wcsncmp(argv[i], L"--", 2) == 0; i++) {
        if (wcscmp(argv[i], L"--bytes") == 0)
            g_bytes = true;
        else if (i + 1 < argc && wcscmp(argv[i], L"--dll") == 0)
            dll = argv[++i];
        else if (i + 1 < argc && wcscmp(argv[i], L"--inside") == 0)
            g_inside = argv[++i];
        else if (i + 1 < argc && wcscmp(argv[i], L"--pid-file") == 0)
            pid_file = argv[++i];
        else if (i + 1 < argc && wcscmp(argv[i], L"--go-file") == 0)
            go_file = argv[++i];
    }
    if (!dll || i == argc)
        die("the head of load_log.c tells how to use it");
    load(dll);
    if (pid_file && go_file)
        await_go(pid_file, go_file);
    for (; i < argc; i++)
        create(argv[i]);
    return 0;
}
