/* Medians and their confidence intervals, without assumptions about the distribution of times. */
#ifndef BENCH_STATISTICS_H
#define BENCH_STATISTICS_H

#include <stdbool.h>

/* A median with its confidence interval; low and high are NaN where there are too few samples. */
typedef struct bench_interval {
    double median, low, high;
} bench_interval;

/* The rank k >= 1 such that [x_(k), x_(n+1-k)], order statistics counted from 1, covers the median
 * with a probability of at least 1 - miss; 0 where no such interval exists (of 95 %: n < 6). */
int bench_sign_rank(int n, double miss);

/* Median and interval of 95 %, or 1 - miss (sign test), of n values. Any NaN makes all three NaN.
 */
bench_interval bench_median(const double *values, int n);
bench_interval bench_median_within(const double *values, int n, double miss);

/* The same of the n ratios a[i] / b[i], which were measured in pairs. */
bench_interval bench_paired_ratio(const double *a, const double *b, int n);

/* An interval for the ratio of two medians that were not measured in pairs: at least 90 %, by
 * Bonferroni, from two intervals of 95 %. */
bench_interval bench_unpaired_ratio(bench_interval a, bench_interval b);

/* z with P(|Z| <= z) = 1 - miss, Z standard normal; 0 < miss < 1. */
double bench_normal_reach(double miss);

/* A standard deviation about 0 of n values that are mostly near it: from their median magnitude, or
 * from the 95th percentile of their magnitudes where tails are heavier than normal. 0 when n = 0.
 */
double bench_deviation(const double *values, int n);

/* (third quartile - first quartile) / median: the noise of a series. */
double bench_spread(const double *values, int n);

#endif
