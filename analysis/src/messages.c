// SPDX-License-Identifier: MIT
// See messages.h. Of ORT's own events these speak to a user: those with an errorMessage, lines of
// its log that are warnings or worse, and the devices of execution providers. The others are
// counted.
#include "messages.h"

#include "analysis_util.h"
#include "session_stats.h"

#include <stdlib.h>
#include <string.h>

enum { LEVEL_ERROR = 2, LEVEL_WARNING = 3 };

void an_messages_deinit(an_summary *s)
{
    for (size_t i = 0; i < s->message_count; i++)
        free(s->messages[i].text);
    for (size_t i = 0; i < s->device_count; i++) {
        free(s->devices[i].provider);
        free(s->devices[i].type);
        free(s->devices[i].vendor);
    }
    free(s->messages);
    free(s->devices);
}

static bool same(const an_message *x, const an_message *y)
{
    return x->message_id == y->message_id && x->session == y->session && x->code == y->code &&
           x->level == y->level && x->of_runs == y->of_runs && x->from_event == y->from_event;
}

static cm_status copy(char **out, const char *text, size_t len)
{
    char *copied = malloc(len + 1);
    if (!copied)
        return an_no_memory();
    memcpy(copied, text, len);
    copied[len] = '\0';
    *out = copied;
    return CM_OK;
}

// Counts it if there is such a one; else keeps it with a copy of `text`.
static cm_status add(an_summary *s, an_message m, const char *text, size_t len)
{
    for (size_t i = 0; i < s->message_count; i++) {
        if (same(&s->messages[i], &m)) {
            s->messages[i].count++;
            return CM_OK;
        }
    }
    if (s->message_count == AN_MAX_MESSAGES) {
        s->messages_dropped++;
        return CM_OK;
    }
    an_message *messages =
        an_grow(s->messages, &s->message_capacity, s->message_count, sizeof *messages);
    if (!messages)
        return an_no_memory();
    s->messages = messages;
    CM_TRY(copy(&m.text, text, len));
    messages[s->message_count++] = m;
    return CM_OK;
}

cm_status an_messages_add_log(an_summary *s, const tm_reader *r, const tm_block *b, size_t row)
{
    an_message m = {.level = b->columns[TM_log_level][row],
                    .session = b->columns[TM_log_session][row],
                    .code = b->columns[TM_log_code][row],
                    .message_id = b->columns[TM_log_message][row],
                    .first_run = b->columns[TM_log_run][row],
                    .first_ns = b->columns[TM_log_time][row],
                    .count = 1,
                    .of_runs = b->columns[TM_log_run][row] > 0};
    const char *text = tm_reader_string(r, m.message_id);
    return add(s, m, text, strlen(text));
}

// ------------------------------------------------------------------------------------ ORT's events

typedef struct span {
    const char *text; // NULL: there is no such field
    size_t len;
} span;

// A line that begins with "key=": values may have several lines.
static bool begins_field(const char *line)
{
    size_t len = 0;
    while ((line[len] >= 'a' && line[len] <= 'z') || (line[len] >= 'A' && line[len] <= 'Z') ||
           (line[len] >= '0' && line[len] <= '9') || line[len] == '_' || line[len] == '.')
        len++;
    return len > 0 && line[len] == '=';
}

static span field(const char *fields, const char *key)
{
    size_t key_len = strlen(key);
    for (const char *line = fields; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, key_len) != 0 || line[key_len] != '=')
            continue;
        span value = {line + key_len + 1, 0};
        const char *end = strchr(value.text, '\n');
        while (end && !begins_field(end + 1))
            end = strchr(end + 1, '\n');
        value.len = end ? (size_t)(end - value.text) : strlen(value.text);
        return value;
    }
    return (span){NULL, 0};
}

static bool equals(const char *text, span value)
{
    return strlen(text) == value.len && memcmp(text, value.text ? value.text : "", value.len) == 0;
}

