// SPDX-License-Identifier: MIT
#include "sessions_own.h"

#include "common/utf.h"
#include "op.h"
#include "phases.h"
#include "shim.h"
#include "xxh64.h"

#define MODEL_PATH_MAX 4096u
#define RESTING_MAX    64u
#define HASH_BYTES_MAX (512u << 20) // larger models are not hashed: it would hold the program up

static hk_registry g_sessions;
static SRWLOCK g_pool_lock = SRWLOCK_INIT;
static hk_session *g_pool;
static hk_session *g_resting; // places of those that gave way
static uint32_t g_resting_count;

uint32_t hk_status_code(const hk_module *m, const OrtStatus *status)
{
    return status ? (uint32_t)ORT_CALL(m, GetErrorCode)(status) : 0;
}

hk_text hk_status_message(const hk_module *m, const OrtStatus *status)
{
    return hk_text_of(status ? ORT_CALL(m, GetErrorMessage)(status) : NULL);
}

// ------------------------------------------------------------------------------------------ memory

// A session that gave way may live, and come back: if it got its old place its kernels would not
// notice that it has another number. So these places rest, and many are made fit for use at once.
static void end_rest(void)
{
    AcquireSRWLockExclusive(&g_pool_lock);
    hk_session *rested = g_resting_count >= RESTING_MAX ? g_resting : NULL;
    if (rested)
        g_resting = NULL, g_resting_count = 0;
    ReleaseSRWLockExclusive(&g_pool_lock);
    if (!rested)
        return;
    hk_kernels_disown();
    hk_session *last = rested;
    while (last->next_free)
        last = last->next_free;
    AcquireSRWLockExclusive(&g_pool_lock);
    last->next_free = g_pool;
    g_pool = rested;
    ReleaseSRWLockExclusive(&g_pool_lock);
}

static hk_session *take_place(void)
{
    AcquireSRWLockExclusive(&g_pool_lock);
    hk_session *s = g_pool;
    if (s)
        g_pool = s->next_free;
    ReleaseSRWLockExclusive(&g_pool_lock);
    return s;
}

hk_session *hk_session_alloc(hk_module *m, uint32_t id)
{
    hk_session *s = take_place();
    if (!s) {
        end_rest();
        s = take_place();
    }
    if (s)
        memset(&s->module, 0, sizeof *s - offsetof(hk_session, module));
    else if (!(s = hk_alloc(sizeof *s)))
        return NULL;
    atomic_fetch_and(&s->held, ~HK_SESSION_GAVE_WAY);
    s->module = m;
    s->id = id ? id : (uint32_t)InterlockedIncrement((volatile LONG *)&g_hk.next_session);
    s->facts.session = s->id;
    s->facts.module = m->id;
    return s;
}

void hk_session_free(void *value)
{
    hk_session *s = value;
    hk_alloc_session_gone(s);
    hk_free(s->model);
    hk_free(s->options);
    hk_free(s->providers);
    s->model = s->options = s->providers = NULL;
    AcquireSRWLockExclusive(&g_pool_lock);
    s->id = 0; // references to it are void from here on
    bool rests = atomic_load(&s->held) & HK_SESSION_GAVE_WAY;
    hk_session **places = rests ? &g_resting : &g_pool;
    g_resting_count += rests;
    s->next_free = *places;
    *places = s;
    ReleaseSRWLockExclusive(&g_pool_lock);
}

static void copy_text(char *to, size_t capacity, hk_text from)
{
    size_t len = from.len < capacity - 1 ? from.len : capacity - 1;
    memcpy(to, from.bytes, len);
    to[len] = 0;
}

// -------------------------------------------------------------------------------------- describing

static void describe_model(hk_session *s, const hk_session_origin *origin, bool created)
{
    if (origin->path && (s->model = hk_alloc(MODEL_PATH_MAX)) != NULL) {
        size_t units = 0;
        while (units < MODEL_PATH_MAX && origin->path[units])
            units++;
        cm_utf16_to_utf8((const uint16_t *)origin->path, units, s->model, MODEL_PATH_MAX);
    }
    s->facts.model_bytes = origin->byte_count;
    // After a failure the bytes may be anything, also unreadable.
    if (created && origin->bytes && origin->byte_count <= HASH_BYTES_MAX)
        s->facts.model_hash = hk_xxh64(origin->bytes, origin->byte_count);
}

static void take_string(hk_module *m, OrtAllocator *allocator, OrtStatus *status, char *text,
                        char *to, size_t capacity)
{
    if (status) {
        ORT_CALL(m, ReleaseStatus)(status);
        return;
    }
    copy_text(to, capacity, hk_text_of(text));
    status = ORT_CALL(m, AllocatorFree)(allocator, text);
    if (status)
        ORT_CALL(m, ReleaseStatus)(status);
}

