// SPDX-License-Identifier: MIT
// Environments and sessions: every way to make one, and their release.
#include "sessions.h"
#include "shapes.h"
#include "shim.h"

typedef struct frame {
    hk_thread *t;
    uint32_t epoch;
    uint64_t begin;
    hk_load_note outer; // of sessions, as the tap's
    hk_tap_note outer_tap;
} frame;

// ------------------------------------------------------------------------------------ environments

// False: call ORT and record nothing (not armed, or ORT calls itself inside such a call).
static bool env_begin(frame *f)
{
    f->t = hk_enter_to_lock(&f->epoch);
    if (!f->t)
        return false;
    bool nested = f->t->inside & HK_INSIDE_ENV;
    f->t->inside |= HK_INSIDE_ENV;
    hk_leave(f->t);
    return !nested;
}

static void env_event(frame *f, const hk_module *m, const OrtStatus *status, uint8_t action,
                      const char *log_id)
{
    f->t->inside &= ~HK_INSIDE_ENV;
    if (!hk_reenter(f->t, f->epoch))
        return; // disarmed meanwhile
    tl_Env fixed = {.module = m->id, .status = hk_status_code(m, status), .action = action};
    hk_text text = hk_text_of(log_id);
    hk_emit(f->t, f->epoch, TL_EVENT_Env, hk_ticks(), &fixed, sizeof fixed, &text, 1);
    hk_leave(f->t);
}

#define ENV_HOOK(name, params, args, log_id)                                                       \
    HK_HOOK(name, OrtStatus *, params, args)                                                       \
    {                                                                                              \
        frame f;                                                                                   \
        bool seen = env_begin(&f);                                                                 \
        OrtStatus *status = HK_ORIG(m, name)(HK_UNWRAP args);                                      \
        if (seen)                                                                                  \
            env_event(&f, m, status, 0, log_id);                                                   \
        return status;                                                                             \
    }

ENV_HOOK(CreateEnv, (int level, const char *log_id, OrtEnv **out), (level, log_id, out), log_id)
ENV_HOOK(CreateEnvWithCustomLogger,
         (OrtLoggingFunction * fn, void *param, int level, const char *log_id, OrtEnv **out),
         (fn, param, level, log_id, out), log_id)
ENV_HOOK(CreateEnvWithGlobalThreadPools,
         (int level, const char *log_id, const OrtThreadingOptions *threading, OrtEnv **out),
         (level, log_id, threading, out), log_id)
ENV_HOOK(CreateEnvWithCustomLoggerAndGlobalThreadPools,
         (OrtLoggingFunction * fn, void *param, int level, const char *log_id,
          const OrtThreadingOptions *threading, OrtEnv **out),
         (fn, param, level, log_id, threading, out), log_id)
ENV_HOOK(CreateEnvWithOptions, (const OrtEnvCreationOptions *options, OrtEnv **out), (options, out),
         options ? options->log_id : NULL)

HK_HOOK(ReleaseEnv, void, (OrtEnv * env), (env))
{
    frame f;
    bool seen = env && env_begin(&f);
    HK_ORIG(m, ReleaseEnv)(env);
    if (seen)
        env_event(&f, m, NULL, 1, NULL);
}

// ---------------------------------------------------------------------------------------- sessions

// False: call ORT and record nothing (not armed, or one such function of ORT calls another one).
static bool session_begin(frame *f, const void *out)
{
    f->t = hk_enter_to_lock(&f->epoch);
    if (!f->t)
        return false;
    bool passed_on = f->t->load.out == out;
    if (!passed_on) {
        f->outer = f->t->load;
        f->outer_tap = f->t->tap;
        f->t->load = (hk_load_note){.out = out};
        f->t->tap = (hk_tap_note){0};
        f->t->inside |= HK_INSIDE_CREATE;
        f->t->alloc_mark = 0;
    }
    hk_leave(f->t);
    f->begin = hk_ticks();
    return !passed_on;
}

typedef void session_done_fn(hk_thread *t, uint32_t epoch, hk_module *m, OrtSession *session,
                             OrtStatus *status, const hk_session_origin *origin);

// The options to create it with. Sessions of the model editor get their providers when they are
// finalized.
static const OrtSessionOptions *shim_begins(frame *f, hk_module *m, uint8_t source,
                                            const OrtEnv *env, const OrtSessionOptions *given,
                                            hk_shim_creation *shim)
{
    bool unfinished = source == HK_SOURCE_EDITOR_PATH || source == HK_SOURCE_EDITOR_BYTES;
    if (env)
        hk_shim_note_env(m, env);
    if (unfinished || !hk_shim_is_on(m) || !hk_reenter(f->t, f->epoch))
        return given;
    DWORD error = GetLastError();
    given = hk_shim_creation_begins(f->t, f->epoch, m, given, shim);
    SetLastError(error);
    hk_leave(f->t);
    f->begin = hk_ticks();
    return given;
}

