// SPDX-License-Identifier: MIT
// The sessions that we know, by ORT's address. One that existed before we came is taken up on its
// first run. A session's description stays with us until it has reached the collector.
#pragma once

#include "emit.h"
#include "ort_abi.h"

#define HK_SHAPE_CACHE 256u // shape sets that a session remembers per direction

#define HK_SESSION_ARENAS 4u
#define HK_RUN_INPUTS     8u // a power of two
#define HK_RUN_FAILURES   8u // as well

// A run that failed, and when it did.
typedef struct hk_run_failure {
    _Atomic uint32_t run;
    _Atomic uint64_t end;
} hk_run_failure;

// What is known of a session's memory (alloc_*.c).
typedef struct hk_session_memory {
    _Atomic uint64_t arenas[HK_SESSION_ARENAS]; // handles; 0: none
    _Atomic uint64_t told_ms;                   // when their state was told last; 0: never
    // What was allocated in its runs on threads other than theirs.
    _Atomic uint64_t allocated_bytes, freed_bytes, grown_bytes, own_bytes, peak_bytes;
    _Atomic uint32_t allocations, frees;
} hk_session_memory;

typedef struct hk_session {
    // Of its place, whoever has it: threads that are about to use it (hk_session_hold), or
    // HK_SESSION_GAVE_WAY.
    _Atomic uint32_t held;
    hk_module *module; // what follows is cleared for another session
    struct hk_session *next_free;
    const OrtSession *address; // NULL: hidden
    uint32_t id;
    uint32_t ort_id; // ORT's own number, 0: not told
    bool shim;       // made with the execution-provider shim
    _Atomic uint32_t announced;
    _Atomic uint32_t runs;
    // Runs under way: how many in the upper 16 bits, the sum of their numbers below. So when there
    // is one, its number is known without a list.
    _Atomic uint64_t flying;
    _Atomic uint32_t sampled_flying; // those of them whose operators are a sample
    // The set of inputs of the last runs: the run's number in the upper half.
    _Atomic uint64_t run_inputs[HK_RUN_INPUTS];
    _Atomic uint64_t manager; // of a hidden one: what its kernels have in common (op_owner.c)
    // Entry: high half of a fingerprint, low half the set's number (shapes.c).
    _Atomic uint64_t shapes[2][HK_SHAPE_CACHE];
    hk_session_memory memory;
    hk_run_failure failures[HK_RUN_FAILURES]; // the last ones
    // What the Session event says.
    uint64_t created_ticks;
    tl_Session facts;
    char *model, *options, *providers; // hk_alloc
    char graph[128], producer[64], message[512];
} hk_session;

#define HK_SESSION_GAVE_WAY 0x80000000u // to another one: nobody may hold it any more

// A session that may end, and its place become another's, while this is kept.
typedef struct hk_session_ref {
    hk_session *session; // NULL: none
    uint32_t id;
} hk_session_ref;

// How a session came to be: the `source` of the Session event.
enum {
    HK_SOURCE_PATH = 0,
    HK_SOURCE_BYTES = 1,
    HK_SOURCE_PATH_PREPACKED = 2,
    HK_SOURCE_BYTES_PREPACKED = 3,
    HK_SOURCE_EDITOR_MODEL = 4,
    HK_SOURCE_EDITOR_PATH = 5,
    HK_SOURCE_EDITOR_BYTES = 6,
    HK_SOURCE_BEFORE_ATTACH = 7,
    HK_SOURCE_EVENTS = 8,
};

typedef struct hk_session_origin {
    uint8_t source;
    const wchar_t *path;
    const void *bytes;
    size_t byte_count;
    const OrtSessionOptions *options;
    uint64_t begin;
    uint64_t end;
    const char *no_shim; // why it could not be made with the shim, NULL: it was, or need not
} hk_session_origin;

// Takes up a session that was just created (`status` NULL) or could not be.
void hk_session_created(hk_thread *t, uint32_t epoch, hk_module *m, OrtSession *session,
                        OrtStatus *status, const hk_session_origin *origin);

// The second half of a session of the model editor: adds its time, and its failure if there is one.
void hk_session_finalized(hk_thread *t, uint32_t epoch, hk_module *m, OrtSession *session,
                          OrtStatus *status, const hk_session_origin *origin);

void hk_session_released(hk_thread *t, uint32_t epoch, const OrtSession *session);

// Forgets everything: arming begins with nothing known.
void hk_sessions_clear(void);

hk_session *hk_session_find(const OrtSession *session);
// The number of the session that ORT calls `ort_id`, 0: not known. Walks all.
uint32_t hk_session_with_ort_id(const hk_module *m, uint32_t ort_id);
hk_session *hk_session_take_up(hk_thread *t, uint32_t epoch, hk_module *m, OrtSession *session);
void hk_session_announce(hk_thread *t, uint32_t epoch, hk_session *s);

// Sessions of modules without a C API are known by ORT's own number; 0 stands for those that it
// does not tell.
// While a kernel with this manager is executed: its session among those under way. Where all
// sessions of its module were seen to come (`seen`, else NULL) that is also the only one whose
// manager is not known yet. NULL: none or several. Walks all.
hk_session *hk_session_running_with(uint64_t manager, const hk_module *seen);
hk_session *hk_session_find_hidden(const hk_module *m, uint32_t ort_id);
hk_session *hk_session_take_up_hidden(hk_thread *t, uint32_t epoch, hk_module *m, uint32_t ort_id,
                                      uint8_t source);
