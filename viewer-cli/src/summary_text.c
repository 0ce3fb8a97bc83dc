// SPDX-License-Identifier: MIT
// `ortscope summary` for people: who ran what on which runtime, the sessions, what went wrong.
#include "analysis/names.h"
#include "around_view.h"
#include "common/text.h"
#include "next_command.h"
#include "op_view.h"
#include "summary_view.h"
#include "table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FULL_SESSIONS 3  // shown in full; the others get a line each
#define LINE_SESSIONS 20 // lines at most
#define MESSAGE_LINES 8

bool vw_session_failed(const an_session *n)
{
    return n->status != 0 && n->runs == 0;
}

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

static const char *file_name(const char *path)
{
    const char *name = path;
    for (const char *p = path; *p; p++)
        if ((*p == '/' || *p == '\\') && p[1])
            name = p + 1;
    return name;
}

// ---------------------------------------------------------------------------------------- the head

static void write_exit(vw_io *io, const an_process *p)
{
    cm_out *out = &io->out;
    if (!p->ended || p->end_reason == 1) {
        cm_out_text(out,
                    p->ended ? ", still running when the recording ended" : ", end not recorded");
        return;
    }
    if (p->end_reason == 2)
        cm_out_text(out, ", ended by ortscope");
    const char *name = an_exit_code_name(p->exit_code);
    uint32_t code = (uint32_t)p->exit_code;
    vw_style style = code == 0 ? VW_PLAIN : VW_BAD;
    cm_out_text(out, ", ");
    vw_style_on(io, style);
    if (code >= 0x80000000u)
        cm_out_printf(out, "exit code 0x%08X", code);
    else
        cm_out_printf(out, "exit code %u", code);
    if (name)
        cm_out_printf(out, " (%s)", name);
    vw_style_off(io, style);
}

static void write_process(vw_io *io, const an_process *p)
{
    static const char *const how[] = {"launched", "attached", "child process",
                                      "in a recording of the system", "watched from outside"};
    vw_style_on(io, VW_BOLD);
    cm_text_clean(&io->out, p->program[0] ? file_name(p->program) : "unknown program", 60);
    vw_style_off(io, VW_BOLD);
    if (p->pid >= 0)
        cm_out_printf(&io->out, ", pid %lld", (long long)p->pid);
    if (p->how >= 0 && p->how < 5)
        cm_out_printf(&io->out, ", %s", how[p->how]);
    write_exit(io, p);
    cm_out_char(&io->out, '\n');
}

static void write_processes(vw_io *io, const an_summary *s)
{
    const an_process *target = an_summary_target(s);
    size_t others = 0;
    if (target)
        write_process(io, target);
    for (size_t i = 0; i < s->process_count; i++) {
        if (&s->processes[i] == target)
            continue;
        if (others++ < 5) {
            cm_out_text(&io->out, "  ");
            write_process(io, &s->processes[i]);
        }
    }
    if (others > 5)
        cm_out_printf(&io->out, "  and %zu more processes\n", others - 5);
}

static void write_modules(vw_io *io, const an_summary *s)
{
    for (size_t i = 0; i < s->module_count && i < 8; i++) {
        const an_module *m = &s->modules[i];
        const size_t named = 15 + strlen(m->version); // columns before the path, about
        const size_t room = io->width > named ? io->width - named : 0;
        cm_out_text(&io->out, "ONNX Runtime ");
        cm_text_clean(&io->out, m->version[0] ? m->version : "of unknown version", 40);
        cm_out_text(&io->out, "  ");
        vw_style_on(io, VW_DIM);
        cm_text_clean(&io->out, m->path, room > 20 ? room : 20);
        vw_style_off(io, VW_DIM);
        cm_out_char(&io->out, '\n');
        if (m->refused > 0)
            cm_out_printf(&io->out, "  %lld of its functions could not be intercepted\n",
                          (long long)m->refused);
    }
    if (s->module_count == 0)
        vw_styled(io, VW_WARN, "No ONNX Runtime was seen in the program.\n");
}

static void write_capture(vw_io *io, const an_summary *s, const tm_header *header)
{
    char date[48], length[32];
    cm_format_utc(date, sizeof date, header->start_utc_ns);
    date[10] = ' '; // between date and time
    date[19] = '\0';
    cm_format_ns(length, sizeof length, (double)s->end_ns);
    cm_out_printf(&io->out, "Recorded %s", length);
    vw_styled(io, VW_WARN, s->unfinished ? " so far" : "");
    cm_out_printf(&io->out, " on %s UTC", date);
    if (header->os && header->os[0]) {
        cm_out_text(&io->out, ", ");
        cm_text_clean(&io->out, header->os, 40);
    }
    if (header->cpu_count > 0)
        cm_out_printf(&io->out, ", %d processor%s", header->cpu_count,
                      plural((uint64_t)header->cpu_count));
    cm_out_char(&io->out, '\n');
}

