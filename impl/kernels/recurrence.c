/* recurrence: angles by theta *= base^(-2/d) from pair to pair, all in f32, as ggml's CPU backend
 * computes them (ggml_rope_cache_init; its frequency factors `ff` divide the angle). A baseline
 * that people use.
 *
 * The frequency factor of a pair is 1 without scaling, else the unscaled over the scaled frequency,
 * rounded to f32, as llama.cpp carries Llama 3.1's.
 *
 * Contract: |chord of the angle's error| / u + sqrt(5) + the table's term, growing with position
 * and pair.
 *
 * Angle. With r the f32 ratio of two frequencies and g the f32 factor, the kernel's frequency is f
 * = r^i / g before rounding: off by |p| |f - theta|. Every product, the division and the position
 * (past 2^24) round: below (i + 1 + 1) 2^-24 |p f| and second-order terms of (i + 2)^2 2^-48. The
 * rotation by an angle that is off by e is off by the chord, 2 sin(e / 2).
 *
 * Table. glibc's sinf and cosf are within 0.5607 ulp (its s_sinf.c, s_cosf.c), an ulp below 1 is at
 * most u: sqrt(2) 0.5607 u = 0.7930 u. The attention factor is rounded to f32, and the product by
 * it is rounded: below u |A c|, normwise below u A; nothing where A is a power of two.
 *
 * Rotation. Four rounded products and two rounded sums: sqrt(5) u (Brent, Percival, Zimmermann,
 * Math. Comp. 76 (2007), theorem 1).
 *
 * Terms of second order stay below 2^-20 u. */
#include "impl/rope.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum { BLOCK = 256 }; /* pairs whose cos and sin are kept for all heads of a token */

struct rope_plan {
    rope_geometry geometry;
    size_t bytes;
    float factor;    /* A */
    float ratio;     /* of two frequencies, base^(-2/d) */
    uint8_t *axis;   /* [pairs] */
    float divisor[]; /* [pairs] frequency factors */
};

static float frequency_ratio(const rope_spec *spec)
{
    return spec->base > 1 ? powf((float)spec->base, -2.0f / (float)spec->rotary_dim) : 1.0f;
}

static float frequency_factor(const rope_plan_args *args, int64_t pair)
{
    const rope_spec *spec = args->spec;
    bool axial = spec->axes == ROPE_AXES_HEIGHT_WIDTH || spec->axes == ROPE_AXES_WIDTH_HEIGHT;
    if (spec->scaling == ROPE_SCALING_NONE && !axial && !spec->exponent_by_head &&
        spec->inv_freq.count == 0 && spec->divisors.count == 0)
        return 1;
    double base = spec->base > 1 ? spec->base : 1;
    return (float)(pow(base, -2.0 * (double)pair / (double)spec->rotary_dim) /
                   args->frequency_hi[pair]);
}

static rope_status plan(const rope_plan_args *args, rope_plan **out)
{
    rope_geometry geometry;
    rope_status status = rope_geometry_from(args, 1u << ROPE_INTERLEAVED | 1u << ROPE_HALF,
                                            1u << ROPE_F32, &geometry);
    if (status != ROPE_OK)
        return status;
    size_t pairs = (size_t)args->pairs, bytes = sizeof(rope_plan) + pairs * (sizeof(float) + 1);
    rope_plan *p = malloc(bytes);
    if (p == NULL)
        return ROPE_NO_MEMORY;
    p->geometry = geometry;
    p->bytes = bytes;
    p->factor = (float)args->attention_factor;
    p->ratio = frequency_ratio(args->spec);
    p->axis = (uint8_t *)(p->divisor + pairs);
    memcpy(p->axis, args->axis, pairs);
    for (int64_t i = 0; i < args->pairs; i++)
        p->divisor[i] = frequency_factor(args, i);
    *out = p;
    return ROPE_OK;
}

