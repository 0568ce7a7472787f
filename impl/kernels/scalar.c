/* scalar: the textbook loop, all in f32: angle = position * frequency, cosf and sinf of it for
 * every pair and token, two lines of rotation.
 *
 * Without scaling the kernel computes its frequencies itself, 1 / base^(2i/d) with powf; otherwise
 * it takes the host's, rounded to f32.
 *
 * Contract: |chord of the angle's error| / u + sqrt(5) + the table's term, growing with position.
 *
 * Angle. f is the kernel's f32 frequency, p' the position in f32. The kernel's angle is fl(p' f):
 * off by |p| |f - theta| + |p' - p| f + half an ulp of the angle (nothing where f32 holds p' f).
 * The rotation by an angle that is off by e is off by the chord, 2 sin(e / 2).
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

struct rope_plan {
    rope_geometry geometry;
    size_t bytes;
    float factor;      /* A */
    uint8_t *axis;     /* [pairs] */
    float frequency[]; /* [pairs] radians a position */
};

/* The inverse frequency in f32 of a pair. */
static float inverse_frequency(const rope_plan_args *args, int64_t pair)
{
    const rope_spec *spec = args->spec;
    bool axial = spec->axes == ROPE_AXES_HEIGHT_WIDTH || spec->axes == ROPE_AXES_WIDTH_HEIGHT;
    if (spec->scaling != ROPE_SCALING_NONE || axial || spec->exponent_by_head ||
        spec->inv_freq.count > 0 || spec->divisors.count > 0)
        return (float)args->frequency_hi[pair];
    return 1.0f / powf((float)spec->base, (float)(2 * pair) / (float)spec->rotary_dim);
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
    p->axis = (uint8_t *)(p->frequency + pairs);
    memcpy(p->axis, args->axis, pairs);
    for (int64_t i = 0; i < args->pairs; i++)
        p->frequency[i] = inverse_frequency(args, i);
    *out = p;
    return ROPE_OK;
}

static void rotate_row(const rope_plan *p, const int64_t *position, const float *x, float *y)
{
    const rope_geometry *g = &p->geometry;
    int64_t step = g->pairing == ROPE_HALF ? 1 : 2,
            partner = g->pairing == ROPE_HALF ? g->pairs : 1;
    const float *u = x + g->rotary_offset;
    float *v = y + g->rotary_offset;
    for (int64_t i = 0; i < g->pairs; i++) {
        float angle = (float)position[p->axis[i]] * p->frequency[i];
        float c = cosf(angle) * p->factor, s = sinf(angle) * p->factor;
        float x0 = u[i * step], x1 = u[i * step + partner];
        v[i * step] = x0 * c - x1 * s;
        v[i * step + partner] = x0 * s + x1 * c;
    }
    rope_copy_rest(g, sizeof(float), x, y);
}

static rope_status apply(const rope_plan *p, const rope_view *x, const rope_view *y,
                         const int64_t *positions, int64_t position_stride)
{
    rope_status status = rope_geometry_check(&p->geometry, x, y, positions, position_stride);
    if (status != ROPE_OK)
        return status;
    for (int64_t t = 0; t < x->tokens; t++)
        for (int64_t h = 0; h < x->heads; h++)
            rotate_row(p, positions + t * position_stride,
                       (const float *)x->data + t * x->token_stride + h * x->head_stride,
                       (float *)y->data + t * y->token_stride + h * y->head_stride);
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
static double angle_error(double position, double frequency, double hi, double lo)
{
    double magnitude = fabs(position), in_f32 = fabs((double)(float)position);
    double angle = in_f32 * fabs(frequency); /* exact: 24 x 24 bits */
    double error = magnitude * (fabs(frequency - hi) + fabs(lo));
    if (magnitude > 0x1p24)
        error += 0x1p-24 * magnitude * fabs(frequency);
    if ((double)(float)angle != angle)
        error += ldexp(1, ilogb(angle) - 24);
    return error * (1 + 0x1p-40);
}

static double error_bound(const rope_plan_args *args, int64_t position, int64_t pair)
{
    int exponent;
    double factor = args->attention_factor, frequency = inverse_frequency(args, pair);
    double error = angle_error((double)position, frequency, args->frequency_hi[pair],
                               args->frequency_lo[pair]);
    if (!(error < 3.1415926))
        return INFINITY;
    double table = sqrt(2) * 0.5607;
    if (frexp(factor, &exponent) != 0.5)
        table += 1 + 0x1p24 * fabs((double)(float)factor - factor) / factor;
    return 0x1p24 * 2 * sin(error / 2) + sqrt(5) + table + 0x1p-20;
}

const rope_kernel rope_scalar = {
    .header = {ROPE_ABI, sizeof(rope_kernel), ROPE_ROTATION, ROPE_IN_PLACE},
    .name = "scalar",
    .summary = "textbook loop: f32 angle, cosf and sinf for every pair",
    .pairings = 1u << ROPE_INTERLEAVED | 1u << ROPE_HALF,
    .dtypes = 1u << ROPE_F32,
    .pipeline = {ROPE_FORMAT_F32, ROPE_FORMAT_F32, ROPE_FORMAT_F32, ROPE_ARITHMETIC_F32},
    .plan = plan,
    .apply = apply,
    .destroy = destroy,
    .plan_bytes = plan_bytes,
    .error_bound = error_bound,
};
