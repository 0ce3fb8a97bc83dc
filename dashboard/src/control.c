// SPDX-License-Identifier: MIT
// POST /api/v1/control, and the log of who did what.
#include "common/os.h"
#include "common/text.h"
#include "handle.h"
#include "view_keys.h"

#include <stdio.h>
#include <string.h>

#define STRANGERS 10u // lines a second

cm_status da_audit_open(da_core *core, const char *path)
{
    return cm_file_append(path, &core->audit);
}

void da_audit_close(da_core *core)
{
    cm_file_close(core->audit);
    core->audit = NULL;
}

// A line is one write at the end of the file, so that others' lines stay whole. One that can't be
// written is told once: actions go on.
static void append_audit(da_core *core, const char *line)
{
    pthread_mutex_lock(&core->audit_lock);
    cm_status status = cm_file_write(core->audit, line, strlen(line));
    bool tell = status != CM_OK && !core->audit_failed;
    core->audit_failed |= status != CM_OK;
    pthread_mutex_unlock(&core->audit_lock);
    if (!tell || !core->host.say)
        return;
    char sentence[1400];
    snprintf(sentence, sizeof sentence, "%s What clients do is not logged from now on.",
             cm_error_text(status));
    core->host.say(core->host.context, sentence);
}

// Strangers could fill the disk: only so many of their lines a second, the rest is counted.
static bool may_write(da_core *core, da_right right, uint64_t *out_left_out)
{
    uint64_t second = cm_monotonic_ns() / 1000000000u;
    pthread_mutex_lock(&core->audit_lock);
    if (core->strangers_second != second)
        core->strangers = 0;
    core->strangers_second = second;
    bool may = right != DA_NOTHING || core->strangers < STRANGERS;
    core->strangers += right == DA_NOTHING && may;
    core->strangers_left_out += !may;
    *out_left_out = core->strangers_left_out;
    if (may)
        core->strangers_left_out = 0;
    pthread_mutex_unlock(&core->audit_lock);
    return may;
}

static void write_audit(da_core *core, const da_request *r, da_right right, const da_control *c,
                        int status)
{
    static const char *const rights[] = {"none", "read", "control"};
    char utc[48];
    cm_out out;
    cm_json json, *j = &json;
    uint64_t left_out;
    if (!core->audit || !may_write(core, right, &left_out))
        return;
    cm_format_utc(utc, sizeof utc, cm_utc_ns());
    cm_out_init_memory(&out);
    cm_json_init(j, &out);
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    da_key_text(j, "utc", utc);
    da_key_text(j, "peer", r->peer);
    da_key_text(j, "token", rights[right]);
    da_key_int(j, "status", status);
    da_key_text(j, "action", c ? da_action_name(c->action) : NULL);
    da_key_uint(j, "capture", c ? c->capture : 0);
    da_key_text(j, "text", c && c->text[0] ? c->text : NULL);
    da_key_id(j, "pid", c ? c->pid : 0);
    da_key_number(j, "hz", c ? c->hz : DA_NONE, 2);
    da_key_number(j, "counters_hz", c ? c->counters_hz : DA_NONE, 2);
    da_key_number(j, "speed", c ? c->speed : DA_NONE, 3);
    da_key_number(j, "to_s", c ? c->to_s : DA_NONE, 6);
    if (left_out)
        da_key_uint(j, "left_out", left_out);
    cm_json_end(j);
    append_audit(core, cm_out_string(&out));
    cm_out_deinit(&out);
}

// The rate of messages is everybody's, that of the counters the capture's own.
static cm_status act_on(da_core *core, const da_capture *capture, const da_control *c)
{
    if (c->action != DA_RATES || da_known(c->counters_hz)) {
        if (!capture->control)
            return cm_fail(CM_UNSUPPORTED, "This capture can't be controlled.");
        CM_TRY(capture->control(capture->context, c));
    }
    if (c->action == DA_RATES && da_known(c->hz)) {
        pthread_mutex_lock(&core->lock);
        core->hz = c->hz;
        pthread_mutex_unlock(&core->lock);
    }
    return CM_OK;
}

static cm_status act(da_core *core, const da_control *c, uint32_t *out_number)
{
    if (c->action == DA_ATTACH) {
        if (!core->host.attach)
            return cm_fail(CM_UNSUPPORTED, "This ortscope does not attach to processes; "
                                           "`ortscope serve` on Windows does.");
        return core->host.attach(core->host.context, c->pid, out_number);
    }
    da_capture capture = da_core_capture(core, c->capture, out_number);
    if (!capture.live)
        return cm_fail(CM_NOT_FOUND, "There is no such capture.");
    cm_status status = act_on(core, &capture, c);
    da_core_release(core, *out_number);
    return status;
}

static int http_status(cm_status status)
{
    switch (status) {
    case CM_OK:
        return 200;
    case CM_USAGE:
        return 400;
    case CM_NOT_FOUND:
        return 404;
    default:
        return 409;
    }
}

void da_handle_control(da_core *core, const da_request *r, da_right right, da_reply *reply)
{
    da_control c;
    uint32_t number = 0;
    if (right != DA_MAY_CONTROL) {
        da_reply_error(reply, 403, "This token may only read.");
        write_audit(core, r, right, NULL, 403);
        return;
    }
    // A form of another page can be sent without asking; JSON can't.
    if (!r->content_type || strncmp(r->content_type, "application/json", 16) != 0) {
        da_reply_error(reply, 400, "The body must be application/json.");
        write_audit(core, r, right, NULL, 400);
        return;
    }
    cm_status status = da_control_parse(r->body ? r->body : "", r->body_len, true, &c);
    bool parsed = status == CM_OK;
    if (parsed)
        status = act(core, &c, &number);
    int code = http_status(status);
    if (status == CM_OK) {
        cm_json json, *j = &json;
        cm_json_init(j, &reply->body);
        da_begin_document(j, 0);
        da_key_bool(j, "ok", true);
        da_key_uint(j, "capture", number);
        cm_json_end(j);
    } else {
        char sentence[1024];
        snprintf(sentence, sizeof sentence, "%s", cm_error_text(status));
        da_reply_error(reply, code, sentence);
    }
    write_audit(core, r, right, parsed ? &c : NULL, code);
}

void da_audit_refused(da_core *core, const da_request *r, int status)
{
    if (strcmp(r->path, "/api/v1/control") == 0 && strcmp(r->method, "POST") == 0)
        write_audit(core, r, da_right_of(&core->access, r), NULL, status);
}
