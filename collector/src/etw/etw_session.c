// SPDX-License-Identifier: MIT
#include "etw_session.h"

#include "common/utf.h"
#include "etw_providers.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER_KIB   128u
#define BUFFERS_LESS 64u // of the session, whatever the machine is like
#define BUFFERS_MORE 1024u
#define SESSIONS_MAX 256u // EtwMaxLoggers allows no more

// PROCESS, THREAD, IMAGE_LOAD, CSWITCH, DISK_IO, DISPATCHER, MEMORY_PAGE_FAULTS,
// MEMORY_HARD_FAULTS; stacks are not asked for: nothing here could show them.
#define KERNEL_FLAGS 0x00003917u
#define FLAG_PROFILE 0x01000000u

static void say(const etw_tell *tell, int level, const char *fmt, ...) CM_PRINTF(3, 4);

static void say(const etw_tell *tell, int level, const char *fmt, ...)
{
    char sentence[512];
    va_list args;
    if (!tell || !tell->say)
        return;
    va_start(args, fmt);
    vsnprintf(sentence, sizeof sentence, fmt, args);
    va_end(args);
    tell->say(tell->context, level, sentence);
}

// ---------------------------------------------------------------------------------------- the name

void co_etw_session_name(etw_identity self, uint16_t out[ETW_NAME_CHARS])
{
    char text[64];
    int len = snprintf(text, sizeof text, ETW_SESSION_PREFIX "%" PRIu32 "-%" PRIx64, self.pid,
                       self.created);
    for (int i = 0; i <= len; i++)
        out[i] = (uint8_t)text[i];
}

bool co_etw_session_owner(const uint16_t *name, etw_identity *out)
{
    char text[64];
    size_t len = 0, prefix = strlen(ETW_SESSION_PREFIX);
    while (name[len]) {
        if (len + 1 >= sizeof text || name[len] > 127)
            return false;
        text[len] = (char)name[len];
        len++;
    }
    text[len] = '\0';
    if (strncmp(text, ETW_SESSION_PREFIX, prefix) != 0 || text[prefix] < '0' || text[prefix] > '9')
        return false;
    char *end;
    unsigned long long pid = strtoull(text + prefix, &end, 10), created = 0;
    if (*end == '-' && end[1])
        created = strtoull(end + 1, &end, 16);
    if (*end || pid > UINT32_MAX)
        return false;
    *out = (etw_identity){(uint32_t)pid, created};
    return true;
}

static void prepare(etw_session_block *b)
{
    memset(b, 0, sizeof *b);
    b->p.wnode_bytes = sizeof *b;
    b->p.logger_name_offset = offsetof(etw_session_block, name);
    b->p.log_file_name_offset = offsetof(etw_session_block, file);
}

static uint32_t control_by_name(const etw_api *api, const uint16_t *name, uint32_t code)
{
    etw_session_block *b = malloc(sizeof *b);
    if (!b)
        return ETW_NO_SYSTEM_RESOURCES;
    prepare(b);
    uint32_t error = api->control_trace(0, name, &b->p, code);
    free(b);
    return error;
}

static bool stop_if_stale(const etw_api *api, etw_session_block *b, const etw_tell *tell)
{
    etw_identity owner;
    char text[64];
    b->name[1023] = 0;
    if (!co_etw_session_owner(b->name, &owner) || api->is_alive(owner.pid, owner.created))
        return false;
    size_t len = 0;
    while (b->name[len])
        len++;
    cm_utf16_to_utf8(b->name, len + 1, text, sizeof text);
    uint32_t error = control_by_name(api, b->name, ETW_STOP);
    if (error == ETW_OK || error == ETW_MORE_DATA)
        say(tell, 4,
            "Stopped the event tracing session %s that an ortscope which is gone had left.", text);
    else if (error != ETW_NO_SUCH_SESSION) // else somebody was faster
        say(tell, 3,
            "The event tracing session %s of an ortscope that is gone could not be stopped "
            "(Windows error %" PRIu32 "); `logman stop %s -ets` as administrator ends it.",
            text, error, text);
    return error == ETW_OK || error == ETW_MORE_DATA;
}