/* cos and sin of pairs [begin, begin + count); theta [axes] stands at pair begin and moves on. */
static void generate(const rope_plan *p, float *theta, int64_t begin, int64_t count, float *cosines,
                     float *sines)
{
    for (int64_t i = 0; i < count; i++) {
        float angle = theta[p->axis[begin + i]] / p->divisor[begin + i];
        cosines[i] = cosf(angle) * p->factor;
        sines[i] = sinf(angle) * p->factor;
        for (uint32_t a = 0; a < p->geometry.axis_count; a++)
            theta[a] *= p->ratio;
    }
}

static void rotate(const rope_geometry *g, const float *cosines, const float *sines, int64_t begin,
                   int64_t count, const float *x, float *y)
{
    int64_t step = g->pairing == ROPE_HALF ? 1 : 2,
            partner = g->pairing == ROPE_HALF ? g->pairs : 1;
    x += g->rotary_offset + begin * step;
    y += g->rotary_offset + begin * step;
    for (int64_t i = 0; i < count; i++) {
        float x0 = x[i * step], x1 = x[i * step + partner];
        y[i * step] = x0 * cosines[i] - x1 * sines[i];
        y[i * step + partner] = x0 * sines[i] + x1 * cosines[i];
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
        const float *source = (const float *)x->data + t * x->token_stride;
        float *target = (float *)y->data + t * y->token_stride;
        float theta[ROPE_MAX_AXES], cosines[BLOCK], sines[BLOCK];
        for (uint32_t a = 0; a < g->axis_count; a++)
            theta[a] = (float)positions[t * position_stride + a];
        for (int64_t begin = 0; begin < g->pairs; begin += BLOCK) {
            int64_t count = g->pairs - begin < BLOCK ? g->pairs - begin : BLOCK;
            generate(p, theta, begin, count, cosines, sines);
            for (int64_t h = 0; h < x->heads; h++)
                rotate(g, cosines, sines, begin, count, source + h * x->head_stride,
                       target + h * y->head_stride);
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

/* Largest error of the kernel's angle, radians. */
static double angle_error(const rope_plan_args *args, double position, int64_t pair)
{
    double divisor = frequency_factor(args, pair), hi = args->frequency_hi[pair];
    double frequency = pow(frequency_ratio(args->spec), (double)pair) / divisor;
    double roundings = (double)pair + (divisor != 1) + (fabs(position) > 0x1p24);
    double error = fabs(frequency - hi) + 0x1p-48 * hi + roundings * 0x1p-24 * frequency +
                   roundings * roundings * 0x1p-48 * frequency;
    return fabs(position) * error * (1 + 0x1p-40);
}

static double error_bound(const rope_plan_args *args, int64_t position, int64_t pair)
{
    int exponent;
    double factor = args->attention_factor, error = angle_error(args, (double)position, pair);
    if (!(error < 3.1415926))
        return INFINITY;
    double table = sqrt(2) * 0.5607;
    if (frexp(factor, &exponent) != 0.5)
        table += 1 + 0x1p24 * fabs((double)(float)factor - factor) / factor;
    return 0x1p24 * 2 * sin(error / 2) + sqrt(5) + table + 0x1p-20;
}

const rope_kernel rope_recurrence = {
    .header = {ROPE_ABI, sizeof(rope_kernel), ROPE_ROTATION, ROPE_IN_PLACE},
    .name = "recurrence",
    .summary = "f32 recurrence theta *= base^(-2/d) over the pairs (ggml)",
    .pairings = 1u << ROPE_INTERLEAVED | 1u << ROPE_HALF,
    .dtypes = 1u << ROPE_F32,
    .pipeline = {ROPE_FORMAT_F32_RECURRENCE, ROPE_FORMAT_F32, ROPE_FORMAT_F32, ROPE_ARITHMETIC_F32},
    .plan = plan,
    .apply = apply,
    .destroy = destroy,
    .plan_bytes = plan_bytes,
    .error_bound = error_bound,
};
