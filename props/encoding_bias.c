/* Properties of kernels that add a bias to attention scores (ALiBi).
 *
 * Contract: |y - (x - m d)| <= b u (|x| + m d), m the exact slope of the head, d = |i - j|. With x
 * = 0 the bias itself is seen, within b u m d. Hence linear     |bias(a + b) - bias(a) - bias(b)|
 * <= b u m (a + b) + b u m a + b u m b = 2 b u m (a + b); where the slope is a power of two and a +
 * b < 2^24 every bias is representable, and the error must be 0; symmetric  bit for bit: |i - j| =
 * |j - i|; zero row   d = 0: y = x bit for bit (but for the sign of a zero). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "oracle/encoding.h"
#include "props/arena.h"
#include "props/encoding_internal.h"
#include "props/isolate.h"

enum { QUERIES = 3, KEYS = 9, MAX_HEADS = 128, CELLS = QUERIES * KEYS };

typedef struct {
    prop_encoding_run *run;
    const rope_bias_kernel *kernel;
    rope_bias_args args;
    rope_plan *plan;
    prop_arena *x, *y;
    char spec[64];
} bench;

static prop_encoding_result begin(const bench *b, const char *property)
{
    prop_encoding_result r = {.property = property};
    memcpy(r.spec, b->spec, sizeof r.spec);
    return r;
}

/* Packed scores [heads][QUERIES][KEYS]: rows of KEYS with a gap, in the arena's [tokens][heads] =
 * [heads][queries]. */
static bool apply(bench *b, prop_encoding_result *r, const float *x, float *y,
                  const int64_t *queries, const int64_t *keys, bool in_place)
{
    prop_shape shape = {.tokens = b->args.heads,
                        .heads = QUERIES,
                        .head_dim = KEYS,
                        .token_gap = 5,
                        .head_gap = 2,
                        .place = PROP_PLACE_END};
    rope_view vx, vy;
    rope_error error;
    if (!prop_arena_place(b->x, ROPE_F32, &shape, &vx, &error) ||
        !prop_arena_place(b->y, ROPE_F32, &shape, &vy, &error)) {
        prop_encoding_require(r, false, 0, "%s", error.text);
        return false;
    }
    prop_arena_load(in_place ? b->y : b->x, x);
    rope_scores sx = {vx.data, b->args.heads, QUERIES, KEYS, vx.token_stride, vx.head_stride};
    rope_scores sy = {vy.data, b->args.heads, QUERIES, KEYS, vy.token_stride, vy.head_stride};
    rope_status status = b->kernel->apply(b->plan, in_place ? &sy : &sx, &sy, queries, keys);
    prop_beat(); /* the time limit is one call's, not the sweep's */
    prop_encoding_require(r, status == ROPE_OK, queries[0], "apply gives status %d, expected 0",
                          (int)status);
    prop_arena_store(b->y, y);
    int64_t offset = 0;
    if (!in_place)
        prop_encoding_require(r, prop_arena_holds(b->x, x), queries[0],
                              "the scores read were changed");
    prop_encoding_require(r, prop_arena_clean(b->y, &offset), queries[0],
                          "element %lld outside the rows was written", (long long)offset);
    return status == ROPE_OK;
}

static double distance(int64_t a, int64_t b)
{
    return (double)(a > b ? a - b : b - a);
}

static void contract(bench *b)
{
    static const int64_t queries[QUERIES] = {0, 4096, -7};
    static const int64_t keys[KEYS] = {0, 1, 5, 255, 4095, 16777217, -1, 131071, INT64_C(1) << 40};
    prop_encoding_result r = begin(b, "sum-contract");
    for (int round = 0; round < 2; round++) {
        float x[MAX_HEADS * CELLS] = {0}, y[MAX_HEADS * CELLS];
        for (int64_t i = 0; round > 0 && i < b->args.heads * CELLS; i++)
            x[i] = prop_encoding_value(b->run);
        if (!apply(b, &r, x, y, queries, keys,
                   round > 0 && (b->kernel->header.flags & ROPE_IN_PLACE)))
            break;
        r.positions += CELLS;
        for (int64_t h = 0; h < b->args.heads; h++) {
            oracle_dd slope = oracle_alibi_slope(b->args.heads, h);
            for (int64_t c = 0; c < CELLS; c++) {
                double d = distance(queries[c / KEYS], keys[c % KEYS]),
                       xi = (double)x[h * CELLS + c];
                double hi = slope.hi * d;
                oracle_dd p = {-hi, -(fma(slope.hi, d, -hi) + slope.lo * d)};
                prop_encoding_note(
                    &r, oracle_sum_error_u(ROPE_F32, xi, p, hi, (double)y[h * CELLS + c]),
                    b->kernel->error_bound(&b->args, h, (int64_t)d), (int64_t)d, h, xi);
            }
        }
    }
    prop_encoding_end(b->run, &r);
}

