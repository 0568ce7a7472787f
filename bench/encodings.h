/* The encodings that RoPE is compared with, timed as rotations are: the same floors, rounds and
 * statistics, and checked afterwards. */
#ifndef BENCH_ENCODINGS_H
#define BENCH_ENCODINGS_H

#include "bench/measure.h"
#include "bench/rows.h"

/* A kernel of kind ROPE_TABLE_ADD: tokens x 1 head of width elements; ROPE_SCORE_BIAS: tokens
 * queries of heads x width keys, the queries being the last of the keys. f32, mode apply. */
typedef struct bench_encoding {
    const rope_header *kernel;
    int64_t tokens, heads, width;
    bool in_place;
    char spec[64];
} bench_encoding;

/* A list of points, all in place and out of place; *list grows (realloc). False: no memory. Table
 * kernels: dim 128, 1, 16, 512 and 4096 tokens; a learnt table has as many rows as tokens.
 * Biases: 32 heads, 512 keys, 1 and 64 queries. Rotations add nothing. */
bool bench_encodings_add(const rope_header *kernel, bench_encoding **list, size_t *count);

/* As bench_measure does. */
bool bench_encoding_measure(const bench_encoding *point, const bench_effort *effort,
                            bench_result *result, rope_error *error);

bench_row_key bench_encoding_key(const bench_encoding *point);

#endif
