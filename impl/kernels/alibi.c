/* alibi: adds -slope_h |i - j| to the attention scores (Press, Smith, Lewis, Train Short, Test
 * Long, arXiv 2108.12409).
 *
 * Slopes (section 3 of the paper, and its released code for other head counts): for n = 2^k heads,
 * 2^(-8h/n), h = 1..n; else those of p, the largest power of two below n, and then every other one
 * of 2p, from the first: 2^(-4(2j+1)/p), j = 0..n-p-1.
 *
 * Contract: 1 + 2^-20 times u (|x| + |p|). The slope in f64 is within 2^-51 relative (one rounded
 * quotient, scaled exactly by 8, in exp2, whose argument lies in [-8, 0]: 2^-53 8 ln 2 + 2^-52),
 * the distance is exact below 2^53, product and sum are rounded in f64 (2^-53 each), and the result
 * once to f32. Scores 0 therefore give the correctly rounded bias but for ties that 2^-50 can move;
 * for n <= 8 heads of a power of two the slopes are powers of two and nothing but the last rounding
 * rounds. */
#include "impl/rope.h"

#include <math.h>
#include <stdlib.h>

struct rope_plan {
    int64_t heads;
    size_t bytes;
    double slopes[]; /* [heads] */
};

static rope_status plan(const rope_bias_args *args, rope_plan **out)
{
    if (args->size < sizeof *args || args->flags != 0 || args->dtype != ROPE_F32)
        return ROPE_UNSUPPORTED;
    if (args->heads < 1)
        return ROPE_INVALID;
    if ((uint64_t)args->heads > (SIZE_MAX - sizeof(rope_plan)) / sizeof(double))
        return ROPE_NO_MEMORY;
    size_t bytes = sizeof(rope_plan) + (size_t)args->heads * sizeof(double);
    rope_plan *p = malloc(bytes);
    if (p == NULL)
        return ROPE_NO_MEMORY;
    *p = (rope_plan){args->heads, bytes};
    int64_t power = 1;
    while (power <= args->heads / 2)
        power *= 2;
    for (int64_t h = 0; h < args->heads; h++)
        p->slopes[h] = h < power ? exp2(-8 * ((double)(h + 1) / (double)power))
                                 : exp2(-4 * ((double)(2 * (h - power) + 1) / (double)power));
    *out = p;
    return ROPE_OK;
}

/* |a - b| without overflow. */
static uint64_t distance(int64_t a, int64_t b)
{
    return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}

static rope_status apply(const rope_plan *p, const rope_scores *x, const rope_scores *y,
                         const int64_t *query_positions, const int64_t *key_positions)
{
    if (x->heads != p->heads || y->heads != p->heads || x->queries != y->queries ||
        x->keys != y->keys)
        return ROPE_INVALID;
    for (int64_t i = 0; i < x->queries; i++)
        for (int64_t j = 0; j < x->keys; j++)
            if (distance(query_positions[i], key_positions[j]) >= UINT64_C(1) << 53)
                return ROPE_RANGE;
    for (int64_t h = 0; h < x->heads; h++)
        for (int64_t i = 0; i < x->queries; i++) {
            const float *source = (const float *)x->data + h * x->head_stride + i * x->query_stride;
            float *target = (float *)y->data + h * y->head_stride + i * y->query_stride;
            for (int64_t j = 0; j < x->keys; j++) {
                double steps = (double)(int64_t)distance(query_positions[i], key_positions[j]);
                target[j] = (float)((double)source[j] - p->slopes[h] * steps);
            }
        }
    return ROPE_OK;
}

static void destroy(rope_plan *p)
{
    free(p);
}

static size_t plan_bytes(const rope_plan *p)
{
    return p->bytes;
}

static double error_bound(const rope_bias_args *args, int64_t head, int64_t distance_positions)
{
    (void)args, (void)head, (void)distance_positions;
    return 1 + 0x1p-20;
}

const rope_bias_kernel rope_alibi = {
    .header = {ROPE_ABI, sizeof(rope_bias_kernel), ROPE_SCORE_BIAS, ROPE_IN_PLACE},
    .name = "alibi",
    .summary = "adds -slope times distance to the scores, in f64 with one rounding",
    .dtypes = 1u << ROPE_F32,
    .plan = plan,
    .apply = apply,
    .destroy = destroy,
    .plan_bytes = plan_bytes,
    .error_bound = error_bound,
};
