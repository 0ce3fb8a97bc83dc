// SPDX-License-Identifier: MIT
// What the operators of a capture cost, from its rows of kinds kernel and op, in one pass and with
// memory that does not depend on the number of executions.
//
// Definitions, the same in text, JSON and CSV:
// - total: the time inside an operator, operators inside it (Loop, If, Scan) included. self:
// without
//   those directly inside it on the same thread.
// - An operator is a session's node: several kernel objects of one session with the same node name
//   and type are one operator; a node without a name is told apart by its kernel object. Where the
//   type was not recorded it is that of the kernel's class, and says so (AN_BY_CLASS).
// - Executions inside session creation (constant folding) are kept apart as `loading`; nothing else
//   counts them. Ambiguous ones (which run is not known) count like all others.
// - share: of the self time of all operators of the sessions that are looked at.
// - variation: the standard deviation of total times by their mean. Of a row that stands for
// several
//   operators: around the mean of each, so that nodes that differ from each other do not vary.
// - FLOPs: only if they are known for every execution that is counted (flops.h), of shapes recorded
//   at the first execution with the same inputs of the session (those that were bound before the
//   recording began are taken for the same where all runs with them had the same outputs, else they
//   are not known). Operators that run several times in one run (the body of a
//   Loop) have none, since their shapes may change on the way. Nor have those whose time is only
//   that of the submission to a device.
#pragma once

#include "common/histogram.h"
#include "common/map.h"
#include "timeline/timeline.h"

#include <stdbool.h>

#define AN_MAX_KERNELS       (1024 * 1024) // told apart; executions of others are counted as `untold`
#define AN_MAX_OP_HISTOGRAMS 4096          // rows of a table that can have percentiles

typedef struct an_ops an_ops;

typedef struct an_op_options {
    bool threads; // keep threads apart, for tables by thread
    bool runs;    // note which runs have operators, for an_ops_run_time()
    bool flops;   // all rows of other kinds must then be added before the first op row
    bool allocs;  // alloc rows count; all op rows must then be added before the first of them. With
                  // `runs` also where only slow runs kept their operators
    bool batches; // keep the times of groups of runs, for an_ops_batches()
} an_op_options;

cm_status an_ops_create(const an_op_options *options, an_ops **out); // NULL: none
void an_ops_destroy(an_ops *o);

// Takes in kernel, op and session blocks; with flops also kernel_shape, shape, tensor and run; with
// allocs also alloc.
// Other kinds are left alone. The op rows of a block may stand in any order; over the blocks those
// of one thread must come in the order of their ends, as they are recorded.
cm_status an_ops_add(an_ops *o, const tm_reader *reader, const tm_block *block);

// After the last block, before the first question.
cm_status an_ops_finish(an_ops *o);

// Whose operators the file has (timeline/kinds.h: op_choice).
typedef enum an_op_kept {
    AN_KEPT_ALL,
    AN_KEPT_NONE,
    AN_KEPT_EVERY,
    AN_KEPT_LONGER,
    AN_KEPT_SLOWEST
} an_op_kept;
an_op_kept an_ops_kept(const an_ops *o, int64_t *out_value);
// How many executions are not in the file because it is not known which run they belong to.
uint64_t an_ops_left_out(const an_ops *o);
// With the option `runs`: how many runs of the session operators were recorded of.
uint64_t an_ops_runs_of(const an_ops *o, int64_t session);

bool an_ops_any(const an_ops *o); // operators were recorded at all, be it only while loading
// Executions for whose kernels there was no room.
uint64_t an_ops_untold(const an_ops *o);

// The type of an operator by the class of its kernel, where the graph's was not recorded:
// "onnxruntime::contrib::NchwcConv" gives "NchwcConv (by class)"; "" gives "".
#define AN_BY_CLASS " (by class)"
typedef struct an_op_type_text {
    char text[128];
} an_op_type_text;
an_op_type_text an_op_type_by_class(const char *class_name);
bool an_op_type_is_by_class(const char *op_type);
// The type that was recorded, else that by class, which `scratch` then holds.
const char *an_op_type_shown(const char *op_type, const char *class_name, an_op_type_text *scratch);

// A type as data has it: without the mark of those by class, which `source` tells instead ("class",
// "graph"). "" is what is not known; a type by class has no domain unless it was recorded.
typedef struct an_op_type {
    const char *type, *domain, *source;
    an_op_type_text scratch;
} an_op_type;
void an_op_type_split(const char *op_type, const char *domain, an_op_type *out);

// ------------------------------------------------------------------------------------------ tables

typedef struct an_op_sums {
    uint64_t calls, failed, ambiguous;
    uint64_t total_ns, self_ns, max_ns; // sums saturate
    uint64_t submitted;                 // calls whose time is that of the submission
    uint64_t flops_calls;               // calls with known FLOPs
    double flops;
    uint64_t allocations, allocated_bytes; // while it was the innermost operator on its thread
    uint64_t loading_calls, loading_ns;    // inside session creation; in none of the others
    double squares;                        // of the total times, nanoseconds squared
} an_op_sums;

typedef enum an_op_by { AN_BY_NODE, AN_BY_TYPE, AN_BY_PROVIDER, AN_BY_THREAD } an_op_by;
typedef enum an_op_sort {
    AN_SORT_SELF,
    AN_SORT_TOTAL,
    AN_SORT_MEAN,
    AN_SORT_CALLS,
    AN_SORT_MAX,
    AN_SORT_NAME,
    AN_SORT_VARIATION
} an_op_sort;

