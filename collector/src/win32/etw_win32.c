// SPDX-License-Identifier: MIT
// The threads of a live session: one that Windows hands the events to, one that flushes and asks
// for losses. Both end with the session; whatever happens to us, atexit stops it, and if not even
// that is reached, the next ortscope does.
#include "collector/etw.h"

#include "etw/etw_live.h"
#include "etw/etw_queue.h"
#include "etw_library.h"

#include "common/histogram.h"

#include <stdio.h>
#include <stdlib.h>

#include <windows.h>

#define QUEUE_BYTES ((size_t)32 << 20)
#define FLUSH_MS    30u // of the 100 that we promise: two hops between threads are to come
#define WINDOWS_MAX 256u
#define END_MS      5000u // that the reader may take for nothing, once the session is stopped
#define JOIN_MS     5u

struct co_etw {
    etw_api api;
    etw_session session;
    etw_live *live;
    etw_queue queue;
    co_capture *capture;
    int64_t hz;                 // of QPC, as are:
    int64_t first_taken, taken; // when the capture's thread came for events, first and last
    int64_t ending;             // when it was told to end, INT64_MAX before
    cm_histogram delay;         // from an event to then, in nanoseconds
    uint64_t trace;
    HANDLE reader, tender, end;
    HANDLE arrival; // set when events came, and when those that came may be taken
    SRWLOCK lock;   // what follows
    etw_losses losses;
    int64_t asked; // when the session was asked for them, by QPC
    int64_t until; // losses are known up to here
    unsigned windows;
    struct {
        int64_t begin, end;
    } window[WINDOWS_MAX]; // in which something was lost; the capture's thread takes them
};

// For the ways out that pass nobody.
static co_etw *volatile g_running;

static void stop_at_exit(void)
{
    co_etw *e = InterlockedExchangePointer((void *volatile *)&g_running, NULL);
    if (e)
        co_etw_session_stop(&e->session, NULL);
}

static void on_record(etw_record *record)
{
    co_etw *e = record->context;
    co_etw_queue_put(&e->queue, record);
}

// After each buffer; to go on.
static uint32_t WINAPI on_buffer(etw_logfile *file)
{
    const co_etw *e = file->context;
    SetEvent(e->arrival);
    return TRUE;
}

static DWORD WINAPI read_events(void *context)
{
    co_etw *e = context;
    SetThreadPriority(GetCurrentThread(), THREAD_PRIORITY_ABOVE_NORMAL);
    e->api.process_trace(&e->trace, 1, NULL, NULL);
    return 0;
}

static int64_t qpc(void)
{
    LARGE_INTEGER now;
    QueryPerformanceCounter(&now);
    return now.QuadPart;
}

static bool is_more(const etw_losses *a, const etw_losses *b)
{
    return a->events > b->events || a->log_buffers > b->log_buffers ||
           a->real_time_buffers > b->real_time_buffers;
}

// What was lost between the last time and `end` was lost behind `e->asked`.
static void note_losses(co_etw *e, const etw_losses *now, int64_t begin, int64_t end)
{
    AcquireSRWLockExclusive(&e->lock);
    if (is_more(now, &e->losses) && e->windows < WINDOWS_MAX) {
        e->window[e->windows].begin = e->asked;
        e->window[e->windows++].end = end;
    } else if (is_more(now, &e->losses)) {
        e->window[WINDOWS_MAX - 1].end = end;
    }
    e->losses = *now;
    e->asked = e->until = begin;
    ReleaseSRWLockExclusive(&e->lock);
}

static void know_all(co_etw *e)
{
    AcquireSRWLockExclusive(&e->lock);
    e->until = INT64_MAX;
    ReleaseSRWLockExclusive(&e->lock);
}

