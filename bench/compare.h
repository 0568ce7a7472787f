/* Two files of bench.csv against each other: which figures became slower, which kernels less
 * exact. */
#ifndef BENCH_COMPARE_H
#define BENCH_COMPARE_H

#include "bench/statistics.h"
#include "scripts/front/rows.h"

typedef enum bench_change {
    BENCH_SAME = 0,       /* the interval of new / old reaches into the tolerance */
    BENCH_SLOWER = 1,     /* all of it is above 1 + tolerance: a regression */
    BENCH_FASTER = 2,     /* all of it is below 1 / (1 + tolerance) */
    BENCH_LESS_EXACT = 3, /* fails where it did not, or its error grew by more than a tenth: a
                             regression, whatever the time */
    BENCH_ONLY_OLD = 4,   /* not measured in the new file */
    BENCH_ONLY_NEW = 5,
    BENCH_NO_TIME = 6, /* skipped in one of them, or without intervals */
} bench_change;

/* "same", "slower", "faster", "less exact", "only old", "only new", "no time". */
const char *bench_change_name(bench_change change);

typedef struct bench_comparison {
    const rows_table *table; /* of the row that names the figure: the new one, else the old one */
    size_t row;
    const char *measure; /* "ratio_scale", "ratio_memcpy" or "ns_per_element" */
    bench_interval before, after;
    bench_interval change; /* after / before */
    bench_change verdict;
    bool error_unmeasured; /* max_error_u is empty in one of them: only verdicts were compared */
} bench_comparison;

/* Compares figures of equal kernel, pairing, dtype, spec, shape, mode and place. The measure is the
 * time over the floor's (in place: the scale loop, else memcpy), which a busier machine hardly
 * moves, or the time itself (by_time, or where a file has no ratio with an interval). The interval
 * of the change is at least 90 %, from two of 95 %. malloc'ed, *count set; NULL with a line. */
bench_comparison *bench_compare(const rows_table *before, const rows_table *after, double tolerance,
                                bool by_time, size_t *count, rope_error *error);

/* The median change over a kernel's figures with its interval (sign test over figures, so low and
 * high are NaN below 6 of them); *figures receives how many. */
bench_interval bench_compare_kernel(const bench_comparison *comparisons, size_t count,
                                    const char *kernel, size_t *figures);

#endif
