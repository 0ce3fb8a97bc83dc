// SPDX-License-Identifier: MIT
// The formulas (see flops.h). With |T| for the number of elements of a tensor:
//
//   convolution             Y[N,M,..] = X[N,C,..] * W[M,C/g,k..]:  each element of Y needs one
//                           multiply-add per element of one filter: 2 |Y| |W| / M
//                           M must be a dimension of Y (second, or last where channels come last).
//                           In the blocked layout (NCHWc) channels are padded; so is the result.
//   transposed convolution  each element of X[N,C,..] meets one filter W[C,M/g,k..]: 2 |X| |W| / C
//   matrix product          Y[..,M,N] = A[..,M,K] B[..,K,N]: 2 |Y| K
//                           Where B is packed (MatMulNBits) A alone tells K.
//
// Where an attribute that we do not see may transpose A or B (Gemm, FusedMatMul), every reading
// that fits the shapes must give the same K.
#include "analysis/flops.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RANK 16

#define PACKED -1 // weights in a form of their own: their shape tells nothing

typedef enum form { CONV, CONV_TRANSPOSED, MATMUL, MATMUL_ANY_WAY } form;

// Which inputs are the data and the weights.
static const struct {
    const char *op_type;
    form form;
    int64_t a, b;
} formulas[] = {
    {"Conv", CONV, 0, 1},
    {"FusedConv", CONV, 0, 1},
    {"NchwcConv", CONV, 0, 1},
    {"NhwcConv", CONV, 0, 1},
    {"NhwcFusedConv", CONV, 0, 1},
    {"ConvInteger", CONV, 0, 1},
    {"QLinearConv", CONV, 0, 3},
    {"DmlFusedConv", CONV, 0, 1},
    {"ConvTranspose", CONV_TRANSPOSED, 0, 1},
    {"ConvTransposeWithDynamicPads", CONV_TRANSPOSED, 0, 1},
    {"DmlFusedConvTranspose", CONV_TRANSPOSED, 0, 1},
    {"MatMul", MATMUL, 0, 1},
    {"MatMulInteger", MATMUL, 0, 1},
    {"MatMulIntegerToFloat", MATMUL, 0, 1},
    {"DynamicQuantizeMatMul", MATMUL, 0, 1},
    {"QLinearMatMul", MATMUL, 0, 3},
    {"GemmFastGelu", MATMUL, 0, 1},
    {"MatMulNBits", MATMUL, 0, PACKED},
    {"MatMulBnb4", MATMUL, 0, PACKED},
    {"MatMulFpQ4", MATMUL, 0, PACKED},
    {"DmlFusedMatMul", MATMUL, 0, 1},
    {"Gemm", MATMUL_ANY_WAY, 0, 1},
    {"FusedGemm", MATMUL_ANY_WAY, 0, 1},
    {"QGemm", MATMUL_ANY_WAY, 0, 3},
    {"FusedMatMul", MATMUL_ANY_WAY, 0, 1},
    {"TransposeMatMul", MATMUL_ANY_WAY, 0, 1},
    {"FusedMatMulActivation", MATMUL_ANY_WAY, 0, 1},
    {"GemmFloat8", MATMUL_ANY_WAY, 0, 1},
    {"DmlFusedGemm", MATMUL_ANY_WAY, 0, 1},
};

typedef struct dims {
    size_t rank;
    int64_t at[MAX_RANK];
    double elements;
} dims;

static bool parse_dims(const char *text, dims *out)
{
    out->rank = 0;
    out->elements = 1;
    while (*text) {
        char *end;
        if (*text < '0' || *text > '9' || out->rank == MAX_RANK)
            return false;
        errno = 0;
        long long value = strtoll(text, &end, 10);
        if (errno || (*end && (*end != ',' || !end[1])))
            return false;
        out->at[out->rank++] = value;
        out->elements *= (double)value;
        text = end + (*end == ',');
    }
    return out->elements < 1e18; // more is no tensor
}

// The tensor of that index, if its shape is known.
static bool tensor_dims(const an_shape *shape, int64_t index, dims *out)
{
    for (size_t i = 0; shape && i < shape->tensor_count; i++) {
        const an_tensor *t = &shape->tensors[i];
        if (t->index == index)
            return t->onnx_type == 1 && parse_dims(t->dims, out);
    }
    return false;
}

static double conv(const dims *w, const dims *y)
{
    if (w->rank < 3 || y->rank != w->rank || w->at[0] == 0)
        return NAN;
    if (y->at[1] != w->at[0] && y->at[y->rank - 1] != w->at[0])
        return NAN;
    return 2 * y->elements * (w->elements / (double)w->at[0]);
}

static double conv_transposed(const dims *x, const dims *w)
{
    if (w->rank < 3 || x->rank != w->rank || w->at[0] == 0 || x->at[1] != w->at[0])
        return NAN;
    return 2 * x->elements * (w->elements / (double)w->at[0]);
}

// B may be missing (packed away by the runtime): A and Y tell K as well.
static double matmul(const dims *a, const dims *b, const dims *y)
{
    if (a->rank == 0)
        return NAN;
    int64_t k = a->at[a->rank - 1];
    if (b && (b->rank == 0 || b->at[b->rank - (b->rank > 1 ? 2 : 1)] != k))
        return NAN;
    return 2 * y->elements * (double)k;
}

static double matmul_any_way(const dims *a, const dims *b, const dims *y)
{
    if (a->rank < 2 || y->rank < 2 || (b && b->rank < 2))
        return NAN;
    int64_t m = y->at[y->rank - 2], n = y->at[y->rank - 1], k = -1;
    for (size_t way = 0; way < (b ? 4u : 2u); way++) {
        size_t turn_a = way & 1, turn_b = way >> 1;
        int64_t a_m = a->at[a->rank - 2 + turn_a], a_k = a->at[a->rank - 1 - turn_a];
        bool fits = a_m == m;
        if (b)
            fits = fits && b->at[b->rank - 1 - turn_b] == n && b->at[b->rank - 2 + turn_b] == a_k;
        if (fits && k >= 0 && k != a_k)
            return NAN;
        if (fits)
            k = a_k;
    }
    return k < 0 ? NAN : 2 * y->elements * (double)k;
}

static int find_formula(const char *op_type)
{
    for (size_t i = 0; i < sizeof formulas / sizeof *formulas; i++)
        if (strcmp(formulas[i].op_type, op_type) == 0)
            return (int)i;
    return -1;
}

bool an_flops_has_formula(const char *op_type)
{
    return find_formula(op_type) >= 0;
}

double an_flops(const char *op_type, const an_shape *inputs, const an_shape *outputs)
{
    dims a, b, y;
    int found = find_formula(op_type);
    if (found < 0 || !tensor_dims(inputs, formulas[found].a, &a) || !tensor_dims(outputs, 0, &y))
        return NAN;
    bool has_b = formulas[found].b != PACKED && tensor_dims(inputs, formulas[found].b, &b);
    switch (formulas[found].form) {
    case CONV:
        return has_b ? conv(&b, &y) : (double)NAN;
    case CONV_TRANSPOSED:
        return has_b ? conv_transposed(&a, &b) : (double)NAN;
    case MATMUL:
        return matmul(&a, has_b ? &b : NULL, &y);
    case MATMUL_ANY_WAY:
        return matmul_any_way(&a, has_b ? &b : NULL, &y);
    }
    return NAN;
}