static void flush(co_etw *e)
{
    etw_losses now;
    co_etw_session_flush(&e->session);
    int64_t begin = qpc();
    if (co_etw_session_losses(&e->session, &now))
        note_losses(e, &now, begin, qpc());
    else
        know_all(e); // somebody else has stopped it
    if (co_etw_queue_holds(&e->queue))
        SetEvent(e->arrival);
}

static void stop_session(co_etw *e)
{
    etw_losses last = e->losses;
    int64_t begin = qpc();
    InterlockedExchangePointer((void *volatile *)&g_running, NULL);
    co_etw_session_stop(&e->session, &last);
    note_losses(e, &last, begin, qpc());
    know_all(e);
}

// Stopping takes its time: a system logger tells of everybody once more. That is done here, so that
// the capture's thread can go on taking events meanwhile.
static DWORD WINAPI tend(void *context)
{
    co_etw *e = context;
    SetThreadPriority(GetCurrentThread(), THREAD_PRIORITY_ABOVE_NORMAL);
    while (WaitForSingleObject(e->end, FLUSH_MS) == WAIT_TIMEOUT)
        flush(e);
    flush(e);
    stop_session(e);
    return 0;
}

// ----------------------------------------------------------------------------------- begin and end

static void free_all(co_etw *e)
{
    co_etw_live_destroy(e->live);
    co_etw_queue_deinit(&e->queue);
    cm_histogram_deinit(&e->delay);
    if (e->end)
        CloseHandle(e->end);
    if (e->arrival)
        CloseHandle(e->arrival);
    free(e);
}

static bool open_trace(co_etw *e)
{
    etw_logfile file = {.logger_name = e->session.name,
                        .mode = ETW_MODE_REAL_TIME | ETW_MODE_RAW_TIMESTAMP | ETW_MODE_EVENT_RECORD,
                        .buffer_callback = (void *)(uintptr_t)on_buffer,
                        .record_callback = on_record,
                        .context = e};
    e->trace = e->api.open_trace(&file);
    return e->trace != ETW_INVALID_TRACE && e->trace != 0xffffffffu;
}

static bool begin_reading(co_etw *e)
{
    if (!open_trace(e))
        return false;
    co_etw_session_rundown(&e->session);
    e->reader = CreateThread(NULL, 0, read_events, e, 0, NULL);
    e->tender = CreateThread(NULL, 0, tend, e, 0, NULL);
    return e->reader && e->tender;
}

static unsigned processors(void)
{
    DWORD count = GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
    return count ? count : 1;
}

co_etw *co_etw_start(const co_etw_options *options, co_capture *capture,
                     const co_etw_listener *listener)
{
    static bool registered;
    LARGE_INTEGER hz;
    etw_tell tell = {listener->context, listener->say};
    co_etw *e = options->parts ? calloc(1, sizeof *e) : NULL;
    if (!e)
        return NULL;
    InitializeSRWLock(&e->lock);
    QueryPerformanceFrequency(&hz);
    e->end = CreateEventW(NULL, TRUE, FALSE, NULL);
    e->arrival = CreateEventW(NULL, FALSE, FALSE, NULL);
    e->asked = qpc();
    e->ending = INT64_MAX;
    e->hz = hz.QuadPart;
    e->capture = capture;
    cm_histogram_init(&e->delay);
    e->live = co_etw_live_create(capture, hz.QuadPart, listener);
    etw_wish wish = {.parts = options->parts,
                     .buffers = options->buffers,
                     .processors = processors(),
                     .self = co_etw_self()};
    if (!e->live || !e->end || !e->arrival || !co_etw_queue_init(&e->queue, QUEUE_BYTES) ||
        !co_etw_library(&e->api)) {
        tell.say(tell.context, 3,
                 "Event tracing (--etw) is not available here; the capture goes on without "
                 "it.");
        free_all(e);
        return NULL;
    }
    if (!co_etw_session_start(&e->session, &e->api, &wish, &tell)) {
        free_all(e);
        return NULL;
    }
    g_running = e;
    if (!registered)
        registered = atexit(stop_at_exit) == 0;
    if (begin_reading(e))
        return e;
    char text[200];
    snprintf(text, sizeof text,
             "The events of our own event tracing session can't be read (Windows error %lu); the "
             "capture goes on without --etw.",
             (unsigned long)e->api.last_error());
    tell.say(tell.context, 3, text);
    co_etw_stop(e);
    return NULL;
}

