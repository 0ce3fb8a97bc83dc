// SPDX-License-Identifier: MIT
// Buffers are taken in batches and their events told in the order of time, as ProcessTrace does
// with what it has. One consumer a session, one session a call.
#include "sim_etw_consumer.h"

#include <string.h>
#include <wchar.h>

#define TRACES       16
#define BATCH        16
#define WAIT_MS      50
#define LOST_EVENT   32u
#define LOST_BUFFER  33u
#define MODE_RAW     0x00001000u
#define MODE_RECORD  0x10000000u
#define TRACE_HANDLE 0x7E000000u

static const GUID g_lost_class = {
    0x6a399ae0, 0x4bc6, 0x4de9, {0x87, 0x0b, 0x36, 0x57, 0xf8, 0x94, 0x7e, 0x7e}};
static const GUID g_header_class = {
    0x68fdd900, 0x4a3e, 0x11d1, {0x84, 0xf4, 0x00, 0x00, 0xf8, 0x04, 0x64, 0xe3}};

typedef struct trace {
    volatile LONG in_use, processing, cancel;
    uint32_t generation;
    uint64_t session;                      // handle, 0: there was none
    uint32_t events_lost, rt_buffers_lost; // told so far
    uint32_t clock, delay_ms;
    int64_t start_filetime, start_stamp;
    EVENT_TRACE_LOGFILEW log;
    WCHAR name[SE_NAME];
} trace;

static trace g_traces[TRACES];

static trace *find(TRACEHANDLE handle)
{
    uint64_t index = (handle & 0xFF);
    trace *t = index < TRACES ? &g_traces[index] : NULL;
    if (!t || !t->in_use || handle != (TRACE_HANDLE | (uint64_t)t->generation << 8 | index))
        return NULL;
    return t;
}

static trace *take(void)
{
    for (uint32_t i = 0; i < TRACES; i++)
        if (InterlockedCompareExchange(&g_traces[i].in_use, 1, 0) == 0) {
            trace *t = &g_traces[i];
            uint32_t generation = (t->generation + 1) & 0xFFFF;
            memset((uint8_t *)t + sizeof t->in_use, 0, sizeof *t - sizeof t->in_use);
            t->generation = generation;
            return t;
        }
    return NULL;
}

static void fill_log_header(trace *t, const se_session *s)
{
    uint8_t bytes[SE_LOGFILE_HEADER_MAX];
    _Static_assert(sizeof(TRACE_LOGFILE_HEADER) == SE_LOGFILE_HEADER_BYTES, "layout");
    se_logfile_header(s, false, bytes);
    memcpy(&t->log.LogfileHeader, bytes, SE_LOGFILE_HEADER_BYTES);
}

// Wants the lock held. ProcessTrace says what is wrong, not OpenTrace.
static void join(trace *t)
{
    se_session *s = se_session_named(t->name);
    if (!s || !(s->mode & SE_MODE_REALTIME) ||
        (s->consumer_pid && se_process_lives(s->consumer_pid)))
        return;
    if (s->consumer_pid)
        se_session_leave(s);
    s->consumer_pid = GetCurrentProcessId();
    t->session = se_session_handle(s);
    t->clock = s->clock;
    t->start_filetime = s->start_filetime;
    t->start_stamp = s->start_stamp;
    t->log.BufferSize = s->buffer_bytes;
    fill_log_header(t, s);
}

TRACEHANDLE WINAPI se_OpenTraceW(EVENT_TRACE_LOGFILEW *log)
{
    DWORD error = ERROR_SUCCESS;
    trace *t = NULL;
    if (!log || !log->LoggerName || log->LogFileName ||
        !(log->ProcessTraceMode & SE_MODE_REALTIME) || !(log->ProcessTraceMode & MODE_RECORD) ||
        !log->EventRecordCallback || wcslen(log->LoggerName) >= SE_NAME)
        error = ERROR_INVALID_PARAMETER;
    else if (g_se->settings.deny)
        error = ERROR_ACCESS_DENIED;
    else if (!(t = take()))
        error = ERROR_NO_SYSTEM_RESOURCES;
    if (error != ERROR_SUCCESS) {
        SetLastError(error);
        return INVALID_PROCESSTRACE_HANDLE;
    }
    wcscpy(t->name, log->LoggerName);
    t->log = *log;
    t->log.LoggerName = t->name;
    t->log.BuffersRead = t->log.EventsLost = 0;
    se_lock();
    join(t);
    t->delay_ms = g_se->settings.consumer_delay;
    se_unlock();
    log->LogfileHeader = t->log.LogfileHeader;
    log->BufferSize = t->log.BufferSize;
    return TRACE_HANDLE | (uint64_t)t->generation << 8 | (uint64_t)(t - g_traces);
}