static bool power_of_two(oracle_dd x)
{
    int exponent;
    return x.lo == 0 && frexp(x.hi, &exponent) == 0.5;
}

static void linear(bench *b)
{
    /* Keys at a, b and a + b from query 0, three times. */
    static const int64_t queries[QUERIES] = {0, 0, 0};
    static const int64_t keys[KEYS] = {1, 2, 3, 1000, 24, 1024, 65537, 1000003, 1065540};
    prop_encoding_result r = begin(b, "sum-linear");
    float x[MAX_HEADS * CELLS] = {0}, y[MAX_HEADS * CELLS];
    if (apply(b, &r, x, y, queries, keys, false)) {
        r.positions = KEYS;
        for (int64_t h = 0; h < b->args.heads; h++) {
            oracle_dd slope = oracle_alibi_slope(b->args.heads, h);
            for (int k = 0; k < KEYS; k += 3) {
                const float *bias = y + h * CELLS + k;
                double error = fabs((double)bias[2] - (double)bias[0] - (double)bias[1]);
                double scale = 0x1p-24 * slope.hi * (double)keys[k + 2];
                double bound =
                    power_of_two(slope) ? 0 : 2 * b->kernel->error_bound(&b->args, h, keys[k + 2]);
                prop_encoding_note(&r, error / scale, bound, keys[k + 2], h, 0);
            }
        }
    }
    prop_encoding_end(b->run, &r);
}

static void symmetric(bench *b)
{
    static const int64_t forward[2][KEYS] = {{3, 999, 70000},
                                             {0, 0, 0, 7, 7, 7, 12345, 12345, 12345}};
    prop_encoding_result r = begin(b, "sum-symmetric");
    float x[MAX_HEADS * CELLS] = {0}, y[MAX_HEADS * CELLS], z[MAX_HEADS * CELLS];
    int64_t mirrored_queries[QUERIES], mirrored_keys[KEYS];
    for (int i = 0; i < QUERIES; i++)
        mirrored_queries[i] = -forward[0][i];
    for (int i = 0; i < KEYS; i++)
        mirrored_keys[i] = -forward[1][i];
    if (apply(b, &r, x, y, forward[0], forward[1], false) &&
        apply(b, &r, x, z, mirrored_queries, mirrored_keys, false)) {
        r.positions = CELLS;
        for (int64_t i = 0; i < b->args.heads * CELLS; i++)
            prop_encoding_require(&r, y[i] == z[i], forward[1][i % KEYS],
                                  "head %lld: bias %a one way, %a the other",
                                  (long long)(i / CELLS), (double)y[i], (double)z[i]);
    }
    prop_encoding_end(b->run, &r);
}

static void zero_row(bench *b)
{
    static const int64_t same[KEYS] = {5, 5, 5, 5, 5, 5, 5, 5, 5};
    prop_encoding_result r = begin(b, "sum-zero-row");
    float x[MAX_HEADS * CELLS], y[MAX_HEADS * CELLS];
    for (int64_t i = 0; i < b->args.heads * CELLS; i++)
        x[i] = prop_encoding_value(b->run);
    if (apply(b, &r, x, y, same, same, false)) {
        r.positions = 1;
        for (int64_t i = 0; i < b->args.heads * CELLS; i++)
            prop_encoding_require(&r, x[i] == y[i], 5, "distance 0 turned %a into %a", (double)x[i],
                                  (double)y[i]);
    }
    prop_encoding_end(b->run, &r);
}

void prop_encoding_check_bias(prop_encoding_run *run)
{
    bench b = {.run = run, .kernel = (const rope_bias_kernel *)run->kernel};
    b.x = prop_arena_new("x", 0, true);
    b.y = prop_arena_new("y", 1, false);
    for (int64_t heads = 1; b.x != NULL && b.y != NULL && heads <= MAX_HEADS; heads++) {
        /* Quick: every count to 16, and the ones that models have. */
        if (run->level == 0 && heads > 16 && heads != 20 && heads != 32 && heads != 40 &&
            heads != 64 && heads != 112)
            continue;
        b.args = (rope_bias_args){.size = sizeof b.args, .dtype = ROPE_F32, .heads = heads};
        snprintf(b.spec, sizeof b.spec, "heads=%lld", (long long)heads);
        rope_status status = b.kernel->plan(&b.args, &b.plan);
        if (status != ROPE_OK) {
            prop_encoding_result r = begin(&b, "sum-contract");
            prop_encoding_require(&r, false, 0, "plan gives status %d, expected 0", (int)status);
            prop_encoding_end(run, &r);
            continue;
        }
        contract(&b);
        linear(&b);
        symmetric(&b);
        zero_row(&b);
        b.kernel->destroy(b.plan);
    }
    prop_arena_free(b.x);
    prop_arena_free(b.y);
}
