#include "bench/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double *sorted(const double *values, int n)
{
    for (int i = 0; i < n; i++)
        if (isnan(values[i]))
            return NULL;
    double *copy = n > 0 ? malloc((size_t)n * sizeof *copy) : NULL;
    if (copy == NULL)
        return NULL;
    memcpy(copy, values, (size_t)n * sizeof *copy);
    qsort(copy, (size_t)n, sizeof *copy, by_value);
    return copy;
}

/* The interval misses the median when at most k - 1 of n independent values fall on one side of it:
 * 2 P(B <= k - 1) for B binomial (n, 1/2). (The sign test; Conover, Practical Nonparametric
 * Statistics, section 3.2.) */
int bench_sign_rank(int n, double miss)
{
    double term = pow(0.5, n), sum = 0; /* P(B = k), exact down to n = 1074 */
    int rank = 0;
    for (int k = 0; k < n / 2; k++) {
        sum += term;
        if (!(2 * sum <= miss))
            break;
        rank = k + 1;
        term *= (double)(n - k) / (k + 1);
    }
    return rank;
}

bench_interval bench_median(const double *values, int n)
{
    return bench_median_within(values, n, 0.05);
}

bench_interval bench_median_within(const double *values, int n, double miss)
{
    bench_interval none = {NAN, NAN, NAN};
    double *x = sorted(values, n);
    if (x == NULL)
        return none;
    bench_interval result = {(x[(n - 1) / 2] + x[n / 2]) / 2, NAN, NAN};
    int rank = bench_sign_rank(n, miss);
    if (rank > 0) {
        result.low = x[rank - 1];
        result.high = x[n - rank];
    }
    free(x);
    return result;
}

bench_interval bench_paired_ratio(const double *a, const double *b, int n)
{
    bench_interval none = {NAN, NAN, NAN};
    double *ratios = n > 0 ? malloc((size_t)n * sizeof *ratios) : NULL;
    if (ratios == NULL)
        return none;
    for (int i = 0; i < n; i++)
        ratios[i] = a[i] / b[i];
    bench_interval result = bench_median(ratios, n);
    free(ratios);
    return result;
}

bench_interval bench_unpaired_ratio(bench_interval a, bench_interval b)
{
    return (bench_interval){a.median / b.median, a.low / b.high, a.high / b.low};
}

double bench_normal_reach(double miss)
{
    double low = 0, high = 40; /* erfc(40 / sqrt(2)) is below the smallest f64 */
    for (int i = 0; i < 80; i++) {
        double middle = (low + high) / 2;
        if (erfc(middle / sqrt(2)) > miss)
            low = middle;
        else
            high = middle;
    }
    return high;
}

double bench_deviation(const double *values, int n)
{
    double *size = n > 0 ? malloc((size_t)n * sizeof *size) : NULL;
    if (size == NULL)
        return 0;
    for (int i = 0; i < n; i++)
        size[i] = fabs(values[i]);
    qsort(size, (size_t)n, sizeof *size, by_value);
    /* Of a normal distribution half lies within 0.6745, 95 % within 1.96 deviations. */
    double middle = (size[(n - 1) / 2] + size[n / 2]) / 2 / 0.6745;
    double tail = size[(95 * n + 99) / 100 - 1] / 1.96;
    free(size);
    return fmax(middle, tail);
}

double bench_spread(const double *values, int n)
{
    double *x = sorted(values, n);
    if (x == NULL)
        return NAN;
    double spread = (x[(3 * (n - 1) + 2) / 4] - x[(n - 1) / 4]) / ((x[(n - 1) / 2] + x[n / 2]) / 2);
    free(x);
    return spread;
}
