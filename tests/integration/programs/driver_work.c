// SPDX-License-Identifier: MIT
// The scenario for one runtime: environments, shared sessions, creations that fail, then workers
// that make, run and release, then the release of everything. With a counter or go file outsiders
// know where it stands.
#include "driver.h"

#include <stdio.h>
#include <string.h>
#include <windows.h>

#define SHARED_MAX 12

typedef struct scenario {
    drv_runtime *runtime;
    drv_session shared[SHARED_MAX];
    int shared_count;
    volatile LONG done; // workers
} scenario;

typedef struct thread_job {
    scenario *scene;
    drv_worker worker;
    HANDLE handle;
} thread_job;

static void share(scenario *scene, const char *id, drv_source source, drv_model model, int options)
{
    drv_session *session = &scene->shared[scene->shared_count];
    if (!drv_session_create(scene->runtime, id, source, model, options, session))
        drv_die("session %s could not be created: %s", id, session->log->message);
    scene->shared_count++;
}

static void refuse(drv_runtime *runtime, const char *id, drv_source source, drv_model model,
                   int options)
{
    drv_session session;
    if (drv_session_create(runtime, id, source, model, options, &session))
        drv_die("session %s was created although it must fail", id);
}

// Each kind of environment once, alone: the second of two at a time would be the first again.
static void try_environments(drv_runtime *runtime, drv_worker *worker)
{
    runtime->env = drv_env_create(runtime, DRV_ENV_POOLS, "pools");
    drv_session session;
    if (!drv_session_create(runtime, "global-pools", DRV_PATH, DRV_AFFINE, DRV_OPTIONS_GLOBAL,
                            &session))
        drv_die("no session on the global thread pools: %s", session.log->message);
    drv_run_once(worker, &session);
    drv_session_release(runtime, &session);
    drv_env_release(runtime, runtime->env);
    drv_env_release(runtime, drv_env_create(runtime, DRV_ENV_LOGGER_POOLS, "logger-pools"));
    drv_env_release(runtime, drv_env_create(runtime, DRV_ENV_LOGGER, "logger"));
    if (runtime->minor >= 24) {
        drv_env_release(runtime, drv_env_create(runtime, DRV_ENV_OPTIONS, "options"));
        if (drv_env_create(runtime, DRV_ENV_OPTIONS_NULL, ""))
            drv_die("an environment came from NULL options");
    }
}

static void share_sessions(scenario *scene)
{
    share(scene, "path", DRV_PATH, DRV_AFFINE, DRV_OPTIONS_TWO_THREADS);
    share(scene, "bytes", DRV_BYTES, DRV_COUNTS, DRV_OPTIONS_NULL);
    share(scene, "path-prepacked", DRV_PATH_PREPACKED, DRV_PICK, DRV_OPTIONS_TWO_THREADS);
    share(scene, "bytes-prepacked", DRV_BYTES_PREPACKED, DRV_PIECES, 5);
    share(scene, "one-thread", DRV_PATH, DRV_AFFINE, DRV_OPTIONS_ONE_THREAD);
    if (scene->runtime->minor < 22)
        return;
    share(scene, "built", DRV_EDITOR_MODEL, DRV_BUILT, DRV_OPTIONS_TWO_THREADS);
    share(scene, "editor-path", DRV_EDITOR_PATH, DRV_AFFINE, DRV_OPTIONS_TWO_THREADS);
    share(scene, "editor-bytes", DRV_EDITOR_BYTES, DRV_COUNTS, DRV_OPTIONS_NULL);
}

static void try_failures(drv_runtime *runtime)
{
    drv_session_create_missing(runtime, "missing", DRV_PATH);
    drv_session_create_missing(runtime, "missing-prepacked", DRV_PATH_PREPACKED);
    drv_session_create_empty(runtime, "empty");
    refuse(runtime, "garbage-path", DRV_PATH, DRV_GARBAGE, DRV_OPTIONS_TWO_THREADS);
    refuse(runtime, "garbage-bytes", DRV_BYTES, DRV_GARBAGE, DRV_OPTIONS_NULL);
    refuse(runtime, "garbage-prepacked", DRV_BYTES_PREPACKED, DRV_GARBAGE, 4);
    refuse(runtime, "unknown-op", DRV_PATH, DRV_UNKNOWN, 3);
    refuse(runtime, "no-global-pools", DRV_PATH, DRV_AFFINE, DRV_OPTIONS_GLOBAL);
    if (runtime->minor < 22)
        return;
    drv_session_create_missing(runtime, "missing-editor", DRV_EDITOR_PATH);
    refuse(runtime, "garbage-editor", DRV_EDITOR_BYTES, DRV_GARBAGE, DRV_OPTIONS_TWO_THREADS);
    refuse(runtime, "unknown-editor", DRV_EDITOR_PATH, DRV_UNKNOWN, DRV_OPTIONS_TWO_THREADS);
    refuse(runtime, "broken-built", DRV_EDITOR_MODEL, DRV_UNKNOWN, DRV_OPTIONS_TWO_THREADS);
}

