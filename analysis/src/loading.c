// SPDX-License-Identifier: MIT
// See loading.h. Models are the same if they have the same path, or were given as bytes of the same
// length and hash. ORT's own events name a file without its folder, and encoder and decoder may
// both be model.onnx: there all that is told must be the same.
#include "loading.h"

#include "analysis_util.h"

#include <stdlib.h>
#include <string.h>

void an_loading_init(an_loading *l)
{
    *l = (an_loading){.read_ns = -1, .optimise_ns = -1, .kernels_ns = -1};
}

void an_loading_add_phase(an_loading *l, const tm_block *b, size_t row)
{
    int64_t *const phases[] = {&l->read_ns, &l->optimise_ns, &l->kernels_ns};
    int64_t phase = b->columns[TM_phase_phase][row];
    int64_t duration = b->columns[TM_phase_duration][row];
    if (phase < 1 || phase > 3 || duration < 0)
        return;
    int64_t *sum = phases[phase - 1];
    *sum = *sum < 0 ? duration : an_add_clamped(*sum, duration);
    l->source = b->columns[TM_phase_source][row];
}

// ---------------------------------------------------------------------------------------- repeats

static bool is_load(const an_session *n)
{
    bool named = n->model[0] || (n->model_bytes > 0 && n->model_hash != 0);
    return named && n->status == 0 && an_known(an_session_load_ns(n));
}

enum { SOURCE_EVENTS = 8 }; // session.source

static int compare_told(const an_session *x, const an_session *y)
{
    uint64_t a = x->loading.event_hash, b = y->loading.event_hash;
    int order = strcmp(x->graph, y->graph);
    order = order ? order : strcmp(x->producer, y->producer);
    return order ? order : (a > b) - (a < b);
}

static int compare_models(const an_session *x, const an_session *y)
{
    bool x_told = x->source == SOURCE_EVENTS, y_told = y->source == SOURCE_EVENTS;
    int order = strcmp(x->model, y->model);
    if (x->model[0] || y->model[0])
        return order ? order : x_told != y_told ? x_told - y_told : x_told ? compare_told(x, y) : 0;
    if (x->model_hash != y->model_hash)
        return x->model_hash < y->model_hash ? -1 : 1;
    return (x->model_bytes > y->model_bytes) - (x->model_bytes < y->model_bytes);
}

static int by_model_and_time(const void *a, const void *b)
{
    const an_session *x = *(an_session *const *)a, *y = *(an_session *const *)b;
    int order = compare_models(x, y);
    if (order)
        return order;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

static int by_load(const void *a, const void *b)
{
    const an_session *x = *(an_session *const *)a, *y = *(an_session *const *)b;
    return (x->load_ns > y->load_ns) - (x->load_ns < y->load_ns);
}

// Loads of one model, the first one first; the order of the others is lost.
static void tell_loads(an_session **loads, size_t count)
{
    if (count < 2)
        return;
    an_repeats r = {.loads = count, .first_ns = loads[0]->load_ns};
    for (size_t i = 0; i < count; i++)
        loads[i]->repeats.number = i + 1;
    size_t later = count - 1;
    qsort(loads + 1, later, sizeof(an_session *), by_load);
    double low = (double)loads[1 + (later - 1) / 2]->load_ns;
    double high = (double)loads[1 + later / 2]->load_ns;
    r.later_median_ns = (low + high) / 2;
    for (size_t i = 0; i < count; i++) {
        r.number = loads[i]->repeats.number;
        loads[i]->repeats = r;
    }
}

cm_status an_loading_find_repeats(an_summary *s)
{
    an_session **loads = malloc((s->session_count + 1) * sizeof(an_session *));
    size_t count = 0;
    if (!loads)
        return an_no_memory();
    for (size_t i = 0; i < s->session_count; i++)
        if (is_load(&s->sessions[i]))
            loads[count++] = &s->sessions[i];
    qsort(loads, count, sizeof(an_session *), by_model_and_time);
    for (size_t from = 0, to; from < count; from = to) {
        to = from + 1;
        while (to < count && compare_models(loads[from], loads[to]) == 0)
            to++;
        tell_loads(loads + from, to - from);
    }
    free(loads);
    return CM_OK;
}
