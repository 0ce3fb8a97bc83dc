// SPDX-License-Identifier: MIT
// The execution-provider shim (`--ops shim`, ONNX Runtime 1.25 and later): operators as ORT's own
// profiler tells them, live and run by run, without its file.
//
// We have an execution provider that claims no node. It is not registered with the environment,
// where ORT and the program would find its device when they choose providers for other sessions: a
// device of ours is made and given to one session's options at a time. A session that is made with
// it (a copy of the program's options has it as the last one; the program's own object is never
// touched) asks it for a profiler in each run that has profiling on, and tells that profiler of
// every event: operators of all providers, on the thread that executes them.
//
//   shim_session.c  which sessions get it, and why others don't
//   shim_ep.c       the factory, the provider; which sessions have one
//   shim_run.c      which runs are profiled: our own run options, or the program's while no run
//                   that uses them is under way
//   shim_profiler.c the events of one run
//   shim_kernels.c  who a node is: number, identity, shapes
//   shim_text.c     shapes as ORT writes them (portable)
//
// ORT writes a file at the end of each profiled run. The one that we ask for lies in a directory
// that can't exist, so none appears.
//
// When we leave, sessions keep the provider: it answers with nothing then, and can be used again
// when we come back; we stay mapped, and our device lives as long as its runtime.
#pragma once

#include "sessions.h"
#include "shim_abi.h"

#define HK_SHIM_NAME         "OrtscopeExecutionProvider"
#define HK_SHIM_OLDEST_MINOR 25

static inline bool hk_shim_is_on(const hk_module *m)
{
    return (g_hk.flags & ORT_HOOK_OPS_SHIM) && m->minor >= HK_SHIM_OLDEST_MINOR;
}

// -------------------------------------------------------------------------------------- sessions

typedef struct hk_shim_creation {
    OrtSessionOptions *copy;  // of the program's, with the shim; NULL: the program's are used
    const char *refused;      // why, if they should have had it
    struct hk_shim_ep *outer; // of the creation around this one
} hk_shim_creation;

// Around the creation of a session. Begins in our own code; ends after ORT has returned, armed or
// not: `session` is NULL if it failed.
const OrtSessionOptions *hk_shim_creation_begins(hk_thread *t, uint32_t epoch, hk_module *m,
                                                 const OrtSessionOptions *given,
                                                 hk_shim_creation *c);
void hk_shim_creation_ends(hk_thread *t, hk_module *m, hk_shim_creation *c, OrtSession *session);

void hk_shim_note_env(const hk_module *m, const OrtEnv *env); // the one that sessions are made in
bool hk_shim_in(const OrtSession *session); // made with the shim, perhaps long ago
void hk_shim_forget(const hk_module *m);    // unloaded

// The operators of this session are not recorded, and why.
void hk_shim_tell_refusal(hk_thread *t, uint32_t epoch, uint32_t session, const char *why);

// ------------------------------------------------------------------------------------------ runs

struct hk_run_options;

// What to give ORT as this run's options; `*use` is for hk_shim_run_ends(), which follows if it is
// not NULL, armed or not.
const OrtRunOptions *hk_shim_run_begins(hk_thread *t, uint32_t epoch, hk_module *m,
                                        const hk_session *s, uint32_t run,
                                        const OrtRunOptions *given, struct hk_run_options **use);
void hk_shim_run_ends(hk_module *m, struct hk_run_options *use);
void hk_run_options_clear(void);
void hk_shim_forget_runs(const hk_module *m);

// ------------------------------------------------------------------------------------- operators

typedef struct hk_shim_ep {
    OrtEp ep;
    struct hk_shim_ep *next;
    hk_module *module;
    _Atomic(OrtSession *) session; // NULL while it is being made
} hk_shim_ep;

OrtEpFactory *hk_shim_factory(hk_module *m); // for ever, like all that ORT may have the address of

OrtStatus *hk_shim_create_profiler(OrtEp *ep, OrtEpProfilerImpl **out);

// Whose an event is.
typedef struct hk_shim_run {
    hk_module *module;
    hk_session *session;
    uint32_t epoch, run;
    uint32_t inputs; // set of the session's inputs, 0: not known
} hk_shim_run;

// The number of an event's node, 0 if it can't be told; tells its identity and shapes when they
// are new.
uint32_t hk_shim_kernel(hk_thread *t, const hk_shim_run *r, const OrtProfilingEvent *event);

// The session is about to be released.
void hk_shim_kernels_end(hk_thread *t, uint32_t epoch, const hk_session *s);