unsigned co_etw_stop_stale(const etw_api *api, const etw_tell *tell)
{
    unsigned stopped = 0;
    uint32_t count = 0;
    etw_session_block *blocks = calloc(SESSIONS_MAX, sizeof *blocks);
    etw_properties *list[SESSIONS_MAX];
    for (uint32_t i = 0; blocks && i < SESSIONS_MAX; i++) {
        prepare(&blocks[i]);
        list[i] = &blocks[i].p;
    }
    uint32_t error = blocks ? api->query_all(list, SESSIONS_MAX, &count) : ETW_NO_SYSTEM_RESOURCES;
    if (error != ETW_OK && error != ETW_MORE_DATA)
        count = 0;
    for (uint32_t i = 0; i < count && i < SESSIONS_MAX; i++)
        stopped += stop_if_stale(api, &blocks[i], tell);
    free(blocks);
    return stopped;
}

// --------------------------------------------------------------------------------- what goes wrong

#define WITHOUT "; the capture goes on without"

static const char *const part_names[] = {"kernel", "ort", "gpu"};

// Which of the parts a sentence is about.
static void part_list(unsigned parts, char *out, size_t capacity)
{
    size_t len = 0;
    *out = '\0';
    for (unsigned i = 0; i < 3; i++)
        if (parts & 1u << i)
            len +=
                (size_t)snprintf(out + len, capacity - len, "%s%s", len ? "," : "", part_names[i]);
}

static void tell_denied(unsigned parts, const etw_tell *tell)
{
    if (parts & CO_ETW_KERNEL)
        say(tell, 3,
            "--etw kernel needs administrator rights: start ortscope from a terminal that runs as "
            "administrator" WITHOUT " the kernel's events.");
    if (parts & CO_ETW_ORT)
        say(tell, 3,
            "--etw ort needs administrator rights or membership in the group Performance Log "
            "Users: `%s` in a terminal that runs as administrator, then sign in "
            "again" WITHOUT " it.",
            ETW_JOIN_COMMAND);
    if (parts & CO_ETW_GPU)
        say(tell, 3,
            "--etw gpu needs administrator rights or membership in the group Performance Log "
            "Users" WITHOUT " it.");
}

static void tell_failure(unsigned parts, uint32_t error, const etw_tell *tell)
{
    char list[32];
    part_list(parts, list, sizeof list);
    if (error == ETW_ACCESS_DENIED || error == ETW_PRIVILEGE_NOT_HELD)
        tell_denied(parts, tell);
    else if (error == ETW_NO_SYSTEM_RESOURCES && parts == CO_ETW_KERNEL)
        say(tell, 3,
            "--etw kernel: Windows lets no more than eight sessions hear the kernel, and no more "
            "than 64 be in all; `logman query -ets` lists them, `logman stop NAME -ets` ends "
            "one" WITHOUT " the kernel's events.");
    else if (error == ETW_NO_SYSTEM_RESOURCES)
        say(tell, 3,
            "--etw %s: this machine has as many event tracing sessions as Windows allows (64); "
            "`logman query -ets` lists them, `logman stop NAME -ets` ends one" WITHOUT " it.",
            list);
    else
        say(tell, 3,
            "--etw %s: Windows could not start event tracing (error %" PRIu32 ")" WITHOUT " it.",
            list, error);
}

// ---------------------------------------------------------------------------------------- starting

