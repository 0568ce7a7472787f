/* lookup: cos and sin from a table over the plan's window, made from f64 angles and rounded once to
 * f32; the rotation in f32, portable C.
 *
 * Contract: sqrt(5) + sqrt(2)/2 = 2.9432 u, at every position.
 *   Rotation. (u + iv)(c + is) with four rounded products and two rounded sums has relative error
 * below sqrt(5) u (Brent, Percival, Zimmermann, Error bounds on complex floating-point
 * multiplication, Math. Comp. 76 (2007), thm 1). Table. The angle is a + e with a = fl(p hi), e =
 * fma(p, hi, -a) + p lo: |a + e - p theta| <= 2^-98 |p theta| + 2^-53 |e|, below 2^-80 for |p
 * theta| < 2^24. cos(a + e) = cos a - e sin a - O(e^2), e <= 2^-53 2^24 / 2 = 2^-30, so e^2 / 2 <
 * 2^-60; glibc's f64 cos and sin are within 0.56 ulp (2^-53.8), so the value before rounding is off
 * by less than 2^-52, and the entry by u/2 + 2^-52 each: sqrt(2)/2 u + 2^-51.5 for the pair.
 *   Attention factor A != 1 is folded into the entries (one more f64 rounding, 2^-53 A): they reach
 * A, and a rounding costs up to ulp(A)/2 = 2^floor(log2 A) u each: the table term is 2^floor(log2
 * A) / A <= 1 times sqrt(2)/2 ... for A = 1 the entries lie below 1, where half an ulp is u/2. The
 * terms multiply; the second-order part and the f64 errors are below 2^-20 u together. */
#include "impl/rope.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct rope_plan {
    int64_t first, last, pairs, head_dim, offset;
    uint32_t pairing;
    size_t bytes;
    float table[]; /* [position - first][2][pairs]: A cos, then A sin */
};

static rope_status plan(const rope_plan_args *args, rope_plan **out)
{
    if (args->size < sizeof *args || args->flags != 0 || args->dtype != ROPE_F32)
        return ROPE_UNSUPPORTED;
    if (args->axis_count != 1)
        return ROPE_UNSUPPORTED;
    uint64_t rows = (uint64_t)args->last[0] - (uint64_t)args->first[0] + 1;
    size_t row = 2 * (size_t)args->pairs;
    if (args->last[0] < args->first[0] || args->pairs < 1)
        return ROPE_INVALID;
    if (rows == 0 || rows > (SIZE_MAX / 2 - sizeof(rope_plan)) / sizeof(float) / row)
        return ROPE_NO_MEMORY;
    size_t bytes = sizeof(rope_plan) + rows * row * sizeof(float);
    rope_plan *p = malloc(bytes);
    if (p == NULL)
        return ROPE_NO_MEMORY;
    *p = (rope_plan){args->first[0],
                     args->last[0],
                     args->pairs,
                     args->spec->head_dim,
                     args->spec->rotary_offset,
                     args->spec->pairing,
                     bytes};
    for (uint64_t t = 0; t < rows; t++) {
        double position = (double)(args->first[0] + (int64_t)t);
        float *cosines = p->table + t * row, *sines = cosines + args->pairs;
        for (int64_t i = 0; i < args->pairs; i++) {
            double a = position * args->frequency_hi[i];
            double e = fma(position, args->frequency_hi[i], -a) + position * args->frequency_lo[i];
            double c = cos(a), s = sin(a);
            cosines[i] = (float)(args->attention_factor * (c - e * s));
            sines[i] = (float)(args->attention_factor * (s + e * c));
        }
    }
    *out = p;
    return ROPE_OK;
}

static void rotate_row(const rope_plan *p, const float *cosines, const float *sines, const float *x,
                       float *y)
{
    int64_t step = p->pairing == ROPE_HALF ? 1 : 2,
            partner = p->pairing == ROPE_HALF ? p->pairs : 1;
    const float *u = x + p->offset;
    float *v = y + p->offset;
    for (int64_t i = 0; i < p->pairs; i++) {
        float x0 = u[i * step], x1 = u[i * step + partner];
        v[i * step] = x0 * cosines[i] - x1 * sines[i];
        v[i * step + partner] = x0 * sines[i] + x1 * cosines[i];
    }
    if (x == y)
        return;
    int64_t end = p->offset + 2 * p->pairs;
    memcpy(y, x, (size_t)p->offset * sizeof *y);
    memcpy(y + end, x + end, (size_t)(p->head_dim - end) * sizeof *y);
}

static rope_status apply(const rope_plan *p, const rope_view *x, const rope_view *y,
                         const int64_t *positions, int64_t position_stride)
{
    if (x->tokens != y->tokens || x->heads != y->heads)
        return ROPE_INVALID;
    for (int64_t t = 0; t < x->tokens; t++)
        if (positions[t * position_stride] < p->first || positions[t * position_stride] > p->last)
            return ROPE_RANGE;
    for (int64_t t = 0; t < x->tokens; t++) {
        const float *cosines =
            p->table + (positions[t * position_stride] - p->first) * 2 * p->pairs;
        const float *source = (const float *)x->data + t * x->token_stride;
        float *target = (float *)y->data + t * y->token_stride;
        for (int64_t h = 0; h < x->heads; h++)
            rotate_row(p, cosines, cosines + p->pairs, source + h * x->head_stride,
                       target + h * y->head_stride);
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

static double error_bound(const rope_plan_args *args, int64_t position, int64_t pair)
{
    (void)position, (void)pair;
    double table = args->attention_factor == 1 ? sqrt(0.5) : 2 * sqrt(0.5);
    return sqrt(5) + table + 0x1p-20;
}

const rope_kernel rope_lookup = {
    .header = {ROPE_ABI, sizeof(rope_kernel), ROPE_ROTATION, ROPE_IN_PLACE},
    .name = "lookup",
    .summary = "table of cos and sin from f64 angles, rotation in f32, portable C",
    .pairings = 1u << ROPE_INTERLEAVED | 1u << ROPE_HALF,
    .dtypes = 1u << ROPE_F32,
    .pipeline = {ROPE_FORMAT_DD, ROPE_FORMAT_F64, ROPE_FORMAT_F32, ROPE_ARITHMETIC_F32},
    .plan = plan,
    .apply = apply,
    .destroy = destroy,
    .plan_bytes = plan_bytes,
    .error_bound = error_bound,
};
