// SPDX-License-Identifier: MIT
// See analysis/generation.h.
#include "analysis/generation.h"

#include "analysis_util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DIMS 16

void an_generation_init(an_generation *g)
{
    memset(g, 0, sizeof *g);
}

void an_generation_deinit(an_generation *g)
{
    cm_histogram_deinit(&g->first_token_ns);
    cm_histogram_deinit(&g->between_ns);
    cm_histogram_deinit(&g->run_ns);
}

// ---------------------------------------------------------------------------------- two shapes

// What changed from one run's inputs to the next one's.
typedef struct growth {
    bool other;     // something that no growth explains
    bool by_one;    // a dimension that is not the first of its tensor grew by one
    bool any;       // any dimension grew
    int64_t amount; // by which dimensions grew that did not grow by one, 0: none
    int64_t length; // of inputs that became one long, 0: none
} growth;

static size_t read_dims(const char *text, int64_t *out)
{
    size_t count = 0;
    while (*text && count < MAX_DIMS) {
        char *end;
        out[count++] = strtoll(text, &end, 10);
        if (end == text)
            return 0;
        text = end + (*end == ',');
    }
    return count;
}

static void compare_dims(growth *g, size_t index, int64_t before, int64_t now)
{
    if (before == now)
        return;
    if (before < 0 || now < 0)
        g->other = true;
    else if (now == before + 1) {
        g->any = true;
        g->by_one = g->by_one || index > 0;
    } else if (now > before) {
        g->any = true;
        g->other = g->other || (g->amount && g->amount != now - before);
        g->amount = now - before;
    } else {
        g->other = g->other || now != 1 || (g->length && g->length != before);
        g->length = before;
    }
}

// An input that did not change has this length: a piece of a prompt as long as the one before.
static bool has_length(const an_shape *before, const an_shape *now, int64_t length)
{
    for (size_t i = 0; i < now->tensor_count; i++) {
        int64_t dims[MAX_DIMS];
        if (strcmp(before->tensors[i].dims, now->tensors[i].dims) != 0)
            continue;
        size_t rank = read_dims(now->tensors[i].dims, dims);
        for (size_t k = 1; k < rank; k++)
            if (dims[k] == length)
                return true;
    }
    return false;
}

static growth growth_of(const an_shape *before, const an_shape *now)
{
    growth g = {.other = before->tensor_count != now->tensor_count};
    for (size_t i = 0; i < now->tensor_count && !g.other; i++) {
        const an_tensor *a = &before->tensors[i], *b = &now->tensors[i];
        int64_t x[MAX_DIMS], y[MAX_DIMS];
        if (strcmp(a->name, b->name) != 0)
            g.other = true;
        if (strcmp(a->dims, b->dims) == 0)
            continue;
        size_t rank = read_dims(a->dims, x);
        if (rank == 0 || rank != read_dims(b->dims, y))
            g.other = true;
        for (size_t k = 0; k < rank && !g.other; k++)
            compare_dims(&g, k, x[k], y[k]);
    }
    if (!g.other && g.amount && !g.length)
        g.other = !has_length(before, now, g.amount);
    return g;
}

typedef enum relation { UNRELATED, STEP, FIRST_STEP, MORE_PROMPT } relation;

static relation relation_of(const growth *g)
{
    if (g->other || !g->any)
        return UNRELATED;
    if (g->length) // the cache has the whole prompt now
        return g->amount == g->length || (!g->amount && g->by_one) ? FIRST_STEP : UNRELATED;
    if (!g->amount)
        return g->by_one ? STEP : UNRELATED;
    return MORE_PROMPT;
}

// ----------------------------------------------------------------------------------- sequences

static void count_step(an_generation *g, uint64_t between_ns, uint64_t run_ns, double tokens)
{
    cm_histogram_add(&g->between_ns, between_ns);
    cm_histogram_add(&g->run_ns, run_ns);
    g->steps++;
    g->tokens += (uint64_t)tokens;
    g->step_tokens += tokens;
    g->between_sum_ns += (double)between_ns;
}

