// SPDX-License-Identifier: MIT
// Environments and sessions: every way to make one, and their release.
#include "sessions.h"
#include "shapes.h"

typedef struct frame {
    hk_thread *t;
    uint32_t epoch;
    uint64_t begin;
} frame;

// False: call ORT and record nothing (not armed, or ORT calls itself inside such a call).
static bool frame_begin(frame *f, uint32_t inside)
{
    f->t = hk_enter_to_lock(&f->epoch);
    if (!f->t)
        return false;
    bool nested = f->t->inside & inside;
    if (!nested)
        f->t->inside |= inside;
    hk_leave(f->t);
    f->begin = hk_ticks();
    return !nested;
}

// False: we were disarmed meanwhile.
static bool frame_end(frame *f, uint32_t inside)
{
    f->t->inside &= ~inside;
    return hk_reenter(f->t, f->epoch);
}

// ------------------------------------------------------------------------------------ environments

static void env_event(frame *f, const hk_module *m, const OrtStatus *status, uint8_t action,
                      const char *log_id)
{
    if (!frame_end(f, HK_INSIDE_ENV))
        return;
    tl_Env fixed = {.module = m->id, .status = hk_status_code(m, status), .action = action};
    hk_text text = hk_text_of(log_id);
    hk_emit(f->t, f->epoch, TL_EVENT_Env, hk_ticks(), &fixed, sizeof fixed, &text, 1);
    hk_leave(f->t);
}

#define ENV_HOOK(name, params, args, log_id)                                                       \
    HK_HOOK(name, OrtStatus *, params, args)                                                       \
    {                                                                                              \
        frame f;                                                                                   \
        bool seen = frame_begin(&f, HK_INSIDE_ENV);                                                \
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
    bool seen = env && frame_begin(&f, HK_INSIDE_ENV);
    HK_ORIG(m, ReleaseEnv)(env);
    if (seen)
        env_event(&f, m, NULL, 1, NULL);
}

// ---------------------------------------------------------------------------------------- sessions

typedef void session_done_fn(hk_thread *t, uint32_t epoch, hk_module *m, OrtSession *session,
                             OrtStatus *status, const hk_session_origin *origin);

static void session_event(frame *f, hk_module *m, OrtSession *session, OrtStatus *status,
                          hk_session_origin origin, session_done_fn *done)
{
    origin.begin = f->begin;
    origin.end = hk_ticks();
    if (!frame_end(f, HK_INSIDE_CREATE))
        return;
    DWORD error = GetLastError();
    done(f->t, f->epoch, m, session, status, &origin);
    SetLastError(error);
    hk_leave(f->t);
}

#define SESSION_HOOK(name, params, args, ...)                                                      \
    HK_HOOK(name, OrtStatus *, params, args)                                                       \
    {                                                                                              \
        frame f;                                                                                   \
        bool seen = frame_begin(&f, HK_INSIDE_CREATE);                                             \
        OrtStatus *status = HK_ORIG(m, name)(HK_UNWRAP args);                                      \
        if (seen)                                                                                  \
            session_event(&f, m, status ? NULL : *out, status, (hk_session_origin){__VA_ARGS__},   \
                          hk_session_created);                                                     \
        return status;                                                                             \
    }

SESSION_HOOK(CreateSession,
             (const OrtEnv *env, const wchar_t *path, const OrtSessionOptions *options,
              OrtSession **out),
             (env, path, options, out), .source = HK_SOURCE_PATH, .path = path, .options = options)
SESSION_HOOK(CreateSessionFromArray,
             (const OrtEnv *env, const void *data, size_t len, const OrtSessionOptions *options,
              OrtSession **out),
             (env, data, len, options, out), .source = HK_SOURCE_BYTES, .bytes = data,
             .byte_count = len, .options = options)
SESSION_HOOK(CreateSessionWithPrepackedWeightsContainer,
             (const OrtEnv *env, const wchar_t *path, const OrtSessionOptions *options,
              OrtPrepackedWeightsContainer *container, OrtSession **out),
             (env, path, options, container, out), .source = HK_SOURCE_PATH_PREPACKED, .path = path,
             .options = options)
SESSION_HOOK(CreateSessionFromArrayWithPrepackedWeightsContainer,
             (const OrtEnv *env, const void *data, size_t len, const OrtSessionOptions *options,
              OrtPrepackedWeightsContainer *container, OrtSession **out),
             (env, data, len, options, container, out), .source = HK_SOURCE_BYTES_PREPACKED,
             .bytes = data, .byte_count = len, .options = options)
SESSION_HOOK(CreateSessionFromModel,
             (const OrtEnv *env, const OrtModel *model, const OrtSessionOptions *options,
              OrtSession **out),
             (env, model, options, out), .source = HK_SOURCE_EDITOR_MODEL, .options = options)
SESSION_HOOK(CreateModelEditorSession,
             (const OrtEnv *env, const wchar_t *path, const OrtSessionOptions *options,
              OrtSession **out),
             (env, path, options, out), .source = HK_SOURCE_EDITOR_PATH, .path = path,
             .options = options)
SESSION_HOOK(CreateModelEditorSessionFromArray,
             (const OrtEnv *env, const void *data, size_t len, const OrtSessionOptions *options,
              OrtSession **out),
             (env, data, len, options, out), .source = HK_SOURCE_EDITOR_BYTES, .bytes = data,
             .byte_count = len, .options = options)

HK_HOOK(FinalizeModelEditorSession, OrtStatus *,
        (OrtSession * session, const OrtSessionOptions *options,
         OrtPrepackedWeightsContainer *container),
        (session, options, container))
{
    frame f;
    bool seen = frame_begin(&f, HK_INSIDE_CREATE);
    OrtStatus *status = HK_ORIG(m, FinalizeModelEditorSession)(session, options, container);
    if (seen)
        session_event(&f, m, session, status, (hk_session_origin){0}, hk_session_finalized);
    return status;
}

// The body of ReleaseSession is shared with other release functions in some builds (identical code
// folding), so the pointer may be anything: only known sessions count.
HK_HOOK(ReleaseSession, void, (OrtSession * session), (session))
{
    uint32_t epoch;
    hk_thread *t = session ? hk_enter_to_lock(&epoch) : NULL;
    if (t) {
        hk_session_released(t, epoch, session);
        hk_leave(t);
    }
    HK_ORIG(m, ReleaseSession)(session);
}
