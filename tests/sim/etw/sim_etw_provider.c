// SPDX-License-Identifier: MIT
// Registrations are this process' own. A thread, made with the first of them, delivers enable
// callbacks, as a worker thread of the system does; the callback for sessions that are there
// already comes from inside EventRegister. While its callback runs, EventUnregister waits, as on
// Windows.
#include "sim_etw_provider.h"

#include <string.h>
#include <wchar.h>

#include <evntrace.h>

#define REGISTRATIONS 512
#define TRAITS_MAX    4096

typedef struct registration {
    volatile LONG in_use;
    volatile LONG calling; // lock: held while its callback runs
    uint32_t generation;
    GUID id;
    PENABLECALLBACK callback;
    void *context;
    uint64_t since; // notes up to this one came before it
    uint32_t traits_len;
    bool typed;
    uint8_t traits[TRAITS_MAX];
} registration;

static registration g_registrations[REGISTRATIONS];
static volatile LONG g_table_lock;
static se_process *g_self; // our place in the machine
static DWORD g_activity_slot = TLS_OUT_OF_INDEXES;

static registration *find(REGHANDLE handle)
{
    uint32_t index = (uint32_t)(handle & 0xFFFF);
    if (index == 0 || index > REGISTRATIONS)
        return NULL;
    registration *r = &g_registrations[index - 1];
    return r->in_use && r->generation == (uint32_t)(handle >> 16) ? r : NULL;
}

// ------------------------------------------------------------------------------------------ notes

uint64_t se_note_post(const se_note *note)
{
    g_se->note[g_se->notes % SE_NOTES] = *note;
    return ++g_se->notes;
}

void se_note_wake(void)
{
    for (uint32_t i = 0; i < SE_PROCESSES; i++) {
        uint32_t pid = g_se->processes[i].pid;
        if (pid && pid != GetCurrentProcessId())
            se_signal("p", pid);
    }
    if (g_self)
        se_signal("p", GetCurrentProcessId());
}

static bool all_heard(uint64_t number)
{
    for (uint32_t i = 0; i < SE_PROCESSES; i++) {
        se_process *p = &g_se->processes[i];
        uint32_t pid = p->pid;
        if (pid && p->heard < number && se_process_lives(pid))
            return false;
    }
    return true;
}

ULONG se_note_wait(const GUID *provider, uint64_t number, uint32_t timeout_ms)
{
    uint64_t end = GetTickCount64() + timeout_ms;
    (void)provider; // one that is not registered anywhere is heard of all the same
    while (!all_heard(number)) {
        if (timeout_ms != INFINITE && GetTickCount64() >= end)
            return ERROR_TIMEOUT;
        Sleep(2);
    }
    return ERROR_SUCCESS;
}

// Tells the registration what is wanted of it now. Wants its `calling` held.
static void tell(const registration *r, const se_note *note)
{
    se_wish wish;
    ULONG code = note->code;
    if (!r->callback)
        return;
    se_lock();
    bool enabled = se_wish_of(&r->id, GetCurrentProcessId(), &wish);
    se_unlock();
    if (code == EVENT_CONTROL_CODE_CAPTURE_STATE) {
        if (!enabled)
            return;
        wish = (se_wish){.any = note->any, .all = note->all, .level = note->level};
    } else {
        code = enabled ? EVENT_CONTROL_CODE_ENABLE_PROVIDER : EVENT_CONTROL_CODE_DISABLE_PROVIDER;
    }
    r->callback(&note->source, code, wish.level, wish.any, wish.all, NULL, r->context);
}

static void deliver(const se_note *note, uint64_t number)
{
    for (uint32_t i = 0; i < REGISTRATIONS; i++) {
        registration *r = &g_registrations[i];
        if (!r->in_use || r->since >= number || memcmp(&r->id, &note->provider, 16) != 0)
            continue;
        se_lock_word(&r->calling);
        if (r->in_use && r->since < number)
            tell(r, note);
        se_unlock_word(&r->calling);
    }
}

static DWORD WINAPI hear_notes(void *event)
{
    for (;;) {
        WaitForSingleObject(event, 250);
        while (g_self->heard < g_se->notes && !g_se->settings.stuck_callbacks) {
            se_lock();
            uint64_t number = g_self->heard + 1;
            if (number + SE_NOTES <= g_se->notes) // too late for the oldest
                number = g_se->notes - SE_NOTES + 1;
            se_note note = g_se->note[(number - 1) % SE_NOTES];
            se_unlock();
            deliver(&note, number);
            g_self->heard = number;
        }
    }
    return 0;
}