static void fill_wish(etw_session_block *b, const etw_wish *wish, uint32_t kernel_flags,
                      bool independent)
{
    uint32_t buffers = wish->buffers ? wish->buffers : wish->processors * 4;
    if (!wish->buffers && buffers < BUFFERS_LESS)
        buffers = BUFFERS_LESS;
    buffers = buffers < BUFFERS_MORE ? buffers : BUFFERS_MORE;
    prepare(b);
    etw_properties *p = &b->p;
    p->wnode_flags = ETW_WNODE_TRACED_GUID;
    p->client_context = ETW_CLOCK_QPC;
    // Any GUID of its own will do: that of no provider, with the process in it.
    memcpy(p->guid, "ortscope", 8);
    memcpy(p->guid + 8, &wish->self.pid, 4);
    p->guid[12] = kernel_flags != 0;
    p->mode = ETW_REAL_TIME_MODE | (kernel_flags ? ETW_SYSTEM_LOGGER_MODE : 0) |
              (independent ? ETW_INDEPENDENT_MODE : 0);
    p->enable_flags = kernel_flags;
    p->buffer_kib = BUFFER_KIB;
    p->minimum_buffers = buffers;
    p->maximum_buffers = wish->buffers ? buffers : buffers * 4;
    p->flush_timer = 1;
}

// A success alone proves nothing: where event tracing is a stub, it does nothing and says so.
static bool exists(const etw_session *s)
{
    etw_session_block *b = malloc(sizeof *b);
    if (!b)
        return false;
    prepare(b);
    uint32_t error = s->api->control_trace(s->handle, NULL, &b->p, ETW_QUERY);
    bool real = (error == ETW_OK || error == ETW_MORE_DATA) && b->p.buffer_kib != 0;
    free(b);
    return real;
}

// One try with these flags; the session that an earlier life of ours left under our name is
// stopped.
static uint32_t try_start(etw_session *s, const etw_wish *wish, uint32_t kernel_flags)
{
    etw_session_block *b = malloc(sizeof *b);
    uint32_t error = ETW_NO_SYSTEM_RESOURCES;
    bool independent = true, cleared = false;
    for (int i = 0; b && i < 3; i++) {
        fill_wish(b, wish, kernel_flags, independent);
        s->handle = 0;
        error = s->api->start_trace(&s->handle, s->name, &b->p);
        if (error == ETW_ALREADY_EXISTS && !cleared) {
            cleared = true;
            control_by_name(s->api, s->name, ETW_STOP);
        } else if (error == ETW_INVALID_PARAMETER && independent) {
            independent = false;
        } else {
            break;
        }
    }
    free(b);
    return error;
}

static uint32_t start_with_kernel(etw_session *s, const etw_wish *wish, const etw_tell *tell)
{
    bool profile = s->api->allow_profile();
    uint32_t error = try_start(s, wish, KERNEL_FLAGS | (profile ? FLAG_PROFILE : 0));
    if (error == ETW_OK && !profile)
        say(tell, 3,
            "--etw kernel: no samples of the processor, for that needs the right \"Profile system "
            "performance\", which administrators have; all else is recorded.");
    return error;
}

// Starts the session with what is left of `parts`; false: there is none.
static bool start_parts(etw_session *s, const etw_wish *wish, const etw_tell *tell)
{
    uint32_t error = ETW_OK;
    s->parts = wish->parts;
    if (s->parts & CO_ETW_KERNEL) {
        error = start_with_kernel(s, wish, tell);
        if (error != ETW_OK) {
            s->last_error = error;
            tell_failure(CO_ETW_KERNEL, error, tell);
            s->parts &= ~(unsigned)CO_ETW_KERNEL;
        }
    }
    if (s->parts && !(s->parts & CO_ETW_KERNEL)) {
        error = try_start(s, wish, 0);
        if (error != ETW_OK) {
            s->last_error = error;
            tell_failure(s->parts, error, tell);
            s->parts = 0;
        }
    }
    if (s->parts && (s->handle == 0 || !exists(s))) {
        say(tell, 3, "Event tracing (--etw) is not available here" WITHOUT " it.");
        co_etw_session_stop(s, NULL);
        s->last_error = ETW_NO_SUCH_SESSION;
        s->parts = 0;
    }
    if (!s->parts)
        s->handle = 0;
    return s->parts != 0;
}

