// SPDX-License-Identifier: MIT
// `ortscope ops FILE`: what the operators cost. Reads the file four times: what there is, what was
// executed, what that allocated, and the percentiles of the rows that are shown. Memory does not
// depend on how many executions there are.
#include "commands.h"
#include "op_view.h"
#include "timeline_input.h"

#include <stddef.h>
#include <string.h>

#define TERMINAL_LIMIT 30

typedef struct ops_args {
    bool json, csv;
    const char *by, *sort, *filter;
    vw_number session, limit;
} ops_args;

// --------------------------------------------------------------------------------------- reading

typedef cm_status (*take_fn)(void *context, const tm_reader *reader, const tm_block *block);

static cm_status read_kinds(const char *path, uint64_t kinds, bool warn, take_fn take,
                            void *context)
{
    tm_reader *reader;
    tm_block block;
    CM_TRY(vw_open_timeline(path, &reader));
    tm_reader_only(reader, kinds);
    cm_status status;
    while ((status = tm_reader_next(reader, &block)) == CM_OK) {
        status = take(context, reader, &block);
        if (status != CM_OK)
            break;
    }
    if (status == CM_END && warn)
        vw_warn_of_damage(path, tm_reader_damage(reader));
    tm_reader_close(reader);
    return status == CM_END ? CM_OK : status;
}

static cm_status take_rows(void *context, const tm_reader *reader, const tm_block *block)
{
    return an_ops_add(context, reader, block);
}

typedef struct second_look {
    const an_ops *ops;
    an_op_table *table, *nodes; // what is shown; nodes, for the most variable
    an_flow *flow;
    vw_ops *view;
} second_look;

static cm_status take_times(void *context, const tm_reader *reader, const tm_block *block)
{
    (void)reader;
    second_look *s = context;
    an_op_table_add(s->table, s->ops, block);
    if (s->nodes)
        an_op_table_add(s->nodes, s->ops, block);
    an_ops_add_run_time(s->ops, block, &s->view->choice, &s->view->runs);
    return s->flow ? an_flow_add(s->flow, block) : CM_OK;
}

static cm_status read_ops(const char *path, an_ops *ops)
{
    CM_TRY(read_kinds(path,
                      TM_BIT(kernel) | TM_BIT(kernel_shape) | TM_BIT(shape) | TM_BIT(tensor) |
                          TM_BIT(run) | TM_BIT(session) | TM_BIT(op_choice),
                      false, take_rows, ops));
    CM_TRY(read_kinds(path, TM_BIT(op), true, take_rows, ops));
    CM_TRY(read_kinds(path, TM_BIT(alloc), false, take_rows, ops));
    return an_ops_finish(ops);
}

// --------------------------------------------------------------------------------------- arguments

static bool find_word(const char *word, const char *(*name_of)(int), int count, int *out)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(name_of(i), word) == 0) {
            *out = i;
            return true;
        }
    }
    return false;
}

static const char *by_name(int by)
{
    return vw_op_by_name((an_op_by)by);
}

static const char *sort_name(int sort)
{
    return vw_op_sort_name((an_op_sort)sort);
}

static cm_status parse_choice(const ops_args *a, an_op_choice *choice)
{
    int by = AN_BY_TYPE, sort = AN_SORT_SELF;
    if (a->json && a->csv)
        return cm_fail(CM_USAGE, "--json and --csv exclude each other.");
    if (a->by && !find_word(a->by, by_name, AN_BY_THREAD + 1, &by))
        return cm_fail(CM_USAGE, "--by is node, type, provider or thread, not \"%s\".", a->by);
    if (a->sort && !find_word(a->sort, sort_name, AN_SORT_VARIATION + 1, &sort))
        return cm_fail(CM_USAGE,
                       "--sort is self, total, mean, calls, max, name or variation, not \"%s\".",
                       a->sort);
    *choice = (an_op_choice){.by = (an_op_by)by,
                             .sort = (an_op_sort)sort,
                             .has_session = a->session.given,
                             .session = a->session.count,
                             .filter = a->filter};
    return CM_OK;
}

// -------------------------------------------------------------------------------------- the
// command

static void show(vw_io *io, const ops_args *a, const vw_ops *v)
{
    if (a->json)
        vw_ops_json(io, v);
    else if (a->csv)
        vw_ops_csv(io, v);
    else
        vw_ops_text(io, v);
    cm_out_flush(&io->out);
}

static cm_status look_again(const char *path, const ops_args *a, second_look *look)
{
    vw_ops *v = look->view;
    an_op_choice nodes = {
        .by = AN_BY_NODE, .has_session = v->choice.has_session, .session = v->choice.session};
    an_flow_choice flow = {.has_session = nodes.has_session, .session = nodes.session};
    CM_TRY(an_ops_table(look->ops, &v->choice, &look->table));
    CM_TRY(an_op_table_measure(look->table, v->limit));
    if (!a->csv) {
        CM_TRY(an_ops_table(look->ops, &nodes, &look->nodes));
        CM_TRY(an_op_table_measure(look->nodes, AN_VARIABLE_ROWS));
        CM_TRY(an_flow_create(look->ops, &flow, &look->flow));
    }
    CM_TRY(read_kinds(path, TM_BIT(op) | TM_BIT(run) | TM_BIT(lost), false, take_times, look));
    if (a->csv)
        return CM_OK;
    an_source source = vw_source_of(path);
    CM_TRY(an_helpers_read(&source, look->ops, &v->helpers));
    v->variable_count = an_ops_most_variable(look->nodes, v->variable, VW_VARIABLE_DATA);
    return an_flow_finish(look->flow);
}

