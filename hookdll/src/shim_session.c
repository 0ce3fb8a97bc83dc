// SPDX-License-Identifier: MIT
// Which sessions get the shim: those whose options we know from their creation on and in which it
// changes nothing that the program could notice. The others run as if we were not there, and a log
// row tells why.
#include "shim.h"
#include "tap.h"

static SRWLOCK g_lock = SRWLOCK_INIT;  // g_devices
static OrtEnv *g_envs[HK_MODULES_MAX]; // the environment last seen, per module

static struct {
    const OrtHardwareDevice *processor;
    OrtEpDevice *ours;
} g_devices[HK_MODULES_MAX];

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
    // What there was no room for could be what the others are refused for.
    if (!why && hk_options_are_full(given))
        why = "it has more options than are kept, and ORT's profiling may be among them";
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

// -------------------------------------------------------------------------------------- the device

static bool succeeded(hk_thread *t, uint32_t epoch, const hk_module *m, OrtStatus *status)
{
    if (!status)
        return true;
    hk_emit_log(t, epoch, TL_LEVEL_WARNING, 0, 0, hk_status_code(m, status),
                hk_status_message(m, status));
    ORT_CALL(m, ReleaseStatus)(status);
    return false;
}

// The processor, as the device of ORT's own provider for it; NULL if there is none.
static const OrtHardwareDevice *find_processor(hk_thread *t, uint32_t epoch, const hk_module *m,
                                               const OrtEnv *env)
{
    const OrtEpDevice *const *devices = NULL;
    size_t count = 0;
    if (!succeeded(t, epoch, m, ORT_CALL(m, GetEpDevices)(env, &devices, &count)))
        return NULL;
    for (size_t i = 0; i < count; i++) {
        const OrtHardwareDevice *device = ORT_CALL(m, EpDevice_Device)(devices[i]);
        if (ORT_CALL(m, HardwareDevice_Type)(device) == ORT_HARDWARE_CPU)
            return device;
    }
    return NULL;
}

// Our device. It is not among the environment's: there ORT, or the program, might choose it for
// other sessions. Asked for each time: the program may have made another environment.
static const OrtEpDevice *get_device(hk_thread *t, uint32_t epoch, hk_module *m, const OrtEnv *env)
{
    OrtEpDevice **known = &g_devices[m - g_hk.modules].ours;
    const OrtHardwareDevice **made_of = &g_devices[m - g_hk.modules].processor;
    AcquireSRWLockExclusive(&g_lock);
    const OrtHardwareDevice *processor = find_processor(t, epoch, m, env);
    if (processor && (!*known || *made_of != processor)) {
        *made_of = processor;
        // The one before stays: sessions may have it.
        if (!succeeded(
                t, epoch, m,
                EP_CALL(m, CreateEpDevice)(hk_shim_factory(m), processor, NULL, NULL, known)))
            *known = NULL;
    }
    const OrtEpDevice *device = processor ? *known : NULL;
    ReleaseSRWLockExclusive(&g_lock);
    return device;
}

// ---------------------------------------------------------------------------------------- creation

static OrtSessionOptions *copy_with_shim(hk_thread *t, uint32_t epoch, hk_module *m, OrtEnv *env,
                                         const OrtSessionOptions *given)
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

// ORT's own events name a session's providers: who listens to them for telemetry sees ours. That
// changes nothing in the program, so it is told, once for each runtime, and not refused.
static void tell_listeners(hk_thread *t, uint32_t epoch, const hk_module *m)
{
    static uint32_t told[HK_MODULES_MAX]; // the arming for which it was
    uint32_t *last = &told[m - g_hk.modules];
    if (*last == epoch || !hk_tap_others_listen(m))
        return;
    *last = epoch;
    hk_emit_log(
        t, epoch, TL_LEVEL_WARNING, 0, 0, 0,
        hk_text_of("An event tracing session listens to ONNX Runtime's own events, in which "
                   "sessions made with --ops shim have " HK_SHIM_NAME
                   " among their providers; use --ops all where that matters"));
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
    if (c->copy)
        tell_listeners(t, epoch, m);
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
    g_devices[m - g_hk.modules].ours = NULL;
    hk_shim_forget_runs(m);
}
