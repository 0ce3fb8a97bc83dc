// SPDX-License-Identifier: MIT
// Which runs are profiled. A run without options of its own gets ours, made once per runtime, on
// which profiling is on. Options of the program's are changed only while no run uses them: ORT
// reads them when a run begins, and writing meanwhile would be a race. So every run with such an
// object is counted from its creation on; objects that were there before us are left alone, since
// runs that we don't know may use them.
#include "registry.h"
#include "shim.h"

// A directory of this name can't exist, so ORT's file is not made. Short enough to need no memory.
#define NOWHERE L"|\\x"

typedef struct hk_run_options {
    struct hk_run_options *next_free;
    OrtRunOptions *ort;
    uint32_t in_flight;
    bool ours;      // we switched profiling on
    bool theirs;    // the program did
    bool forgotten; // no longer known: freed when its last run ends
} hk_run_options;

static hk_registry g_known;
static SRWLOCK g_lock = SRWLOCK_INIT; // everything below, and all members
static hk_run_options *g_pool;
static OrtRunOptions *g_own[HK_MODULES_MAX];

// ----------------------------------------------------------------------------------------- objects

static void options_free(hk_run_options *o)
{
    o->next_free = g_pool;
    g_pool = o;
}

static void forget(void *value)
{
    hk_run_options *o = value;
    o->forgotten = true;
    if (!o->in_flight)
        options_free(o);
}

static void note_created(OrtRunOptions *ort)
{
    hk_run_options *o = g_pool;
    if (o)
        g_pool = o->next_free;
    else if (!(o = hk_alloc(sizeof *o)))
        return;
    *o = (hk_run_options){.ort = ort};
    hk_run_options *stale = hk_registry_remove(&g_known, ort);
    if (stale)
        forget(stale);
    if (!hk_registry_add(&g_known, ort, o))
        options_free(o);
}

void hk_run_options_clear(void)
{
    AcquireSRWLockExclusive(&g_lock);
    hk_registry_clear(&g_known, forget);
    ReleaseSRWLockExclusive(&g_lock);
}

void hk_shim_forget_runs(const hk_module *m)
{
    g_own[m - g_hk.modules] = NULL;
}

// ------------------------------------------------------------------------------------------- hooks

// Begins a change of what we know of run options: NULL if there is nothing to note.
static hk_thread *begin_note(const hk_module *m)
{
    uint32_t epoch;
    hk_thread *t = hk_shim_is_on(m) ? hk_enter_to_lock(&epoch) : NULL;
    if (t)
        AcquireSRWLockExclusive(&g_lock);
    return t;
}

static void end_note(hk_thread *t)
{
    ReleaseSRWLockExclusive(&g_lock);
    hk_leave(t);
}

HK_HOOK(CreateRunOptions, OrtStatus *, (OrtRunOptions * *out), (out))
{
    OrtStatus *status = HK_ORIG(m, CreateRunOptions)(out);
    hk_thread *t = status ? NULL : begin_note(m);
    if (t) {
        note_created(*out);
        end_note(t);
    }
    return status;
}

HK_HOOK(ReleaseRunOptions, void, (OrtRunOptions * options), (options))
{
    hk_thread *t = options && hk_registry_find(&g_known, options) ? begin_note(m) : NULL;
    if (t) {
        hk_run_options *o = hk_registry_remove(&g_known, options);
        if (o) {
            o->ours = false;
            forget(o);
        }
        end_note(t);
    }
    HK_ORIG(m, ReleaseRunOptions)(options);
}

// The program's own profiling of runs: what it sets, it keeps.
static void note_theirs(const hk_module *m, OrtRunOptions *options, const OrtStatus *status,
                        bool theirs)
{
    hk_thread *t = status ? NULL : begin_note(m);
    if (!t)
        return;
    hk_run_options *o = hk_registry_find(&g_known, options);
    if (o) {
        o->theirs = theirs;
        o->ours = false;
    }
    end_note(t);
}

