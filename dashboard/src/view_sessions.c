// SPDX-License-Identifier: MIT
// What is there: processes, runtimes, sessions; the machine and its counters.
#include "view_keys.h"

#include <string.h>

// The parts of a joined text.
static void parts(cm_json *j, const char *key, const char *text, char separator)
{
    da_key_array(j, key);
    while (text && *text) {
        const char *end = strchr(text, separator);
        size_t len = end ? (size_t)(end - text) : strlen(text);
        if (len)
            cm_json_bytes(j, text, len);
        text = end ? end + 1 : NULL;
    }
    cm_json_end(j);
}

static void session(cm_json *j, const da_live *l, const da_session *s)
{
    const int64_t *f = s->facts;
    bool existed = f[TM_session_source] == 7; // its loading was not seen
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    da_key_int(j, "session", s->id);
    da_key_id(j, "module", f[TM_session_module]);
    da_key_id(j, "process", da_session_process(l, s));
    da_key_text(j, "model", da_text(l, f[TM_session_model]));
    da_key_id(j, "model_bytes", f[TM_session_model_bytes]);
    da_key_text(j, "graph", da_text(l, f[TM_session_graph]));
    da_key_text(j, "producer", da_text(l, f[TM_session_producer]));
    parts(j, "providers", da_text(l, f[TM_session_providers]), ',');
    parts(j, "options", da_text(l, f[TM_session_options]), '\n');
    da_key_number(j, "created_s", da_seconds(f[TM_session_time]), 9);
    da_key_number(j, "load_ms", existed ? DA_NONE : (double)f[TM_session_load] / 1e6, 3);
    da_key_number(j, "ended_s", s->ended_ns >= 0 ? da_seconds(s->ended_ns) : DA_NONE, 9);
    da_key_int(j, "status", f[TM_session_status]);
    da_key_text(j, "message", da_text(l, f[TM_session_message]));
    da_key_uint(j, "kernels", s->kernels);
    da_key_uint(j, "runs", s->runs);
    da_key_uint(j, "failed_runs", s->failed);
    cm_json_end(j);
}

static void process(cm_json *j, const da_live *l, const da_process *p)
{
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    da_key_int(j, "process", p->id);
    da_key_id(j, "parent", p->parent);
    da_key_int(j, "pid", p->pid);
    da_key_text(j, "program", da_text(l, p->program));
    da_key_text(j, "how", da_how_name(p->how));
    da_key_text(j, "state", da_process_state(p));
    da_key_number(j, "exit_code", p->ended && p->reason != 1 ? (double)p->exit_code : DA_NONE, 0);
    cm_json_end(j);
}

void da_view_sessions(cm_json *j, da_live *l, uint32_t capture)
{
    da_lock(l);
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    da_key_uint(j, "capture", capture);
    da_key_text(j, "mode", l->replay ? "replay" : "live");
    da_key_text(j, "state", da_state_name(l->state));
    da_key_text(j, "file", l->file);
    da_key_uint(j, "start_utc_ns", l->start_utc_ns);
    da_key_array(j, "runtimes");
    for (size_t i = 0; i < l->module_count; i++) {
        const da_module *m = &l->modules[i];
        cm_json_begin_object(j, CM_JSON_ONE_LINE);
        da_key_int(j, "module", m->id);
        da_key_id(j, "process", m->process);
        da_key_text(j, "version", da_text(l, m->version));
        da_key_text(j, "path", da_text(l, m->path));
        cm_json_end(j);
    }
    cm_json_end(j);
    da_key_array(j, "processes");
    for (size_t i = 0; i < l->process_count; i++)
        process(j, l, &l->processes[i]);
    cm_json_end(j);
    da_key_array(j, "sessions");
    for (size_t i = 0; i < l->session_count; i++)
        session(j, l, l->sessions[i]);
    cm_json_end(j);
    cm_json_end(j);
    da_unlock(l);
}