static void describe_metadata(hk_session *s, hk_module *m, OrtSession *session)
{
    OrtAllocator *allocator = NULL;
    OrtModelMetadata *metadata = NULL;
    OrtStatus *status = ORT_CALL(m, GetAllocatorWithDefaultOptions)(&allocator);
    if (!status)
        status = ORT_CALL(m, SessionGetModelMetadata)(session, &metadata);
    if (status) {
        ORT_CALL(m, ReleaseStatus)(status);
        return;
    }
    char *text = NULL;
    status = ORT_CALL(m, ModelMetadataGetGraphName)(metadata, allocator, &text);
    take_string(m, allocator, status, text, s->graph, sizeof s->graph);
    text = NULL;
    status = ORT_CALL(m, ModelMetadataGetProducerName)(metadata, allocator, &text);
    take_string(m, allocator, status, text, s->producer, sizeof s->producer);
    ORT_CALL(m, ReleaseModelMetadata)(metadata);
}

void hk_session_announce(hk_thread *t, uint32_t epoch, hk_session *s)
{
    hk_text texts[] = {hk_text_of(s->model),   hk_text_of(s->graph),     hk_text_of(s->producer),
                       hk_text_of(s->options), hk_text_of(s->providers), hk_text_of(s->message)};
    uint32_t unsaid = 0;
    if (!atomic_compare_exchange_strong(&s->announced, &unsaid, 1))
        return; // another thread does it
    if (!hk_emit(t, epoch, TL_EVENT_Session, s->created_ticks, &s->facts, sizeof s->facts, texts,
                 sizeof texts / sizeof *texts))
        atomic_store(&s->announced, 0);
    else if (s->facts.source == HK_SOURCE_BEFORE_ATTACH && !s->shim && hk_shim_is_on(s->module))
        hk_shim_tell_refusal(t, epoch, s->id, "it was made before ortscope came");
}

// ------------------------------------------------------------------------------------- life of one

static void set_status(hk_session *s, hk_module *m, OrtStatus *status)
{
    s->facts.status = hk_status_code(m, status);
    copy_text(s->message, sizeof s->message, hk_status_message(m, status));
}

// `session` lives: the program has just been given it, or runs it.
static void note_address(hk_session *s, const OrtSession *session)
{
    uintptr_t vtable, none = 0;
    s->address = session;
    memcpy(&vtable, session, sizeof vtable);
    if (vtable - (uintptr_t)s->module->base < s->module->size)
        atomic_compare_exchange_strong(&s->module->session_vtable, &none, vtable);
}

bool hk_session_remember(hk_thread *t, uint32_t epoch, const OrtSession *key, hk_session *s)
{
    return hk_registry_add(&g_sessions, key, s) ||
           (hk_session_make_room(t, epoch, s->id) && hk_registry_add(&g_sessions, key, s));
}

void hk_session_created(hk_thread *t, uint32_t epoch, hk_module *m, OrtSession *session,
                        OrtStatus *status, const hk_session_origin *origin)
{
    hk_session *s = hk_session_alloc(m, t->tap.session);
    if (!s)
        return;
    s->ort_id = t->tap.ort_session;
    s->created_ticks = origin->end;
    s->facts.load_ticks = origin->end - origin->begin;
    s->facts.source = origin->source;
    s->shim = !status && hk_shim_in(session);
    set_status(s, m, status);
    describe_model(s, origin, status == NULL);
    hk_options_describe(origin->options, &s->options, &s->providers);
    // A session of the model editor has only read its model before it is finalized; it has no
    // metadata, and is announced then.
    bool unfinished =
        origin->source == HK_SOURCE_EDITOR_PATH || origin->source == HK_SOURCE_EDITOR_BYTES;
    if (unfinished && !status)
        t->load.optimising = origin->end;
    hk_phases_emit(t, epoch, s->id, origin, status != NULL);
    if (status) {
        hk_session_announce(t, epoch, s);
        hk_session_free(s);
        return;
    }
    if (!unfinished)
        describe_metadata(s, m, session);
    // An older one at this address died unseen (its runtime was unloaded).
    hk_session *stale = hk_registry_remove(&g_sessions, session);
    if (stale)
        hk_session_free(stale);
    note_address(s, session);
    if (!hk_session_remember(t, epoch, session, s)) {
        hk_session_free(s);
        return;
    }
    if (!unfinished)
        hk_session_announce(t, epoch, s);
    hk_alloc_session_created(t, epoch, s);
    if (!unfinished)
        hk_alloc_session_seen(m, session);
    if (origin->no_shim)
        hk_shim_tell_refusal(t, epoch, s->id, origin->no_shim);
}