static cm_status add_device(an_summary *s, int64_t session, const char *fields)
{
    span provider = field(fields, "executionProviderType");
    span type = field(fields, "hardwareDeviceType"), vendor = field(fields, "hardwareVendor");
    for (size_t i = 0; i < s->device_count; i++) {
        const an_device *d = &s->devices[i];
        if (d->session == session && equals(d->provider, provider) && equals(d->type, type) &&
            equals(d->vendor, vendor))
            return CM_OK;
    }
    if (s->device_count == AN_MAX_DEVICES)
        return CM_OK;
    an_device *devices = an_grow(s->devices, &s->device_capacity, s->device_count, sizeof *devices);
    if (!devices)
        return an_no_memory();
    s->devices = devices;
    an_device *d = &devices[s->device_count++];
    span nodes = field(fields, "assignedNodeCount");
    *d = (an_device){.session = session, .nodes = nodes.text ? strtoll(nodes.text, NULL, 10) : -1};
    CM_TRY(copy(&d->provider, provider.text ? provider.text : "", provider.len));
    CM_TRY(copy(&d->type, type.text ? type.text : "", type.len));
    return copy(&d->vendor, vendor.text ? vendor.text : "", vendor.len);
}

// What tells two models of one name apart (ORT 1.23 and later).
static uint64_t hash_of_model(const char *fields)
{
    span parts[] = {field(fields, "modelGraphHash"), field(fields, "modelWeightHash")};
    uint64_t hash = 0xcbf29ce484222325u; // FNV-1a
    if (parts[0].len == 0 && parts[1].len == 0)
        return 0;
    for (int p = 0; p < 2; p++)
        for (size_t i = 0; i <= parts[p].len; i++)
            hash = (hash ^ (i < parts[p].len ? (uint8_t)parts[p].text[i] : 0)) * 0x100000001b3u;
    return hash | 1;
}

static cm_status add_model(an_summary *s, int64_t session, const char *fields)
{
    uint64_t hash = hash_of_model(fields);
    if (!session || !hash)
        return CM_OK;
    an_session *n = an_summary_session(s, session);
    if (!n)
        return an_no_memory();
    n->loading.event_hash = hash;
    return CM_OK;
}

cm_status an_messages_add_event(an_summary *s, const tm_reader *r, const tm_block *b, size_t row)
{
    const char *name = tm_reader_string(r, b->columns[TM_ort_event_name][row]);
    const char *fields = tm_reader_string(r, b->columns[TM_ort_event_fields][row]);
    an_message m = {.level = b->columns[TM_ort_event_level][row],
                    .session = b->columns[TM_ort_event_session][row],
                    .message_id = b->columns[TM_ort_event_fields][row],
                    .first_ns = b->columns[TM_ort_event_time][row],
                    .count = 1,
                    .from_event = true};
    s->ort_events++;
    if (strcmp(name, "EpDeviceUsage") == 0)
        return add_device(s, m.session, fields);
    if (strcmp(name, "SessionCreation") == 0)
        CM_TRY(add_model(s, m.session, fields));
    bool is_log = strcmp(name, "ONNXRuntimeLogEvent") == 0;
    span text = field(fields, is_log ? "message" : "errorMessage");
    if (text.len == 0 || (is_log && (m.level < 1 || m.level > LEVEL_WARNING)))
        return CM_OK;
    if (!is_log)
        m.level = LEVEL_ERROR;
    return add(s, m, text.text, text.len);
}

// --------------------------------------------------------------------------------------- the end

static bool is_told(const an_summary *s, const char *text, const an_message *self)
{
    for (size_t i = 0; i < s->message_count; i++) {
        const an_message *m = &s->messages[i];
        if (m->text && m != self && (!m->from_event || m < self) && strstr(m->text, text))
            return true;
    }
    size_t looked_at = 0;
    for (size_t i = 0; i < s->session_count && looked_at < AN_MAX_MESSAGES; i++) {
        looked_at += s->sessions[i].message[0] != '\0';
        if (s->sessions[i].message[0] && strstr(s->sessions[i].message, text))
            return true;
    }
    return false;
}

void an_messages_finish(an_summary *s)
{
    for (size_t i = 0; i < s->message_count; i++) {
        an_message *m = &s->messages[i];
        if (m->from_event && is_told(s, m->text, m)) {
            free(m->text);
            m->text = NULL;
        }
    }
    size_t kept = 0;
    for (size_t i = 0; i < s->message_count; i++)
        if (s->messages[i].text)
            s->messages[kept++] = s->messages[i];
    s->message_count = kept;
}
