// SPDX-License-Identifier: MIT
// A trace in Perfetto's own format (protobuf, TrackEvents). Texts are told once per part and then
// referred to ("interned"); a slice is a begin and an end, which a reader puts into the order of
// time, those of the same time in the order of the file.
#include "perfetto_fields.h"
#include "protobuf.h"
#include "trace.h"

#include <stdlib.h>
#include <string.h>

enum {
    NAME_NODE = 1,
    NAME_PROVIDER,
    NAME_SESSION,
    NAME_RUN,
    NAME_FAILED,
    NAME_TEXT,
    NAME_THREAD,
    NAME_TIME
};
static const char *const annotation_names[] = {NULL,     "node", "provider", "session", "run",
                                               "failed", "text", "thread",   "time"};
// By vw_ex_what, then that of instants.
static const char *const category_names[] = {"run", "op", "loading", "loading", "sched", "event"};
enum { CATEGORY_EVENT = 5, CATEGORY_COUNT = 6 };

// Track numbers: 0 is Perfetto's own; processes and tracks follow in ranges that never meet.
#define MACHINE_UUID        1
#define PROCESS_UUID(place) (1000 + (uint64_t)(place))
#define TRACK_UUID_OF(t)    (100000000 + (uint64_t)(t)->index)

typedef struct perfetto {
    vw_ex_trace_writer base;
    cm_buf packet, event, inner, interned; // storage that is used again and again
    unsigned part;
    unsigned *kernel_part; // by place in the facts: the part that has its texts
    int64_t *open;         // ends of the slices that are open on the track at hand
    size_t depth, capacity;
} perfetto;

static void put_packet(perfetto *p)
{
    cm_buf *head = &p->inner;
    cm_buf_clear(head);
    vw_pb_uint(&p->packet, PACKET_SEQUENCE_ID, 1);
    vw_pb_varint(head, TRACE_PACKET << 3 | 2);
    vw_pb_varint(head, p->packet.len);
    cm_out *out = p->base.out;
    cm_out_bytes(out, head->data, head->len);
    cm_out_bytes(out, p->packet.data, p->packet.len);
    cm_status status = cm_buf_status(&p->packet);
    if (status == CM_OK)
        status = cm_buf_status(&p->event);
    if (status != CM_OK && out->status == CM_OK)
        out->status = status;
    cm_buf_clear(&p->packet);
    cm_buf_clear(&p->event);
    cm_buf_clear(&p->interned);
}

static void put_event(perfetto *p, int64_t time_ns)
{
    vw_pb_uint(&p->packet, PACKET_TIMESTAMP, (uint64_t)time_ns);
    if (p->interned.len)
        vw_pb_message(&p->packet, PACKET_INTERNED_DATA, &p->interned);
    vw_pb_message(&p->packet, PACKET_TRACK_EVENT, &p->event);
    vw_pb_uint(&p->packet, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE);
    put_packet(p);
}

static void intern(perfetto *p, unsigned field, uint64_t iid, const char *text, size_t len)
{
    cm_buf_clear(&p->inner);
    vw_pb_uint(&p->inner, INTERNED_IID, iid);
    vw_pb_bytes(&p->inner, INTERNED_TEXT, text, len);
    vw_pb_message(&p->interned, field, &p->inner);
}

// ------------------------------------------------------------------------------- descriptions

static void describe(perfetto *p, uint64_t uuid, uint64_t parent, const char *name)
{
    vw_pb_uint(&p->event, TRACK_UUID, uuid);
    if (parent)
        vw_pb_uint(&p->event, TRACK_PARENT_UUID, parent);
    if (name)
        vw_pb_text(&p->event, TRACK_NAME, name);
}

static void put_description(perfetto *p)
{
    vw_pb_message(&p->packet, PACKET_TRACK_DESCRIPTOR, &p->event);
    put_packet(p);
}

static void put_process(perfetto *p, size_t place, const vw_ex_process *process)
{
    describe(p, PROCESS_UUID(place), 0, NULL);
    cm_buf_clear(&p->inner);
    vw_pb_int(&p->inner, PROCESS_PID, process->shown_pid);
    vw_pb_text(&p->inner, PROCESS_NAME, vw_ex_file_name(process->program));
    vw_pb_message(&p->event, TRACK_PROCESS, &p->inner);
    put_description(p);
}

// Time 0 on the trace's clock and on the wall's.
static void put_clocks(perfetto *p, uint64_t start_utc_ns)
{
    const uint64_t clocks[2][2] = {{CLOCK_BOOTTIME, 0}, {CLOCK_REALTIME, start_utc_ns}};
    for (size_t i = 0; i < 2; i++) {
        cm_buf_clear(&p->inner);
        vw_pb_uint(&p->inner, CLOCK_ID, clocks[i][0]);
        vw_pb_uint(&p->inner, CLOCK_TIMESTAMP, clocks[i][1]);
        vw_pb_message(&p->event, SNAPSHOT_CLOCKS, &p->inner);
    }
    vw_pb_message(&p->packet, PACKET_CLOCK_SNAPSHOT, &p->event);
    put_packet(p);
}

