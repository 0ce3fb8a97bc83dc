// SPDX-License-Identifier: MIT
// Outliers with the same main cause, and words for causes.
#include "outlier_internal.h"

#include "analysis_util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

cm_status an_outlier_text(an_outliers *o, const char *text, const char **out)
{
    if (!text[0]) {
        *out = "";
        return CM_OK;
    }
    for (size_t i = 0; i < o->text_count; i++) {
        if (strcmp(o->texts[i], text) == 0) {
            *out = o->texts[i];
            return CM_OK;
        }
    }
    char **texts = an_grow(o->texts, &o->text_capacity, o->text_count, sizeof *texts);
    if (!texts)
        return an_no_memory();
    o->texts = texts;
    size_t size = strlen(text) + 1;
    char *copy = malloc(size);
    if (!copy)
        return an_no_memory();
    memcpy(copy, text, size);
    texts[o->text_count++] = copy;
    *out = copy;
    return CM_OK;
}

// ------------------------------------------------------------------------------------------ groups

static void main_cause(const an_outlier *o, an_outlier_group *out)
{
    const an_cause *c = o->cause_count ? &o->causes[0] : NULL;
    bool explained = c && c->share >= o->unexplained;
    bool has_name = explained && c->kind != AN_CAUSE_WAITING;
    *out = (an_outlier_group){.kind = explained ? c->kind : AN_CAUSE_UNEXPLAINED,
                              .who = has_name ? c->who : "",
                              .runs = 1,
                              .extra_ns = (double)o->duration_ns - o->usual_ns};
}

static int most_first(const void *a, const void *b)
{
    const an_outlier_group *x = a, *y = b;
    bool x_last = x->kind == AN_CAUSE_UNEXPLAINED, y_last = y->kind == AN_CAUSE_UNEXPLAINED;
    if (x_last != y_last)
        return x_last ? 1 : -1;
    if (x->runs != y->runs)
        return x->runs > y->runs ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return strcmp(x->who, y->who);
}

static cm_status group_session(const an_outliers *o, an_session_outliers *s)
{
    size_t capacity = 0;
    for (size_t i = s->first; i < s->first + s->explained; i++) {
        an_outlier_group one;
        size_t k = 0;
        main_cause(&o->items[i], &one);
        // Equal texts are one: their addresses tell.
        while (k < s->group_count && (s->groups[k].kind != one.kind || s->groups[k].who != one.who))
            k++;
        if (k < s->group_count) {
            s->groups[k].runs++;
            s->groups[k].extra_ns += one.extra_ns;
            continue;
        }
        an_outlier_group *groups = an_grow(s->groups, &capacity, s->group_count, sizeof *groups);
        if (!groups)
            return an_no_memory();
        s->groups = groups;
        groups[s->group_count++] = one;
    }
    if (s->group_count)
        qsort(s->groups, s->group_count, sizeof *s->groups, most_first);
    return CM_OK;
}

cm_status an_outlier_group_all(an_outliers *o)
{
    for (size_t i = 0; i < o->session_count; i++)
        CM_TRY(group_session(o, &o->sessions[i]));
    return CM_OK;
}

// ------------------------------------------------------------------------------------------- words

static const struct {
    const char *name, *phrase;
    const char *with_who; // NULL: the same
} words[AN_CAUSE_COUNT] = {
    [AN_CAUSE_FIRST_RUN] = {"first_run", "first run", NULL},
    [AN_CAUSE_NEW_SHAPE] = {"new_shape", "new input shape", NULL},
    [AN_CAUSE_ARENA_GROWTH] = {"arena_growth", "arena growth", NULL},
    [AN_CAUSE_PAGE_FAULTS] = {"page_faults", "page faults", NULL},
    [AN_CAUSE_PREEMPTED] = {"preempted", "preempted", "preempted by %s"},
    [AN_CAUSE_WAITING_FOR_CORE] = {"waiting_for_core", "waiting for a core", NULL},
    [AN_CAUSE_IDLE_BEFORE] = {"idle_before", "after more than 200 ms idle", NULL},
    [AN_CAUSE_OTHER_SESSION] = {"other_session", "another session in flight", NULL},
    [AN_CAUSE_DISK] = {"disk", "disk", NULL},
    [AN_CAUSE_THROTTLED] = {"throttled", "throttled clock", NULL},
    [AN_CAUSE_SLOW_OPERATOR] = {"slow_operator", "a slow operator", "operator %s slow"},
    [AN_CAUSE_WAITING] = {"waiting", "waiting", "waiting (%s)"},
    [AN_CAUSE_UNEXPLAINED] = {"unexplained", "unexplained", NULL},
};

_Static_assert(AN_OUTLIER_IDLE_NS == 200000000, "the phrase above says so");

const char *an_cause_name(an_cause_kind kind)
{
    return (unsigned)kind < AN_CAUSE_COUNT ? words[kind].name : "unexplained";
}

void an_cause_phrase(an_cause_kind kind, const char *who, char *out, size_t size)
{
    const char *format = (unsigned)kind < AN_CAUSE_COUNT ? words[kind].with_who : NULL;
    const char *phrase = (unsigned)kind < AN_CAUSE_COUNT ? words[kind].phrase : "unexplained";
    const char *place = format && who[0] ? strstr(format, "%s") : NULL;
    if (!place)
        snprintf(out, size, "%s", phrase);
    else
        snprintf(out, size, "%.*s%s%s", (int)(place - format), format, who, place + 2);
}
