// SPDX-License-Identifier: MIT
// ONNX Runtime's own events, read inside the process, with no ETW session and no rights.
//
// Every build for Windows has the TraceLogging provider Microsoft.ML.ONNXRuntime. It writes an
// event if the level in its state block (below) says that somebody listens. We store a level there
// ourselves and lead the module's import of EventWriteTransfer to us. No code of ORT's runs for it:
// its enable callback is not called, because in 1.29 and older that one and the creation of
// sessions take two locks in opposite order. Of the keywords we set those of sessions and measures;
// others would turn ORT's log (2) or QNN's profiling (0x100) up.
//
// A real ETW session goes on as before. ETW tells a provider of a change by writing the block and
// then calling the block's callback; that word leads to us, so we note what is really asked for,
// add what we want and call ORT's callback with the sum. An event is passed on to the real
// EventWriteTransfer if the block would have let it through without us. When we leave, block and
// imports get their own values back, by plain stores, in every version.
//
// What the events are for:
//   - OrtEvent rows, with all fields
//   - when the creation of a session begins: hk_tap_note in the thread's state
//   - sessions and runs of modules without a C API, see tap_runs.c
#pragma once

#include "sessions.h"
#include "tap_decode.h"

// What TraceLogging keeps for a provider.
typedef struct hk_tap_block {
    uint32_t level_plus1; // 0: nobody listens
    uint32_t spare;
    const uint8_t *description;
    uint64_t any, all; // keywords
    uint64_t handle;   // 0: not registered
    void *callback;    // PENABLECALLBACK, may be NULL
    void *context;
} hk_tap_block;

typedef struct hk_tap_wish {
    uint32_t level_plus1;
    uint64_t any, all;
} hk_tap_wish;

typedef struct hk_tap_provider {
    _Atomic(const uint8_t *) description; // NULL: slot free. Events name their provider by it.
    hk_module *module;
    hk_tap_block *block;
    SRWLOCK lock; // what follows
    bool taken;
    void *callback; // what was in the block
    hk_tap_wish ours;
    hk_tap_wish real;      // what ETW asked for
    bool is_log;           // the provider of ORT's log
    _Atomic uint32_t told; // of that: ORT was told that somebody listens
    bool came_with_us;     // registered under our eyes: all its sessions were seen to come
    // The only session as of `sole_as_of` changes, see sessions.h.
    _Atomic(hk_session *) sole;
    _Atomic uint32_t sole_as_of;
    // Descriptions of the two frequent events, once seen.
    _Atomic(const uint8_t *) start, stop;
} hk_tap_provider;

#define HK_TAP_PROVIDER_NAME "Microsoft.ML.ONNXRuntime"
#define HK_TAP_PROVIDERS     16
extern hk_tap_provider g_hk_tap[HK_TAP_PROVIDERS];

// tap_modules.c. All with g_hk.lock held.
const char *hk_tap_arm(hk_module *m); // listens to this module's events; NULL, or why not
void hk_tap_disarm(void);
// Without g_hk.lock: tells runtimes that exist already that their log is wanted, or not any more.
void hk_tap_tell_all(bool listens);
void hk_tap_forget(const hk_module *m); // unloaded: its memory is gone

// tap_provider.c
void hk_tap_take(hk_tap_provider *p);
void hk_tap_give_back(hk_tap_provider *p);
// Before the provider is registered: nobody listens yet.
void hk_tap_reset(hk_tap_provider *p);
// Only for the log: ORT writes it for ETW if its enable callback was called. Called when the
// provider is registered, as ETW itself does; at other times only where the locks are in order.
void hk_tap_tell_ort(const hk_tap_provider *p, bool listens);
#define HK_TAP_SAFE_MINOR 30
// Somebody else than we listens to this runtime's events, as far as is known.
bool hk_tap_others_listen(const hk_module *m);
// The module at this base, if all its sessions and runs were seen to come, else NULL.
const hk_module *hk_tap_seen_whole(const uint8_t *base);
bool hk_tap_is_wanted(const hk_tap_provider *p, uint8_t level, uint64_t keyword);

// tap_write.c: what takes the place of the imports
ULONG WINAPI hk_tap_register(const GUID *provider, void *callback, void *context, uint64_t *handle);
ULONG WINAPI hk_tap_write(uint64_t handle, const void *descriptor, const GUID *activity,
                          const GUID *related, ULONG count, const hk_tap_part *parts);
typedef ULONG WINAPI hk_tap_register_fn(const GUID *, void *, void *, uint64_t *);
typedef ULONG WINAPI hk_tap_write_fn(uint64_t, const void *, const GUID *, const GUID *, ULONG,
                                     const hk_tap_part *);
extern hk_tap_register_fn *g_hk_tap_real_register;
extern hk_tap_write_fn *g_hk_tap_real_write;

// tap_runs.c: sessions and runs of modules without a C API
void hk_tap_session_begins(hk_thread *t, uint32_t epoch, uintptr_t stack);
void hk_tap_session_created(hk_thread *t, uint32_t epoch, hk_tap_provider *p, const hk_tap_event *e,
                            uint64_t now);
void hk_tap_run_begins(hk_thread *t, uint32_t epoch, hk_tap_provider *p, uint32_t ort_session,
                       uintptr_t stack, uint64_t now);
void hk_tap_run_ends(hk_thread *t, uint32_t epoch, uintptr_t stack, uint64_t now);
void hk_tap_run_fails(hk_thread *t, uint32_t epoch, const hk_tap_event *e, uintptr_t stack,
                      uint64_t now);

// tap_hidden.c: such a module is told when its first event comes, which says the version. True:
// now.
bool hk_hidden_note(hk_module *m, hk_tap_text version);