// A session that lives for a few runs in one thread
static void short_session(drv_worker *worker)
{
    static const drv_source sources[] = {DRV_PATH, DRV_BYTES, DRV_PATH_PREPACKED,
                                         DRV_BYTES_PREPACKED};
    char id[32];
    drv_session session;
    snprintf(id, sizeof id, "t%d-%u", worker->number, worker->made++);
    drv_model model = (drv_model)drv_below(&worker->random, 4);
    int options = drv_below(&worker->random, DRV_OPTION_SETS - 1);
    if (!drv_session_create(worker->runtime, id, sources[drv_below(&worker->random, 4)], model,
                            options, &session))
        drv_die("session %s could not be created: %s", id, session.log->message);
    for (int runs = drv_below(&worker->random, 6); runs > 0; runs--)
        drv_run_some(worker, &session);
    drv_session_release(worker->runtime, &session);
}

static void iterate(drv_worker *worker, const scenario *scene)
{
    char id[32];
    drv_session *shared = (drv_session *)scene->shared;
    switch (drv_below(&worker->random, 48)) {
    case 0:
        short_session(worker);
        break;
    case 1:
        snprintf(id, sizeof id, "t%d-%u", worker->number, worker->made++);
        refuse(worker->runtime, id, DRV_BYTES, DRV_GARBAGE, DRV_OPTIONS_NULL);
        break;
    case 2:
        snprintf(id, sizeof id, "thread-%d", worker->number);
        drv_env_release(worker->runtime, drv_env_create(worker->runtime, DRV_ENV_PLAIN, id));
        break;
    case 3:
        drv_editor_litter(worker->runtime);
        break;
    default:
        drv_run_some(worker, &shared[drv_below(&worker->random, scene->shared_count)]);
        break;
    }
}

static DWORD WINAPI work(void *context)
{
    thread_job *job = context;
    bool half = g_drv.crash != NULL;
    int iterations = half ? g_drv.iterations / 2 : g_drv.iterations;
    do {
        for (int i = 0; i < iterations; i++)
            iterate(&job->worker, job->scene);
        if (g_drv.crash && g_drv.crash_busy && job->worker.number == 0)
            drv_crash(g_drv.crash);
    } while (drv_keep_looping() || (g_drv.crash && g_drv.crash_busy));
    // All are there until the last has done its work, so that the test knows how many are at once.
    InterlockedIncrement(&job->scene->done);
    while (job->scene->done < g_drv.threads)
        Sleep(1);
    return 0;
}

static void run_workers(scenario *scene, int worker_base)
{
    thread_job *jobs = drv_allocate((size_t)g_drv.threads * sizeof *jobs);
    for (int i = 0; i < g_drv.threads; i++) {
        int number = worker_base + i;
        jobs[i].scene = scene;
        jobs[i].worker = (drv_worker){.runtime = scene->runtime,
                                      .number = number,
                                      .random = {g_drv.seed * 1000003u + (uint64_t)number},
                                      .hash = 0xcbf29ce484222325u};
        jobs[i].handle = CreateThread(NULL, 0, work, &jobs[i], 0, NULL);
        if (!jobs[i].handle)
            drv_die("cannot start a thread");
    }
    for (int i = 0; i < g_drv.threads; i++) {
        WaitForSingleObject(jobs[i].handle, INFINITE);
        CloseHandle(jobs[i].handle);
        scene->runtime->hash = scene->runtime->hash * 31 + jobs[i].worker.hash;
    }
}

void drv_scenario(drv_runtime *runtime, int worker_base)
{
    scenario scene = {.runtime = runtime};
    drv_worker main_worker = {.runtime = runtime, .number = -1, .random = {g_drv.seed}};
    try_environments(runtime, &main_worker);
    runtime->env = drv_env_create(runtime, DRV_ENV_PLAIN, "driver");
    share_sessions(&scene);
    drv_await_go();
    try_failures(runtime);
    run_workers(&scene, worker_base);
    if (g_drv.crash)
        return; // what is open stays open
    for (int i = 0; i < scene.shared_count; i++)
        drv_session_release(runtime, &scene.shared[i]);
    drv_env_release(runtime, runtime->env);
}
