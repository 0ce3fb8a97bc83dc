// SPDX-License-Identifier: MIT
// The machine: what was told once, the newest value of every counter, and what nobody told.
#include "view_keys.h"

static void facts(cm_json *j, const da_live *l)
{
    da_key_array(j, "facts");
    for (size_t i = 0; i < l->fact_count; i++) {
        const da_fact *f = &l->facts[i];
        const char *text = da_text(l, f->text), *about = da_text(l, f->about);
        const char *name = da_text(l, f->name);
        cm_json_begin_object(j, CM_JSON_ONE_LINE);
        da_key_text(j, "about", about ? about : "");
        da_key_count(j, "number", f->number);
        da_key_text(j, "name", name ? name : "");
        if (text)
            da_key_text(j, "value", text);
        else
            da_key_int(j, "value", f->value);
        cm_json_end(j);
    }
    cm_json_end(j);
}

static void counters(cm_json *j, const da_live *l)
{
    da_key_array(j, "counters");
    for (size_t i = 0; i < l->counter_count; i++) {
        const da_counter *c = l->counters[i];
        const char *source = da_text(l, c->source), *name = da_text(l, c->name);
        const char *unit = da_text(l, c->unit);
        cm_json_begin_object(j, CM_JSON_ONE_LINE);
        da_key_int(j, "counter", c->id);
        da_key_text(j, "source", source ? source : "");
        da_key_text(j, "name", name ? name : "");
        da_key_text(j, "unit", unit ? unit : "");
        da_key_text(j, "about", da_about_name(c->about));
        da_key_id(j, "process", c->process);
        da_key_count(j, "number", c->number);
        da_key_text(j, "subject", da_text(l, c->subject));
        da_key_bool(j, "total", c->total);
        da_key_number(j, "value", da_counter_now(c), 6);
        da_key_number(j, "time_s", c->seen ? da_seconds(c->time_ns) : DA_NONE, 6);
        cm_json_end(j);
    }
    cm_json_end(j);
}

static void sources(cm_json *j, const da_live *l)
{
    da_key_array(j, "sources");
    for (size_t i = 0; i < l->source_count; i++) {
        const da_source *s = &l->sources[i];
        const char *name = da_text(l, s->source);
        cm_json_begin_object(j, CM_JSON_ONE_LINE);
        da_key_text(j, "source", name ? name : "");
        da_key_number(j, "interval_ms", (double)s->interval_us / 1000.0, 3);
        da_key_text(j, "state", s->reason == 3 ? "ended" : s->reason == 1 ? "slowed" : "on");
        cm_json_end(j);
    }
    cm_json_end(j);
}

static void missing_item(cm_json *j, const char *what, const char *why, const char *command)
{
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    da_key_text(j, "what", what);
    da_key_text(j, "why", why);
    da_key_text(j, "command", command);
    cm_json_end(j);
}

static bool any_arena(const da_live *l)
{
    for (size_t i = 0; i < l->session_count; i++)
        if (l->sessions[i]->arena_count)
            return true;
    return false;
}

#define SHARED_ARENA                                                                               \
    "Several sessions share an arena (session.use_env_allocators): what is one's own is not "      \
    "known."
#define FROM_OUTSIDE "The process is watched from outside (--no-hooks), where this can't be seen."

static void missing(cm_json *j, const da_live *l)
{
    static const struct {
        const char *what, *counter, *why;
        int64_t about;
    } wanted[] = {
        {"cpu", "cpu_user", "Nothing told the processor time of the process.", DA_PROCESS},
        {"cores", "cpu_user", "Nothing told the processor time of the cores.", DA_CORE},
        {"memory", "working_set", "Nothing told the memory of the process.", DA_PROCESS},
        {"gpu", "gpu_utilization", "Nothing told of a GPU: none is there, or no source sees it.",
         DA_DEVICE},
        {"npu", "npu_utilization", "Nothing told of an NPU: none is there, or no source sees it.",
         DA_DEVICE},
        {"power", "power",
         "Nothing told of power: the machine has no energy meter that Windows "
         "knows, or no source sees it.",
         DA_MACHINE},
    };
    da_key_array(j, "missing");
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (!da_counter_find(l, wanted[i].counter, wanted[i].about, -1, -1))
            missing_item(j, wanted[i].what, wanted[i].why, "ortscope doctor");
    bool outside = l->process_count && l->processes[0].how == DA_HOW_WATCHED;
    if (!l->kernel_count)
        missing_item(j, "operators", outside ? FROM_OUTSIDE : "No operator was recorded.",
                     outside ? "ortscope attach PID" : "ortscope attach --ops all PID");
    if (!any_arena(l) && l->shared_arena_count)
        missing_item(j, "arena", SHARED_ARENA, NULL);
    else if (!any_arena(l))
        missing_item(j, "arena", outside ? FROM_OUTSIDE : "Nothing told of the memory of sessions.",
                     outside ? "ortscope attach PID" : "ortscope attach --alloc stats PID");
    cm_json_end(j);
}

void da_view_system(cm_json *j, da_live *l, uint32_t capture)
{
    da_lock(l);
    da_begin_document(j, capture);
    da_key_text(j, "ortscope_version", l->version);
    da_key_text(j, "os", l->os);
    da_key_text(j, "cpu", l->cpu);
    da_key_id(j, "cpu_count", l->cpu_count);
    facts(j, l);
    counters(j, l);
    sources(j, l);
    missing(j, l);
    cm_json_end(j);
    da_unlock(l);
}
