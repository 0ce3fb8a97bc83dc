// SPDX-License-Identifier: MIT
// Which sessions get the shim: those whose options we know from their creation on and in which it
// changes nothing that the program could notice. The others run as if we were not there, and a log
// row tells why.
#include "shim.h"

#define REGISTRATION "ortscope"

static SRWLOCK g_lock = SRWLOCK_INIT;  // registering
static OrtEnv *g_envs[HK_MODULES_MAX]; // the environment last seen, per module

// --------------------------------------------------------------------------------------- refusals

static bool starts_with(const char *text, const char *prefix)
{
    while (*prefix && *text == *prefix)
        text++, prefix++;
    return !*prefix;
}

// The value of "key=" in lines of options; NULL if it is not there.
static const char *value_of(const char *options, const char *key)
{
    for (const char *line = options; *line; line++) {
        if (starts_with(line, key))
            return line + hk_text_of(key).len;
        while (line[1] && *line != '\n')
            line++;
    }
    return NULL;
}

static bool is_word(const char *value, const char *word)
{
    size_t len = hk_text_of(word).len;
    return starts_with(value, word) && (!value[len] || value[len] == '\n');
}

static bool profiles_itself(const char *options)
{
    const char *set = value_of(options, "profiling=");
    const char *entry = value_of(options, "session.enable_profiling=");
    return (set && !is_word(set, "off")) || (entry && !is_word(entry, "0"));
}

// ORT may take session options out of the model; profiling is among them.
static bool model_brings_options(void)
{
    char value[8] = "";
    return GetEnvironmentVariableA("ORT_LOAD_CONFIG_FROM_MODEL", value, sizeof value) &&
           is_word(value, "1");
}

static const char *refusal_by(const char *options, const char *providers)
{
    if (!options || !providers)
        return "its options were made before ortscope came";
    if (profiles_itself(options))
        return "the program has switched on ORT's own profiling, which the shim can't share";
    if (model_brings_options())
        return "ORT_LOAD_CONFIG_FROM_MODEL is set, and the model may switch on ORT's profiling";
    // With an explicit provider ORT would no longer choose by the policy.
    if (value_of(options, "ep_selection_policy=") && is_word(providers, "CPUExecutionProvider"))
        return "ORT is to choose its execution providers itself, which the shim would prevent";
    return NULL;
}

static const char *refusal(const OrtSessionOptions *given)
{
    char *options = NULL, *providers = NULL;
    hk_options_describe(given, &options, &providers);
    const char *why = refusal_by(options, providers);
    hk_free(options);
    hk_free(providers);
    return why;
}

void hk_shim_tell_refusal(hk_thread *t, uint32_t epoch, uint32_t session, const char *why)
{
    static const char head[] = "Operators of this session are not recorded: ";
    static const char tail[] = "; use --ops all instead";
    char text[256];
    hk_text reason = hk_text_of(why);
    if (reason.len + sizeof head + sizeof tail > sizeof text)
        return;
    memcpy(text, head, sizeof head - 1);
    memcpy(text + sizeof head - 1, reason.bytes, reason.len);
    memcpy(text + sizeof head - 1 + reason.len, tail, sizeof tail);
    hk_emit_log(t, epoch, TL_LEVEL_WARNING, session, 0, 0, hk_text_of(text));
}

// ------------------------------------------------------------------------------------- registering

static bool succeeded(hk_thread *t, uint32_t epoch, const hk_module *m, OrtStatus *status)
{
    if (!status)
        return true;
    hk_emit_log(t, epoch, TL_LEVEL_WARNING, 0, 0, hk_status_code(m, status),
                hk_status_message(m, status));
    ORT_CALL(m, ReleaseStatus)(status);
    return false;
}

static const OrtEpDevice *find_device(hk_thread *t, uint32_t epoch, const hk_module *m,
                                      const OrtEnv *env)
{
    const OrtEpDevice *const *devices = NULL;
    size_t count = 0;
    if (!succeeded(t, epoch, m, ORT_CALL(m, GetEpDevices)(env, &devices, &count)))
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (is_word(ORT_CALL(m, EpDevice_EpName)(devices[i]), HK_SHIM_NAME))
            return devices[i];
    return NULL;
}

static bool register_library(hk_thread *t, uint32_t epoch, const hk_module *m, OrtEnv *env)
{
    static WCHAR path[1024];
    HMODULE self;
    if (!path[0] && (!GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS |
                                             GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
                                         (LPCWSTR)(uintptr_t)register_library, &self) ||
                     GetModuleFileNameW(self, path, 1024) >= 1024)) {
        path[0] = 0;
        return false;
    }
    return succeeded(t, epoch, m,
                     ORT_CALL(m, RegisterExecutionProviderLibrary)(env, REGISTRATION, path));
}

// Our device in this environment. Asked for each time: the program may have released the
// environment that knew us and made another one.
static const OrtEpDevice *get_device(hk_thread *t, uint32_t epoch, const hk_module *m, OrtEnv *env)
{
    AcquireSRWLockExclusive(&g_lock);
    const OrtEpDevice *device = find_device(t, epoch, m, env);
    if (!device && register_library(t, epoch, m, env))
        device = find_device(t, epoch, m, env);
    ReleaseSRWLockExclusive(&g_lock);
    return device;
}

// ---------------------------------------------------------------------------------------- creation

static OrtSessionOptions *copy_with_shim(hk_thread *t, uint32_t epoch, const hk_module *m,
                                         OrtEnv *env, const OrtSessionOptions *given)
{
    OrtSessionOptions *copy = NULL;
    const OrtEpDevice *device = get_device(t, epoch, m, env);
    if (!device)
        return NULL;
    OrtStatus *status = given ? ORT_CALL(m, CloneSessionOptions)(given, &copy)
                              : ORT_CALL(m, CreateSessionOptions)(&copy);
    if (!succeeded(t, epoch, m, status))
        return NULL;
    status =
        ORT_CALL(m, SessionOptionsAppendExecutionProvider_V2)(copy, env, &device, 1, NULL, NULL, 0);
    if (succeeded(t, epoch, m, status))
        return copy;
    ORT_CALL(m, ReleaseSessionOptions)(copy);
    return NULL;
}

void hk_shim_note_env(const hk_module *m, const OrtEnv *env)
{
    g_envs[m - g_hk.modules] = (OrtEnv *)(uintptr_t)env;
}

const OrtSessionOptions *hk_shim_creation_begins(hk_thread *t, uint32_t epoch, hk_module *m,
                                                 const OrtSessionOptions *given,
                                                 hk_shim_creation *c)
{
    OrtEnv *env = g_envs[m - g_hk.modules];
    c->outer = t->shim_ep;
    t->shim_ep = NULL;
    c->refused = refusal(given);
    if (!c->refused && env)
        c->copy = copy_with_shim(t, epoch, m, env, given);
    if (!c->refused && !c->copy)
        c->refused = "ORT did not accept the shim";
    return c->copy ? c->copy : given;
}

void hk_shim_creation_ends(hk_thread *t, hk_module *m, hk_shim_creation *c, OrtSession *session)
{
    hk_shim_ep *ep = t->shim_ep;
    t->shim_ep = c->outer;
    if (!c->copy)
        return;
    ORT_CALL(m, ReleaseSessionOptions)(c->copy);
    if (session && ep)
        atomic_store(&ep->session, session);
}

void hk_shim_forget(const hk_module *m)
{
    g_envs[m - g_hk.modules] = NULL;
    hk_shim_forget_runs(m);
}
