// SPDX-License-Identifier: MIT
#include "handle.h"

#include "common/os.h"
#include "view_keys.h"

#include <stdio.h>
#include <string.h>

#define WINDOW_S 5.0

void da_core_init(da_core *core, const da_host *host, double hz)
{
    *core = (da_core){.host = *host, .hz = hz > 0 ? hz : 10, .since_utc_ns = cm_utc_ns()};
    atomic_init(&core->given_up, false);
    pthread_mutex_init(&core->lock, NULL);
    pthread_mutex_init(&core->audit_lock, NULL);
}

void da_core_deinit(da_core *core)
{
    da_audit_close(core);
    pthread_mutex_destroy(&core->audit_lock);
    pthread_mutex_destroy(&core->lock);
}

// ----------------------------------------------------------------------------------------- replies

void da_reply_init(da_reply *reply)
{
    *reply = (da_reply){.status = 200, .type = "application/json; charset=utf-8"};
    cm_out_init_memory(&reply->body);
}

void da_reply_deinit(da_reply *reply)
{
    cm_out_deinit(&reply->body);
}

void da_reply_error(da_reply *reply, int status, const char *message)
{
    cm_json json, *j = &json;
    cm_out_clear(&reply->body);
    cm_json_init(j, &reply->body);
    reply->status = status;
    da_begin_document(j, 0);
    da_key_object(j, "error");
    da_key_int(j, "status", status);
    da_key_text(j, "message", message);
    cm_json_end(j);
    cm_json_end(j);
}

static void reply_failure(da_reply *reply, cm_status status)
{
    int code = status == CM_USAGE                              ? 400
               : status == CM_NOT_FOUND                        ? 404
               : status == CM_UNSUPPORTED                      ? 409
               : status == CM_ACCESS_DENIED || status == CM_IO ? 500
                                                               : 500;
    char sentence[1024];
    snprintf(sentence, sizeof sentence, "%s", cm_error_text(status));
    da_reply_error(reply, code, sentence);
}

// --------------------------------------------------------------------------------------- documents

static void push_state(da_core *core, cm_json *j)
{
    pthread_mutex_lock(&core->lock);
    da_push_state push = core->push;
    pthread_mutex_unlock(&core->lock);
    if (!push.on) {
        cm_json_key(j, "otlp");
        cm_json_null(j);
        return;
    }
    da_key_object(j, "otlp");
    da_key_text(j, "url", push.url);
    da_key_uint(j, "pushes", push.pushes);
    da_key_uint(j, "failed_pushes", push.failed);
    da_key_uint(j, "rejected_points", push.rejected_points);
    da_key_text(j, "error", push.error[0] ? push.error : NULL);
    cm_json_end(j);
}

void da_write_metrics(da_core *core, cm_out *out, const da_telling *t)
{
    cm_json json, *j = &json;
    uint32_t number = 0;
    da_look look = {.window_s = t->window_s, .hz = t->hz};
    for (da_capture c; (c = da_core_next(core, &number)).live;)
        look.machine_runs_per_s += da_view_recorded_per_s(c.live, t->window_s);
    number = 0;
    cm_json_init(j, out);
    da_begin_document(j, 0);
    da_key_text(j, "type", "metrics");
    da_key_number(j, "utc_ms", (double)(cm_utc_ns() / 1000) / 1000.0, 3);
    da_key_number(j, "window_s", t->window_s, 3);
    da_key_bool(j, "control", t->control);
    da_key_bool(j, "last", t->last);
    da_key_array(j, "captures");
    for (da_capture c; (c = da_core_next(core, &number)).live;)
        da_view_metrics(j, c.live, number, &look);
    cm_json_end(j);
    push_state(core, j);
    cm_json_end(j);
}

typedef struct asked {
    da_core *core;
    const da_request *r;
    da_right right;
    da_capture capture; // live NULL: there is none
    uint32_t number;
    da_span span;
} asked;

static cm_status answer_current(const asked *a, da_reply *reply)
{
    pthread_mutex_lock(&a->core->lock);
    double hz = a->core->hz;
    pthread_mutex_unlock(&a->core->lock);
    const da_telling t = {.window_s = a->span.has_window ? a->span.window_s : WINDOW_S,
                          .hz = hz,
                          .control = a->right == DA_MAY_CONTROL};
    da_write_metrics(a->core, &reply->body, &t);
    return CM_OK;
}

static cm_status answer_sessions(const asked *a, da_reply *reply)
{
    cm_json json, *j = &json;
    uint32_t number = 0;
    cm_json_init(j, &reply->body);
    da_begin_document(j, 0);
    da_key_array(j, "captures");
    for (da_capture c; (c = da_core_next(a->core, &number)).live;)
        da_view_sessions(j, c.live, number);
    cm_json_end(j);
    cm_json_end(j);
    return CM_OK;
}