HK_HOOK(RunOptionsEnableProfiling, OrtStatus *, (OrtRunOptions * options, const wchar_t *prefix),
        (options, prefix))
{
    OrtStatus *status = HK_ORIG(m, RunOptionsEnableProfiling)(options, prefix);
    note_theirs(m, options, status, true);
    return status;
}

HK_HOOK(RunOptionsDisableProfiling, OrtStatus *, (OrtRunOptions * options), (options))
{
    OrtStatus *status = HK_ORIG(m, RunOptionsDisableProfiling)(options);
    note_theirs(m, options, status, false);
    return status;
}

// -------------------------------------------------------------------------------------------- runs

static bool succeeded(const hk_module *m, OrtStatus *status)
{
    if (status)
        ORT_CALL(m, ReleaseStatus)(status);
    return !status;
}

static OrtRunOptions *own_options(hk_module *m)
{
    OrtRunOptions **own = &g_own[m - g_hk.modules], *made = NULL;
    AcquireSRWLockExclusive(&g_lock);
    if (!*own && succeeded(m, HK_ORIG(m, CreateRunOptions)(&made))) {
        if (succeeded(m, HK_ORIG(m, RunOptionsEnableProfiling)(made, NOWHERE)))
            *own = made;
        else
            HK_ORIG(m, ReleaseRunOptions)(made);
    }
    ReleaseSRWLockExclusive(&g_lock);
    return *own;
}

static void tell_once(hk_thread *t, uint32_t epoch, _Atomic uint32_t *told, const char *sentence)
{
    if (atomic_exchange(told, epoch) != epoch)
        hk_emit_log(t, epoch, TL_LEVEL_WARNING, 0, 0, 0, hk_text_of(sentence));
}

// Counts a run with the program's options; true if it is profiled.
static bool use(hk_module *m, hk_run_options *o, bool wanted)
{
    bool quiet = o->in_flight++ == 0;
    if (wanted && quiet && !o->ours && !o->theirs)
        o->ours = succeeded(m, HK_ORIG(m, RunOptionsEnableProfiling)(o->ort, NOWHERE));
    return o->ours || o->theirs;
}

const OrtRunOptions *hk_shim_run_begins(hk_thread *t, uint32_t epoch, hk_module *m,
                                        const hk_session *s, uint32_t run,
                                        const OrtRunOptions *given, hk_run_options **out)
{
    static _Atomic uint32_t told_unknown, told_shared;
    bool wanted = s->shim && !hk_run_skips_ops(run);
    if (!hk_shim_is_on(m) || RtlDllShutdownInProgress())
        return given;
    if (!given)
        return wanted ? own_options(m) : NULL;
    AcquireSRWLockExclusive(&g_lock);
    hk_run_options *o = hk_registry_find(&g_known, given);
    bool profiled = o && use(m, o, wanted);
    ReleaseSRWLockExclusive(&g_lock);
    *out = o;
    if (wanted && !o)
        tell_once(t, epoch, &told_unknown,
                  "Operators of some runs are not recorded: their run options were made before "
                  "ortscope came.");
    else if (wanted && !profiled)
        tell_once(t, epoch, &told_shared,
                  "Operators of some runs are not recorded: another run that was not to be "
                  "recorded was using the same run options.");
    return given;
}

void hk_shim_run_ends(hk_module *m, hk_run_options *o)
{
    if (RtlDllShutdownInProgress()) // see hk_enter_to_lock
        return;
    AcquireSRWLockExclusive(&g_lock);
    if (--o->in_flight == 0) {
        if (o->ours)
            succeeded(m, HK_ORIG(m, RunOptionsDisableProfiling)(o->ort));
        o->ours = false;
        if (o->forgotten)
            options_free(o);
    }
    ReleaseSRWLockExclusive(&g_lock);
}
