// SPDX-License-Identifier: MIT
// Which models of two recordings are the same. First all sessions of a recording with the same
// model are put together, then models are matched by how much of their paths agrees from the end
// on (the folder may differ from machine to machine), by hash, by the graph's name; two that are
// left over alone are taken for versions of each other.
#include "diff_internal.h"

#include "analysis_util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAME_MODEL = 1 << 20, SAME_HASH = 1 << 10, SAME_GRAPH = 1 };

const char *an_file_name(const char *path)
{
    const char *name = path;
    for (const char *p = path; *p; p++)
        if ((*p == '/' || *p == '\\') && p[1])
            name = p + 1;
    return name;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c == '\\' ? '/' : c;
}

// How many parts of two paths agree, counted from the end.
static int common_parts(const char *a, const char *b)
{
    size_t i = strlen(a), k = strlen(b);
    int parts = 0;
    while (i && k && lower(a[i - 1]) == lower(b[k - 1])) {
        i--;
        k--;
        bool a_ends = i == 0 || lower(a[i - 1]) == '/', b_ends = k == 0 || lower(b[k - 1]) == '/';
        if (lower(a[i]) != '/' && a_ends && b_ends)
            parts++;
    }
    return parts;
}

// 0: nothing speaks for it.
static int likeness(const an_session *a, const an_session *b)
{
    if (a->model[0] || b->model[0]) {
        int parts = a->model[0] && b->model[0] ? common_parts(a->model, b->model) : 0;
        if (parts > 0)
            return strcmp(a->model, b->model) == 0 ? SAME_MODEL : SAME_HASH + 1 + parts;
    }
    if (a->model_hash && a->model_hash == b->model_hash && a->model_bytes == b->model_bytes)
        return SAME_HASH;
    return a->graph[0] && strcmp(a->graph, b->graph) == 0 && !a->model[0] == !b->model[0] &&
                   !a->model[0]
               ? SAME_GRAPH
               : 0;
}

// Sessions of one recording that have the same model.
static bool same_model(const an_session *a, const an_session *b)
{
    if (a->model[0] || b->model[0])
        return strcmp(a->model, b->model) == 0;
    return a->model_hash == b->model_hash && a->model_bytes == b->model_bytes &&
           strcmp(a->graph, b->graph) == 0;
}

// ---------------------------------------------------------------------------- one recording

typedef struct models {
    an_diff_part *parts;
    size_t count, capacity;
} models;

static cm_status add_session(an_diff_part *part, const an_session *n)
{
    size_t count = part->session_count;
    const an_session **sessions = realloc(part->sessions, (count + 1) * sizeof *sessions);
    if (!sessions)
        return an_no_memory();
    part->sessions = sessions;
    sessions[part->session_count++] = n;
    if (n->latency.count > sessions[0]->latency.count) {
        sessions[count] = sessions[0];
        sessions[0] = n;
    }
    part->runs += n->runs;
    part->failed_runs += n->failed_runs;
    return CM_OK;
}

static cm_status find_models(const an_summary *s, models *m, uint64_t *left_out)
{
    for (size_t i = 0; i < s->session_count; i++) {
        const an_session *n = &s->sessions[i];
        size_t at = 0;
        if (n->runs == 0 && n->status != 0)
            continue; // never came to be
        while (at < m->count && !same_model(m->parts[at].sessions[0], n))
            at++;
        if (at == AN_DIFF_GROUPS) {
            (*left_out)++;
            continue;
        }
        if (at == m->count) {
            an_diff_part *parts = an_grow(m->parts, &m->capacity, m->count, sizeof *parts);
            if (!parts)
                return an_no_memory();
            m->parts = parts;
            parts[m->count++] = (an_diff_part){0};
        }
        CM_TRY(add_session(&m->parts[at], n));
    }
    return CM_OK;
}

static void free_models(models *m)
{
    for (size_t i = 0; i < m->count; i++)
        free(m->parts[i].sessions);
    free(m->parts);
}

// ----------------------------------------------------------------------------------- both

