// SPDX-License-Identifier: MIT
// The live view on hostile input: rows of a file or target, bodies of control, whole requests,
// messages to the WebSocket, token files. The first byte says which.
#include "handle.h"
#include "view_keys.h"

#include <stdlib.h>
#include <string.h>

static void ask(da_core *core, const char *path, const char *query)
{
    da_reply reply;
    const da_request r = {.method = "GET",
                          .path = path,
                          .query = query,
                          .host = "127.0.0.1:9797",
                          .authorization = "Bearer c"};
    da_reply_init(&reply);
    da_handle(core, &r, &reply);
    if (reply.status == 200 && !reply.file && !cm_out_string(&reply.body)[0] && !reply.is_stream)
        abort(); // every answer has a body
    da_reply_deinit(&reply);
}

static void ask_everything(da_core *core)
{
    static const char *const paths[] = {"/api/v1/metrics/current", "/api/v1/sessions",
                                        "/api/v1/metrics/history", "/api/v1/metrics/distribution",
                                        "/api/v1/timeline",        "/api/v1/ops",
                                        "/api/v1/system",          "/metrics"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        ask(core, paths[i], NULL);
    ask(core, "/api/v1/timeline", "from=0");
    ask(core, "/api/v1/metrics/history", "from=0&step=10");
    ask(core, "/api/v1/metrics/distribution", "window=60");
}

// A kind, then 8 bytes a column; a small byte for each column makes ids that meet.
static void feed_rows(da_live *live, const uint8_t *data, size_t size)
{
    int64_t row[TM_MAX_COLUMNS];
    while (size > 2) {
        tm_kind kind = (tm_kind)(data[0] % TM_KIND_COUNT);
        unsigned wide = data[1], columns = tm_kind_get(kind)->column_count;
        data += 2, size -= 2;
        for (unsigned i = 0; i < columns; i++) {
            size_t bytes = wide >> (i % 8) & 1 ? 8 : 1;
            row[i] = 0;
            if (bytes <= size) {
                memcpy(&row[i], data, bytes);
                data += bytes, size -= bytes;
            }
        }
        if (size)
            da_live_string(live, row[0] & 15, (const char *)data, data[0] < size ? data[0] : size);
        da_live_row(live, kind, row);
        da_live_time(live, row[1]);
    }
}

// Lines: method, path, query, host, origin, authorization, type, body.
static void request(da_core *core, const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    const char *parts[8] = {NULL};
    memcpy(text, data, size);
    text[size] = 0;
    char *at = text;
    for (int i = 0; i < 8 && at; i++) {
        parts[i] = at;
        at = i < 7 ? strchr(at, '\n') : NULL;
        if (at)
            *at++ = 0;
    }
    const da_request r = {.method = parts[0] ? parts[0] : "",
                          .path = parts[1] ? parts[1] : "",
                          .query = parts[2],
                          .host = parts[3],
                          .origin = parts[4],
                          .authorization = parts[5],
                          .content_type = parts[6],
                          .body = parts[7],
                          .body_len = parts[7] ? strlen(parts[7]) : 0};
    da_reply reply;
    da_reply_init(&reply);
    da_handle(core, &r, &reply);
    da_reply_deinit(&reply);
    free(text);
}

static bool is_within(double value, double least, double most)
{
    return !da_known(value) || (value >= least && value <= most);
}

// Without an end of text behind it, as CivetWeb has it.
static void message(const uint8_t *data, size_t size)
{
    da_control wanted;
    char *text = malloc(size + !size);
    memcpy(text, data, size);
    if (da_control_parse(text, size, false, &wanted) == CM_OK &&
        (!is_within(wanted.hz, 1, 60) || !is_within(wanted.window_s, 0.1, 60)))
        abort();
    free(text);
}

static bool is_token(const char *token)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    size_t len = strlen(token);
    return !len || (len >= DA_TOKEN_LEAST && len <= DA_TOKEN_MOST && strspn(token, allowed) == len);
}

static void token_file(const uint8_t *data, size_t size)
{
    da_access access = {.scheme = "http"};
    char *text = malloc(size + 1);
    memcpy(text, data, size);
    text[size] = 0;
    if (da_tokens_parse(text, "tokens", &access) == CM_OK &&
        (!is_token(access.control) || !is_token(access.read) ||
         strcmp(access.control, access.read) == 0))
        abort();
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    da_core core;
    da_live *live;
    da_control control;
    const da_about about = {.file = NULL};
    if (!size || da_live_create(&about, &live) != CM_OK)
        return 0;
    da_core_init(&core, &(da_host){0}, 10);
    strcpy(core.access.control, "c");
    strcpy(core.access.read, "r");
    strcpy(core.access.hosts[0], "127.0.0.1:9797");
    core.access.host_count = 1;
    core.access.scheme = "http";
    const da_capture capture = {.live = live};
    da_core_add(&core, &capture);
    if (data[0] == 'c') {
        da_control_parse((const char *)data + 1, size - 1, true, &control);
    } else if (data[0] == 'r') {
        request(&core, data + 1, size - 1);
    } else if (data[0] == 'w') {
        message(data + 1, size - 1);
    } else if (data[0] == 't') {
        token_file(data + 1, size - 1);
    } else {
        feed_rows(live, data + 1, size - 1);
        ask_everything(&core);
    }
    da_core_deinit(&core);
    da_live_destroy(live);
    return 0;
}
