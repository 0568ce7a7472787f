/* The rows of bench.csv. */
#ifndef BENCH_ROWS_H
#define BENCH_ROWS_H

#include "bench/measure.h"
#include "scripts/front/rows.h"

/* The header line: docs/benchmarks.md explains each column. */
extern const char bench_columns[];

void bench_write_row(rows_writer *w, const char *run, const bench_point *point,
                     const bench_result *result);

#endif