// What a page puts into links, which browsers remember: the token that may do the least.
static cm_status answer_access(const asked *a, da_reply *reply)
{
    cm_json json, *j = &json;
    const char *read = a->core->access.read;
    cm_json_init(j, &reply->body);
    da_begin_document(j, 0);
    da_key_bool(j, "control", a->right == DA_MAY_CONTROL);
    da_key_text(j, "read_token", *read ? read : NULL);
    cm_json_end(j);
    return CM_OK;
}

static cm_status answer_prometheus(const asked *a, da_reply *reply)
{
    reply->type = "text/plain; version=0.0.4; charset=utf-8";
    da_write_prometheus(a->core, &reply->body);
    return CM_OK;
}

static cm_status answer_processes(const asked *a, da_reply *reply)
{
    cm_out list;
    cm_out_init_memory(&list);
    const da_host *host = &a->core->host;
    cm_status status = host->list_processes ? host->list_processes(host->context, &list) : CM_OK;
    if (status == CM_OK)
        cm_out_printf(&reply->body,
                      "{\"schema_version\": 1, \"supported\": %s, \"processes\": %s}\n",
                      host->list_processes ? "true" : "false",
                      host->list_processes ? cm_out_string(&list) : "[]");
    cm_out_deinit(&list);
    return status;
}

// The file's own name, in a header and between quotation marks: what might end them is left out.
static void name_download(da_reply *reply, const char *ending)
{
    const char *name = reply->stream_file;
    for (const char *c = name; *c; c++)
        if (*c == '/' || *c == '\\')
            name = c + 1;
    size_t len = strlen(name), known = strlen(".ortl");
    if (len > known && strcmp(name + len - known, ".ortl") == 0)
        len -= known;
    snprintf(reply->download, sizeof reply->download, "%.*s%s", (int)(len < 200 ? len : 200), name,
             ending);
    for (char *c = reply->download; *c; c++)
        if ((unsigned char)*c < 0x20 || (unsigned char)*c > 0x7e || *c == '"')
            *c = '_';
}

static cm_status answer_export(const asked *a, da_reply *reply)
{
    static const char *const formats[] = {"ortl", "chrome",  "perfetto",  "csv",
                                          "json", "parquet", "speedscope"};
    static const char *const endings[] = {".ortl", ".chrome.json", ".pftrace",        ".csv",
                                          ".json", ".parquet",     ".speedscope.json"};
    size_t format = 0, count = sizeof formats / sizeof *formats;
    if (!da_query_text(a->r->query, "format", reply->stream_format, sizeof reply->stream_format))
        return cm_fail(CM_USAGE, "Which \"format\"? ortl, chrome, perfetto, csv, json, parquet or "
                                 "speedscope.");
    while (format < count && strcmp(formats[format], reply->stream_format) != 0)
        format++;
    if (format == count)
        return cm_fail(CM_USAGE, "There is no such format; there are ortl, chrome, perfetto, csv, "
                                 "json, parquet and speedscope.");
    bool has_table =
        da_query_text(a->r->query, "table", reply->stream_table, sizeof reply->stream_table);
    da_lock(a->capture.live);
    const char *file = a->capture.live->file;
    snprintf(reply->stream_file, sizeof reply->stream_file, "%s", file ? file : "");
    da_unlock(a->capture.live);
    if (!reply->stream_file[0] || !a->core->host.export_file)
        return cm_fail(CM_UNSUPPORTED, "This capture has no file.");
    const da_span *s = &a->span;
    reply->is_stream = true;
    reply->stream = (da_export){.file = reply->stream_file,
                                .format = reply->stream_format,
                                .table = has_table ? reply->stream_table : NULL,
                                .has_session = s->has_session,
                                .has_from = s->has_from,
                                .has_to = s->has_to,
                                .session = s->session,
                                .from_s = s->from_s,
                                .to_s = s->to_s,
                                .given_up = s->given_up};
    reply->type = "application/octet-stream";
    name_download(reply, endings[format]);
    return CM_OK;
}

static cm_status answer_view(const asked *a, da_reply *reply,
                             cm_status (*view)(cm_json *, da_live *, uint32_t, const da_span *))
{
    cm_json j;
    cm_json_init(&j, &reply->body);
    return view(&j, a->capture.live, a->number, &a->span);
}

static cm_status answer_history(const asked *a, da_reply *reply)
{
    return answer_view(a, reply, da_view_history);
}

static cm_status answer_distribution(const asked *a, da_reply *reply)
{
    return answer_view(a, reply, da_view_distribution);
}

