// SPDX-License-Identifier: MIT
// What ORT's optimiser has made of operators, by their types and domains alone.
// - fused: several operators of the model in one kernel: types of ORT's own such as FusedConv,
//   BiasGelu, Attention, and whole subgraphs that a provider compiled.
// - blocked: kernels on ORT's blocked layout (domain com.microsoft.nchwc). They may have an
//   activation or a sum inside; which is not recorded.
// - reorder: conversions between the layouts. copy: between memories of providers.
// - plain: all others.
#pragma once

#include "analysis/ops.h"

typedef enum an_op_kind {
    AN_KIND_PLAIN,
    AN_KIND_FUSED,
    AN_KIND_BLOCKED,
    AN_KIND_REORDER,
    AN_KIND_COPY_TO_HOST,
    AN_KIND_COPY_FROM_HOST,
    AN_KIND_COUNT
} an_op_kind;

an_op_kind an_op_kind_of(const char *op_type, const char *domain);
const char *an_op_kind_name(an_op_kind kind); // "plain", "fused", ...

typedef struct an_kind_sums {
    uint64_t nodes, calls, self_ns;
} an_kind_sums;

typedef struct an_fusion {
    an_kind_sums kinds[AN_KIND_COUNT];
    an_kind_sums all;
} an_fusion;

// Of a table by node or type, all rows of it.
an_fusion an_fusion_of(const an_op_table *table);
double an_fusion_share(const an_fusion *f, an_op_kind kind); // of the self time; NAN: there is none

// ORT has a fusion for an operator of the first type whose result goes into one of the second.
bool an_can_fuse(const char *first, const char *second);
