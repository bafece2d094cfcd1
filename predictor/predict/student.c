/* SPDX-License-Identifier: Apache-2.0 */
#include "predict/student.h"

#include <math.h>

/* Continued fraction of the incomplete beta function (Abramowitz and Stegun 26.5.8), evaluated by
 * Lentz's method. */
static double beta_fraction(double x, double a, double b)
{
    const double tiny = 1e-300;
    double c = 1;
    double d = 1 - (a + b) * x / (a + 1);
    double fraction;

    d = 1 / (fabs(d) < tiny ? tiny : d);
    fraction = d;
    for (int m = 1; m < 500; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        double change;

        d = 1 + even * d;
        c = 1 + even / c;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = fabs(c) < tiny ? tiny : c;
        fraction *= d * c;
        d = 1 + odd * d;
        c = 1 + odd / c;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = fabs(c) < tiny ? tiny : c;
        change = d * c;
        fraction *= change;
        if (fabs(change - 1) < 1e-15)
            break;
    }
    return fraction;
}

/* lgamma_r: plain lgamma writes a global, and estimates are made by many threads. */
static double log_gamma(double x)
{
    int sign;

    return lgamma_r(x, &sign);
}

/* Regularised incomplete beta function I_x(a, b). */
static double incomplete_beta(double x, double a, double b)
{
    double front;

    if (x <= 0)
        return 0;
    if (x >= 1)
        return 1;
    front = exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log1p(-x));
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(x, a, b) / a;
    return 1 - front * beta_fraction(1 - x, b, a) / b;
}

double dlt_student_cdf(double t, double freedom)
{
    /* P(|T| > |t|) = I_{v/(v+t^2)}(v/2, 1/2): Abramowitz and Stegun 26.7.1. */
    double tails = incomplete_beta(freedom / (freedom + t * t), freedom / 2, 0.5);

    return t > 0 ? 1 - tails / 2 : tails / 2;
}

double dlt_student_quantile(double probability, double freedom)
{
    double low = 0, high = 1;
    double upper = probability < 0.5 ? 1 - probability : probability;

    while (dlt_student_cdf(high, freedom) < upper && high < 1e12)
        high *= 2;
    for (int i = 0; i < 200 && high - low > 1e-12 * high; i++) {
        double middle = (low + high) / 2;

        if (dlt_student_cdf(middle, freedom) < upper)
            low = middle;
        else
            high = middle;
    }
    return probability < 0.5 ? -(low + high) / 2 : (low + high) / 2;
}
