// SPDX-License-Identifier: MIT
// Runs and operators of a span, gathered from the figures in memory or from the file, with bounded
// memory: what is beyond the limits is counted as left out.
#pragma once

#include "common/map.h"
#include "view_keys.h"

#define DA_TIMELINE_RUNS    10000u
#define DA_TIMELINE_OPS     100000u
#define DA_TIMELINE_TENSORS 400000u

typedef struct da_timeline_run {
    int64_t session, run, thread, begin_ns, duration_ns, status, in_flight;
} da_timeline_run;

typedef struct da_timeline_op {
    uint32_t run, kernel; // places in the lists
    int64_t thread, begin_ns, duration_ns, depth;
    bool failed;
} da_timeline_op;

typedef struct da_timeline_kernel {
    int64_t id, node, op_type, kernel_class, domain, provider;
    bool submits;
    int64_t session; // whose operators it is among
} da_timeline_kernel;

// What a kernel reads or makes, by name.
typedef struct da_timeline_tensor {
    uint32_t kernel; // place
    uint32_t index;
    int64_t name;
    bool made;
} da_timeline_tensor;

typedef struct da_timeline {
    const char *source;
    cm_buf runs, ops, kernels; // of the types above
    cm_map run_places;         // by session and run
    cm_map kernel_places;
    cm_buf tensors;       // da_timeline_tensor
    bool tensors_missing; // not all are there: who feeds whom is not known
    uint64_t left_out;
} da_timeline;

// What is looked for; times in nanoseconds, a run counts where it overlaps.
typedef struct da_wanted {
    bool one_run; // session and run, else from to
    bool has_session;
    int64_t session, run, from_ns, to_ns;
    const atomic_bool *given_up; // as of da_span
} da_wanted;

void da_timeline_init(da_timeline *t, const char *source);
void da_timeline_deinit(da_timeline *t);
size_t da_timeline_run_count(const da_timeline *t);
void da_timeline_add_run(da_timeline *t, const da_timeline_run *run);
// Of a run that was added; others are passed over. `kernel` by its id.
void da_timeline_add_op(da_timeline *t, int64_t session, int64_t run, int64_t kernel,
                        const da_timeline_op *op);
// Only of kernels that operators refer to.
void da_timeline_set_kernel(da_timeline *t, const da_timeline_kernel *kernel);
// Likewise.
void da_timeline_add_tensor(da_timeline *t, int64_t kernel, const da_timeline_tensor *tensor);
bool da_timeline_wants(const da_wanted *w, int64_t session, int64_t run, int64_t begin_ns,
                       int64_t duration_ns);

// By the file; its texts are those of *out_reader, which the caller closes.
cm_status da_timeline_from_file(da_timeline *t, const char *path, const da_wanted *w,
                                tm_reader **out_reader);

// timeline_links.c: which kernels make what a kernel reads, worked out once for all kernels.
typedef struct da_links {
    const da_timeline *timeline;
    cm_map makers;      // by session and name
    cm_buf first;       // of each kernel, and one more: its first tensor (uint32_t)
    cm_buf last_reader; // of each kernel: one past the place of who told it as a producer last
    bool known, all_named;
} da_links;
void da_links_find(da_links *links, da_timeline *t); // sorts t->tensors
void da_links_deinit(da_links *links);
// The key "producers": places of kernels, or null: not known.
void da_links_write(cm_json *j, da_links *links, size_t kernel);

typedef const char *(*da_text_function)(const void *context, int64_t id); // NULL or "": none
void da_timeline_write(cm_json *j, da_timeline *t, uint32_t capture, da_text_function text,
                       const void *context);