static cm_status name_group(an_diff_group *g)
{
    const an_diff_part *part = &g->parts[g->parts[1].session_count ? 1 : 0];
    const an_session *n = part->sessions[0];
    char text[512];
    if (n->model[0])
        snprintf(text, sizeof text, "%s", an_file_name(n->model));
    else if (n->graph[0])
        snprintf(text, sizeof text, "graph %s", n->graph);
    else if (n->model_bytes > 0)
        snprintf(text, sizeof text, "model of %lld bytes", (long long)n->model_bytes);
    else
        snprintf(text, sizeof text, "model not known");
    g->name = malloc(strlen(text) + 1);
    if (!g->name)
        return an_no_memory();
    strcpy(g->name, text);
    return CM_OK;
}

// Takes the parts over; either may be NULL.
static cm_status add_group(an_diff *d, an_diff_part *old_part, an_diff_part *new_part)
{
    an_diff_group *g = &d->groups[d->group_count++];
    *g = (an_diff_group){.name = NULL};
    an_diff_part *parts[] = {old_part, new_part};
    for (int side = 0; side < 2; side++) {
        if (!parts[side])
            continue;
        g->parts[side] = *parts[side];
        *parts[side] = (an_diff_part){0};
    }
    return name_group(g);
}

typedef struct match {
    int score;
    size_t a, b;
} match;

// The best of those that are left; score 0: none.
static match best_match(const models *a, const models *b)
{
    match best = {0, 0, 0};
    for (size_t i = 0; i < a->count; i++)
        for (size_t k = 0; k < b->count; k++) {
            if (!a->parts[i].session_count || !b->parts[k].session_count)
                continue;
            int score = likeness(a->parts[i].sessions[0], b->parts[k].sessions[0]);
            if (score > best.score)
                best = (match){score, i, k};
        }
    return best;
}

static size_t only_one_left(const models *m)
{
    size_t left = 0, at = SIZE_MAX;
    for (size_t i = 0; i < m->count; i++)
        if (m->parts[i].session_count) {
            left++;
            at = i;
        }
    return left == 1 ? at : SIZE_MAX;
}

static cm_status add_alone(an_diff *d, models *m, int side)
{
    for (size_t i = 0; i < m->count; i++)
        if (m->parts[i].session_count)
            CM_TRY(add_group(d, side ? NULL : &m->parts[i], side ? &m->parts[i] : NULL));
    return CM_OK;
}

// Exact matches first and in order of the old recording: with many models that leaves little for
// the search of all pairs.
static cm_status match_exactly(an_diff *d, models *a, models *b)
{
    for (size_t i = 0; i < a->count; i++)
        for (size_t k = 0; k < b->count; k++)
            if (a->parts[i].session_count && b->parts[k].session_count &&
                likeness(a->parts[i].sessions[0], b->parts[k].sessions[0]) == SAME_MODEL)
                CM_TRY(add_group(d, &a->parts[i], &b->parts[k]));
    return CM_OK;
}

static int64_t first_session(const an_diff_group *g)
{
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < g->parts[0].session_count; i++)
        first = g->parts[0].sessions[i]->id < first ? g->parts[0].sessions[i]->id : first;
    return first;
}

static int by_first_session(const void *a, const void *b)
{
    int64_t x = first_session(a), y = first_session(b);
    return (x > y) - (x < y);
}

static cm_status match_models(an_diff *d, models *a, models *b)
{
    d->groups = calloc(a->count + b->count + 1, sizeof *d->groups);
    if (!d->groups)
        return an_no_memory();
    CM_TRY(match_exactly(d, a, b));
    for (size_t round = 0; round < 64; round++) {
        match m = best_match(a, b);
        if (m.score == 0)
            break;
        CM_TRY(add_group(d, &a->parts[m.a], &b->parts[m.b]));
    }
    size_t last_a = only_one_left(a), last_b = only_one_left(b);
    if (last_a != SIZE_MAX && last_b != SIZE_MAX)
        CM_TRY(add_group(d, &a->parts[last_a], &b->parts[last_b]));
    d->matched_count = d->group_count;
    qsort(d->groups, d->group_count, sizeof *d->groups, by_first_session);
    CM_TRY(add_alone(d, a, 0));
    return add_alone(d, b, 1);
}

cm_status an_diff_match(an_diff *d)
{
    models a = {0}, b = {0};
    cm_status status = find_models(d->sides[0], &a, &d->groups_left_out);
    if (status == CM_OK)
        status = find_models(d->sides[1], &b, &d->groups_left_out);
    if (status == CM_OK)
        status = match_models(d, &a, &b);
    free_models(&a);
    free_models(&b);
    return status;
}