static void write_totals(vw_io *io, const an_summary *s)
{
    uint64_t sessions = 0, runs = 0, failed = 0;
    for (size_t i = 0; i < s->session_count; i++) {
        sessions += !vw_session_failed(&s->sessions[i]);
        runs += s->sessions[i].runs;
        failed += s->sessions[i].failed_runs;
    }
    char number[32];
    cm_format_count(number, sizeof number, runs);
    cm_out_printf(&io->out, "%llu session%s, %s run%s", (unsigned long long)sessions,
                  plural(sessions), number, plural(runs));
    if (failed) {
        cm_format_count(number, sizeof number, failed);
        cm_out_text(&io->out, ", ");
        vw_style_on(io, VW_BAD);
        cm_out_printf(&io->out, "%s failed", number);
        vw_style_off(io, VW_BAD);
    }
    int64_t overhead = an_summary_overhead_ns(s);
    double share = an_summary_overhead_share(s);
    if (overhead >= 0) {
        cm_format_ns(number, sizeof number, (double)overhead);
        cm_out_printf(&io->out, "; recording cost about %s a run", number);
        if (an_known(share))
            cm_out_printf(&io->out, " (%.*f %%)", share < 0.0001 ? 4 : 2, share * 100);
    }
    cm_out_char(&io->out, '\n');
}

// ------------------------------------------------------------------------------------ the sessions

static bool is_chosen(const an_session *n, const vw_summary_choice *choice)
{
    return !choice->has_session || n->id == choice->session;
}

static int by_total_time(const void *a, const void *b)
{
    const an_session *x = *(const an_session *const *)a, *y = *(const an_session *const *)b;
    if (x->latency.sum != y->latency.sum)
        return x->latency.sum < y->latency.sum ? 1 : -1;
    return (x->id > y->id) - (x->id < y->id);
}

static void write_session_line(vw_table *t, const an_session *n)
{
    char runs[32], p50[32] = "-", p99[32] = "-";
    cm_format_count(runs, sizeof runs, n->runs);
    if (n->latency.count) {
        cm_format_ns(p50, sizeof p50, (double)cm_histogram_percentile(&n->latency, 500000));
        cm_format_ns(p99, sizeof p99, (double)cm_histogram_percentile(&n->latency, 990000));
    }
    vw_table_cell(t, "%lld", (long long)n->id);
    vw_table_cell(t, "%s", runs);
    vw_table_cell(t, "%llu", (unsigned long long)n->failed_runs);
    vw_table_text(t, p50);
    vw_table_text(t, p99);
    vw_table_text(t, n->model[0] ? file_name(n->model) : n->graph);
}

static void write_other_sessions(vw_io *io, const an_session *const *sessions, size_t count)
{
    static const vw_table_column columns[] = {{"session", true, 0}, {"runs", true, 0},
                                              {"failed", true, 0},  {"p50", true, 0},
                                              {"p99", true, 0},     {"model", false, 50}};
    vw_table t;
    cm_out_text(&io->out, "\n");
    vw_styled(io, VW_BOLD, "Other sessions\n");
    vw_table_begin(&t, io, "  ", columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < count && i < LINE_SESSIONS; i++)
        write_session_line(&t, sessions[i]);
    vw_table_end(&t);
    if (count > LINE_SESSIONS)
        cm_out_printf(&io->out, "  and %zu more; `--json` and `--csv` list them all\n",
                      count - LINE_SESSIONS);
}

// The sessions to show, busiest first; NULL and no memory look the same to the reader.
static void write_sessions(vw_io *io, const an_summary *s, const vw_summary_choice *choice)
{
    const an_session **list = malloc((s->session_count + 1) * sizeof *list);
    size_t count = 0;
    for (size_t i = 0; list && i < s->session_count; i++) {
        const an_session *n = &s->sessions[i];
        if (is_chosen(n, choice) && !vw_session_failed(n))
            list[count++] = n;
    }
    if (count > 1)
        qsort(list, count, sizeof *list, by_total_time);
    size_t full = choice->all || count <= FULL_SESSIONS + 1 ? count : FULL_SESSIONS;
    for (size_t i = 0; i < full; i++)
        vw_session_text(io, s, list[i]);
    if (count > full)
        write_other_sessions(io, list + full, count - full);
    free(list);
}

// --------------------------------------------------------------------------------- what went wrong

static void write_failed_sessions(vw_io *io, const an_summary *s, const vw_summary_choice *choice)
{
    size_t count = 0;
    char error[48];
    for (size_t i = 0; i < s->session_count; i++) {
        const an_session *n = &s->sessions[i];
        if (!is_chosen(n, choice) || !vw_session_failed(n) || ++count > MESSAGE_LINES)
            continue;
        cm_out_char(&io->out, '\n');
        vw_style_on(io, VW_BAD);
        cm_out_printf(&io->out, "Session %lld could not be created", (long long)n->id);
        vw_style_off(io, VW_BAD);
        an_ort_error_text(error, sizeof error, n->status);
        cm_out_printf(&io->out, ": %s\n  ", error);
        cm_text_clean(&io->out, n->message, 0);
        if (n->model[0]) {
            cm_out_text(&io->out, "\n  model: ");
            cm_text_clean(&io->out, n->model, 0);
        }
        cm_out_char(&io->out, '\n');
    }
    if (count > MESSAGE_LINES)
        cm_out_printf(&io->out, "and %zu more sessions that could not be created\n",
                      count - MESSAGE_LINES);
}

