// SPDX-License-Identifier: MIT
// Operators that always follow the same other one, and that ORT could have joined with it (see
// analysis/flow.h). What is recorded is the order of execution, not who reads whose result: pairs
// whose recorded shapes contradict it are left out.
#include "analysis/fusion.h"
#include "analysis_util.h"
#include "flow_internal.h"

#include <stdlib.h>
#include <string.h>

typedef enum fit { FIT_UNKNOWN, FIT_YES, FIT_NO } fit;

static size_t first_shape_of(const an_ops *o, int64_t kernel)
{
    size_t low = 0, high = o->kernel_shape_count;
    if (!o->shapes_ready)
        return high; // not in order, or not asked for
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (o->kernel_shapes[middle].kernel < kernel)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static fit compare_tensors(const an_shape *outputs, const an_shape *inputs)
{
    if (!outputs || !inputs || outputs->tensor_count == 0 || inputs->tensor_count == 0)
        return FIT_UNKNOWN;
    for (size_t i = 0; i < inputs->tensor_count; i++)
        if (strcmp(inputs->tensors[i].dims, outputs->tensors[0].dims) == 0)
            return FIT_YES;
    return FIT_NO;
}

// By the shapes of the first inputs of the session for which both are recorded. Those of a kernel
// are in order of the inputs.
static fit shapes_fit(const an_ops *o, int64_t first, int64_t second)
{
    size_t i = first_shape_of(o, first), k = first_shape_of(o, second);
    while (i < o->kernel_shape_count && o->kernel_shapes[i].kernel == first &&
           k < o->kernel_shape_count && o->kernel_shapes[k].kernel == second) {
        int64_t of_first = o->kernel_shapes[i].run_inputs;
        int64_t of_second = o->kernel_shapes[k].run_inputs;
        if (of_first == of_second)
            return compare_tensors(an_shapes_find(&o->shapes, o->kernel_shapes[i].outputs),
                                   an_shapes_find(&o->shapes, o->kernel_shapes[k].inputs));
        i += of_first < of_second;
        k += of_second < of_first;
    }
    return FIT_UNKNOWN;
}

static an_unfused *get_pair(an_flow_session *s, const an_kernel *first, const an_kernel *second)
{
    for (size_t i = 0; i < s->unfused_count; i++) {
        an_unfused *u = &s->unfused[i];
        if (strcmp(u->first, first->op_type) == 0 && strcmp(u->second, second->op_type) == 0 &&
            strcmp(u->first_domain, first->domain) == 0 &&
            strcmp(u->second_domain, second->domain) == 0)
            return u;
    }
    if (s->unfused_count == AN_FLOW_PAIRS)
        return NULL;
    an_unfused *u = &s->unfused[s->unfused_count++];
    *u = (an_unfused){.first = first->op_type,
                      .second = second->op_type,
                      .first_domain = first->domain,
                      .second_domain = second->domain,
                      .example_first = first->node,
                      .example_second = second->node};
    return u;
}

static bool may_pair(const an_flow_kernel *first, const an_kernel *of_first,
                     const an_flow_kernel *second, const an_kernel *of_second)
{
    return first->leaf_count == second->leaf_count && of_first->session == of_second->session &&
           strcmp(of_first->provider, of_second->provider) == 0 &&
           strcmp(of_first->domain, of_second->domain) == 0 &&
           an_can_fuse(of_first->op_type, of_second->op_type);
}

static int longest_first(const void *a, const void *b)
{
    const an_unfused *x = a, *y = b;
    if (x->second_ns != y->second_ns)
        return x->second_ns < y->second_ns ? 1 : -1;
    int order = strcmp(x->first, y->first);
    return order ? order : strcmp(x->second, y->second);
}

void an_flow_find_pairs(an_flow *f)
{
    for (size_t i = 0; i < f->ops->kernel_count; i++) {
        const an_flow_kernel *second = &f->kernels[i];
        size_t session;
        if (second->before == 0 || second->before == AN_MIXED)
            continue;
        const an_kernel *of_second = &f->ops->kernels[i];
        const an_kernel *of_first = &f->ops->kernels[second->before - 1];
        const an_flow_kernel *first = &f->kernels[second->before - 1];
        if (!may_pair(first, of_first, second, of_second) ||
            !cm_map_find(&f->session_by_id, of_second->session, &session))
            continue;
        fit fits = shapes_fit(f->ops, of_first->id, of_second->id);
        an_unfused *u =
            fits == FIT_NO ? NULL : get_pair(&f->sessions[session].result, of_first, of_second);
        if (!u)
            continue;
        u->pairs++;
        u->calls += second->leaf_count;
        u->first_ns = an_add_saturating(u->first_ns, first->leaf_ns);
        u->second_ns = an_add_saturating(u->second_ns, second->leaf_ns);
        u->shapes_known += fits == FIT_YES;
    }
    for (size_t i = 0; i < f->session_count; i++) {
        an_flow_session *s = &f->sessions[i].result;
        if (s->unfused_count)
            qsort(s->unfused, s->unfused_count, sizeof *s->unfused, longest_first);
    }
}
