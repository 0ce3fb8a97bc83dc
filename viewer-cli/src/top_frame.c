// SPDX-License-Identifier: MIT
#include "top_frame.h"

#include "analysis/summary.h"
#include "bar.h"
#include "common/text.h"
#include "op_view.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define BAR_COLUMNS   20
#define SHARE_COLUMNS 12

typedef struct frame {
    vw_io *io;
    const da_top *state;
    const vw_top_look *look;
    size_t used; // columns of this line
    unsigned lines;
} frame;

static unsigned room_for(const frame *f)
{
    return f->look->columns > f->used ? f->look->columns - (unsigned)f->used : 0;
}

// Foreign text too: it is cleaned, and cut where the line ends.
static void put(frame *f, vw_style style, const char *text)
{
    unsigned room = room_for(f);
    if (room == 0)
        return;
    size_t width = cm_text_width(text);
    vw_style_on(f->io, style);
    cm_text_clean(&f->io->out, text, room);
    vw_style_off(f->io, style);
    f->used += width < room ? width : room;
}

CM_PRINTF(3, 4) static void putf(frame *f, vw_style style, const char *fmt, ...)
{
    char text[256];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    put(f, style, text);
}

static void space(frame *f, size_t columns)
{
    size_t room = room_for(f);
    columns = columns < room ? columns : room;
    cm_out_repeat(&f->io->out, " ", columns);
    f->used += columns;
}

// One column of a table, right or left; two spaces go before it.
static void cell(frame *f, vw_style style, const char *text, size_t width, bool right)
{
    char shown[DA_TOP_NAME * 2];
    cm_out cut;
    cm_out_init_memory(&cut);
    cm_text_clean(&cut, text, width);
    snprintf(shown, sizeof shown, "%s", cm_out_string(&cut));
    cm_out_deinit(&cut);
    size_t padding = width - (cm_text_width(shown) < width ? cm_text_width(shown) : width);
    if (room_for(f) < width + 2)
        return; // half a number would be a wrong one
    space(f, 2);
    if (right)
        space(f, padding);
    put(f, style, shown);
    if (!right)
        space(f, padding);
}

static bool line_fits(const frame *f, unsigned reserved)
{
    return !f->look->rows || f->lines + reserved < f->look->rows;
}

static void end_line(frame *f)
{
    cm_out_char(&f->io->out, '\n');
    f->used = 0;
    f->lines++;
}

// How many of `count` lines fit.
static size_t lines_that_fit(const frame *f, size_t count, unsigned reserved)
{
    unsigned taken = f->lines + reserved;
    size_t room = taken < f->look->rows ? f->look->rows - taken : 0;
    return f->look->rows && count > room ? room : count;
}

// ---------------------------------------------------------------------------------------- numbers

typedef struct short_text {
    char text[32];
} short_text;

static short_text micros(double us)
{
    short_text t = {"-"};
    if (an_known(us))
        cm_format_ns(t.text, sizeof t.text, us * 1000);
    return t;
}

static short_text bytes(double value)
{
    short_text t = {"-"};
    if (an_known(value) && value >= 0)
        cm_format_bytes(t.text, sizeof t.text, (uint64_t)value);
    return t;
}

static short_text number(double value, int decimals, const char *unit)
{
    short_text t = {"-"};
    if (an_known(value))
        snprintf(t.text, sizeof t.text, "%.*f%s", decimals, value, unit);
    return t;
}

static short_text count(uint64_t value)
{
    short_text t;
    cm_format_count(t.text, sizeof t.text, value);
    return t;
}

static short_text clock_time(double seconds)
{
    short_text t = {"-"};
    if (!an_known(seconds))
        return t;
    unsigned long long s = (unsigned long long)(seconds < 0 ? 0 : seconds);
    snprintf(t.text, sizeof t.text, "%llu:%02llu", s / 60, s % 60);
    return t;
}

// ------------------------------------------------------------------------------------------- parts

static void draw_more(frame *f, size_t left_out, unsigned reserved)
{
    if (!left_out || !line_fits(f, reserved))
        return;
    putf(f, VW_DIM, "  %s more", count(left_out).text);
    end_line(f);
}

static const char *state_word(const frame *f)
{
    bool replay = f->state->replay;
    if (f->state->state == DA_ENDED)
        return replay ? "the replay has ended" : "the recording has ended";
    if (f->look->paused || f->state->state == DA_PAUSED)
        return replay ? "paused" : "paused, the recording goes on";
    return replay ? "replaying" : "recording";
}