static uint32_t enable(const etw_session *s, const etw_provider *provider, uint32_t code)
{
    struct {
        uint8_t in, reserved;
        uint16_t count, ids[ETW_PROVIDER_EVENTS_MAX];
    } ids = {.in = 1, .count = (uint16_t)provider->event_count};
    memcpy(ids.ids, provider->events, provider->event_count * sizeof *ids.ids);
    etw_filter filter = {(uint64_t)(uintptr_t)&ids,
                         (uint32_t)(4 + provider->event_count * sizeof *ids.ids),
                         ETW_FILTER_EVENT_ID};
    etw_enable parameters = {.version = ETW_ENABLE_VERSION};
    if (provider->event_count) {
        parameters.filters = &filter;
        parameters.filter_count = 1;
    }
    uint32_t error =
        s->api->enable_trace(s->handle, provider->guid, code, provider->level, provider->keywords,
                             0, 0, code == ETW_ENABLE_PROVIDER ? &parameters : NULL);
    if (error == ETW_INVALID_PARAMETER && parameters.filter_count) // a Windows without such filters
        error = s->api->enable_trace(s->handle, provider->guid, code, provider->level,
                                     provider->keywords, 0, 0, NULL);
    return error;
}

static void enable_parts(etw_session *s, const etw_tell *tell)
{
    for (size_t i = 0; i < co_etw_provider_count; i++) {
        const etw_provider *provider = &co_etw_providers[i];
        bool instead = provider->instead_of && !(s->parts & provider->instead_of);
        if (!(s->parts & provider->part) || (provider->instead_of && !instead))
            continue;
        uint32_t error = enable(s, provider, ETW_ENABLE_PROVIDER);
        if (error == ETW_OK || provider->instead_of)
            continue;
        s->last_error = error;
        tell_failure(provider->part, error, tell);
        s->parts &= ~provider->part;
    }
}

bool co_etw_session_start(etw_session *s, const etw_api *api, const etw_wish *wish,
                          const etw_tell *tell)
{
    *s = (etw_session){.api = api};
    co_etw_session_name(wish->self, s->name);
    co_etw_stop_stale(api, tell);
    if (!start_parts(s, wish, tell))
        return false;
    enable_parts(s, tell);
    if (!s->parts)
        co_etw_session_stop(s, NULL);
    return s->parts != 0;
}

// -------------------------------------------------------------------------------- while it goes on

static void for_each_provider(const etw_session *s, uint32_t code)
{
    for (size_t i = 0; s->handle && i < co_etw_provider_count; i++)
        if (s->parts & co_etw_providers[i].part && !(s->parts & co_etw_providers[i].instead_of))
            enable(s, &co_etw_providers[i], code);
}

void co_etw_session_rundown(const etw_session *s)
{
    for_each_provider(s, ETW_CAPTURE_STATE);
}

static uint32_t control(const etw_session *s, uint32_t code, etw_losses *out)
{
    etw_session_block *b = malloc(sizeof *b);
    if (!b)
        return ETW_NO_SYSTEM_RESOURCES;
    prepare(b);
    uint32_t error = s->api->control_trace(s->handle, NULL, &b->p, code);
    if (out && (error == ETW_OK || error == ETW_MORE_DATA))
        *out = (etw_losses){b->p.events_lost, b->p.log_buffers_lost, b->p.real_time_buffers_lost};
    free(b);
    return error;
}

void co_etw_session_flush(const etw_session *s)
{
    if (s->handle)
        control(s, ETW_FLUSH, NULL);
}

bool co_etw_session_losses(const etw_session *s, etw_losses *out)
{
    uint32_t error = s->handle ? control(s, ETW_QUERY, out) : ETW_NO_SUCH_SESSION;
    return error == ETW_OK || error == ETW_MORE_DATA;
}

// Asked before it is stopped: once stopped it can't be, and what it answers then is not documented.
void co_etw_session_stop(etw_session *s, etw_losses *out)
{
    if (!s->handle)
        return;
    for_each_provider(s, ETW_DISABLE_PROVIDER);
    if (out)
        co_etw_session_losses(s, out);
    control(s, ETW_STOP, NULL);
    s->handle = 0;
}
