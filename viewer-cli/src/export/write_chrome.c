// SPDX-License-Identifier: MIT
// A trace in Chrome's JSON (the "Trace Event Format"), for the Perfetto UI and chrome://tracing.
// Slices are complete events ("X") in microseconds with three decimals, so exact; one event a line.
// Whatever must be quoted is quoted once per operator, not once per execution.
#include "common/json.h"
#include "common/text.h"
#include "put_number.h"
#include "trace.h"

#include <stdlib.h>
#include <string.h>

typedef struct chrome {
    vw_ex_trace_writer base;
    bool has_events;
    char **kernels; // by their place in the facts: name and arguments, NULL: not made yet
} chrome;

static void put_text(cm_out *out, const char *text)
{
    cm_json quoted;
    cm_json_init(&quoted, out);
    cm_json_string(&quoted, text);
}

static void next_event(chrome *c, const char *begin)
{
    cm_out_text(c->base.out, c->has_events ? ",\n" : "\n");
    cm_out_text(c->base.out, begin);
    c->has_events = true;
}

static void put_place(cm_out *out, int64_t pid, int64_t tid)
{
    vw_put_int(out, pid);
    cm_out_text(out, ",\"tid\":");
    vw_put_int(out, tid);
}

static void put_meta(chrome *c, const char *what, int64_t pid, int64_t tid, const char *name)
{
    cm_out *out = c->base.out;
    next_event(c, "{\"ph\":\"M\",\"name\":\"");
    cm_out_text(out, what);
    cm_out_text(out, "\",\"pid\":");
    put_place(out, pid, tid);
    cm_out_text(out, ",\"args\":{\"name\":");
    put_text(out, name);
    cm_out_text(out, "}}");
}