static cm_status table_and_show(vw_io *io, const ops_args *a, const char *path, const an_ops *ops,
                                vw_ops *v)
{
    second_look look = {.ops = ops, .view = v};
    cm_status status = look_again(path, a, &look);
    if (status == CM_OK) {
        v->ops = ops;
        v->table = look.table;
        v->flow = look.flow;
        v->run_time_ns = an_op_run_time_ns(ops, look.table, &v->runs);
        show(io, a, v);
    }
    an_helpers_deinit(&v->helpers);
    an_flow_destroy(look.flow);
    an_op_table_destroy(look.nodes);
    an_op_table_destroy(look.table);
    return status;
}

static int run_ops(vw_io *io, const void *args, int operand_count, char **operands)
{
    (void)operand_count;
    const ops_args *a = args;
    vw_ops view = {.path = operands[0]};
    an_ops *ops = NULL;
    bool text = !a->json && !a->csv;
    cm_status status = parse_choice(a, &view.choice);
    if (status != CM_OK)
        return vw_failure(status);
    view.limit = a->limit.given && a->limit.count ? (size_t)a->limit.count : SIZE_MAX;
    if (!a->limit.given && text && io->is_terminal)
        view.limit = TERMINAL_LIMIT;
    an_op_options options = {
        .threads = view.choice.by == AN_BY_THREAD, .runs = true, .flops = true, .allocs = true};
    status = an_ops_create(&options, &ops);
    if (status == CM_OK && a->session.given)
        status = vw_need_session(operands[0], a->session.count);
    if (status == CM_OK)
        status = read_ops(operands[0], ops);
    if (status == CM_OK)
        status = table_and_show(io, a, operands[0], ops, &view);
    an_ops_destroy(ops);
    return status == CM_OK ? 0 : vw_failure(status);
}

static const vw_option ops_options[] = {
    {"by", 0, VW_TEXT, offsetof(ops_args, by), "node|type|provider|thread",
     "what has a row of its own (default: type)"},
    {"sort", 0, VW_TEXT, offsetof(ops_args, sort), "self|total|mean|calls|max|name|variation",
     "what comes first (default: self)"},
    {"filter", 0, VW_TEXT, offsetof(ops_args, filter), "TEXT",
     "only operators with this in their name or type"},
    {"session", 0, VW_COUNT, offsetof(ops_args, session), "N", "only operators of this session"},
    {"limit", 0, VW_COUNT, offsetof(ops_args, limit), "N",
     "at most N rows, 0 = all (30 on a terminal, else all)"},
    {"json", 0, VW_FLAG, offsetof(ops_args, json), NULL, "print one JSON document"},
    {"csv", 0, VW_FLAG, offsetof(ops_args, csv), NULL, "print CSV"},
};

const vw_command vw_command_ops = {
    .name = "ops",
    .one_line = "Shows what the operators of a recording cost.",
    .usage = "[options] FILE",
    .details =
        "Total is the time inside an operator; self is without the operators inside it (those "
        "that\n"
        "Loop, If and Scan run). Mean and percentiles are of total times. Share is that of the "
        "self\n"
        "time of all operators. What was executed while a session was loading is not counted.\n"
        "GFLOP/s come from the shapes: convolutions and matrix products as they are defined,\n"
        "without bias and activation; \"-\" where the shapes were not recorded. On providers that\n"
        "only hand the work to a device (DML, CUDA) times are those of the submission; they are\n"
        "marked so. A recording made with --alloc all also tells how many bytes a call allocates\n"
        "on average. Variation is the standard deviation by the mean, of each operator.\n"
        "\"(by class)\" behind a type: the graph's was not recorded, it is the name of the "
        "kernel's\n"
        "class (\"op_type_source\" in data).\n"
        "Of some operators it is not known which run they belong to: they count (\"ambiguous\" in\n"
        "JSON), but recordings made with --ops slow leave them out (\"left_out\").\n"
        "Below the table, without --filter and --csv: the operators whose times vary most, and "
        "for\n"
        "each session how operators follow each other in its runs: how many are in flight, the\n"
        "critical path, idle threads of inter-op, changes of provider and copies, what the\n"
        "optimiser has fused, and pairs that it could have. Edges of the graph are not used:\n"
        "the path goes back from the operator that ended last to the one that ended last before\n"
        "it began, and pairs are operators that always follow each other. Threads of intra-op\n"
        "execute no operators of their own: other threads with processor time are told as far as\n"
        "counters do, with the least time that they idled while runs were under way.",
    .examples = "ortscope ops trace.ortl  # what each type of operator costs\n"
                "ortscope ops trace.ortl --by node --limit 20\n"
                "ortscope ops trace.ortl --by provider --session 1\n"
                "ortscope ops trace.ortl --filter Conv --sort max",
    .options = ops_options,
    .option_count = sizeof ops_options / sizeof *ops_options,
    .args_size = sizeof(ops_args),
    .min_operands = 1,
    .max_operands = 1,
    .run = run_ops,
};
