// SPDX-License-Identifier: MIT
// Timelines with operators for the gold tests. A graph is a list of nodes that runs from top to
// bottom; deeper ones belong to the node above them that is one less deep, as Loop and If have it.
#include "gold_maker.h"

#include <stdio.h>
#include <string.h>

#define CPU "CPUExecutionProvider"
#define DML "DmlExecutionProvider"

typedef struct node {
    int64_t kernel;
    const char *name, *op_type, *domain, *provider;
    int64_t submits, depth, self_us;
    const char *dims[3]; // first two inputs and the output, NULL: not recorded
} node;

static int64_t g_next_shape;

static int64_t tensors(int64_t session_id, int64_t direction, const char *first, const char *second)
{
    int64_t shape = g_next_shape++, count = (first != NULL) + (second != NULL);
    if (count == 0)
        return 0;
    ROW(shape, shape, session_id, direction, count, -1);
    if (first)
        ROW(tensor, shape, 0, text("a"), 1, 1, text(first));
    if (second)
        ROW(tensor, shape, 1, text("b"), 1, 1, text(second));
    return shape;
}

static void declare(const node *nodes, size_t count, int64_t session_id, int64_t run_inputs)
{
    for (size_t i = 0; i < count; i++) {
        const node *n = &nodes[i];
        ROW(kernel, n->kernel, session_id, 1, 60 * MS, text(n->name), text(n->op_type),
            text(n->domain), 13, text(n->provider), text(""), 1, n->submits);
        int64_t inputs = tensors(session_id, 0, n->dims[0], n->dims[1]);
        int64_t outputs = tensors(session_id, 1, n->dims[2], NULL);
        if (inputs && outputs)
            ROW(kernel_shape, n->kernel, 61 * MS, inputs, outputs, run_inputs, 1000, 2000, 3000);
    }
}

typedef struct call {
    int64_t session, run, thread, flags;
} call;

// Executes nodes[*at] and what is inside it; rows come when they end. Returns the end.
static int64_t execute(const node *nodes, size_t count, size_t *at, int64_t begin_ns,
                       const call *of)
{
    const node *n = &nodes[(*at)++];
    int64_t self = n->self_us * US + random_below(n->self_us * US / 10 + 1), now = begin_ns;
    now += self / 2;
    while (*at < count && nodes[*at].depth > n->depth)
        now = execute(nodes, count, at, now, of) + 100;
    now += self - self / 2;
    ROW(op, n->kernel, of->session, of->run, of->thread, begin_ns, now - begin_ns, n->depth,
        of->flags);
    return now;
}

static int64_t execute_all(const node *nodes, size_t count, int64_t begin_ns, const call *of)
{
    size_t at = 0;
    int64_t now = begin_ns;
    while (at < count)
        now = execute(nodes, count, &at, now, of) + 300;
    return now;
}

static const node classifier[] = {
    {1,
     "conv1",
     "Conv",
     "com.microsoft.nchwc",
     CPU,
     0,
     0,
     240,
     {"1,8,48,192", "16,8,3,3", "1,16,24,96"}},
    {2,
     "conv2",
     "FusedConv",
     "com.microsoft",
     CPU,
     0,
     0,
     120,
     {"1,16,24,96", "32,16,1,1", "1,32,24,96"}},
    {3, "up", "ConvTranspose", "", CPU, 0, 0, 60, {"1,32,24,96", "32,8,2,2", "1,8,48,192"}},
    {4, "act", "HardSigmoid", "", CPU, 0, 0, 15, {NULL, NULL, NULL}},
    {5, "dml_conv", "Conv", "", DML, 1, 0, 20, {"1,8,48,192", "8,8,3,3", "1,8,48,192"}},
    {6, "dml_relu", "Relu", "", DML, 1, 0, 6, {NULL, NULL, NULL}},
    {7, "loop", "Loop", "", CPU, 0, 0, 10, {NULL, NULL, NULL}},
    {8, "loop/body/if", "If", "", CPU, 0, 1, 4, {NULL, NULL, NULL}},
    {9, "loop/body/if/matmul", "MatMul", "", CPU, 0, 2, 35, {"1,64", "64,128", "1,128"}},
    {10, "loop/body/if/add", "Add", "", CPU, 0, 2, 3, {NULL, NULL, NULL}},
    {9, "loop/body/if/matmul", "MatMul", "", CPU, 0, 2, 35, {NULL, NULL, NULL}},
    {11, "loop/body/slice", "Slice", "", CPU, 0, 1, 2, {NULL, NULL, NULL}},
    {12, "", "Reshape", "", CPU, 0, 0, 1, {NULL, NULL, NULL}},
    {13, "", "Reshape", "", CPU, 0, 0, 2, {NULL, NULL, NULL}},
    {14, "fc", "Gemm", "", CPU, 0, 0, 30, {"1,200", "2,200", "1,2"}},
    {15, "softmax", "Softmax", "", CPU, 0, 0, 5, {NULL, NULL, NULL}},
};
#define CLASSIFIER (sizeof classifier / sizeof *classifier)

