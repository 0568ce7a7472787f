/* The timed output against the oracle. */
#ifndef BENCH_CHECK_H
#define BENCH_CHECK_H

#include "bench/measure.h"

/* Compares y with the exact rotation of x for up to effort->checked_tokens of the tokens: the
 * first, the last and seeded others, all heads, all pairs; and copied elements bit for bit. x and y
 * are packed [tokens][heads][head_dim]; token t is at positions[t]. Sets verdict, reason,
 * max_error_u and bound_u. */
bool bench_check(const bench_point *point, const rope_plan_args *args, const void *x, const void *y,
                 const int64_t *positions, const bench_effort *effort, bench_result *result,
                 rope_error *error);

/* Token `index` of the `count` that are checked: first and last, and in each stretch between a
 * seeded one. */
int64_t bench_chosen_token(int64_t tokens, int64_t count, int64_t index, uint64_t *seed);

#endif