void hk_session_finalized(hk_thread *t, uint32_t epoch, hk_module *m, OrtSession *session,
                          OrtStatus *status, const hk_session_origin *origin)
{
    hk_session *s = hk_session_find(session);
    if (!s)
        return;
    s->created_ticks = origin->end;
    s->facts.load_ticks += origin->end - origin->begin;
    set_status(s, m, status);
    if (t->load.optimising) // the providers that it makes before count with what they are made for
        t->load.optimising = origin->begin;
    hk_phases_emit(t, epoch, s->id, &(hk_session_origin){.end = origin->end}, status != NULL);
    if (!status)
        describe_metadata(s, m, session);
    s->shim = !status && hk_shim_in(session);
    hk_session_announce(t, epoch, s);
    hk_alloc_session_created(t, epoch, s);
    if (origin->no_shim)
        hk_shim_tell_refusal(t, epoch, s->id, origin->no_shim);
}

hk_session *hk_session_take_up(hk_thread *t, uint32_t epoch, hk_module *m, OrtSession *session)
{
    static SRWLOCK lock = SRWLOCK_INIT; // two threads may meet the same session first
    if (RtlDllShutdownInProgress())
        return NULL;
    AcquireSRWLockExclusive(&lock);
    hk_session *s = hk_session_find(session);
    if (!s && (s = hk_session_alloc(m, 0)) != NULL) {
        note_address(s, session);
        s->created_ticks = hk_ticks();
        s->facts.source = HK_SOURCE_BEFORE_ATTACH;
        s->shim = hk_shim_in(session);
        describe_metadata(s, m, session);
        hk_alloc_session_seen(m, session);
        if (!hk_session_remember(t, epoch, session, s)) {
            hk_session_free(s);
            s = NULL;
        }
    }
    ReleaseSRWLockExclusive(&lock);
    return s;
}

// ---------------------------------------------------------------------------------------- finding

uint32_t hk_sessions_used(void)
{
    return hk_registry_used(&g_sessions);
}

hk_session *hk_session_at(uint32_t i)
{
    return hk_registry_at(&g_sessions, i);
}

// Another thread may be ending it: its place is void before it is used again.
const hk_module *hk_session_hidden_module(hk_session_ref ref, uint32_t *ort_id)
{
    AcquireSRWLockShared(&g_pool_lock);
    const hk_module *m = ref.session->id == ref.id ? ref.session->module : NULL;
    *ort_id = m ? ref.session->ort_id : 0;
    ReleaseSRWLockShared(&g_pool_lock);
    return *ort_id && !m->api ? m : NULL;
}

hk_session *hk_session_find(const OrtSession *session)
{
    return hk_registry_find(&g_sessions, session);
}

uint32_t hk_session_with_ort_id(const hk_module *m, uint32_t ort_id)
{
    for (uint32_t i = 0; i < hk_registry_used(&g_sessions); i++) {
        const hk_session *s = hk_registry_at(&g_sessions, i);
        if (s && s->module == m && s->ort_id == ort_id)
            return s->id;
    }
    return 0;
}

hk_session *hk_session_sole_in_flight(bool *out_may_record)
{
    hk_session *last = NULL;
    uint32_t count = 0;
    *out_may_record = false;
    for (uint32_t i = 0; i < hk_registry_used(&g_sessions); i++) {
        hk_session *s = hk_registry_at(&g_sessions, i);
        if (!s || !atomic_load(&s->flying))
            continue;
        last = s;
        count++;
        *out_may_record |= hk_session_may_record(s);
    }
    return count == 1 ? last : NULL;
}

void hk_session_released(hk_thread *t, uint32_t epoch, const OrtSession *session)
{
    // Often not a session at all (see ReleaseSession): found out without a lock.
    hk_session *s = hk_session_find(session);
    if (!s || hk_registry_remove(&g_sessions, session) != s)
        return;
    if (!atomic_load(&s->announced))
        hk_session_announce(t, epoch, s);
    hk_alloc_session_released(t, epoch, s);
    tl_SessionEnd end = {.session = s->id};
    if (s->shim)
        hk_shim_kernels_end(t, epoch, s);
    hk_emit(t, epoch, TL_EVENT_SessionEnd, hk_ticks(), &end, sizeof end, NULL, 0);
    hk_session_free(s);
}

void hk_sessions_clear(void)
{
    hk_registry_clear(&g_sessions, hk_session_free);
    atomic_fetch_add(&g_hk_hidden_changes, 1);
}