static void leave(trace *t)
{
    se_lock();
    se_session *s = se_session_of_handle(t->session);
    if (s && s->consumer_pid == GetCurrentProcessId())
        se_session_leave(s);
    se_unlock();
    t->session = 0;
}

ULONG WINAPI se_CloseTrace(TRACEHANDLE handle)
{
    trace *t = find(handle);
    if (!t)
        return ERROR_INVALID_HANDLE;
    InterlockedExchange(&t->cancel, 1);
    if (t->processing)
        return ERROR_CTX_CLOSE_PENDING;
    if (t->session)
        leave(t);
    InterlockedExchange(&t->in_use, 0);
    return ERROR_SUCCESS;
}

// ----------------------------------------------------------------------------------------- telling

static int64_t told_time(const trace *t, int64_t stamp)
{
    LARGE_INTEGER frequency;
    if (t->log.ProcessTraceMode & MODE_RAW || t->clock == SE_CLOCK_SYSTEM)
        return stamp;
    QueryPerformanceFrequency(&frequency);
    int64_t per_second = t->clock == SE_CLOCK_QPC ? frequency.QuadPart : 2000000000;
    int64_t passed = stamp - t->start_stamp; // in two parts, so that nothing overflows
    return t->start_filetime + passed / per_second * 10000000 +
           passed % per_second * 10000000 / per_second;
}

static void tell(trace *t, se_view *view, uint32_t cpu)
{
    EVENT_RECORD *r = &view->record;
    r->EventHeader.TimeStamp.QuadPart = t->log.CurrentTime = told_time(t, view->stamp);
    r->BufferContext.ProcessorIndex = (USHORT)cpu;
    r->BufferContext.LoggerId = (USHORT)(t->session & 0xFFFF);
    r->UserContext = t->log.Context;
    t->log.EventRecordCallback(r);
}

// An event that the system itself puts into the stream.
static void tell_own(trace *t, const GUID *class, uint32_t opcode, void *data, uint32_t len,
                     int64_t stamp)
{
    se_view view = {.stamp = stamp};
    view.record.EventHeader.ProviderId = *class;
    view.record.EventHeader.EventDescriptor.Opcode = (UCHAR)opcode;
    view.record.EventHeader.EventDescriptor.Version = 2;
    view.record.EventHeader.Flags = 0x0340;
    view.record.EventHeader.ProcessId = GetCurrentProcessId();
    view.record.UserData = data;
    view.record.UserDataLength = (USHORT)len;
    tell(t, &view, 0);
}

static void tell_losses(trace *t, uint32_t events, uint32_t buffers, int64_t stamp)
{
    if (events != t->events_lost)
        tell_own(t, &g_lost_class, LOST_EVENT, NULL, 0, stamp);
    if (buffers != t->rt_buffers_lost)
        tell_own(t, &g_lost_class, LOST_BUFFER, NULL, 0, stamp);
    t->events_lost = events;
    t->rt_buffers_lost = buffers;
}

// ---------------------------------------------------------------------------------------- buffers

typedef struct cursor {
    uint32_t index, cpu, at, end;
    const uint8_t *bytes;
    se_view view;
    bool has; // view is the next event
} cursor;

typedef struct batch {
    cursor cursors[BATCH];
    uint32_t count, events_lost, rt_buffers_lost;
    bool ended; // the session is over and nothing is left
} batch;

static void advance(cursor *c)
{
    uint32_t size = c->at < c->end ? se_view_record(c->bytes + c->at, c->end - c->at, &c->view) : 0;
    c->has = size != 0;
    c->at = size ? c->at + ((size + 7) & ~7u) : c->end;
}