// Wants both locks held.
static void enter_machine(void)
{
    for (uint32_t i = 0; i < SE_PROCESSES && !g_self; i++)
        if (g_se->processes[i].pid == 0) {
            g_self = &g_se->processes[i];
            g_self->heard = g_se->notes;
            g_self->registrations = 0;
            g_self->pid = GetCurrentProcessId();
        }
    HANDLE event = se_event_open("p", GetCurrentProcessId());
    HANDLE thread = g_self && event ? CreateThread(NULL, 0, hear_notes, event, 0, NULL) : NULL;
    if (thread)
        CloseHandle(thread);
}

void se_provider_end(void)
{
    if (g_self)
        g_self->pid = 0;
    g_self = NULL;
}

// ------------------------------------------------------------------------------------ registering

static registration *take_registration(void)
{
    for (uint32_t i = 0; i < REGISTRATIONS; i++)
        if (!g_registrations[i].in_use)
            return &g_registrations[i];
    return NULL;
}

ULONG WINAPI se_EventRegister(const GUID *id, PENABLECALLBACK callback, void *context,
                              REGHANDLE *handle)
{
    if (!id || !handle)
        return ERROR_INVALID_PARAMETER;
    se_lock_word(&g_table_lock);
    registration *r = take_registration();
    if (!r) {
        se_unlock_word(&g_table_lock);
        return ERROR_NO_SYSTEM_RESOURCES;
    }
    r->generation++;
    r->id = *id;
    r->callback = callback;
    r->context = context;
    r->traits_len = 0;
    r->typed = false;
    *handle = (REGHANDLE)r->generation << 16 | (REGHANDLE)(r - g_registrations + 1);
    se_wish wish;
    se_lock();
    if (!g_self)
        enter_machine();
    if (g_self)
        g_self->registrations++;
    r->since = g_se->notes;
    bool enabled = se_wish_of(id, GetCurrentProcessId(), &wish);
    InterlockedExchange(&r->in_use, 1);
    se_unlock();
    se_unlock_word(&g_table_lock);
    if (enabled && callback && !g_se->settings.stuck_callbacks) {
        static const GUID none;
        se_lock_word(&r->calling);
        callback(&none, EVENT_CONTROL_CODE_ENABLE_PROVIDER, wish.level, wish.any, wish.all, NULL,
                 context);
        se_unlock_word(&r->calling);
    }
    return ERROR_SUCCESS;
}

ULONG WINAPI se_EventUnregister(REGHANDLE handle)
{
    registration *r = find(handle);
    if (!r)
        return ERROR_INVALID_HANDLE;
    bool inside = se_word_held(&r->calling); // called from a callback
    if (!inside)
        se_lock_word(&r->calling);
    InterlockedExchange(&r->in_use, 0);
    if (g_self)
        g_self->registrations--;
    if (!inside)
        se_unlock_word(&r->calling);
    return ERROR_SUCCESS;
}

ULONG WINAPI se_EventSetInformation(REGHANDLE handle, int information_class, void *information,
                                    ULONG length)
{
    registration *r = find(handle);
    if (!r)
        return ERROR_INVALID_HANDLE;
    if (information_class == 3) { // EventProviderUseDescriptorType
        r->typed = length >= 1 && information && *(const uint8_t *)information;
        return ERROR_SUCCESS;
    }
    if (information_class != 2) // EventProviderSetTraits
        return information_class == 1 ? ERROR_SUCCESS : ERROR_NOT_SUPPORTED;
    uint16_t size = 0;
    if (information && length >= 3)
        memcpy(&size, information, 2);
    if (size < 3 || size > length || length > TRAITS_MAX)
        return ERROR_INVALID_PARAMETER;
    memcpy(r->traits, information, size);
    r->traits_len = size;
    r->typed = true;
    return ERROR_SUCCESS;
}

// ---------------------------------------------------------------------------------------- writing

BOOLEAN WINAPI se_EventProviderEnabled(REGHANDLE handle, UCHAR level, ULONGLONG keyword)
{
    se_wish wish;
    const registration *r = find(handle);
    if (!r || g_se->enables == 0)
        return FALSE;
    se_lock();
    bool enabled = se_wish_of(&r->id, GetCurrentProcessId(), &wish);
    se_unlock();
    return enabled && level <= wish.level &&
           (keyword == 0 || ((keyword & wish.any) && (keyword & wish.all) == wish.all));
}

