// SPDX-License-Identifier: MIT
// See distributions.h.
#include "distributions.h"

#include <math.h>

// By halving: the distribution functions are cheap and this has no corner cases.
#define HALVINGS 200

static double normal_below(double x)
{
    return 0.5 * erfc(-x / 1.4142135623730951);
}

double an_normal_quantile(double p)
{
    double low = -40, high = 40;
    for (int i = 0; i < HALVINGS && low < high; i++) {
        double middle = (low + high) / 2;
        if (normal_below(middle) < p)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}

// The continued fraction of the incomplete beta function, from its end to its begin: with so many
// terms it is exact in double where x < (a + 1) / (a + b + 2).
static double beta_fraction(double x, double a, double b)
{
    int terms = 100 + (int)(6 * sqrt(a > b ? a : b));
    double value = 1;
    for (int m = terms; m >= 1; m--) {
        double k = m;
        double even = k * (b - k) * x / ((a + 2 * k - 1) * (a + 2 * k));
        double odd = -(a + k - 1) * (a + b + k - 1) * x / ((a + 2 * k - 2) * (a + 2 * k - 1));
        value = 1 + odd / (1 + even / value);
    }
    return value;
}

double an_beta_below(double x, double a, double b)
{
    if (x <= 0 || x >= 1)
        return x <= 0 ? 0 : 1;
    if (x > (a + 1) / (a + b + 2))
        return 1 - an_beta_below(1 - x, b, a);
    double logarithm = a * log(x) + b * log1p(-x) + lgamma(a + b) - lgamma(a) - lgamma(b);
    return exp(logarithm) / (a * beta_fraction(x, a, b));
}

static double t_below(double t, double freedom)
{
    double tail = 0.5 * an_beta_below(freedom / (freedom + t * t), freedom / 2, 0.5);
    return t > 0 ? 1 - tail : tail;
}

double an_t_quantile(double p, double freedom)
{
    double low = -1e4, high = 1e4;
    if (freedom > 1e6)
        return an_normal_quantile(p);
    for (int i = 0; i < HALVINGS && low < high; i++) {
        double middle = (low + high) / 2;
        if (t_below(middle, freedom) < p)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}
