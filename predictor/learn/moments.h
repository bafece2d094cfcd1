/* moments.h - mean, standard deviation and range of numbers that come one by one. */
#ifndef DLT_LEARN_MOMENTS_H
#define DLT_LEARN_MOMENTS_H

#include <math.h>
#include <stddef.h>

/* Zero-initialise. Sums are of what exceeds the first number, so that little is lost of a spread
 * far below the mean. */
struct dlt_moments {
    size_t count;
    double first, sum, squares, low, high;
};

/* value: finite. */
static inline void dlt_moments_add(struct dlt_moments *m, double value)
{
    if (m->count++ == 0)
        m->first = m->low = m->high = value;
    m->low = fmin(m->low, value);
    m->high = fmax(m->high, value);
    m->sum += value - m->first;
    m->squares += (value - m->first) * (value - m->first);
}

/* Of at least one number. */
static inline double dlt_moments_mean(const struct dlt_moments *m)
{
    return m->first + m->sum / (double)m->count;
}

/* 0 of none. */
static inline double dlt_moments_deviation(const struct dlt_moments *m)
{
    double n = fmax((double)m->count, 1), mean = m->sum / n;

    return sqrt(fmax(m->squares / n - mean * mean, 0));
}

#endif