// A hidden session may have to make room for another at any moment while it does not run. False: it
// has, find it again. Else it stays until hk_session_let_go(), and then as long as it runs.
// `ort_id` 0: any session of the module will do.
bool hk_session_hold(hk_session *s, const hk_module *m, uint32_t ort_id);
void hk_session_let_go(hk_session *s);
// Does nothing if it has ended already or is not hidden.
void hk_session_hidden_ends(hk_thread *t, uint32_t epoch, hk_session_ref ref);
// The only one of this module, NULL: there are none or several. Walks all; the answer is good as
// long as the count of changes stays the same.
hk_session *hk_session_sole_hidden(const hk_module *m);
extern _Atomic uint32_t g_hk_hidden_changes;

// For the run hooks: NULL only if there are more sessions than we track.
static inline hk_session *hk_session_of(hk_thread *t, uint32_t epoch, hk_module *m,
                                        OrtSession *session)
{
    hk_session *s = hk_session_find(session);
    if (__builtin_expect(!s, 0))
        s = hk_session_take_up(t, epoch, m, session);
    if (s && __builtin_expect(!atomic_load_explicit(&s->announced, memory_order_relaxed), 0))
        hk_session_announce(t, epoch, s);
    return s;
}

// Notes a run; returns how many are under way, itself included.
static inline uint32_t hk_session_run_begins(hk_session *s, uint32_t run)
{
    if (hk_runs_are_sampled() && !hk_run_skips_ops(run))
        atomic_fetch_add_explicit(&s->sampled_flying, 1, memory_order_relaxed);
    uint64_t one = (uint64_t)1 << 48 | run;
    return (uint32_t)((atomic_fetch_add_explicit(&s->flying, one, memory_order_relaxed) + one) >>
                      48);
}

static inline void hk_session_run_ends(hk_session *s, uint32_t run)
{
    atomic_fetch_sub_explicit(&s->flying, (uint64_t)1 << 48 | run, memory_order_relaxed);
    if (hk_runs_are_sampled() && !hk_run_skips_ops(run))
        atomic_fetch_sub_explicit(&s->sampled_flying, 1, memory_order_relaxed);
}

// Whether an operator may belong to a run whose operators are recorded, if all that is known is
// that it belongs to one of those under way.
static inline bool hk_session_may_record(const hk_session *s)
{
    return atomic_load_explicit(&s->flying, memory_order_relaxed) != 0 &&
           (!hk_runs_are_sampled() ||
            atomic_load_explicit(&s->sampled_flying, memory_order_relaxed) != 0);
}

// The run under way if there is exactly one, else 0.
static inline uint32_t hk_session_sole_run(const hk_session *s)
{
    uint64_t flying = atomic_load_explicit(&s->flying, memory_order_relaxed);
    return flying >> 48 == 1 ? (uint32_t)flying : 0;
}

// Before ORT is called: what the run was given, for operators on other threads.
static inline void hk_session_run_given(hk_session *s, uint32_t run, uint32_t inputs)
{
    atomic_store_explicit(&s->run_inputs[run % HK_RUN_INPUTS], (uint64_t)run << 32 | inputs,
                          memory_order_relaxed);
}

static inline uint32_t hk_session_inputs_of(const hk_session *s, uint32_t run, uint32_t unknown)
{
    uint64_t given =
        atomic_load_explicit(&s->run_inputs[run % HK_RUN_INPUTS], memory_order_relaxed);
    return given >> 32 == run ? (uint32_t)given : unknown;
}

// A kernel of this run may have thrown on another thread, which learns of it later.
static inline void hk_session_note_failure(hk_session *s, uint32_t run, uint64_t end)
{
    hk_run_failure *failure = &s->failures[run % HK_RUN_FAILURES];
    atomic_store_explicit(&failure->end, end, memory_order_relaxed);
    atomic_store_explicit(&failure->run, run, memory_order_release);
}

// When that run failed. Of one that is not known any more, or 0: the first failure after `begin`;
// 0: there was none.
static inline uint64_t hk_session_failed_at(const hk_session *s, uint32_t run, uint64_t begin)
{
    uint64_t first = 0;
    for (uint32_t i = 0; i < HK_RUN_FAILURES; i++) {
        uint32_t failed = atomic_load_explicit(&s->failures[i].run, memory_order_acquire);
        uint64_t end = atomic_load_explicit(&s->failures[i].end, memory_order_relaxed);
        if (!failed || end < begin)
            continue;
        if (failed == run)
            return end;
        if (!first || end < first)
            first = end;
    }
    return first;
}

// The session that runs if exactly one does, else NULL; *out_may_record says whether any has a run
// under way whose operators are recorded. Walks all.
hk_session *hk_session_sole_in_flight(bool *out_may_record);

// alloc_instance.c: a session that lives can show what its arenas take memory from.
void hk_alloc_session_seen(const hk_module *runtime, const OrtSession *session);
// alloc_stats.c
void hk_alloc_session_created(hk_thread *t, uint32_t epoch, hk_session *s);
void hk_alloc_session_released(hk_thread *t, uint32_t epoch, hk_session *s); // it still lives
void hk_alloc_session_gone(hk_session *s);
// `sole`: no other run of the session was under way at any time between begin and end of this one.
void hk_alloc_run_ends(hk_thread *t, uint32_t epoch, hk_session *s, uint32_t run, bool sole,
                       const hk_run_memory *memory);

uint32_t hk_status_code(const hk_module *m, const OrtStatus *status);
hk_text hk_status_message(const hk_module *m, const OrtStatus *status);

// options.c: copies (hk_alloc) of what was set on these options; NULL options are the defaults
void hk_options_describe(const OrtSessionOptions *options, char **out_options,
                         char **out_providers);
bool hk_options_are_full(const OrtSessionOptions *options); // there is more than is described
void hk_options_clear(void);