static cm_status answer_timeline(const asked *a, da_reply *reply)
{
    return answer_view(a, reply, da_view_timeline);
}

static cm_status answer_ops(const asked *a, da_reply *reply)
{
    return answer_view(a, reply, da_view_ops);
}

static cm_status answer_system(const asked *a, da_reply *reply)
{
    cm_json j;
    cm_json_init(&j, &reply->body);
    da_view_system(&j, a->capture.live, a->number);
    return CM_OK;
}

// ------------------------------------------------------------------------------------------- paths

typedef struct route {
    const char *path;
    bool needs_capture;
    cm_status (*answer)(const asked *a, da_reply *reply);
} route;

static const route routes[] = {
    {"/api/v1/metrics/current", false, answer_current},
    {"/api/v1/access", false, answer_access},
    {"/api/v1/sessions", false, answer_sessions},
    {"/api/v1/processes", false, answer_processes},
    {"/api/v1/metrics/history", true, answer_history},
    {"/api/v1/metrics/distribution", true, answer_distribution},
    {"/api/v1/timeline", true, answer_timeline},
    {"/api/v1/ops", true, answer_ops},
    {"/api/v1/system", true, answer_system},
    {"/api/v1/export", true, answer_export},
    {"/metrics", false, answer_prometheus},
};

static const da_page_file *find_file(const char *path)
{
    if (strcmp(path, "/") == 0)
        path = "/index.html";
    for (size_t i = 0; i < da_page_file_count; i++)
        if (strcmp(da_page_files[i].path, path) == 0)
            return &da_page_files[i];
    return NULL;
}

int da_check(const da_core *core, const da_request *r, da_reply *reply, da_right *out_right)
{
    if (!da_host_allowed(&core->access, r->host))
        da_reply_error(reply, 403, "This server is not asked by that name.");
    else if (!da_origin_allowed(&core->access, r->origin))
        da_reply_error(reply, 403, "Pages of another origin may not ask.");
    else if ((*out_right = da_right_of(&core->access, r)) == DA_NOTHING && !find_file(r->path))
        da_reply_error(reply, 401, "A token is needed: the one in the URL that ortscope printed.");
    else
        return 0;
    return reply->status;
}

static cm_status prepare(asked *a, bool needs_capture)
{
    bool given = false;
    double number = 0;
    CM_TRY(da_query_span(a->r->query, &a->span));
    CM_TRY(da_query_number(a->r->query, "capture", 1, 1e6, &given, &number));
    a->span.given_up = &a->core->given_up;
    a->capture = da_core_capture(a->core, (uint32_t)number, &a->number);
    if (a->capture.live || (!needs_capture && !given))
        return CM_OK;
    return given ? cm_fail(CM_NOT_FOUND, "There is no capture %.0f.", number)
                 : cm_fail(CM_NOT_FOUND, "Nothing is recorded yet.");
}

static void answer_route(da_core *core, const da_request *r, da_right right, const route *to,
                         da_reply *reply)
{
    asked a = {.core = core, .r = r, .right = right};
    cm_status status = prepare(&a, to->needs_capture);
    if (status == CM_OK)
        status = to->answer(&a, reply);
    if (a.capture.live)
        da_core_release(core, a.number);
    if (status == CM_OK && cm_out_failed(&reply->body))
        status = cm_fail(CM_NO_MEMORY, "There is not enough memory for the answer.");
    if (status != CM_OK && atomic_load(&core->given_up))
        da_reply_error(reply, 503, "ortscope is ending.");
    else if (status != CM_OK)
        reply_failure(reply, status);
}

void da_handle(da_core *core, const da_request *r, da_reply *reply)
{
    da_right right = DA_NOTHING;
    bool get = strcmp(r->method, "GET") == 0;
    const da_page_file *file = find_file(r->path);
    if (da_check(core, r, reply, &right)) {
        da_audit_refused(core, r, reply->status);
        return;
    }
    if (strcmp(r->path, "/api/v1/control") == 0) {
        if (strcmp(r->method, "POST") == 0)
            da_handle_control(core, r, right, reply);
        else
            da_reply_error(reply, 405, "Use POST.");
        return;
    }
    if (!get) {
        da_reply_error(reply, 405, "Use GET.");
        return;
    }
    if (file) {
        reply->type = file->type;
        reply->file = file->bytes;
        reply->file_len = file->len;
        return;
    }
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
        if (strcmp(routes[i].path, r->path) == 0) {
            answer_route(core, r, right, &routes[i], reply);
            return;
        }
    }
    da_reply_error(reply, 404, "There is nothing here; docs/api.md lists the paths.");
}
