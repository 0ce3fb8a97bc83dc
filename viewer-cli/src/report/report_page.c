// SPDX-License-Identifier: MIT
// The page: the embedded beginning, one JSON document, the embedded end. Other writers make parts
// of the document; a filter between them and the page takes the space out, shortens endless
// strings, and leaves no "<" in it, so that no name in a recording can end the script element.
#include "report.h"
#include "report_assets.h"

#include <math.h>
#include <string.h>

#define LONGEST_STRING 2000 // bytes as JSON
#define MOST_SHRINK    64
#define MOST_DIFF_OPS  12 // of a model: those that changed most

typedef struct filter {
    cm_out *to;
    bool in_string;
    size_t len;  // of the string so far
    bool letter; // the next byte says which escape sequence it is
    int digits;  // that it still has
    bool cut;    // the rest of the string is left out
} filter;

static void follow_escape(filter *f, char c)
{
    if (f->letter) {
        f->letter = false;
        f->digits = c == 'u' ? 4 : 0;
    } else if (f->digits > 0) {
        f->digits--;
    } else {
        f->letter = c == '\\';
    }
}

static void pass_in_string(filter *f, char c)
{
    bool begins = !f->letter && f->digits == 0 && (c & 0xC0) != 0x80;
    if (begins && c == '"') {
        f->in_string = false;
        cm_out_char(f->to, '"');
        return;
    }
    if (begins && !f->cut && f->len >= LONGEST_STRING) {
        cm_out_text(f->to, "\\u2026");
        f->cut = true;
    }
    follow_escape(f, c);
    f->len++;
    if (f->cut)
        return;
    if (c == '<')
        cm_out_text(f->to, "\\u003c");
    else
        cm_out_char(f->to, c);
}

static cm_status pass(void *context, const void *bytes, size_t len)
{
    filter *f = context;
    for (size_t i = 0; i < len; i++) {
        char c = ((const char *)bytes)[i];
        if (f->in_string) {
            pass_in_string(f, c);
        } else if (c == '"') {
            *f = (filter){.to = f->to, .in_string = true};
            cm_out_char(f->to, c);
        } else if (c != ' ' && c != '\n') {
            cm_out_char(f->to, c);
        }
    }
    return f->to->status;
}

static size_t at_most(size_t value, size_t most)
{
    return value < most ? value : most;
}

static void put_summary(vw_io *io, const vw_rp_report *r)
{
    size_t ops = r->latency.count ? VW_RP_TABLE_OPS / r->latency.count / r->shrink : 0;
    vw_summary_limits limits = {.sessions = &r->latency.by_id,
                                .ops = at_most(ops, VW_SUMMARY_OPS),
                                .outliers = 0, // the report has its own choice of them
                                .threads = VW_RP_THREADS};
    vw_summary_json_within(io, r->summary, (double)NAN, &limits);
}

static void put_diff(vw_io *io, const vw_diff *v)
{
    an_diff diff = *v->diff;
    an_diff_group groups[2 * VW_RP_SESSIONS];
    vw_diff part = *v;
    diff.groups = groups;
    diff.matched_count = at_most(diff.matched_count, VW_RP_SESSIONS);
    diff.group_count = 0;
    for (size_t i = 0; i < diff.matched_count; i++) {
        an_diff_group *g = &groups[diff.group_count++];
        *g = v->diff->groups[i];
        g->nodes.count = 0; // the page shows types
        g->types.count = at_most(g->types.count, MOST_DIFF_OPS);
    }
    for (size_t i = v->diff->matched_count; i < v->diff->group_count; i++)
        if (diff.group_count < 2 * VW_RP_SESSIONS)
            groups[diff.group_count++] = v->diff->groups[i];
    part.diff = &diff;
    vw_diff_json(io, &part);
}

static void put_data(cm_out *out, const vw_io *io, const vw_rp_report *r)
{
    filter f = {.to = out};
    vw_io inner = *io;
    cm_out_init_sink(&inner.out, pass, &f);
    cm_out_text(&inner.out, "{\"summary\":");
    put_summary(&inner, r);
    cm_out_text(&inner.out, ",\"report\":");
    vw_rp_report_json(&inner.out, r);
    cm_out_text(&inner.out, ",\"diff\":");
    if (r->diff)
        put_diff(&inner, r->diff);
    else
        cm_out_text(&inner.out, "null");
    cm_out_char(&inner.out, '}');
    cm_out_flush(&inner.out);
    cm_out_deinit(&inner.out);
}

void vw_rp_page(cm_out *out, const vw_io *io, vw_rp_report *r)
{
    size_t most = VW_RP_MOST_BYTES - vw_report_head_size - vw_report_tail_size;
    cm_out data;
    cm_out_init_memory(&data);
    for (r->shrink = 1;; r->shrink *= 2) {
        cm_out_clear(&data);
        vw_rp_runs_keep(&r->runs, VW_RP_OPS / r->shrink);
        put_data(&data, io, r);
        if (data.buf.len <= most || r->shrink >= MOST_SHRINK)
            break;
    }
    cm_out_bytes(out, vw_report_head, vw_report_head_size);
    cm_out_bytes(out, data.buf.data, data.buf.len);
    cm_out_bytes(out, vw_report_tail, vw_report_tail_size);
    if (cm_out_flush(&data) != CM_OK && out->status == CM_OK)
        out->status = data.status;
    cm_out_deinit(&data);
}
