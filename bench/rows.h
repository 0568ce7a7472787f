/* The rows of bench.csv. */
#ifndef BENCH_ROWS_H
#define BENCH_ROWS_H

#include "bench/measure.h"
#include "scripts/front/rows.h"

/* The header line: docs/benchmarks.md explains each column. */
extern const char bench_columns[];

/* What a row is about; texts as in its columns, pairing "" for what does not rotate. */
typedef struct bench_row_key {
    const char *kernel, *pairing, *dtype, *spec, *mode;
    int64_t tokens, heads, head_dim;
    bool in_place;
} bench_row_key;

bench_row_key bench_point_key(const bench_point *point);

void bench_write_row(rows_writer *w, const char *run, const bench_row_key *key,
                     const bench_result *result);

#endif
