// SPDX-License-Identifier: MIT
// What the files of ort_driver share: one loaded runtime, the log of everything that was done with
// it, and the steps of the scenario. Everything that is chosen at random comes from a seeded
// generator per thread, so two runs with the same arguments do and report exactly the same.
//
// "Early" means before the go file appeared: an ortscope that attaches then cannot have seen it.
#pragma once

#include "ort_calls.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct drv_lock {
    void *word; // an SRWLOCK
} drv_lock;

typedef struct drv_text {
    char *data;
    size_t len;
    size_t room;
} drv_text;

typedef enum drv_model {
    DRV_AFFINE,
    DRV_COUNTS,
    DRV_PICK,
    DRV_PIECES,
    DRV_UNKNOWN,
    DRV_GARBAGE,
    DRV_FILES,            // how many come from files
    DRV_BUILT = DRV_FILES // made by the model editor
} drv_model;

// How a session was made; the numbers are those of the timeline's session rows.
typedef enum drv_source {
    DRV_PATH,
    DRV_BYTES,
    DRV_PATH_PREPACKED,
    DRV_BYTES_PREPACKED,
    DRV_EDITOR_MODEL,
    DRV_EDITOR_PATH,
    DRV_EDITOR_BYTES
} drv_source;

typedef enum drv_call { DRV_RUN, DRV_BINDING, DRV_ASYNC } drv_call;

// Runs of one session that were alike
typedef struct drv_group {
    struct drv_group *next;
    int call;
    int status;
    bool early;
    char *inputs;  // JSON: [["X",1,1,"2,4"],...] = name, ONNX type, element type, dims
    char *outputs; // the same, NULL for a failed run
    char *message;
    uint64_t count;
} drv_group;

typedef struct drv_session_log {
    struct drv_session_log *next;
    drv_lock lock;
    char id[32];
    drv_source source;
    int status;
    bool early, released, released_early, null_options;
    char *model; // UTF-8 path, NULL where bytes or a built model were given
    size_t model_bytes;
    char *message;
    char *options;   // "key=value" a line, in the order of the calls
    char *providers; // appended with success, a line each
    char *refused;   // providers that ORT refused, a line each
    drv_group *groups;
} drv_session_log;

typedef struct drv_env_log {
    struct drv_env_log *next;
    const char *how;
    char log_id[32];
    int status;
    bool early;
    char *message;
} drv_env_log;

typedef struct drv_file {
    wchar_t path[512];
    void *bytes;
    size_t size;
} drv_file;

typedef struct drv_runtime {
    void *module;
    wchar_t path[512];
    char version[32];
    int minor; // Y of 1.Y.Z
    ort_calls ort;
    OrtAllocator *allocator;
    OrtMemoryInfo *cpu;
    OrtEnv *env;
    drv_lock lock;
    drv_env_log *envs;
    drv_session_log *sessions;
    uint64_t env_releases, env_releases_early;
    uint64_t hash;
} drv_runtime;

typedef struct drv_session {
    OrtSession *ort;
    OrtPrepacked *prepacked; // NULL: none
    drv_session_log *log;
    drv_model model;
} drv_session;

typedef struct drv_random {
    uint64_t state;
} drv_random;

typedef struct drv_worker {
    drv_runtime *runtime;
    int number;
    drv_random random;
    uint64_t hash;
    unsigned made; // sessions made by this thread
} drv_worker;

// Arguments of the program
typedef struct drv_arguments {
    int threads;
    int iterations;
    uint64_t seed;
    unsigned exit_code;
    double loop_seconds; // < 0: not given
    int late_ms;
    bool never, unload, go_first, crash_busy, spawn, spawn_suspended;
    const char *crash; // NULL: none
    const wchar_t *dll, *second_dll, *models, *report, *pid_file, *go_file, *stop_file, *counter;
} drv_arguments;

extern drv_arguments g_drv;
extern drv_file g_drv_files[DRV_FILES];

// ------------------------------------------------------------------------- driver_system.c
void drv_take(drv_lock *lock);
void drv_give(drv_lock *lock);
void drv_die(const char *format, ...) __attribute__((format(gnu_printf, 1, 2), noreturn));
void *drv_allocate(size_t size); // zeroed, never NULL
char *drv_copy(const char *text);
char *drv_utf8(const wchar_t *text);
void drv_read_file(const wchar_t *path, drv_file *out);
void drv_write_file(const wchar_t *path, const char *data, size_t size); // NULL: standard output
bool drv_file_exists(const wchar_t *path);
void drv_open_counter(const wchar_t *path);
void drv_count_run(void); // one more run is over: visible in the counter file at once
bool drv_early(void);
void drv_await_go(void); // writes the PID file, waits for the go file; nothing is early after it
bool drv_keep_looping(void);
uint64_t drv_next(drv_random *random);
int drv_below(drv_random *random, int bound);
void drv_crash(const char *kind);
int drv_spawn(int argc, wchar_t **argv);