void *co_etw_arrival(const co_etw *e)
{
    return e ? e->arrival : NULL;
}

unsigned co_etw_parts(const co_etw *e)
{
    return e ? e->session.parts : 0;
}

static void take(void *context, const co_etl_event *event)
{
    co_etw *e = context;
    // Its time may be anything. One from before the capture's thread first came waited for that,
    // and what stopping the session brings forth for the stop: they tell nothing of the way.
    if (event->time >= e->first_taken && event->time <= e->taken && event->time < e->ending)
        cm_histogram_add(&e->delay,
                         (uint64_t)((double)(e->taken - event->time) * 1e9 / (double)e->hz));
    co_etw_live_event(e->live, event);
}

static void take_gap(void *context)
{
    co_etw *e = context;
    co_etw_live_gap(e->live);
}

static void tell_delay(const co_etw *e)
{
    char text[160];
    snprintf(text, sizeof text,
             "Event tracing's events came after %.1f ms (median), %.1f ms (p99), %.1f ms (max).",
             (double)cm_histogram_percentile(&e->delay, 500000) / 1e6,
             (double)cm_histogram_percentile(&e->delay, 990000) / 1e6, (double)e->delay.max / 1e6);
    if (e->delay.count)
        co_capture_log(e->capture, 0, 5, text);
}

size_t co_etw_drain(co_etw *e)
{
    if (!e)
        return 0;
    etw_reader reader = {e, take, take_gap, 0, qpc()};
    e->taken = reader.now;
    if (!e->first_taken)
        e->first_taken = e->taken;
    AcquireSRWLockExclusive(&e->lock);
    etw_losses losses = e->losses;
    reader.until = e->until;
    for (unsigned i = 0; i < e->windows; i++)
        co_etw_live_loss_between(e->live, e->window[i].begin, e->window[i].end);
    e->windows = 0;
    ReleaseSRWLockExclusive(&e->lock);
    size_t events = co_etw_queue_take(&e->queue, &reader);
    co_etw_live_losses(e->live, &losses, atomic_load(&e->queue.full));
    return events;
}

// True if it has ended. Stopping the session hands out what its buffers hold, and the reader comes
// back after the last of it. The queue may be smaller than that: it is emptied meanwhile.
// `limit_ms`: how long without any event, 0: for ever.
static bool join(co_etw *e, HANDLE *thread, uint32_t limit_ms)
{
    ULONGLONG since = GetTickCount64();
    while (*thread && WaitForSingleObject(*thread, JOIN_MS) == WAIT_TIMEOUT) {
        if (co_etw_drain(e))
            since = GetTickCount64();
        if (limit_ms && GetTickCount64() - since > limit_ms)
            return false;
    }
    if (*thread)
        CloseHandle(*thread);
    *thread = NULL;
    return true;
}

void co_etw_stop(co_etw *e)
{
    if (!e)
        return;
    e->ending = qpc();
    SetEvent(e->end);
    bool tended = e->tender != NULL;
    join(e, &e->tender, 0);
    if (!tended)
        stop_session(e);
    bool ended = join(e, &e->reader, END_MS);
    if (e->trace && e->trace != ETW_INVALID_TRACE)
        e->api.close_trace(e->trace);
    co_etw_drain(e);
    co_etw_live_end(e->live, ended);
    tell_delay(e);
    if (ended)
        free_all(e); // else a thread may still use it
}

void co_etw_check(co_etw_findings *out)
{
    etw_api api;
    co_etw_check_with(co_etw_library(&api) ? &api : NULL, co_etw_self(), out);
}
