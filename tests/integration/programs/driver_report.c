// SPDX-License-Identifier: MIT
// The log of what was done and its JSON form. It decides what counts as "alike" for runs: the same
// call, status, message, inputs and outputs. It calls no runtime.
#include "driver.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void text_reserve(drv_text *text, size_t more)
{
    if (text->len + more + 1 <= text->room)
        return;
    text->room = (text->len + more + 1) * 2;
    text->data = realloc(text->data, text->room);
    if (!text->data)
        drv_die("out of memory");
}

void drv_text_add(drv_text *text, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    text_reserve(text, (size_t)size);
    vsnprintf(text->data + text->len, (size_t)size + 1, format, again);
    va_end(again);
    text->len += (size_t)size;
}

void drv_text_quote(drv_text *text, const char *value)
{
    drv_text_add(text, "\"");
    for (; *value; value++) {
        unsigned char c = (unsigned char)*value;
        if (c == '"' || c == '\\')
            drv_text_add(text, "\\%c", c);
        else if (c < 0x20)
            drv_text_add(text, "\\u%04x", c);
        else
            drv_text_add(text, "%c", c);
    }
    drv_text_add(text, "\"");
}

drv_session_log *drv_log_session(drv_runtime *runtime, const char *id, drv_source source)
{
    drv_session_log *log = drv_allocate(sizeof *log);
    strncpy(log->id, id, sizeof log->id - 1);
    log->source = source;
    log->early = drv_early();
    drv_take(&runtime->lock);
    log->next = runtime->sessions;
    runtime->sessions = log;
    drv_give(&runtime->lock);
    return log;
}

static bool same(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

void drv_log_run(drv_session_log *log, drv_call call, int status, const char *inputs,
                 const char *outputs, const char *message)
{
    bool early = drv_early();
    drv_take(&log->lock);
    drv_group *group = log->groups;
    while (group && !(group->call == (int)call && group->status == status &&
                      group->early == early && same(group->inputs, inputs) &&
                      same(group->outputs, outputs) && same(group->message, message)))
        group = group->next;
    if (!group) {
        group = drv_allocate(sizeof *group);
        group->call = (int)call;
        group->status = status;
        group->early = early;
        group->inputs = drv_copy(inputs);
        group->outputs = outputs ? drv_copy(outputs) : NULL;
        group->message = message ? drv_copy(message) : NULL;
        group->next = log->groups;
        log->groups = group;
    }
    group->count++;
    drv_give(&log->lock);
    drv_count_run();
}

void drv_log_env(drv_runtime *runtime, const char *how, const char *log_id, int status,
                 const char *message)
{
    drv_env_log *log = drv_allocate(sizeof *log);
    log->how = how;
    strncpy(log->log_id, log_id, sizeof log->log_id - 1);
    log->status = status;
    log->early = drv_early();
    log->message = message ? drv_copy(message) : NULL;
    drv_take(&runtime->lock);
    log->next = runtime->envs;
    runtime->envs = log;
    drv_give(&runtime->lock);
}

// ------------------------------------------------------------------------------------------ JSON

static void quote_or_null(drv_text *text, const char *key, const char *value)
{
    drv_text_add(text, ",\"%s\":", key);
    if (value)
        drv_text_quote(text, value);
    else
        drv_text_add(text, "null");
}

static const char *json_bool(bool value)
{
    return value ? "true" : "false";
}

// "a\nb\n" becomes ["a","b"].
static void quote_lines(drv_text *text, const char *key, const char *lines)
{
    drv_text_add(text, ",\"%s\":[", key);
    for (const char *at = lines ? lines : ""; *at;) {
        size_t len = strcspn(at, "\n");
        char line[512];
        snprintf(line, sizeof line, "%.*s", (int)len, at);
        drv_text_add(text, at == lines ? "" : ",");
        drv_text_quote(text, line);
        at += len + (at[len] == '\n');
    }
    drv_text_add(text, "]");
}

static void report_group(drv_text *text, const drv_group *group)
{
    drv_text_add(text, "{\"call\":%d,\"status\":%d,\"early\":%s,\"count\":%llu,\"inputs\":%s",
                 group->call, group->status, json_bool(group->early),
                 (unsigned long long)group->count, group->inputs);
    drv_text_add(text, ",\"outputs\":%s", group->outputs ? group->outputs : "null");
    quote_or_null(text, "message", group->message);
    drv_text_add(text, "}");
}

static void report_session(drv_text *text, const drv_session_log *log)
{
    drv_text_add(text, "{\"id\":");
    drv_text_quote(text, log->id);
    drv_text_add(text, ",\"source\":%d,\"status\":%d,\"early\":%s", (int)log->source, log->status,
                 json_bool(log->early));
    drv_text_add(text, ",\"released\":%s,\"released_early\":%s,\"null_options\":%s",
                 json_bool(log->released), json_bool(log->released_early),
                 json_bool(log->null_options));
    quote_or_null(text, "model", log->model);
    drv_text_add(text, ",\"model_bytes\":%llu", (unsigned long long)log->model_bytes);
    quote_or_null(text, "message", log->message);
    quote_lines(text, "options", log->options);
    quote_lines(text, "providers", log->providers);
    quote_lines(text, "refused_providers", log->refused);
    drv_text_add(text, ",\"runs\":[");
    for (const drv_group *group = log->groups; group; group = group->next) {
        drv_text_add(text, group == log->groups ? "\n    " : ",\n    ");
        report_group(text, group);
    }
    drv_text_add(text, "]}");
}

static void report_env(drv_text *text, const drv_env_log *log)
{
    drv_text_add(text, "{\"how\":\"%s\",\"log_id\":", log->how);
    drv_text_quote(text, log->log_id);
    drv_text_add(text, ",\"status\":%d,\"early\":%s", log->status, json_bool(log->early));
    quote_or_null(text, "message", log->message);
    drv_text_add(text, "}");
}

void drv_report_runtime(drv_text *text, const drv_runtime *runtime, int round)
{
    char *path = drv_utf8(runtime->path);
    drv_text_add(text, "{\"module\":");
    drv_text_quote(text, path);
    drv_text_add(text, ",\"version\":\"%s\",\"round\":%d,\"output_hash\":\"%016llx\"",
                 runtime->version, round, (unsigned long long)runtime->hash);
    drv_text_add(text, ",\"env_releases\":%llu,\"env_releases_early\":%llu,\"envs\":[",
                 (unsigned long long)runtime->env_releases,
                 (unsigned long long)runtime->env_releases_early);
    for (const drv_env_log *log = runtime->envs; log; log = log->next) {
        drv_text_add(text, log == runtime->envs ? "\n  " : ",\n  ");
        report_env(text, log);
    }
    drv_text_add(text, "],\"sessions\":[");
    for (const drv_session_log *log = runtime->sessions; log; log = log->next) {
        drv_text_add(text, log == runtime->sessions ? "\n  " : ",\n  ");
        report_session(text, log);
    }
    drv_text_add(text, "]}");
    free(path);
}