// Wants the lock held: the oldest buffer that is ready, or SE_FOREVER.
static uint32_t oldest_ready(const se_session *s)
{
    uint32_t best = SE_FOREVER;
    for (uint32_t i = 0; i < s->buffer_count; i++)
        if (s->buffers[i].state == SE_BUFFER_READY &&
            (best == SE_FOREVER || s->buffers[i].sequence < s->buffers[best].sequence))
            best = i;
    return best;
}

static void take_batch(trace *t, batch *b)
{
    b->count = 0;
    b->ended = false;
    se_lock();
    se_session *s = se_session_of_handle(t->session);
    for (uint32_t i; s && b->count < BATCH && (i = oldest_ready(s)) != SE_FOREVER;) {
        s->buffers[i].state = SE_BUFFER_READING;
        b->cursors[b->count++] = (cursor){.index = i,
                                          .cpu = s->buffers[i].cpu,
                                          .at = SE_BUFFER_HEADER,
                                          .end = s->buffers[i].used,
                                          .bytes = se_buffer_bytes(s, i)};
    }
    if (s) {
        b->events_lost = s->events_lost;
        b->rt_buffers_lost = s->rt_buffers_lost;
    }
    b->ended = !s || (b->count == 0 && s->state == SE_DRAINING);
    se_unlock();
    for (uint32_t i = 0; i < b->count; i++)
        advance(&b->cursors[i]);
}

// A buffer is read to its end. False: the consumer wants no more.
static bool give_back(trace *t, cursor *c)
{
    t->log.BuffersRead++;
    t->log.Filled = c->end;
    bool goes_on = !t->log.BufferCallback || t->log.BufferCallback(&t->log);
    if (t->delay_ms)
        Sleep(t->delay_ms);
    se_lock();
    se_session *s = se_session_of_handle(t->session);
    if (s)
        se_buffer_release(s, c->index);
    se_unlock();
    c->bytes = NULL;
    return goes_on;
}

static bool tell_batch(trace *t, batch *b)
{
    for (uint32_t left = b->count; left;) {
        cursor *next = NULL;
        for (uint32_t i = 0; i < b->count; i++) {
            cursor *c = &b->cursors[i];
            if (c->bytes && !c->has) {
                left--;
                if (!give_back(t, c))
                    return false;
            } else if (c->bytes && (!next || c->view.stamp < next->view.stamp)) {
                next = c;
            }
        }
        if (next) {
            tell(t, &next->view, next->cpu);
            advance(next);
        }
    }
    return true;
}

static ULONG process(trace *t)
{
    batch b;
    ULONG result = ERROR_SUCCESS;
    HANDLE event = se_event_open("s", (uint32_t)(t->session & 0xFFFF) - 1);
    tell_own(t, &g_header_class, 0, &t->log.LogfileHeader, SE_LOGFILE_HEADER_BYTES, t->start_stamp);
    for (;;) {
        take_batch(t, &b);
        if (b.ended)
            break;
        t->log.EventsLost = b.events_lost;
        if (b.count)
            tell_losses(t, b.events_lost, b.rt_buffers_lost, b.cursors[0].view.stamp);
        if (!tell_batch(t, &b)) {
            result = ERROR_CANCELLED;
            break;
        }
        if (t->cancel)
            break;
        if (b.count == 0)
            WaitForSingleObject(event, WAIT_MS);
    }
    CloseHandle(event);
    return result;
}

ULONG WINAPI se_ProcessTrace(TRACEHANDLE *handles, ULONG count, FILETIME *start, FILETIME *end)
{
    (void)start; // a start time would drop what was told before: none of ours is asked for
    (void)end;
    trace *t = handles && count == 1 ? find(handles[0]) : NULL;
    if (!t)
        return handles && count == 1 ? ERROR_INVALID_HANDLE : ERROR_BAD_LENGTH;
    if (!t->session) { // perhaps it was started in the meantime
        se_lock();
        join(t);
        se_unlock();
        if (!t->session)
            return ERROR_WMI_INSTANCE_NOT_FOUND;
    }
    InterlockedExchange(&t->processing, 1);
    ULONG result = process(t);
    leave(t);
    InterlockedExchange(&t->processing, 0);
    if (t->cancel)
        InterlockedExchange(&t->in_use, 0);
    return result;
}