static const node silero[] = {
    {30, "If_0", "If", "", CPU, 0, 0, 8, {NULL, NULL, NULL}},
    {31,
     "If_0_then_branch__stft/Conv",
     "Conv",
     "",
     CPU,
     0,
     1,
     70,
     {"1,1,640", "258,1,256", "1,258,4"}},
    {32, "If_0_then_branch__decoder/rnn/LSTM", "LSTM", "", CPU, 0, 1, 90, {NULL, NULL, NULL}},
};
#define SILERO (sizeof silero / sizeof *silero)

// Nodes that run beside the others.
static const node pooled[] = {
    {41, "side/pool", "MaxPool", "", CPU, 0, 0, 80, {NULL, NULL, NULL}},
    {42, "side/concat", "Concat", "", CPU, 0, 0, 25, {NULL, NULL, NULL}},
};

// Nodes that run while the session is created: constant folding.
static const node folding[] = {
    {20, "const_fold", "Transpose", "", CPU, 0, 0, 50, {NULL, NULL, NULL}},
    {15, "softmax", "Softmax", "", CPU, 0, 0, 7, {NULL, NULL, NULL}},
};

static void classifier_runs(void)
{
    int64_t at = 100 * MS;
    for (int64_t number = 1; number <= 40; number++) {
        call of = {1, number, 100 + number % 4, 0}, beside = {1, number, 300, 0};
        bool with_ops = number <= 30; // sampling or a late attach: not every run has operators
        int64_t end_ns = at + 600 * US;
        if (with_ops)
            end_ns = execute_all(classifier, CLASSIFIER, at + 20 * US, &of) + 15 * US;
        if (number == 7) // failed once, by a kernel that no row tells of
            ROW(op, 999, 1, number, of.thread, end_ns - 14 * US, 9 * US, 0, 4);
        if (number % 4 == 0 && with_ops) // some of it on a thread of the pool
            execute_all(pooled, 2, at + 100 * US, &beside);
        run(1, number, at, end_ns - at, number == 7 ? 6 : 0, 1);
        at = end_ns + 50 * US;
        if (number % 10 == 0)
            check(tm_writer_flush(g_writer));
    }
}

// Two at once on threads of the pool: nobody knows which run an operator belongs to.
static void silero_runs(void)
{
    for (int64_t number = 1; number <= 10; number++) {
        int64_t at = 200 * MS + number * MS, end_a, end_b;
        call a = {2, 0, 201, 2}, b = {2, 0, 202, 2};
        end_a = execute_all(silero, SILERO, at + 10 * US, &a);
        end_b = execute_all(silero, SILERO, at + 12 * US, &b);
        run(2, 2 * number - 1, at, end_a - at + 5 * US, 0, 2);
        run(2, 2 * number, at + 2 * US, end_b - at + 5 * US, 0, 2);
    }
}

void make_ops(void)
{
    begin("ops.ortl");
    g_next_shape = 10;
    process_and_module();
    session(1, 50 * MS, "models/classifier.onnx", DML "," CPU);
    session(2, 80 * MS, "models/silero_vad.onnx", CPU);
    input_shape(1, 1, 1, "1,8,48,192");
    input_shape(2, 2, 1, "1,512");
    call loading = {1, 0, 100, 1};
    declare(folding, 1, 1, 0);
    execute_all(folding, 2, 51 * MS, &loading);
    declare(classifier, CLASSIFIER, 1, 1);
    declare(pooled, 2, 1, 1);
    declare(silero, SILERO, 2, 2);
    classifier_runs();
    silero_runs();
    ROW(kernel_end, 20, 55 * MS);
    ROW(session_end, 1, 290 * MS, 100);
    ROW(process_end, 1, 300 * MS, 0, 0);
    end();
}

// `--ops slow:250us`: two of forty runs were. So many operators could not be assigned to a run.
static void slow_ops(const char *name, int64_t left_out)
{
    begin(name);
    g_next_shape = 10;
    process_and_module();
    ROW(op_choice, 0, 3, 250 * US, 0);
    session(1, 50 * MS, "models/silero_vad.onnx", CPU);
    session(2, 80 * MS, "models/classifier.onnx", CPU);
    input_shape(1, 1, 1, "1,512");
    declare(silero, SILERO, 1, 1);
    for (int64_t number = 1; number <= 40; number++) {
        bool slow = number == 9 || number == 23;
        int64_t at = 100 * MS + number * MS;
        call of = {1, number, 100, 0};
        if (slow)
            execute_all(silero, SILERO, at + 10 * US, &of);
        run(1, number, at, (slow ? 270 : 190) * US, 0, 1);
        run(2, number, at, 80 * US, 0, 0);
    }
    if (left_out) {
        ROW(op_choice, 110 * MS, 3, 250 * US, 1);
        ROW(op_choice, 300 * MS, 3, 250 * US, left_out);
    }
    ROW(process_end, 1, 300 * MS, 0, 0);
    end();
}