static void add_step(an_generation *g, an_sequence *s, uint64_t between_ns, uint64_t run_ns,
                     double tokens)
{
    if (s->steps < AN_FEWEST_STEPS) {
        s->early_ns[s->steps] = between_ns;
        s->early_run_ns[s->steps] = run_ns;
    }
    s->steps++;
    if (s->steps < AN_FEWEST_STEPS)
        return;
    if (s->steps > AN_FEWEST_STEPS) {
        count_step(g, between_ns, run_ns, tokens);
        return;
    }
    g->sequences++;
    g->tokens += (uint64_t)tokens;
    cm_histogram_add(&g->first_token_ns, (uint64_t)s->prompt_ns);
    for (size_t i = 0; i < AN_FEWEST_STEPS; i++)
        count_step(g, s->early_ns[i], s->early_run_ns[i], tokens);
}

// The sequence that the run goes on with, the one that went on last if there are several; else a
// free place or that of the oldest one.
static an_sequence *find_sequence(an_generation *g, const an_shapes *shapes, const an_shape *now,
                                  int64_t begin_ns, relation *out)
{
    an_sequence *best = NULL, *oldest = &g->open[0];
    *out = UNRELATED;
    for (size_t i = 0; i < AN_OPEN_SEQUENCES; i++) {
        an_sequence *s = &g->open[i];
        if (s->end_ns < oldest->end_ns)
            oldest = s;
        const an_shape *before = s->shape ? an_shapes_find(shapes, s->shape) : NULL;
        if (!before || s->end_ns > begin_ns || (best && s->end_ns < best->end_ns))
            continue;
        growth change = growth_of(before, now);
        relation r = relation_of(&change);
        if (r == UNRELATED || (s->steps > 0 && r != STEP))
            continue;
        best = s;
        *out = r;
    }
    return best ? best : oldest;
}

static void take(an_generation *g, const an_shapes *shapes, int64_t inputs, int64_t begin_ns,
                 int64_t duration_ns)
{
    const an_shape *now = inputs > 0 ? an_shapes_find(shapes, inputs) : NULL;
    int64_t end_ns = an_add_clamped(begin_ns, duration_ns);
    relation r;
    if (!now || now->tensor_count == 0 || begin_ns < 0 || end_ns <= 0 || end_ns == INT64_MAX)
        return;
    an_sequence *s = find_sequence(g, shapes, now, begin_ns, &r);
    switch (r) {
    case UNRELATED:
        *s = (an_sequence){.shape = inputs, .begin_ns = begin_ns, .prompt_ns = duration_ns};
        break;
    case MORE_PROMPT:
        s->prompt_ns = end_ns - s->begin_ns;
        break;
    case STEP:
    case FIRST_STEP:
        add_step(g, s, (uint64_t)(end_ns - s->end_ns), (uint64_t)duration_ns,
                 now->batch > 0 && now->batch < 1000000 ? (double)now->batch : 1);
        break;
    }
    s->shape = inputs;
    s->end_ns = end_ns;
}

static void take_first(an_generation *g, const an_shapes *shapes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        take(g, shapes, g->waiting[i].inputs, g->waiting[i].begin_ns, g->waiting[i].duration_ns);
    g->waiting_count -= count;
    memmove(g->waiting, g->waiting + count, g->waiting_count * sizeof *g->waiting);
}

void an_generation_add(an_generation *g, const an_shapes *shapes, int64_t inputs, int64_t begin_ns,
                       int64_t duration_ns)
{
    if (g->waiting_count == AN_WAITING_RUNS)
        take_first(g, shapes, AN_WAITING_RUNS / 2);
    size_t at = g->waiting_count++;
    for (; at > 0 && g->waiting[at - 1].begin_ns > begin_ns; at--)
        g->waiting[at] = g->waiting[at - 1];
    g->waiting[at] = (an_waiting_run){inputs, begin_ns, duration_ns};
}

void an_generation_finish(an_generation *g, const an_shapes *shapes)
{
    take_first(g, shapes, g->waiting_count);
}

double an_generation_tokens_per_s(const an_generation *g)
{
    return g->between_sum_ns > 0 ? g->step_tokens / g->between_sum_ns * 1e9 : (double)NAN;
}