static void begin(vw_ex_trace_writer *w)
{
    perfetto *p = (perfetto *)w;
    const vw_ex_process *processes = w->facts->processes.items;
    p->part++;
    for (unsigned i = 0; i < CATEGORY_COUNT; i++)
        intern(p, INTERNED_CATEGORIES, i + 1, category_names[i], strlen(category_names[i]));
    for (unsigned i = NAME_NODE; i <= NAME_TIME; i++)
        intern(p, INTERNED_ANNOTATION_NAMES, i, annotation_names[i], strlen(annotation_names[i]));
    vw_pb_message(&p->packet, PACKET_INTERNED_DATA, &p->interned);
    vw_pb_uint(&p->packet, PACKET_SEQUENCE_FLAGS, SEQUENCE_CLEARED);
    put_packet(p);
    put_clocks(p, tm_reader_header(w->facts->reader)->start_utc_ns);
    for (size_t i = 0; i < w->facts->processes.count; i++)
        if (processes[i].followed)
            put_process(p, i, &processes[i]);
    describe(p, MACHINE_UUID, 0, "machine");
    put_description(p);
}

static void track(vw_ex_trace_writer *w, const vw_ex_track *t)
{
    perfetto *p = (perfetto *)w;
    const vw_ex_process *process = vw_ex_find_process(w->facts, t->process);
    const vw_ex_process *first = w->facts->processes.items;
    describe(p, TRACK_UUID_OF(t), process ? PROCESS_UUID(process - first) : MACHINE_UUID, t->name);
    cm_buf_clear(&p->inner);
    if (t->kind == VW_EX_TRACK_THREAD) {
        vw_pb_int(&p->inner, THREAD_PID, t->pid);
        vw_pb_int(&p->inner, THREAD_TID, t->tid);
        vw_pb_text(&p->inner, THREAD_NAME, t->name);
        vw_pb_message(&p->event, TRACK_THREAD, &p->inner);
    } else if (t->kind >= VW_EX_TRACK_COUNTER) {
        if (t->is_bytes)
            vw_pb_uint(&p->inner, COUNTER_UNIT, UNIT_SIZE_BYTES);
        vw_pb_message(&p->event, TRACK_COUNTER, &p->inner);
    }
    put_description(p);
}

// ------------------------------------------------------------------------------------- events

static void begin_event(perfetto *p, unsigned type, const vw_ex_track *t)
{
    vw_pb_uint(&p->event, EVENT_TYPE, type);
    vw_pb_uint(&p->event, EVENT_TRACK_UUID, TRACK_UUID_OF(t));
}

static void annotate(perfetto *p, unsigned name, unsigned field, uint64_t value)
{
    cm_buf_clear(&p->inner);
    vw_pb_uint(&p->inner, ANNOTATION_NAME_IID, name);
    vw_pb_uint(&p->inner, field, value);
    vw_pb_message(&p->event, EVENT_DEBUG_ANNOTATIONS, &p->inner);
}

static void annotate_text(perfetto *p, unsigned name, const char *text)
{
    cm_buf_clear(&p->inner);
    vw_pb_uint(&p->inner, ANNOTATION_NAME_IID, name);
    vw_pb_text(&p->inner, ANNOTATION_STRING, text);
    vw_pb_message(&p->event, EVENT_DEBUG_ANNOTATIONS, &p->inner);
}

// An operator's texts have the numbers that follow from its place.
static void put_kernel(perfetto *p, const vw_ex_kernel *k)
{
    size_t place = (size_t)(k - (const vw_ex_kernel *)p->base.facts->kernels.items);
    uint64_t iid = place + 1;
    if (p->kernel_part[place] != p->part) {
        size_t provider_len;
        const char *provider = vw_ex_short_provider(k->provider, &provider_len);
        const char *name = vw_ex_op_name(k);
        p->kernel_part[place] = p->part;
        intern(p, INTERNED_EVENT_NAMES, iid, name, strlen(name));
        intern(p, INTERNED_ANNOTATION_STRINGS, 2 * iid, k->node, strlen(k->node));
        intern(p, INTERNED_ANNOTATION_STRINGS, 2 * iid + 1, provider, provider_len);
    }
    vw_pb_uint(&p->event, EVENT_NAME_IID, iid);
    annotate(p, NAME_NODE, ANNOTATION_STRING_IID, 2 * iid);
    annotate(p, NAME_PROVIDER, ANNOTATION_STRING_IID, 2 * iid + 1);
    if (k->submits)
        annotate_text(p, NAME_TIME, "submission");
}

