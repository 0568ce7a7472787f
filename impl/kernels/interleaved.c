/* interleaved: adjacent pairs as complex numbers, times cos + i sin of an angle in f64, rounded to
 * f32 (Meta's freqs_cis with a better angle). No table: cos and sin are computed once a token and
 * shared by its heads, so any int64 position is taken.
 *
 * Contract: sqrt(5) + sqrt(2)/2 u where the attention factor A is a power of two, sqrt(5) + 1 u
 * otherwise, plus 2^-52 |angle| (0.0625 u at an angle of 2^24).
 *
 * Rotation. The complex product of four rounded products and two rounded sums: sqrt(5) u (Brent,
 * Percival, Zimmermann, Math. Comp. 76 (2007), theorem 1).
 *
 * Angle. fl(p hi): the rounding costs 2^-53 |angle|, the low part of the frequency that is dropped
 * as much. Past 2^53 the position itself is rounded: as much again.
 *
 * cos and sin. glibc's in f64 are within 0.55 ulp (its s_sin.c) and rounded once to f32: u/2 each,
 * sqrt(2)/2 u.
 *
 * A is multiplied in before: A c may lie above a power of two, where half an ulp is up to u |A c|,
 * normwise u A.
 *
 * Terms of second order stay below 2^-20 u. */
#include "impl/rope.h"

#include <math.h>
#include <stdlib.h>

enum { BLOCK = 256 }; /* pairs whose cos and sin are kept for all heads of a token */

struct rope_plan {
    rope_geometry geometry;
    size_t bytes;
    double factor;      /* A */
    uint8_t *axis;      /* [pairs] */
    double frequency[]; /* [pairs] radians a position */
};

static rope_status plan(const rope_plan_args *args, rope_plan **out)
{
    rope_geometry geometry;
    rope_status status =
        rope_geometry_from(args, 1u << ROPE_INTERLEAVED, 1u << ROPE_F32, &geometry);
    if (status != ROPE_OK)
        return status;
    size_t pairs = (size_t)args->pairs, bytes = sizeof(rope_plan) + pairs * (sizeof(double) + 1);
    rope_plan *p = malloc(bytes);
    if (p == NULL)
        return ROPE_NO_MEMORY;
    p->geometry = geometry;
    p->bytes = bytes;
    p->factor = args->attention_factor;
    p->axis = (uint8_t *)(p->frequency + pairs);
    memcpy(p->axis, args->axis, pairs);
    for (int64_t i = 0; i < args->pairs; i++)
        p->frequency[i] = args->frequency_hi[i];
    *out = p;
    return ROPE_OK;
}

typedef struct complex_f32 {
    float re, im;
} complex_f32;

static void rotate(const complex_f32 *rotors, int64_t count, const float *x, float *y)
{
    for (int64_t i = 0; i < count; i++) {
        complex_f32 z = {x[2 * i], x[2 * i + 1]}, w = rotors[i];
        y[2 * i] = z.re * w.re - z.im * w.im;
        y[2 * i + 1] = z.re * w.im + z.im * w.re;
    }
}

static rope_status apply(const rope_plan *p, const rope_view *x, const rope_view *y,
                         const int64_t *positions, int64_t position_stride)
{
    const rope_geometry *g = &p->geometry;
    rope_status status = rope_geometry_check(g, x, y, positions, position_stride);
    if (status != ROPE_OK)
        return status;
    for (int64_t t = 0; t < x->tokens; t++) {
        const int64_t *position = positions + t * position_stride;
        const float *source = (const float *)x->data + t * x->token_stride;
        float *target = (float *)y->data + t * y->token_stride;
        for (int64_t begin = 0; begin < g->pairs; begin += BLOCK) {
            complex_f32 rotors[BLOCK];
            int64_t count = g->pairs - begin < BLOCK ? g->pairs - begin : BLOCK;
            for (int64_t i = 0; i < count; i++) {
                double angle = (double)position[p->axis[begin + i]] * p->frequency[begin + i];
                rotors[i] =
                    (complex_f32){(float)(p->factor * cos(angle)), (float)(p->factor * sin(angle))};
            }
            int64_t skip = g->rotary_offset + 2 * begin;
            for (int64_t h = 0; h < x->heads; h++)
                rotate(rotors, count, source + h * x->head_stride + skip,
                       target + h * y->head_stride + skip);
        }
        for (int64_t h = 0; h < x->heads; h++)
            rope_copy_rest(g, sizeof(float), source + h * x->head_stride,
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
    int exponent;
    double table = frexp(args->attention_factor, &exponent) == 0.5 ? sqrt(0.5) : 1;
    double angle = fabs((double)position * args->frequency_hi[pair]) * (1 + 0x1p-50);
    double error = 0x1p-52 * angle + (fabs((double)position) >= 0x1p53 ? 0x1p-53 * angle : 0);
    return sqrt(5) + table + 0x1p-20 + 0x1p24 * error;
}

const rope_kernel rope_interleaved = {
    .header = {ROPE_ABI, sizeof(rope_kernel), ROPE_ROTATION, ROPE_IN_PLACE},
    .name = "interleaved",
    .summary = "adjacent pairs as complex numbers, f64 angle, no table",
    .pairings = 1u << ROPE_INTERLEAVED,
    .dtypes = 1u << ROPE_F32,
    .pipeline = {ROPE_FORMAT_F64, ROPE_FORMAT_F64, ROPE_FORMAT_F32, ROPE_ARITHMETIC_F32},
    .plan = plan,
    .apply = apply,
    .destroy = destroy,
    .plan_bytes = plan_bytes,
    .error_bound = error_bound,
};