static void session_event(frame *f, hk_module *m, OrtSession *session, OrtStatus *status,
                          hk_session_origin origin, hk_shim_creation *shim, session_done_fn *done)
{
    hk_thread *t = f->t;
    origin.begin = f->begin;
    origin.end = hk_ticks();
    origin.no_shim = shim->refused;
    hk_shim_creation_ends(t, m, shim, status ? NULL : session);
    bool armed = hk_reenter(t, f->epoch);
    if (armed) {
        DWORD error = GetLastError();
        done(t, f->epoch, m, session, status, &origin);
        SetLastError(error);
    }
    t->load = f->outer;
    t->tap = f->outer_tap;
    if (!t->load.out)
        t->inside &= ~HK_INSIDE_CREATE;
    if (armed)
        hk_leave(t);
}

#define SESSION_HOOK(name, params, args, ...)                                                      \
    HK_HOOK(name, OrtStatus *, params, args)                                                       \
    {                                                                                              \
        frame f;                                                                                   \
        bool seen = session_begin(&f, out);                                                        \
        hk_shim_creation shim = {0};                                                               \
        hk_session_origin origin = {.options = options, __VA_ARGS__};                              \
        if (seen)                                                                                  \
            options = shim_begins(&f, m, origin.source, env, options, &shim);                      \
        OrtStatus *status = HK_ORIG(m, name)(HK_UNWRAP args);                                      \
        if (seen)                                                                                  \
            session_event(&f, m, status ? NULL : *out, status, origin, &shim, hk_session_created); \
        return status;                                                                             \
    }

SESSION_HOOK(CreateSession,
             (const OrtEnv *env, const wchar_t *path, const OrtSessionOptions *options,
              OrtSession **out),
             (env, path, options, out), .source = HK_SOURCE_PATH, .path = path)
SESSION_HOOK(CreateSessionFromArray,
             (const OrtEnv *env, const void *data, size_t len, const OrtSessionOptions *options,
              OrtSession **out),
             (env, data, len, options, out), .source = HK_SOURCE_BYTES, .bytes = data,
             .byte_count = len)
SESSION_HOOK(CreateSessionWithPrepackedWeightsContainer,
             (const OrtEnv *env, const wchar_t *path, const OrtSessionOptions *options,
              OrtPrepackedWeightsContainer *container, OrtSession **out),
             (env, path, options, container, out), .source = HK_SOURCE_PATH_PREPACKED, .path = path)
SESSION_HOOK(CreateSessionFromArrayWithPrepackedWeightsContainer,
             (const OrtEnv *env, const void *data, size_t len, const OrtSessionOptions *options,
              OrtPrepackedWeightsContainer *container, OrtSession **out),
             (env, data, len, options, container, out), .source = HK_SOURCE_BYTES_PREPACKED,
             .bytes = data, .byte_count = len)
SESSION_HOOK(CreateSessionFromModel,
             (const OrtEnv *env, const OrtModel *model, const OrtSessionOptions *options,
              OrtSession **out),
             (env, model, options, out), .source = HK_SOURCE_EDITOR_MODEL)
SESSION_HOOK(CreateModelEditorSession,
             (const OrtEnv *env, const wchar_t *path, const OrtSessionOptions *options,
              OrtSession **out),
             (env, path, options, out), .source = HK_SOURCE_EDITOR_PATH, .path = path)
SESSION_HOOK(CreateModelEditorSessionFromArray,
             (const OrtEnv *env, const void *data, size_t len, const OrtSessionOptions *options,
              OrtSession **out),
             (env, data, len, options, out), .source = HK_SOURCE_EDITOR_BYTES, .bytes = data,
             .byte_count = len)

HK_HOOK(FinalizeModelEditorSession, OrtStatus *,
        (OrtSession * session, const OrtSessionOptions *options,
         OrtPrepackedWeightsContainer *container),
        (session, options, container))
{
    frame f;
    bool seen = session_begin(&f, session);
    hk_shim_creation shim = {0};
    if (seen)
        options = shim_begins(&f, m, HK_SOURCE_EDITOR_MODEL, NULL, options, &shim);
    OrtStatus *status = HK_ORIG(m, FinalizeModelEditorSession)(session, options, container);
    if (seen)
        session_event(&f, m, session, status, (hk_session_origin){0}, &shim, hk_session_finalized);
    return status;
}

// The body of ReleaseSession is shared with other release functions in some builds (identical code
// folding), so the pointer may be anything: only known sessions count.
HK_HOOK(ReleaseSession, void, (OrtSession * session), (session))
{
    uint32_t epoch;
    hk_thread *t = session ? hk_enter_to_release(&epoch) : NULL;
    if (t) {
        hk_session_released(t, epoch, session);
        hk_leave_release(t);
    }
    HK_ORIG(m, ReleaseSession)(session);
}
