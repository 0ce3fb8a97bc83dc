// SPDX-License-Identifier: MIT
// How many floating-point operations an operator needs by definition, from the shapes of its inputs
// and outputs. A multiplication with its addition counts as two. Not counted: bias, activation,
// scaling, and whatever the kernel saves (Winograd) or wastes (padding) inside. Integer operators
// (QLinearConv, MatMulInteger) are counted by the same formulas.
#pragma once

#include "analysis/shapes.h"

// NAN where there is no formula for the operator or the shapes are not all there or do not fit
// together: nothing is guessed. Shapes may be NULL.
double an_flops(const char *op_type, const an_shape *inputs, const an_shape *outputs);

// There is a formula for operators of this type.
bool an_flops_has_formula(const char *op_type);