BOOLEAN WINAPI se_EventEnabled(REGHANDLE handle, const EVENT_DESCRIPTOR *descriptor)
{
    return descriptor && se_EventProviderEnabled(handle, descriptor->Level, descriptor->Keyword);
}

// The thread's activity, made on first use; null only without memory.
static GUID *thread_activity(void)
{
    if (g_activity_slot == TLS_OUT_OF_INDEXES) {
        DWORD slot = TlsAlloc();
        if (InterlockedCompareExchange((volatile LONG *)&g_activity_slot, (LONG)slot,
                                       (LONG)TLS_OUT_OF_INDEXES) != (LONG)TLS_OUT_OF_INDEXES)
            TlsFree(slot);
    }
    GUID *id = TlsGetValue(g_activity_slot);
    if (!id) {
        id = HeapAlloc(GetProcessHeap(), HEAP_ZERO_MEMORY, sizeof *id);
        TlsSetValue(g_activity_slot, id);
    }
    return id;
}

static ULONG write_event(REGHANDLE handle, const se_event *given)
{
    const registration *r = find(handle);
    if (!r)
        return ERROR_INVALID_HANDLE;
    if (g_se->enables == 0)
        return ERROR_SUCCESS;
    if (given->count > MAX_EVENT_DATA_DESCRIPTORS || (given->count && !given->data))
        return ERROR_INVALID_PARAMETER;
    DWORD error = GetLastError();
    se_event event = *given;
    event.provider = r->id;
    event.traits = r->traits;
    event.traits_len = r->traits_len;
    event.typed = r->typed;
    if (!event.activity)
        event.activity = thread_activity();
    ULONG result = se_write(&event);
    SetLastError(error);
    return result;
}

ULONG WINAPI se_EventWriteTransfer(REGHANDLE handle, const EVENT_DESCRIPTOR *descriptor,
                                   const GUID *activity, const GUID *related, ULONG count,
                                   EVENT_DATA_DESCRIPTOR *data)
{
    if (!descriptor)
        return ERROR_INVALID_PARAMETER;
    return write_event(handle, &(se_event){.descriptor = *descriptor,
                                           .activity = activity,
                                           .related = related,
                                           .count = count,
                                           .data = data});
}

ULONG WINAPI se_EventWrite(REGHANDLE handle, const EVENT_DESCRIPTOR *descriptor, ULONG count,
                           EVENT_DATA_DESCRIPTOR *data)
{
    return se_EventWriteTransfer(handle, descriptor, NULL, NULL, count, data);
}

ULONG WINAPI se_EventWriteString(REGHANDLE handle, UCHAR level, ULONGLONG keyword,
                                 const WCHAR *text)
{
    if (!text)
        return ERROR_INVALID_PARAMETER;
    EVENT_DATA_DESCRIPTOR data = {.Ptr = (uintptr_t)text,
                                  .Size = (ULONG)((wcslen(text) + 1) * sizeof *text)};
    return write_event(handle, &(se_event){.descriptor = {.Level = level, .Keyword = keyword},
                                           .text = true,
                                           .count = 1,
                                           .data = &data});
}

// Numbers that no other call of this boot gives, in the shape of an identifier.
static void make_activity(GUID *out)
{
    static volatile LONG64 count;
    LARGE_INTEGER now;
    QueryPerformanceCounter(&now);
    uint64_t words[2] = {(uint64_t)now.QuadPart,
                         (uint64_t)InterlockedIncrement64(&count) << 32 | GetCurrentProcessId()};
    memcpy(out, words, sizeof *out);
}

ULONG WINAPI se_EventActivityIdControl(ULONG code, GUID *id)
{
    GUID *current = thread_activity(), old;
    if (!id || !current || code < 1 || code > 5)
        return ERROR_INVALID_PARAMETER;
    old = *current;
    switch (code) {
    case 1: // GET_ID
        *id = old;
        break;
    case 2: // SET_ID
        *current = *id;
        break;
    case 3: // CREATE_ID
        make_activity(id);
        break;
    case 4: // GET_SET_ID
        *current = *id;
        *id = old;
        break;
    default: // CREATE_SET_ID
        make_activity(current);
        *id = old;
        break;
    }
    return ERROR_SUCCESS;
}
