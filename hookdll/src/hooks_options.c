// SPDX-License-Identifier: MIT
// Session options: what the program set, noted as text per OrtSessionOptions object, and handed to
// the session that is made from it. ORT has no getters for most of it.
#include "common/secret.h"
#include "common/utf.h"
#include "registry.h"
#include "sessions.h"

#define OPTIONS_TEXT_MAX   6000u
#define PROVIDERS_TEXT_MAX 1000u
#define VALUE_MAX          1024u

typedef struct options {
    struct options *next_free;
    bool complete;                      // seen from its creation on
    bool full;                          // some entries had no room
    char text[OPTIONS_TEXT_MAX];        // "key=value\n" ...
    char providers[PROVIDERS_TEXT_MAX]; // "A,B"
} options;

static hk_registry g_options;
static SRWLOCK g_lock = SRWLOCK_INIT; // guards the texts and the pool
static options *g_pool;

// ----------------------------------------------------------------------------------------- objects

static options *options_alloc(void)
{
    options *o = g_pool;
    if (!o)
        return hk_alloc(sizeof *o);
    g_pool = o->next_free;
    memset(o, 0, sizeof *o);
    return o;
}

static void options_free(void *value)
{
    options *o = value;
    o->next_free = g_pool;
    g_pool = o;
}

static options *options_get(const void *ort_options)
{
    options *o = hk_registry_find(&g_options, ort_options);
    if (!o && (o = options_alloc()) != NULL && !hk_registry_add(&g_options, ort_options, o)) {
        options_free(o);
        o = NULL;
    }
    return o;
}

void hk_options_clear(void)
{
    AcquireSRWLockExclusive(&g_lock);
    hk_registry_clear(&g_options, options_free);
    ReleaseSRWLockExclusive(&g_lock);
}

// ------------------------------------------------------------------------------------------- texts

static size_t text_len(const char *text)
{
    size_t len = 0;
    while (text[len])
        len++;
    return len;
}

static bool starts_with(const char *text, const char *prefix, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (text[i] != prefix[i])
            return false;
    return true;
}

// Removes an earlier "key=..." line.
static void remove_key(char *text, const char *key, size_t key_len)
{
    char *line = text;
    while (*line) {
        char *end = line;
        while (*end && *end != '\n')
            end++;
        size_t rest = text_len(end) + 1;
        if (starts_with(line, key, key_len) && line[key_len] == '=') {
            bool newline = *end == '\n';
            memmove(line, end + newline, rest - newline);
            continue;
        }
        line = *end ? end + 1 : end;
    }
}

static void set_entry(options *o, hk_text prefix, hk_text key, hk_text value)
{
    char full[256];
    size_t key_len = 0;
    for (size_t i = 0; i < prefix.len && key_len < sizeof full; i++)
        full[key_len++] = prefix.bytes[i];
    for (size_t i = 0; i < key.len && key_len < sizeof full; i++)
        full[key_len++] = key.bytes[i];
    if (cm_names_secret(full, key_len))
        value = hk_text_of(CM_HIDDEN);
    remove_key(o->text, full, key_len);
    size_t at = text_len(o->text);
    size_t value_len = value.len < VALUE_MAX ? value.len : VALUE_MAX;
    if (at + key_len + value_len + 3 > OPTIONS_TEXT_MAX) {
        o->full = true;
        return;
    }
    if (at)
        o->text[at++] = '\n';
    memcpy(o->text + at, full, key_len);
    at += key_len;
    o->text[at++] = '=';
    for (size_t i = 0; i < value_len; i++)
        o->text[at + i] = value.bytes[i] == '\n' ? ' ' : value.bytes[i];
    o->text[at + value_len] = 0;
}

static void add_provider(options *o, hk_text name)
{
    size_t at = text_len(o->providers);
    if (at + name.len + 2 > PROVIDERS_TEXT_MAX)
        return;
    if (at)
        o->providers[at++] = ',';
    memcpy(o->providers + at, name.bytes, name.len);
    o->providers[at + name.len] = 0;
}

// -------------------------------------------------------------------------------- the common hook

static void note_utf16(options *o, hk_text key, const wchar_t *text)
{
    char value[VALUE_MAX];
    size_t units = 0;
    while (text && units < VALUE_MAX && text[units])
        units++;
    size_t len = cm_utf16_to_utf8((const uint16_t *)text, units, value, sizeof value);
    set_entry(o, hk_text_of(NULL), key, (hk_text){value, len});
}

