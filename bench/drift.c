#include "bench/drift.h"

#include <math.h>
#include <stdio.h>

/* The largest ratio of the memcpy or scale medians among the points of points[from]'s size. */
static double ratio_of_size(const bench_point *points, const bench_result *results, size_t count,
                            size_t from)
{
    double low[2] = {INFINITY, INFINITY}, high[2] = {0, 0};
    for (size_t i = from; i < count; i++) {
        if (results[i].bytes != results[from].bytes || points[i].mode == BENCH_COLD)
            continue;
        const double floors[2] = {results[i].memcpy_ns * (double)points[i].tokens,
                                  results[i].scale_ns * (double)points[i].tokens};
        for (int f = 0; f < 2; f++)
            if (floors[f] > 0) {
                low[f] = fmin(low[f], floors[f]);
                high[f] = fmax(high[f], floors[f]);
            }
    }
    return fmax(1, fmax(high[0] / low[0], high[1] / low[1]));
}

double bench_drift(const bench_point *points, const bench_result *results, size_t count, char *text,
                   size_t size)
{
    double worst = 1;
    long long bytes = 0;
    for (size_t i = 0; i < count; i++) {
        double ratio = points[i].mode == BENCH_COLD ? 1 : ratio_of_size(points, results, count, i);
        if (ratio > worst) {
            worst = ratio;
            bytes = (long long)results[i].bytes;
        }
    }
    if (worst > BENCH_DRIFT_LIMIT)
        snprintf(text, size,
                 "drifted: a floor took %.2f times as long at one time as at another, on %lld "
                 "bytes; compare ratios, not times",
                 worst, bytes);
    else
        snprintf(text, size, "steady: the same floor stayed within a factor of %.2f", worst);
    return worst;
}