void make_slow_ops(void)
{
    slow_ops("slow_ops.ortl", 0);
}

void make_slow_crowded(void)
{
    slow_ops("slow_crowded.ortl", 38);
}

// A runtime that nobody knows: classes of kernels alone tell what they are, or nothing does.
void make_class_ops(void)
{
    static const char *const classes[] = {"onnxruntime::contrib::NchwcConv",
                                          "onnxruntime::contrib::NchwcConv",
                                          ".?AV?$MatMul@M@onnxruntime@@", "", ""};
    enum { COUNT = sizeof classes / sizeof *classes };
    begin("class_ops.ortl");
    process_and_module();
    session(1, 50 * MS, "models/classifier.onnx", CPU);
    for (int64_t i = 0; i < COUNT; i++)
        ROW(kernel, i + 1, 1, 1, 60 * MS, 0, text(i == 3 ? "MatMul" : ""), 0, 0, 0,
            text(classes[i]), 3, 0);
    for (int64_t i = 0; i < COUNT; i++)
        ROW(op, i + 1, 1, 1, 100, 100 * MS + i * 100 * US, (90 - i * 10) * US, 0, 0);
    run(1, 1, 100 * MS, 500 * US, 0, 0);
    ROW(process_end, 1, 300 * MS, 0, 0);
    end();
}

// Rows that no honest capture has.
void make_odd_ops(void)
{
    begin("odd_ops.ortl");
    ROW(op, 1, 1, 1, 5, 1 * MS, -5, 0, 0);
    ROW(op, 1, 1, 1, 5, INT64_MAX - 5, INT64_MAX, 0, 0);
    ROW(op, 1, 1, 1, 5, INT64_MIN, INT64_MAX, 300, 0);
    ROW(op, 2, 1, 1, 5, 3 * MS, 1 * MS, -7, 255);
    ROW(op, -9, 77, -3, -1, 3 * MS, 2 * MS, 1, 6);
    ROW(op, 0, 0, 0, 0, 4 * MS, 2 * MS, 0, 0);
    check(tm_writer_flush(g_writer));
    // after its executions, with text that wants to do things to a terminal
    ROW(kernel, 1, 1, 1, 1 * MS, text("no\x1b[31mde,\"x\"\n"), text("Conv"), text("my\x07.domain"),
        -1, text("\x1b[2JExecutionProvider"), 0, 9, 7);
    ROW(kernel_shape, 1, 1 * MS, 5, 6, 0, -1, -1, -1);
    run(1, 1, 1 * MS, 3 * MS, 0, 0);
    end();
}

// What a kernel reads and makes: names parted by blanks, a dash is an input that is left out.
static void named(int64_t session_id, int64_t kernel, const char *title, const char *reads,
                  const char *makes)
{
    const char *const both[] = {reads, makes};
    ROW(kernel, kernel, session_id, 1, 60 * MS, text(title), text("Add"), text(""), 13, text(CPU),
        text(""), 1, 0);
    for (int64_t direction = 0; direction < 2; direction++) {
        const char *at = both[direction];
        for (int64_t index = 0; *at; index++) {
            char name[32];
            size_t len = strcspn(at, " ");
            snprintf(name, sizeof name, "%.*s", (int)len, at);
            if (name[0] != '-')
                ROW(kernel_tensor, kernel, 61 * MS, direction, index, text(name));
            at += len + (at[len] == ' ');
        }
    }
}

// Who feeds whom: A to B and C, both to D; G reads what both E and F make. The second session has
// the same names, and H of it is not known. More runs than the live view keeps.
void make_edges(void)
{
    begin("edges.ortl");
    process_and_module();
    session(1, 50 * MS, "models/diamond.onnx", CPU);
    session(2, 50 * MS, "models/chain.onnx", CPU);
    named(1, 1, "A", "x weight", "a");
    named(1, 2, "B", "a", "b");
    named(1, 3, "C", "a -", "c");
    named(1, 4, "D", "b weight c b", "d");
    named(1, 5, "E", "d", "twice");
    named(1, 6, "F", "d", "twice");
    named(1, 7, "G", "twice d", "y");
    named(2, 11, "A", "x", "a");
    named(2, 12, "B", "a", "b");
    named(2, 13, "H", "", "");
    for (int64_t number = 1; number <= 4200; number++) {
        int64_t at = 100 * MS + number * MS;
        for (int64_t kernel = 1; kernel <= 7 && (number <= 2 || number > 4198); kernel++)
            ROW(op, kernel, 1, number, 100, at + kernel * 20 * US, 15 * US, 0, 0);
        run(1, number, at, 200 * US, 0, 0);
        for (int64_t kernel = 11; kernel <= 13 && number > 4198; kernel++)
            ROW(op, kernel, 2, number, 100, at + kernel * 30 * US, 15 * US, 0, 0);
        run(2, number, at + 300 * US, 200 * US, 0, 0);
    }
    ROW(process_end, 1, 5000 * MS, 0, 0);
    end();
}
