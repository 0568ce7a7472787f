#include "bench/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"
#include "oracle/measure.h"

typedef struct {
    const bench_point *point;
    const rope_plan_args *args;
    const oracle_cos_sin_dd *row; /* [pairs], of the token's position */
    const double *bounds;         /* [pairs] */
    oracle_dd attention_factor;
    int64_t position;
    bench_result *result;
} comparison;

static void fail(bench_result *result, const char *what, int64_t position, int64_t head,
                 int64_t place)
{
    if (result->verdict == BENCH_FAIL)
        return;
    result->verdict = BENCH_FAIL;
    snprintf(result->reason, sizeof result->reason, "%s at position %lld, head %lld, %s %lld", what,
             (long long)position, (long long)head,
             strncmp(what, "copied", 6) == 0 ? "element" : "pair", (long long)place);
}

static bool has_contract(uint32_t dtype, double bound)
{
    return bound >= 0 && bound < sqrt(2) / rope_dtype_unit_roundoff(dtype);
}

/* One row of one head; first = index of its first element in x and y. */
static void compare_row(const comparison *c, const void *x, const void *y, int64_t head,
                        int64_t first)
{
    const rope_spec *spec = &c->point->problem->spec;
    uint32_t dtype = c->point->dtype;
    bool half = spec->pairing == ROPE_HALF;
    int64_t pairs = spec->rotary_dim / 2;
    for (int64_t i = 0; i < pairs; i++) {
        int64_t u = first + spec->rotary_offset + (half ? i : 2 * i), v = u + (half ? pairs : 1);
        bool claimed = has_contract(dtype, c->bounds[i]);
        oracle_pair_error e = oracle_measure_pair(
            dtype, c->row[i], c->attention_factor, oracle_load(dtype, x, u),
            oracle_load(dtype, x, v), oracle_load(dtype, y, u), oracle_load(dtype, y, v),
            claimed ? c->bounds[i] : sqrt(2) / rope_dtype_unit_roundoff(dtype));
        if (e.has_error && !(e.normwise_u <= c->result->max_error_u))
            c->result->max_error_u = e.normwise_u;
        if (e.outcome == ORACLE_CLASS)
            fail(c->result, "not a number or infinite", c->position, head, i);
        else if (claimed && e.outcome != ORACLE_WITHIN)
            fail(c->result, "error above the contract", c->position, head, i);
    }
    size_t bytes = rope_dtype_bytes(dtype);
    for (int64_t j = 0; j < spec->head_dim; j++) {
        if (j == spec->rotary_offset)
            j += spec->rotary_dim;
        if (j >= spec->head_dim)
            break;
        size_t at = (size_t)(first + j) * bytes;
        if (memcmp((const char *)x + at, (const char *)y + at, bytes) != 0)
            fail(c->result, "copied element differs", c->position, head, j);
    }
}

int64_t bench_chosen_token(int64_t tokens, int64_t count, int64_t index, uint64_t *seed)
{
    if (count >= tokens)
        return index;
    if (index == 0 || index == count - 1)
        return index == 0 ? 0 : tokens - 1;
    *seed = *seed * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX generator */
    int64_t low = tokens * index / count, high = tokens * (index + 1) / count;
    return low + (int64_t)((*seed >> 33) % (uint64_t)(high - low));
}

bool bench_check(const bench_point *point, const rope_plan_args *args, const void *x, const void *y,
                 const int64_t *positions, const bench_effort *effort, bench_result *result,
                 rope_error *error)
{
    const bench_problem *problem = point->problem;
    int64_t pairs = problem->spec.rotary_dim / 2, axes = problem->frequencies.axis_count;
    oracle_cos_sin_dd *row = malloc((size_t)pairs * sizeof *row);
    double *bounds = malloc((size_t)pairs * sizeof *bounds);
    if (row == NULL || bounds == NULL) {
        free(row);
        free(bounds);
        return rope_fail(error, "out of memory");
    }
    comparison c = {.point = point,
                    .args = args,
                    .row = row,
                    .bounds = bounds,
                    .attention_factor = oracle_attention_factor_dd(problem->oracle),
                    .result = result};
    result->verdict = BENCH_PASS;
    result->max_error_u = result->bound_u = 0;
    int64_t count = point->tokens < effort->checked_tokens ? point->tokens : effort->checked_tokens;
    uint64_t seed = effort->seed;
    for (int64_t n = 0; n < count; n++) {
        int64_t t = bench_chosen_token(point->tokens, count, n, &seed);
        c.position = positions[t * axes];
        oracle_row(problem->oracle, positions + t * axes, row);
        for (int64_t i = 0; i < pairs; i++) {
            bounds[i] = point->kernel->error_bound(args, c.position, i);
            if (has_contract(point->dtype, bounds[i]))
                result->bound_u = fmax(result->bound_u, bounds[i]);
            else if (result->verdict == BENCH_PASS) {
                result->verdict = BENCH_NO_CONTRACT;
                snprintf(result->reason, sizeof result->reason,
                         "the kernel claims no bound at position %lld, pair %lld",
                         (long long)c.position, (long long)i);
            }
        }
        for (int64_t h = 0; h < point->heads; h++)
            compare_row(&c, x, y, h, (t * point->heads + h) * problem->spec.head_dim);
    }
    if (result->verdict == BENCH_NO_CONTRACT)
        result->bound_u = NAN;
    free(row);
    free(bounds);
    return true;
}
