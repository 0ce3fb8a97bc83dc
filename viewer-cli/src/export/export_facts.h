// SPDX-License-Identifier: MIT
// What the rows of a timeline refer to: processes, sessions, operators and so on, found by their
// ids. Read in a pass of its own, since a file may tell them behind the rows that need them.
// Memory depends on how many there are, not on how often they did something.
#pragma once

#include "analysis/ops.h"
#include "common/map.h"
#include "run_list.h"
#include "timeline/timeline.h"

#include <stdatomic.h>
#include <stdbool.h>

#define VW_EX_MAX_FACTS (1024 * 1024) // of each kind; what a file claims beyond that is not kept

typedef struct vw_ex_process {
    int64_t id, pid;
    int64_t shown_pid; // no other process of the file has it
    const char *program;
    bool followed;
} vw_ex_process;

typedef struct vw_ex_module {
    int64_t id, process;
} vw_ex_module;

typedef struct vw_ex_session {
    int64_t id, process, thread; // process 0: not known
    int64_t begin_ns, load_ns, source, status;
    const char *model, *providers, *message;
    const char *name; // the model's file name
    bool declared;    // there is a row of it; else only others refer to it
} vw_ex_session;

typedef struct vw_ex_kernel {
    int64_t id, session;
    const char *node, *op_type, *domain, *provider;
    an_op_type_text by_class; // its type where none was recorded
    bool submits;
} vw_ex_kernel;

typedef struct vw_ex_allocator {
    int64_t id, session, type;
    const char *name;
} vw_ex_allocator;

typedef struct vw_ex_counter {
    int64_t id, per_unit, about, process, number;
    bool total;
    const char *source, *name, *unit, *subject;
} vw_ex_counter;

typedef struct vw_ex_thread {
    int64_t process, thread;
    const char *name;
} vw_ex_thread;

// An array with the places of its items by id.
typedef struct vw_ex_list {
    void *items;
    size_t count, capacity;
    cm_map by_id;
} vw_ex_list;

typedef struct vw_ex_facts {
    tm_reader *reader; // open as long as the facts: all texts are its
    vw_ex_list processes, modules, sessions, kernels, allocators, counters;
    vw_ex_list threads; // those with a name; by vw_ex_thread_key
    vw_run_facts runs;  // shapes, messages
    vw_ex_list shapes;  // their texts, as they are asked for
    int64_t end_ns;     // the latest time that a run, operator or process row tells
} vw_ex_facts;

cm_status vw_ex_facts_read(const char *path, const atomic_bool *given_up, vw_ex_facts *f);

// The next block, unless the export was given up (NULL: never).
cm_status vw_ex_read(tm_reader *reader, const atomic_bool *given_up, tm_block *out);
void vw_ex_facts_deinit(vw_ex_facts *f);

// NULL where the file does not tell; no pointer is valid for longer than the facts.
const vw_ex_process *vw_ex_find_process(const vw_ex_facts *f, int64_t id);
const vw_ex_session *vw_ex_find_session(const vw_ex_facts *f, int64_t id);
const vw_ex_kernel *vw_ex_find_kernel(const vw_ex_facts *f, int64_t id);
const vw_ex_allocator *vw_ex_find_allocator(const vw_ex_facts *f, int64_t id);
const vw_ex_counter *vw_ex_find_counter(const vw_ex_facts *f, int64_t id);
const char *vw_ex_thread_name(const vw_ex_facts *f, int64_t process, int64_t thread);
// "" where there is none.
const char *vw_ex_shape_text(vw_ex_facts *f, int64_t shape);
// As recorded, or by the kernel's class, which the text then says; "" if neither is known.
const char *vw_ex_op_type(const vw_ex_kernel *kernel);
const char *vw_ex_op_name(const vw_ex_kernel *kernel); // "operator" instead of "", and for NULL

// A place for one more item, all zero, found by `id`; NULL without memory or room.
void *vw_ex_list_add(vw_ex_list *list, int64_t id, size_t size);
void vw_ex_list_deinit(vw_ex_list *list);
const char *vw_ex_file_name(const char *path);