// SetDeterministicCompute takes a bool, the others an int: a byte or four bytes of the register.
static int64_t int_argument(const hk_api_row *row, void *b)
{
    if (row == &hk_api_rows[HK_API_SetDeterministicCompute])
        return (uint8_t)(uintptr_t)b;
    return (int32_t)(uintptr_t)b;
}

static void note(options *o, const hk_api_row *row, void *b, void *c)
{
    char number[24];
    hk_text none = hk_text_of(NULL), key = hk_text_of(row->key);
    switch (row->reading) {
    case HK_READ_NONE:
        set_entry(o, none, key, hk_text_of(row->value));
        break;
    case HK_READ_INT:
        set_entry(o, none, key, hk_text_of_number(int_argument(row, b), number));
        break;
    case HK_READ_UTF8:
        set_entry(o, none, key, hk_text_of(b));
        break;
    case HK_READ_UTF16:
        note_utf16(o, key, b);
        break;
    case HK_READ_PAIR:
        set_entry(o, none, hk_text_of(b), hk_text_of(c));
        break;
    case HK_READ_DIM:
        set_entry(o, key, hk_text_of(b), hk_text_of_number((int64_t)(uintptr_t)c, number));
        break;
    case HK_READ_PROVIDER:
        add_provider(o, hk_text_of(row->value));
        break;
    }
}

// Runs `OrtStatus *orig` around the notes: only calls that the program made itself and that
// succeeded count.
#define OPTION_CALL(status_expr, ort_options, ...)                                                 \
    do {                                                                                           \
        uint32_t epoch;                                                                            \
        hk_thread *t = hk_enter_to_lock(&epoch);                                                   \
        bool outer = t && !(t->inside & (HK_INSIDE_OPTIONS | HK_INSIDE_CREATE));                   \
        if (outer)                                                                                 \
            t->inside |= HK_INSIDE_OPTIONS;                                                        \
        if (t)                                                                                     \
            hk_leave(t);                                                                           \
        OrtStatus *status = (status_expr);                                                         \
        if (outer)                                                                                 \
            t->inside &= ~HK_INSIDE_OPTIONS;                                                       \
        if (outer && hk_reenter(t, epoch)) {                                                       \
            if (status)                                                                            \
                hk_emit_log(t, epoch, TL_LEVEL_ERROR, 0, 0, hk_status_code(m, status),             \
                            hk_status_message(m, status));                                         \
            AcquireSRWLockExclusive(&g_lock);                                                      \
            options *o = status ? NULL : options_get(ort_options);                                 \
            if (o) {                                                                               \
                __VA_ARGS__;                                                                       \
            }                                                                                      \
            ReleaseSRWLockExclusive(&g_lock);                                                      \
            hk_leave(t);                                                                           \
        }                                                                                          \
        return status;                                                                             \
    } while (0)

typedef OrtStatus *option_fn(void *ort_options, void *b, void *c, void *d);

static OrtStatus *option_call(hk_module *m, hk_api api, void *a, void *b, void *c, void *d)
{
    OPTION_CALL(((option_fn *)m->orig[api])(a, b, c, d), a, note(o, &hk_api_rows[api], b, c));
}

