// SPDX-License-Identifier: MIT
// See analysis/fusion.h. The tables name types as ONNX Runtime 1.15 to 1.30 register them.
#include "analysis/fusion.h"

#include "analysis_util.h"

#include <math.h>
#include <string.h>

// Of com.microsoft: what the optimiser makes of several operators.
static const char *const fused_types[] = {
    "Attention",
    "BiasAdd",
    "BiasDropout",
    "BiasGelu",
    "BiasSoftmax",
    "BiasSplitGelu",
    "DecoderMaskedMultiHeadAttention",
    "DynamicQuantizeLSTM",
    "DynamicQuantizeMatMul",
    "EmbedLayerNormalization",
    "FastGelu",
    "Gelu",
    "GemmFastGelu",
    "GroupNorm",
    "GroupQueryAttention",
    "MatMulIntegerToFloat",
    "MultiHeadAttention",
    "NhwcFusedConv",
    "PackedAttention",
    "PackedMultiHeadAttention",
    "QAttention",
    "QuickGelu",
    "SkipGroupNorm",
    "SkipLayerNormalization",
    "SkipSimplifiedLayerNormalization",
};

static bool begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static bool is_fused(const char *op_type, const char *domain)
{
    if (begins_with(op_type, "Fused") || begins_with(op_type, "DmlFusedNode") ||
        begins_with(op_type, "TRTKernel_") || strstr(op_type, "ExecutionProvider_"))
        return true;
    for (size_t i = 0; i < sizeof fused_types / sizeof *fused_types; i++)
        if (strcmp(op_type, fused_types[i]) == 0)
            return strcmp(domain, "com.microsoft") == 0;
    return false;
}

an_op_kind an_op_kind_of(const char *op_type, const char *domain)
{
    if (strcmp(op_type, "MemcpyToHost") == 0)
        return AN_KIND_COPY_TO_HOST;
    if (strcmp(op_type, "MemcpyFromHost") == 0)
        return AN_KIND_COPY_FROM_HOST;
    if (strcmp(op_type, "ReorderInput") == 0 || strcmp(op_type, "ReorderOutput") == 0)
        return AN_KIND_REORDER;
    if (strcmp(domain, "com.microsoft.nchwc") == 0)
        return AN_KIND_BLOCKED;
    return is_fused(op_type, domain) ? AN_KIND_FUSED : AN_KIND_PLAIN;
}

const char *an_op_kind_name(an_op_kind kind)
{
    static const char *const names[] = {"plain",   "fused",        "blocked",
                                        "reorder", "copy_to_host", "copy_from_host"};
    return names[kind];
}

static void add(an_kind_sums *into, const an_op_row *row)
{
    into->nodes += row->nodes;
    into->calls += row->sums.calls;
    into->self_ns = an_add_saturating(into->self_ns, row->sums.self_ns);
}

an_fusion an_fusion_of(const an_op_table *table)
{
    an_fusion f = {0};
    for (size_t i = 0; i < table->row_count; i++) {
        const an_op_row *row = &table->rows[i];
        add(&f.kinds[an_op_kind_of(row->op_type, row->domain)], row);
        add(&f.all, row);
    }
    return f;
}

double an_fusion_share(const an_fusion *f, an_op_kind kind)
{
    return f->all.self_ns ? (double)f->kinds[kind].self_ns / (double)f->all.self_ns : (double)NAN;
}

// ----------------------------------------------------------------------------------- what fits

// Seconds are separated by spaces.
static const struct {
    const char *first, *seconds;
} fusions[] = {
    {"Conv", " Relu LeakyRelu Sigmoid Tanh HardSigmoid Clip Add Mul BatchNormalization "},
    {"FusedConv", " Relu Add "},
    {"Gemm", " Relu LeakyRelu Sigmoid Tanh HardSigmoid Elu Softplus Add "},
    {"MatMul", " Add Mul Div BatchNormalization "},
    {"Transpose", " MatMul Gemm Transpose "},
    {"Pad", " Conv MaxPool AveragePool "},
    {"Add", " Relu Gelu LayerNormalization SimplifiedLayerNormalization Softmax "},
    {"Relu", " Clip "},
};

bool an_can_fuse(const char *first, const char *second)
{
    size_t len = strlen(second);
    for (size_t i = 0; i < sizeof fusions / sizeof *fusions; i++) {
        if (strcmp(first, fusions[i].first) != 0)
            continue;
        for (const char *at = fusions[i].seconds; len && (at = strstr(at, second)); at++)
            if (at > fusions[i].seconds && at[-1] == ' ' && at[len] == ' ')
                return true;
    }
    return false;
}