static void close_until(perfetto *p, const vw_ex_track *t, int64_t time_ns)
{
    while (p->depth > 0 && p->open[p->depth - 1] <= time_ns) {
        begin_event(p, TYPE_SLICE_END, t);
        put_event(p, p->open[--p->depth]);
    }
}

static bool make_room(perfetto *p)
{
    if (p->depth < p->capacity)
        return true;
    size_t capacity = p->capacity ? p->capacity * 2 : 64;
    int64_t *open = realloc(p->open, capacity * sizeof *open);
    if (!open) {
        p->base.out->status = cm_fail(CM_NO_MEMORY, "There is not enough memory to export.");
        return false;
    }
    p->open = open;
    p->capacity = capacity;
    return true;
}

static void slice(vw_ex_trace_writer *w, const vw_ex_track *t, const vw_ex_slice *s)
{
    perfetto *p = (perfetto *)w;
    const vw_ex_kernel *k =
        s->what == VW_EX_SLICE_OP ? vw_ex_find_kernel(w->facts, s->subject) : NULL;
    char name[128];
    bool is_sched = s->what == VW_EX_SLICE_SCHED;
    close_until(p, t, s->begin_ns);
    if (!make_room(p))
        return;
    begin_event(p, TYPE_SLICE_BEGIN, t);
    vw_pb_uint(&p->event, EVENT_CATEGORY_IIDS, (uint64_t)s->what + 1);
    if (k)
        put_kernel(p, k);
    else
        vw_pb_text(&p->event, EVENT_NAME, vw_ex_slice_name(w->facts, s, name, sizeof name));
    annotate(p, is_sched ? NAME_THREAD : NAME_SESSION, ANNOTATION_INT,
             (uint64_t)(is_sched ? s->subject : s->session));
    if (s->run > 0)
        annotate(p, NAME_RUN, ANNOTATION_INT, (uint64_t)s->run);
    if (s->status)
        annotate(p, NAME_FAILED, ANNOTATION_BOOL, 1);
    if (s->what == VW_EX_SLICE_OP && s->arrow)
        vw_pb_fixed64(&p->event, EVENT_TERMINATING_FLOW_IDS, s->arrow);
    for (uint32_t i = 0; s->what == VW_EX_SLICE_RUN && i < s->arrow_count; i++)
        vw_pb_fixed64(&p->event, EVENT_FLOW_IDS, s->arrow + i);
    put_event(p, s->begin_ns);
    p->open[p->depth++] = s->end_ns;
}

static void end_track(vw_ex_trace_writer *w, const vw_ex_track *t)
{
    close_until((perfetto *)w, t, INT64_MAX);
}

static void instant(vw_ex_trace_writer *w, const vw_ex_track *t, int64_t time_ns, const char *name,
                    const char *text)
{
    perfetto *p = (perfetto *)w;
    begin_event(p, TYPE_INSTANT, t);
    vw_pb_uint(&p->event, EVENT_CATEGORY_IIDS, CATEGORY_EVENT + 1);
    vw_pb_text(&p->event, EVENT_NAME, name[0] ? name : "event");
    if (text[0])
        annotate_text(p, NAME_TEXT, text);
    put_event(p, time_ns);
}

static void value(vw_ex_trace_writer *w, const vw_ex_track *t, int64_t time_ns, double number)
{
    perfetto *p = (perfetto *)w;
    begin_event(p, TYPE_COUNTER, t);
    vw_pb_double(&p->event, EVENT_DOUBLE_COUNTER_VALUE, number);
    put_event(p, time_ns);
}

static void end(vw_ex_trace_writer *w)
{
    (void)w;
}

static void destroy(vw_ex_trace_writer *w)
{
    perfetto *p = (perfetto *)w;
    cm_buf_deinit(&p->packet);
    cm_buf_deinit(&p->event);
    cm_buf_deinit(&p->inner);
    cm_buf_deinit(&p->interned);
    free(p->kernel_part);
    free(p->open);
    free(p);
}

cm_status vw_ex_perfetto_create(cm_out *out, vw_ex_facts *facts, vw_ex_trace_writer **result)
{
    perfetto *p = calloc(1, sizeof *p);
    unsigned *kernel_part = calloc(facts->kernels.count + 1, sizeof *kernel_part);
    if (!p || !kernel_part) {
        free(p);
        free(kernel_part);
        return cm_fail(CM_NO_MEMORY, "There is not enough memory to export.");
    }
    p->kernel_part = kernel_part;
    p->base = (vw_ex_trace_writer){.begin = begin,
                                   .track = track,
                                   .slice = slice,
                                   .end_track = end_track,
                                   .instant = instant,
                                   .value = value,
                                   .end = end,
                                   .destroy = destroy,
                                   .out = out,
                                   .facts = facts};
    *result = &p->base;
    return CM_OK;
}