static void put_process(chrome *c, int64_t pid, const char *name, int rank)
{
    put_meta(c, "process_name", pid, 0, name);
    next_event(c, "{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":");
    put_place(c->base.out, pid, 0);
    cm_out_printf(c->base.out, ",\"args\":{\"sort_index\":%d}}", rank);
}

static void begin(vw_ex_trace_writer *w)
{
    chrome *c = (chrome *)w;
    const tm_header *h = tm_reader_header(w->facts->reader);
    const vw_ex_process *p = w->facts->processes.items;
    char date[48];
    cm_format_utc(date, sizeof date, h->start_utc_ns);
    c->has_events = false;
    cm_out_text(w->out, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"ortscope_version\":");
    put_text(w->out, h->ortscope_version);
    cm_out_printf(w->out, ",\"start_utc\":\"%s\",\"os\":", date);
    put_text(w->out, h->os);
    cm_out_text(w->out, ",\"cpu\":");
    put_text(w->out, h->cpu);
    cm_out_text(w->out, "},\"traceEvents\":[");
    for (size_t i = 0; i < w->facts->processes.count; i++)
        if (p[i].followed)
            put_process(c, p[i].shown_pid, vw_ex_file_name(p[i].program), (int)i);
    put_process(c, VW_EX_MACHINE_PID, "machine", 1000000);
}

static void track(vw_ex_trace_writer *w, const vw_ex_track *t)
{
    chrome *c = (chrome *)w;
    if (t->kind >= VW_EX_TRACK_COUNTER)
        return; // a counter is known by its name
    put_meta(c, "thread_name", t->pid, t->tid, t->name);
    next_event(c, "{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":");
    put_place(w->out, t->pid, t->tid);
    cm_out_printf(w->out, ",\"args\":{\"sort_index\":%d}}", t->rank);
}

// Name, category and the first arguments of an operator's executions.
static const char *kernel_text(chrome *c, const vw_ex_kernel *k)
{
    char **known = &c->kernels[k - (const vw_ex_kernel *)c->base.facts->kernels.items];
    if (*known)
        return *known;
    size_t provider_len;
    const char *provider = vw_ex_short_provider(k->provider, &provider_len);
    cm_out text;
    cm_json quoted;
    cm_out_init_memory(&text);
    cm_out_text(&text, ",\"name\":");
    put_text(&text, vw_ex_op_name(k));
    cm_out_text(&text, ",\"cat\":\"op\",\"args\":{\"node\":");
    put_text(&text, k->node);
    cm_out_text(&text, ",\"provider\":");
    cm_json_init(&quoted, &text);
    cm_json_bytes(&quoted, provider, provider_len);
    if (k->submits)
        cm_out_text(&text, ",\"time\":\"submission\"");
    size_t size = strlen(cm_out_string(&text)) + 1;
    if (!cm_out_failed(&text) && (*known = malloc(size)) != NULL)
        memcpy(*known, cm_out_string(&text), size);
    cm_out_deinit(&text);
    return *known;
}

static void put_args(chrome *c, const vw_ex_slice *s)
{
    cm_out *out = c->base.out;
    const vw_ex_kernel *k =
        s->what == VW_EX_SLICE_OP ? vw_ex_find_kernel(c->base.facts, s->subject) : NULL;
    const char *text = k ? kernel_text(c, k) : NULL;
    char name[128];
    static const char *const categories[] = {"run", "op", "loading", "loading", "sched"};
    if (text) {
        cm_out_text(out, text);
        cm_out_text(out, ",\"session\":");
    } else {
        cm_out_text(out, ",\"name\":");
        put_text(out, vw_ex_slice_name(c->base.facts, s, name, sizeof name));
        cm_out_text(out, ",\"cat\":\"");
        cm_out_text(out, categories[s->what]);
        cm_out_text(out, s->what == VW_EX_SLICE_SCHED ? "\",\"args\":{\"thread\":"
                                                      : "\",\"args\":{\"session\":");
    }
    vw_put_int(out, s->what == VW_EX_SLICE_SCHED ? s->subject : s->session);
    if (s->run > 0) {
        cm_out_text(out, ",\"run\":");
        vw_put_int(out, s->run);
    }
    cm_out_text(out, s->status ? ",\"failed\":true}}" : "}}");
}

static void put_arrow(chrome *c, const vw_ex_track *t, const char *phase, uint64_t id,
                      int64_t time_ns)
{
    cm_out *out = c->base.out;
    next_event(c, phase);
    vw_put_int(out, (int64_t)id);
    cm_out_text(out, ",\"pid\":");
    put_place(out, t->pid, t->tid);
    cm_out_text(out, ",\"ts\":");
    vw_put_us(out, time_ns);
    cm_out_char(out, '}');
}

static void slice(vw_ex_trace_writer *w, const vw_ex_track *t, const vw_ex_slice *s)
{
    chrome *c = (chrome *)w;
    next_event(c, "{\"ph\":\"X\",\"pid\":");
    put_place(w->out, t->pid, t->tid);
    cm_out_text(w->out, ",\"ts\":");
    vw_put_us(w->out, s->begin_ns);
    cm_out_text(w->out, ",\"dur\":");
    vw_put_us(w->out, s->end_ns - s->begin_ns);
    put_args(c, s);
    if (s->what == VW_EX_SLICE_OP && s->arrow)
        put_arrow(c, t,
                  "{\"ph\":\"f\",\"bp\":\"e\",\"name\":\"run\",\"cat\":\"arrow\",\"id\":", s->arrow,
                  s->begin_ns);
    for (uint32_t i = 0; s->what == VW_EX_SLICE_RUN && i < s->arrow_count; i++)
        put_arrow(c, t, "{\"ph\":\"s\",\"name\":\"run\",\"cat\":\"arrow\",\"id\":", s->arrow + i,
                  s->begin_ns);
}

static void end_track(vw_ex_trace_writer *w, const vw_ex_track *t)
{
    (void)w, (void)t;
}

static void instant(vw_ex_trace_writer *w, const vw_ex_track *t, int64_t time_ns, const char *name,
                    const char *text)
{
    next_event((chrome *)w, "{\"ph\":\"i\",\"s\":\"p\",\"pid\":");
    put_place(w->out, t->pid, t->tid);
    cm_out_text(w->out, ",\"ts\":");
    vw_put_us(w->out, time_ns);
    cm_out_text(w->out, ",\"cat\":\"event\",\"name\":");
    put_text(w->out, name[0] ? name : "event");
    cm_out_text(w->out, ",\"args\":{");
    if (text[0]) {
        cm_out_text(w->out, "\"text\":");
        put_text(w->out, text);
    }
    cm_out_text(w->out, "}}");
}

static void value(vw_ex_trace_writer *w, const vw_ex_track *t, int64_t time_ns, double number)
{
    next_event((chrome *)w, "{\"ph\":\"C\",\"pid\":");
    vw_put_int(w->out, t->pid);
    cm_out_text(w->out, ",\"ts\":");
    vw_put_us(w->out, time_ns);
    cm_out_text(w->out, ",\"name\":");
    put_text(w->out, t->name);
    cm_out_text(w->out, ",\"args\":{\"value\":");
    vw_put_real(w->out, number);
    cm_out_text(w->out, "}}");
}

static void end(vw_ex_trace_writer *w)
{
    cm_out_text(w->out, "\n]}\n");
}

static void destroy(vw_ex_trace_writer *w)
{
    chrome *c = (chrome *)w;
    for (size_t i = 0; c->kernels && i < w->facts->kernels.count; i++)
        free(c->kernels[i]);
    free(c->kernels);
    free(c);
}

cm_status vw_ex_chrome_create(cm_out *out, vw_ex_facts *facts, vw_ex_trace_writer **result)
{
    chrome *c = calloc(1, sizeof *c);
    char **kernels = calloc(facts->kernels.count + 1, sizeof *kernels);
    if (!c || !kernels) {
        free(c);
        free(kernels);
        return cm_fail(CM_NO_MEMORY, "There is not enough memory to export.");
    }
    c->kernels = kernels;
    c->base = (vw_ex_trace_writer){.begin = begin,
                                   .track = track,
                                   .slice = slice,
                                   .end_track = end_track,
                                   .instant = instant,
                                   .value = value,
                                   .end = end,
                                   .destroy = destroy,
                                   .out = out,
                                   .facts = facts};
    *result = &c->base;
    return CM_OK;
}
