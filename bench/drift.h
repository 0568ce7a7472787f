/* Whether the floors stayed where they were during a run: if the same copy took longer at one time
 * than at another, neighbours or the clock changed, and figures of different points cannot be
 * compared by their times (their paired ratios can). */
#ifndef BENCH_DRIFT_H
#define BENCH_DRIFT_H

#include <stddef.h>

#include "bench/measure.h"

/* Above this the run is marked. */
#define BENCH_DRIFT_LIMIT 1.25

/* The largest ratio between two medians of one floor at one size, over all sizes measured at least
 * twice; 1 when there is none. Writes a line for the record of the run. */
double bench_drift(const bench_point *points, const bench_result *results, size_t count, char *text,
                   size_t size);

#endif
