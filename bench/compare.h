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
    bench_interval change; /* after / before; the interval: see bench_basis */
    double floor;          /* log of new / old of the floor's own time; NaN: not measured */
    /* What code that is the same in both changed by, log: the floor's time, less the median of all
     * floors; of a ratio, memcpy's time over the scale loop's where that is larger. NaN: no floors.
     */
    double control;
    bench_change verdict;
    bool error_unmeasured; /* max_error_u is empty in one of them: only verdicts were compared */
} bench_comparison;

/* What the verdicts rest on. A thousand figures with intervals of 95 % show fifty changes that are
 * none, and a busy machine more: intervals of one run know nothing of the next run's. Hence the
 * intervals of all figures are to hold together with 99 % (Bonferroni), and are widened by what the
 * floors, which are the same code in both files, changed by. */
typedef struct bench_basis {
    double tolerance, kernel_tolerance; /* of a figure; of a kernel's median */
    size_t figures, kernels;            /* that hold together with 1 - BENCH_MISS, each */
    double noise;                       /* standard deviation of the figures' controls */
    size_t controls;                    /* figures that have one; 0: no noise is known */
} bench_basis;
#define BENCH_MISS 0.01
#define BENCH_KERNEL_TOLERANCE 0.02

/* Compares figures of equal kernel, pairing, dtype, spec, shape, mode and place. The measure is the
 * time over the floor's (in place: the scale loop, else memcpy), which a busier machine hardly
 * moves, or the time itself (by_time, or where a file has no ratio with an interval). The interval
 * of the change is, in logarithms, the root of the sum of three squares: both intervals' half
 * widths stretched from 95 % to what all figures need (at least their sum, so that it never
 * excludes 1 where they meet); the noise, stretched likewise; and the figure's own control. *basis
 * says what that was. malloc'ed, *count set; NULL with a line. */
bench_comparison *bench_compare(const rows_table *before, const rows_table *after, double tolerance,
                                bool by_time, size_t *count, bench_basis *basis, rope_error *error);

/* The least half width of a figure's interval, in logarithms: the noise, for all figures. */
double bench_least_reach(const bench_basis *basis);

/* The median change over a kernel's figures with its interval (sign test over figures, at a level
 * that all kernels hold together; low and high are NaN where they are too few, below 8 of one
 * kernel, 11 of each of ten), widened by the median of the kernel's own controls; *figures receives
 * how many. */
bench_interval bench_compare_kernel(const bench_comparison *comparisons, size_t count,
                                    const bench_basis *basis, const char *kernel, size_t *figures);

#endif