static void draw_title(frame *f)
{
    const da_top *s = f->state;
    put(f, VW_BOLD, "ortscope");
    const char *how = state_word(f);
    bool still = s->state == DA_ENDED || s->state == DA_PAUSED || f->look->paused;
    space(f, 2);
    put(f, still ? VW_WARN : VW_PLAIN, how);
    putf(f, VW_PLAIN, "  %s", clock_time(s->time_s).text);
    if (s->replay)
        putf(f, VW_PLAIN, " of %s", clock_time(s->duration_s).text);
    if (s->replay && s->speed > 0 && s->speed != 1 && s->state != DA_ENDED)
        putf(f, VW_PLAIN, "  speed %g", s->speed);
    if (s->lost_events)
        putf(f, VW_BAD, "  %s events lost", count(s->lost_events).text);
    if (an_known(s->overhead_us))
        putf(f, VW_DIM, "  recording costs %s a run", micros(s->overhead_us).text);
    end_line(f);
}

static void draw_process(frame *f, const da_top_process *p)
{
    putf(f, VW_PLAIN, "%-6lld ", (long long)p->pid);
    put(f, VW_BOLD, p->program);
    if (an_known(p->exit_code))
        putf(f, VW_WARN, "  ended with code %.0f", p->exit_code);
    else if (strcmp(p->state, "running") != 0)
        putf(f, VW_WARN, "  %s", p->state);
    put(f, VW_DIM, "  CPU ");
    if (an_known(p->cpu_percent) && room_for(f) > BAR_COLUMNS + 40) {
        size_t drawn =
            vw_draw_share(&f->io->out, f->io->unicode, p->cpu_percent / 100, BAR_COLUMNS);
        f->used += drawn;
        space(f, 1);
    }
    put(f, VW_PLAIN, number(p->cpu_percent, 1, " %").text);
    put(f, VW_DIM, "  memory ");
    put(f, VW_PLAIN, bytes(p->working_set_bytes).text);
    put(f, VW_DIM, "  threads ");
    put(f, VW_PLAIN, number(p->threads, 0, "").text);
    if (p == f->state->processes && an_known(f->state->machine_percent)) {
        put(f, VW_DIM, "  machine ");
        put(f, VW_PLAIN, number(f->state->machine_percent, 1, " %").text);
    }
    end_line(f);
}

static void draw_processes(frame *f)
{
    size_t shown = lines_that_fit(f, f->state->process_count, 8);
    for (size_t i = 0; i < shown; i++)
        draw_process(f, &f->state->processes[i]);
    draw_more(f, f->state->process_count - shown + f->state->more_processes, 7);
}

static size_t model_columns(const frame *f)
{
    return f->look->columns > 110 ? 34 : f->look->columns > 90 ? 20 : 14;
}

static void draw_session(frame *f, const da_top_session *s, size_t model)
{
    bool chosen = f->look->session == s->id;
    vw_style style = chosen ? VW_BOLD : s->ended ? VW_DIM : VW_PLAIN;
    char id[32];
    snprintf(id, sizeof id, "%s%lld", chosen ? ">" : "", (long long)s->id);
    cell(f, style, id, 7, true);
    cell(f, style, s->model[0] ? s->model : "-", model, false);
    cell(f, style, count(s->runs).text, 10, true);
    cell(f, style, number(s->throughput_per_s, 1, "").text, 8, true);
    cell(f, style, micros(s->p50_us).text, 8, true);
    cell(f, style, micros(s->p95_us).text, 8, true);
    cell(f, style, micros(s->p99_us).text, 8, true);
    cell(f, s->failed ? VW_BAD : style, count(s->failed).text, 7, true);
    cell(f, style, number((double)s->in_flight, 0, "").text, 6, true);
    cell(f, style, micros(s->max_us).text, 8, true);
    cell(f, style, bytes(s->arena_bytes).text, 9, true);
    end_line(f);
}

// The first ones, or as far down as the chosen one needs.
static size_t first_session(const frame *f, size_t shown)
{
    size_t chosen = 0, session_count = f->state->session_count;
    while (chosen < session_count && f->state->sessions[chosen].id != f->look->session)
        chosen++;
    return chosen < session_count && chosen >= shown ? chosen + 1 - shown : 0;
}

