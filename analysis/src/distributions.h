// SPDX-License-Identifier: MIT
// The few distributions that intervals need. Plain C, the same numbers everywhere to about 1e-9.
#pragma once

// The value below which a share `p` of the standard normal distribution lies, 0 < p < 1.
double an_normal_quantile(double p);

// The same of Student's t with `freedom` degrees (any real number of at least 1).
double an_t_quantile(double p, double freedom);

// The regularized incomplete beta function: the share of Beta(a, b) below x; a, b > 0.
double an_beta_below(double x, double a, double b);