#define XX(name, ...)                                                                              \
    HK_HOOK(name, OrtStatus *, (void *a, void *b, void *c, void *d), (a, b, c, d))                 \
    {                                                                                              \
        return option_call(m, HK_API_##name, a, b, c, d);                                          \
    }
HK_API_OPTION(XX)
#undef XX

// ----------------------------------------------------------------------------- hooks of their own

HK_HOOK(CreateSessionOptions, OrtStatus *, (OrtSessionOptions * *out), (out))
{
    OPTION_CALL(HK_ORIG(m, CreateSessionOptions)(out), *out, memset(o, 0, sizeof *o),
                o->complete = true);
}

static void copy_options(options *to, const options *from)
{
    if (!from) // not seen from its creation on: neither is the copy
        return;
    memcpy(to->text, from->text, sizeof to->text);
    memcpy(to->providers, from->providers, sizeof to->providers);
    to->complete = from->complete;
    to->full = from->full;
}

HK_HOOK(CloneSessionOptions, OrtStatus *, (const OrtSessionOptions *from, OrtSessionOptions **out),
        (from, out))
{
    OPTION_CALL(HK_ORIG(m, CloneSessionOptions)(from, out), *out,
                copy_options(o, hk_registry_find(&g_options, from)));
}

HK_HOOK(ReleaseSessionOptions, void, (OrtSessionOptions * ort_options), (ort_options))
{
    uint32_t epoch;
    hk_thread *t = ort_options ? hk_enter_to_release(&epoch) : NULL;
    if (t) {
        AcquireSRWLockExclusive(&g_lock);
        options *o = hk_registry_remove(&g_options, ort_options);
        if (o)
            options_free(o);
        ReleaseSRWLockExclusive(&g_lock);
        hk_leave_release(t);
    }
    HK_ORIG(m, ReleaseSessionOptions)(ort_options);
}

// "DML" and "DmlExecutionProvider" are both accepted by ORT; the list has the long form.
static void add_provider_named(options *o, const char *name)
{
    hk_text text = hk_text_of(name);
    char full[128];
    static const char suffix[] = "ExecutionProvider";
    size_t suffix_len = sizeof suffix - 1;
    if (text.len + suffix_len >= sizeof full)
        return;
    memcpy(full, text.bytes, text.len);
    if (!cm_text_contains(text.bytes, text.len, "executionprovider")) {
        memcpy(full + text.len, suffix, suffix_len);
        text.len += suffix_len;
    }
    add_provider(o, (hk_text){full, text.len});
}

HK_HOOK(SessionOptionsAppendExecutionProvider, OrtStatus *,
        (OrtSessionOptions * ort_options, const char *name, const char *const *keys,
         const char *const *values, size_t count),
        (ort_options, name, keys, values, count))
{
    OPTION_CALL(
        HK_ORIG(m, SessionOptionsAppendExecutionProvider)(ort_options, name, keys, values, count),
        ort_options, add_provider_named(o, name));
}

HK_HOOK(SessionOptionsAppendExecutionProvider_V2, OrtStatus *,
        (OrtSessionOptions * ort_options, OrtEnv *env, const OrtEpDevice *const *devices,
         size_t device_count, const char *const *keys, const char *const *values, size_t count),
        (ort_options, env, devices, device_count, keys, values, count))
{
    OPTION_CALL(HK_ORIG(m, SessionOptionsAppendExecutionProvider_V2)(
                    ort_options, env, devices, device_count, keys, values, count),
                ort_options,
                if (device_count) add_provider_named(o, ORT_CALL(m, EpDevice_EpName)(devices[0])));
}

// -------------------------------------------------------------------------------- for the session

static char *copy_of(const char *text, const char *more)
{
    size_t len = text_len(text), more_len = text_len(more);
    char *copy = hk_alloc(len + more_len + 2);
    if (!copy)
        return NULL;
    memcpy(copy, text, len);
    if (len && more_len)
        copy[len++] = ',';
    memcpy(copy + len, more, more_len);
    return copy;
}

bool hk_options_are_full(const OrtSessionOptions *ort_options)
{
    AcquireSRWLockShared(&g_lock);
    const options *o = ort_options ? hk_registry_find(&g_options, ort_options) : NULL;
    bool full = o && o->full;
    ReleaseSRWLockShared(&g_lock);
    return full;
}

void hk_options_describe(const OrtSessionOptions *ort_options, char **out_options,
                         char **out_providers)
{
    // ORT itself puts the CPU provider last unless the program did.
    static const char cpu[] = "CPUExecutionProvider";
    if (!ort_options) {
        *out_options = copy_of("", "");
        *out_providers = copy_of(cpu, "");
        return;
    }
    AcquireSRWLockExclusive(&g_lock);
    const options *o = hk_registry_find(&g_options, ort_options);
    if (o && o->complete) {
        bool has_cpu =
            cm_text_contains(o->providers, text_len(o->providers), "cpuexecutionprovider");
        *out_options = copy_of(o->text, "");
        *out_providers = copy_of(o->providers, has_cpu ? "" : cpu);
    } else if (o) {
        *out_options = copy_of(o->text, "");
    }
    ReleaseSRWLockExclusive(&g_lock);
}