// What ORT or the hook said and is not the reason of a failed run (these stand with the session).
static void write_messages(vw_io *io, const an_summary *s)
{
    size_t count = 0;
    for (size_t i = 0; i < s->message_count; i++) {
        const an_message *m = &s->messages[i];
        if (m->of_runs || m->level > 3 || ++count > MESSAGE_LINES)
            continue;
        cm_out_text(&io->out, count == 1 ? "\n" : "");
        vw_style style = m->level <= 2 ? VW_BAD : VW_WARN;
        cm_out_text(&io->out, m->from_event ? "ONNX Runtime " : "");
        vw_styled(io, style, an_level_name(m->level));
        cm_out_text(&io->out, ": ");
        cm_text_clean(&io->out, m->text, 400);
        if (m->count > 1)
            cm_out_printf(&io->out, " (%llu times)", (unsigned long long)m->count);
        cm_out_char(&io->out, '\n');
    }
    if (count > MESSAGE_LINES)
        cm_out_printf(&io->out, "and %zu more messages; `ortscope dump --kind log` shows them\n",
                      count - MESSAGE_LINES);
}

static void write_ort_events(vw_io *io, const an_summary *s)
{
    char number[32];
    if (s->ort_events == 0)
        return;
    cm_format_count(number, sizeof number, s->ort_events);
    cm_out_printf(&io->out,
                  "\n%s event%s of ONNX Runtime's own; `ortscope dump --kind ort_event`"
                  " shows %s\n",
                  number, plural(s->ort_events), s->ort_events == 1 ? "it" : "them");
}

static void write_losses(vw_io *io, const an_summary *s)
{
    char number[32];
    if (s->lost_total) {
        cm_format_count(number, sizeof number, s->lost_total);
        cm_out_char(&io->out, '\n');
        vw_style_on(io, VW_WARN);
        cm_out_printf(&io->out, "Lost: %s event%s", number, plural(s->lost_total));
        vw_style_off(io, VW_WARN);
        const char *separator = " (";
        for (size_t i = 0; i < AN_LOST_CAUSES; i++) {
            if (s->lost[i] == 0)
                continue;
            cm_format_count(number, sizeof number, s->lost[i]);
            cm_out_printf(&io->out, "%s%s because %s", separator, number,
                          an_lost_cause_name((int64_t)i));
            separator = ", ";
        }
        cm_out_text(&io->out, "). The numbers above miss them.\n");
    }
    if (s->damage) {
        cm_out_char(&io->out, '\n');
        vw_styled(io, VW_WARN, s->unfinished ? "Not finished: " : "File not whole: ");
        cm_text_clean(&io->out, s->damage, 0);
        cm_out_char(&io->out, '\n');
    }
}

// ------------------------------------------------------------------------------------ what is next

#define OUTLIER 3 // times the median

static void write_next(vw_io *io, const an_summary *s, const char *path)
{
    bool failed = false, outliers = false;
    uint64_t runs = 0;
    for (size_t i = 0; i < s->session_count; i++) {
        const cm_histogram *h = &s->sessions[i].latency;
        runs += s->sessions[i].runs;
        failed = failed || s->sessions[i].failed_runs;
        outliers =
            outliers || (h->count > 1 && h->max / OUTLIER > cm_histogram_percentile(h, 500000));
    }
    if (!path || runs == 0)
        return;
    if (failed)
        vw_next_command(io, "which runs, and why", "runs", path, "--failed");
    else if (outliers)
        vw_next_command(io, "the slow runs, and why", "runs", path, "--outliers");
    else if (an_ops_any(s->ops))
        vw_next_command(io, "where the time goes", "ops", path, "--by node");
    else
        vw_next_command(io, "one line a run", "runs", path, "%s", "");
}

void vw_summary_text(vw_io *io, const an_summary *s, const tm_header *header,
                     const vw_summary_choice *choice)
{
    vw_fit_lines(io);
    write_processes(io, s);
    write_modules(io, s);
    write_capture(io, s, header);
    vw_machine_text(io, &s->machine);
    vw_counters_text(io, s, choice->grams_per_kwh);
    write_totals(io, s);
    write_sessions(io, s, choice);
    vw_shared_arenas_text(io, s);
    vw_untold_ops_text(io, s);
    vw_threads_text(io, s);
    write_failed_sessions(io, s, choice);
    write_messages(io, s);
    write_ort_events(io, s);
    write_losses(io, s);
    write_next(io, s, choice->path);
}