static void draw_sessions(frame *f)
{
    size_t model = model_columns(f);
    vw_style dim = VW_DIM;
    cell(f, dim, "SESSION", 7, true);
    cell(f, dim, "MODEL", model, false);
    cell(f, dim, "RUNS", 10, true);
    cell(f, dim, "RUNS/S", 8, true);
    cell(f, dim, "P50", 8, true);
    cell(f, dim, "P95", 8, true);
    cell(f, dim, "P99", 8, true);
    cell(f, dim, "FAILED", 7, true);
    cell(f, dim, "FLIGHT", 6, true);
    cell(f, dim, "MAX", 8, true);
    cell(f, dim, "ARENAS", 9, true);
    end_line(f);
    size_t shown = lines_that_fit(f, f->state->session_count, 5), first = first_session(f, shown);
    for (size_t i = 0; i < shown; i++)
        draw_session(f, &f->state->sessions[first + i], model);
    draw_more(f, f->state->session_count - shown, 4);
    if (f->state->session_count == 0) {
        put(f, VW_DIM, "  no session yet");
        end_line(f);
    }
}

// Room for ", submits" where there is one whose times are not those of its work.
static size_t provider_columns(const da_top *s)
{
    for (size_t i = 0; i < s->op_count; i++)
        if (s->ops[i].submits)
            return 18;
    return 10;
}

static void draw_op(frame *f, const da_top_op *o, size_t name, size_t provider)
{
    char who[80];
    cm_out title;
    cm_out_init_memory(&title);
    if (f->look->by_node)
        cm_out_text(&title, o->name[0] ? o->name : "(no name)");
    else
        vw_op_type_name(&title, o->name, o->domain);
    cell(f, VW_PLAIN, cm_out_string(&title), name, false);
    cm_out_deinit(&title);
    snprintf(who, sizeof who, "%s%s", vw_provider_name(o->provider).text,
             o->submits ? ", submits" : "");
    cell(f, VW_PLAIN, who, provider, false);
    cell(f, VW_PLAIN, count(o->calls).text, 12, true);
    cell(f, VW_PLAIN, micros(o->mean_us).text, 8, true);
    cell(f, VW_PLAIN, micros(o->self_us).text, 8, true);
    cell(f, VW_PLAIN, number(o->share * 100, 1, " %").text, 7, true);
    if (room_for(f) > SHARE_COLUMNS + 2) {
        space(f, 1);
        f->used += vw_draw_share(&f->io->out, f->io->unicode, o->share, SHARE_COLUMNS);
    }
    end_line(f);
}

static void draw_ops(frame *f)
{
    size_t provider = provider_columns(f->state), name = model_columns(f) + 20 - provider;
    cell(f, VW_DIM, f->look->by_node ? "NODE" : "OPERATOR", name, false);
    cell(f, VW_DIM, "PROVIDER", provider, false);
    cell(f, VW_DIM, "CALLS", 12, true);
    cell(f, VW_DIM, "MEAN", 8, true);
    cell(f, VW_DIM, "SELF", 8, true);
    cell(f, VW_DIM, "SHARE", 7, true);
    end_line(f);
    for (size_t i = f->look->first_op; i < f->state->op_count && line_fits(f, 1); i++)
        draw_op(f, &f->state->ops[i], name, provider);
    draw_more(f, f->state->more_ops, 1);
    if (f->state->op_count == 0) {
        put(f, VW_DIM, "  none yet");
        end_line(f);
    }
}

// The last line: no line end, it would scroll the screen.
static void draw_keys(frame *f)
{
    static const char *const live[] = {"q", "quit",  "p", "pause",  "s",      "session",
                                       "n", "nodes", "w", "window", "arrows", "scroll"};
    static const char *const replay[] = {"q",       "quit",  "p",      "pause", "s",
                                         "session", "n",     "nodes",  "w",     "window",
                                         "+ -",     "speed", "arrows", "scroll"};
    const char *const *keys = f->state->replay ? replay : live;
    size_t key_count =
        f->state->replay ? sizeof replay / sizeof *replay : sizeof live / sizeof *live;
    while (f->lines + 1 < f->look->rows)
        end_line(f);
    for (size_t i = 0; i < key_count; i += 2) {
        put(f, VW_BOLD, keys[i]);
        putf(f, VW_DIM, " %s  ", keys[i + 1]);
    }
    putf(f, VW_DIM, "(latencies: last %g s)", f->state->window_s);
}

void vw_top_frame(vw_io *io, const da_top *state, const vw_top_look *look)
{
    frame f = {.io = io, .state = state, .look = look};
    if (line_fits(&f, 1))
        draw_title(&f);
    draw_processes(&f);
    if (line_fits(&f, 7))
        end_line(&f);
    if (line_fits(&f, 5))
        draw_sessions(&f);
    if (line_fits(&f, 3))
        end_line(&f);
    if (line_fits(&f, 2))
        draw_ops(&f);
    if (look->rows)
        draw_keys(&f);
}
