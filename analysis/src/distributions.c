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
    for (int i = 0; i < HALVINGS; i++) {
        double middle = (low + high) / 2;
        if (!(middle > low && middle < high))
            break;
        if (normal_below(middle) < p)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}

static double away_from_zero(double x)
{
    return fabs(x) < 1e-300 ? 1e-300 : x;
}

// The continued fraction of the incomplete beta function, from its begin until another term changes
// nothing (Lentz). Where x < (a + 1) / (a + b + 2) the square root of a or b terms are enough.
static double beta_fraction(double x, double a, double b)
{
    int most = 100 + (int)(6 * sqrt(a > b ? a : b));
    double above = 1, below = 1 / away_from_zero(1 - (a + b) * x / (a + 1)), value = below;
    for (int m = 1; m <= most; m++) {
        double k = m, last = value;
        const double steps[2] = {
            k * (b - k) * x / ((a + 2 * k - 1) * (a + 2 * k)),
            -(a + k) * (a + b + k) * x / ((a + 2 * k) * (a + 2 * k + 1)),
        };
        for (int i = 0; i < 2; i++) {
            below = 1 / away_from_zero(1 + steps[i] * below);
            above = away_from_zero(1 + steps[i] / above);
            value *= above * below;
        }
        if (fabs(value - last) <= 1e-16 * fabs(value))
            break;
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
    return exp(logarithm) * beta_fraction(x, a, b) / a;
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
    for (int i = 0; i < HALVINGS; i++) {
        double middle = (low + high) / 2;
        if (!(middle > low && middle < high))
            break;
        if (t_below(middle, freedom) < p)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}