// Fields that the grouping does not tell are "" or 0; "" is also what was not recorded.
typedef struct an_op_row {
    const char *node, *op_type, *domain, *provider; // borrowed from the an_ops
    int64_t session, kernel, thread;
    uint64_t nodes; // operators in it that were executed
    an_op_sums sums;
    double scatter;          // squared distances from the mean of the same kernel, added up
    uint64_t means;          // how many such means there are
    cm_histogram *durations; // NULL: not measured
    size_t number;           // of no meaning to others
} an_op_row;

typedef struct an_op_choice {
    an_op_by by; // by thread: needs the option `threads`
    an_op_sort sort;
    bool has_session;
    int64_t session;
    const char *filter; // NULL, or part of the node's name or the type, in any case
} an_op_choice;

typedef struct an_op_table {
    an_op_row *rows; // those that were executed outside loading
    size_t row_count;
    an_op_sums all;      // of the sessions looked at, what the filter leaves out included
    uint64_t nodes;      // of them
    size_t *row_of_cell; // its number and 1, 0: none
    an_op_row **by_number;
    size_t number_count;
} an_op_table;

cm_status an_ops_table(const an_ops *o, const an_op_choice *choice, an_op_table **out);
void an_op_table_destroy(an_op_table *t);

// Gives the first `rows` rows (AN_MAX_OP_HISTOGRAMS at most) their histograms. Then all op blocks
// of the file are to be passed again.
cm_status an_op_table_measure(an_op_table *t, size_t rows);
void an_op_table_add(an_op_table *t, const an_ops *o, const tm_block *block);

// NAN where it is not known.
double an_op_share(const an_op_table *t, const an_op_row *row);
double an_op_mean_ns(const an_op_row *row);
double an_op_percentile_ns(const an_op_row *row, uint32_t millionths);
double an_op_variation(const an_op_row *row); // needs two calls of an operator
double an_op_flops(const an_op_row *row);
double an_op_gflops_per_s(const an_op_row *row);

double an_op_bytes_per_call(const an_op_table *t, const an_op_row *row); // allocated
double an_op_allocations_per_call(const an_op_table *t, const an_op_row *row);

typedef enum an_op_time { AN_TIME_EXECUTION, AN_TIME_SUBMISSION, AN_TIME_MIXED } an_op_time;
an_op_time an_op_time_of(const an_op_sums *sums);
const char *an_op_time_name(an_op_time time); // "execution", "submission", "mixed"

// The operators whose times vary most, by p99 / p50: of those that have at least AN_VARIABLE_CALLS
// calls (so that one slow call is not p99) and AN_VARIABLE_SHARE of the self time. `nodes`: a table
// by node, sorted by self time, of which AN_VARIABLE_ROWS rows are measured.
#define AN_VARIABLE_ROWS  256
#define AN_VARIABLE_CALLS 101
#define AN_VARIABLE_SHARE 0.001
typedef struct an_variable_op {
    const an_op_row *row; // of the table
    double p50_ns, p99_ns;
    double ratio; // p99 by p50
} an_variable_op;
// Fills at most `capacity`, largest ratio first, and returns how many.
size_t an_ops_most_variable(const an_op_table *nodes, an_variable_op *out, size_t capacity);

// ----------------------------------------------------------------------------- groups of runs

// What an operator took in AN_OP_BATCHES groups of neighbouring runs, so that its times can be
// compared with those of another recording. Only executions that say whose run they are.
#define AN_OP_BATCHES      64
#define AN_OP_BATCHES_MOST 8192 // operators that have them

typedef struct an_op_batches {
    int64_t runs_each; // group i: runs i * runs_each + 1 to (i + 1) * runs_each
    bool inside;       // of another operator (Loop, If, Scan)
    double self_ns[AN_OP_BATCHES];
    uint64_t calls[AN_OP_BATCHES];
} an_op_batches;

// A kernel of the session after the `*at`th, NULL: there are no more with batches. Start with 0.
typedef struct an_op_identity {
    const char *node, *op_type, *domain, *provider; // borrowed from the an_ops
} an_op_identity;
const an_op_batches *an_ops_next_batches(const an_ops *o, int64_t session, size_t *at,
                                         an_op_identity *out);
// Puts groups together until each has at least so many runs.
void an_op_batches_widen(an_op_batches *b, int64_t runs_each);

// ---------------------------------------------------------------------------- operators and runs

typedef struct an_op_runs {
    uint64_t runs;        // of the sessions looked at
    uint64_t with_ops;    // those of them that operators were recorded of
    uint64_t with_ops_ns; // their time
    bool has_session;     // of which these are, as in the choice
    int64_t session;
} an_op_runs;

// With the option `runs`: takes in a run block. Call it with all of them.
void an_ops_add_run_time(const an_ops *o, const tm_block *block, const an_op_choice *choice,
                         an_op_runs *sums);
// The time of those runs if it can be compared with the table's, else NAN: of some operators, in
// the file or left out of it, it is not known which run they belong to.
double an_op_run_time_ns(const an_ops *o, const an_op_table *t, const an_op_runs *runs);