// ------------------------------------------------------------------------- driver_report.c
void drv_text_add(drv_text *text, const char *format, ...)
    __attribute__((format(gnu_printf, 2, 3)));
void drv_text_quote(drv_text *text, const char *value); // as a JSON string
drv_session_log *drv_log_session(drv_runtime *runtime, const char *id, drv_source source);
void drv_log_run(drv_session_log *log, drv_call call, int status, const char *inputs,
                 const char *outputs, const char *message);
void drv_log_env(drv_runtime *runtime, const char *how, const char *log_id, int status,
                 const char *message);
void drv_report_runtime(drv_text *text, const drv_runtime *runtime, int round);

// ------------------------------------------------------------------------ driver_runtime.c
drv_runtime *drv_runtime_load(const wchar_t *path);
void drv_runtime_unload(drv_runtime *runtime);
// Releases the status; its code, and its message (to be freed) where `out_message` is given.
int drv_status(drv_runtime *runtime, OrtStatus *status, char **out_message);
void drv_must(drv_runtime *runtime, OrtStatus *status, const char *what);

typedef enum drv_env_how {
    DRV_ENV_PLAIN,
    DRV_ENV_LOGGER,
    DRV_ENV_POOLS,
    DRV_ENV_LOGGER_POOLS,
    DRV_ENV_OPTIONS, // 1.24 and later
    DRV_ENV_OPTIONS_NULL
} drv_env_how;
OrtEnv *drv_env_create(drv_runtime *runtime, drv_env_how how, const char *log_id);
void drv_env_release(drv_runtime *runtime, OrtEnv *env);

// ------------------------------------------------------------------------ driver_session.c
#define DRV_OPTION_SETS 7
enum { DRV_OPTIONS_NULL, DRV_OPTIONS_TWO_THREADS, DRV_OPTIONS_ONE_THREAD, DRV_OPTIONS_GLOBAL = 6 };
bool drv_session_create(drv_runtime *runtime, const char *id, drv_source source, drv_model model,
                        int option_set, drv_session *out);
void drv_session_create_missing(drv_runtime *runtime, const char *id, drv_source source);
void drv_session_create_empty(drv_runtime *runtime, const char *id);
void drv_session_release(drv_runtime *runtime, drv_session *session);
OrtSessionOptions *drv_options(drv_runtime *runtime, int set, drv_session_log *log);

// ------------------------------------------------------------------------- driver_editor.c
OrtStatus *drv_editor_create(drv_runtime *runtime, const OrtSessionOptions *options, bool broken,
                             OrtSession **out);
void drv_editor_litter(drv_runtime *runtime); // makes and releases parts without a session

// --------------------------------------------------------------------------- driver_feed.c
#define DRV_TENSORS 2

typedef enum drv_fault {
    DRV_SOUND,
    DRV_BAD_INPUT_NAME,
    DRV_BAD_RANK,
    DRV_BAD_DIMENSION,
    DRV_BAD_TYPE,
    DRV_BAD_OUTPUT_NAME,
    DRV_NULL_OUTPUT_NAME,
    DRV_EMPTY_OUTPUT_NAME,
    DRV_MISSING_INPUT,
    DRV_OUT_OF_RANGE, // only DRV_PICK minds; sound for the others
    DRV_FAULTS
} drv_fault;

typedef struct drv_feed {
    size_t in_count, out_count;
    const char *in_names[DRV_TENSORS], *out_names[DRV_TENSORS];
    OrtValue *in[DRV_TENSORS], *out[DRV_TENSORS];
    void *in_data[DRV_TENSORS];
    int64_t batch, length;
    drv_model model;
} drv_feed;

void drv_feed_build(drv_worker *worker, drv_model model, drv_fault fault, drv_feed *out);
void drv_feed_preallocate(drv_worker *worker, drv_feed *feed); // what can be known before the run
void drv_feed_free(drv_runtime *runtime, drv_feed *feed);
char *drv_describe(drv_runtime *runtime, const char *const *names, OrtValue *const *values,
                   size_t count);
void drv_hash_values(drv_worker *worker, OrtValue *const *values, size_t count);

// ---------------------------------------------------------------------------- driver_run.c
void drv_run_some(drv_worker *worker, drv_session *session);
void drv_run_once(drv_worker *worker, drv_session *session);

// ---------------------------------------------------------------------------- driver_work.c
void drv_scenario(drv_runtime *runtime, int worker_base);
