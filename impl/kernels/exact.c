/* exact: y is the exact rotation, rounded once to f32, but for 2^-25 u. Portable C, no fma and no
 * libm in apply: the phase in 64-bit integers, cos and sin by f64 polynomials, shared by a token's
 * heads, the rotation in f64. No table; takes every int64 position.
 *
 * Contract: 1 u, for any attention factor A and angles up to 2^70.
 *
 * Phase. T = theta / (2 pi) modulo 1 in units of 2^-128 turns, from the host's theta (2^-98) times
 * 1 / (2 pi) in two doubles (2^-104 more): below 2^-97 theta. |p| T modulo 1 is exact but for the
 * products of the lowest words, which are cut off at 2^-64 turns: 2^-61 radians. A negative
 * position turns the sine's sign.
 *
 * Remainder. The nearest quarter turn n is taken off: r within 1/2, a quarter turn being 1, rounded
 * to f64 (2^-55).
 *
 * Polynomials. sin(pi/2 r) = r H + r (L + z S(z)), z = r^2, cos = 1 + z C(z), S of degree 5 within
 * 2^-56, C of degree 6 within 2^-55, those of dd, without fma: the last sum costs 2^-54, r H 2^-54,
 * z C(z) and what is in it below 2^-54, the remainder 2^-54.3.
 *
 * So cos and sin are off by less than 2^-52 + 2^-97 |angle| each; the f64 product by A and the
 * nearest f64 of A cost 2^-53 each, the rotation by four products and two sums sqrt(5) 2^-53
 * (Brent, Percival, Zimmermann, Math. Comp. 76 (2007), theorem 1): before it is rounded to f32, y
 * is off by less than e = 2^-50 + 1.5 2^-97 |angle|, normwise.
 *
 * The rounding to nearest costs at most u / (1 + u) |y_k| a component (Jeannerod and Rump, On
 * relative errors of floating-point operations, Math. Comp. 87 (2018)), normwise u (1 - 2^-24.1) A
 * |x|: together below 1 u, since e is below 2^-26 u. */
#include "impl/rope.h"

#include <math.h>
#include <stdlib.h>

enum { BLOCK = 256 }; /* pairs whose cos and sin are kept for all heads of a token */

/* A fraction of a turn: (2^64 high + low) 2^-128. */
typedef struct turn {
    uint64_t high, low;
} turn;

struct rope_plan {
    rope_geometry geometry;
    size_t bytes;
    double factor;    /* A */
    uint8_t *axis;    /* [pairs] */
    turn frequency[]; /* [pairs] a position */
};

/* theta / (2 pi) modulo 1. */
static turn turns(double theta_hi, double theta_lo)
{
    const double p1 = 0x1.45f306dc9c883p-3, p2 = -0x1.6b01ec5417056p-57; /* 1 / (2 pi) */
    double hi = theta_hi * p1;
    double part[2] = {hi, fma(theta_hi, p1, -hi) + fma(theta_hi, p2, theta_lo * p1)};
    int64_t word[4] = {0}; /* of 32 bits, and carries */
    part[0] -= floor(part[0]);
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 4; k++) {
            double whole = trunc(part[i] *= 0x1p32); /* exact: toward 0 */
            word[k] += (int64_t)whole;
            part[i] -= whole;
        }
    for (int k = 3; k > 0; k--) {
        int64_t low = word[k] & 0xffffffff;
        word[k - 1] += (word[k] - low) / (INT64_C(1) << 32);
        word[k] = low;
    }
    return (turn){((uint64_t)word[0] << 32) + (uint64_t)word[1],
                  ((uint64_t)word[2] << 32) + (uint64_t)word[3]};
}

static rope_status plan(const rope_plan_args *args, rope_plan **out)
{
    rope_geometry geometry;
    rope_status status = rope_geometry_from(args, 1u << ROPE_INTERLEAVED | 1u << ROPE_HALF,
                                            1u << ROPE_F32, &geometry);
    if (status != ROPE_OK)
        return status;
    size_t pairs = (size_t)args->pairs, bytes = sizeof(rope_plan) + pairs * (sizeof(turn) + 1);
    rope_plan *p = malloc(bytes);
    if (p == NULL)
        return ROPE_NO_MEMORY;
    p->geometry = geometry;
    p->bytes = bytes;
    p->factor = args->attention_factor;
    p->axis = (uint8_t *)(p->frequency + pairs);
    memcpy(p->axis, args->axis, pairs);
    for (int64_t i = 0; i < args->pairs; i++)
        p->frequency[i] = turns(args->frequency_hi[i], args->frequency_lo[i]);
    *out = p;
    return ROPE_OK;
}

/* The upper 64 bits of a 64 x 64 bit product. */
static inline uint64_t high_product(uint64_t a, uint64_t b)
{
    uint64_t a1 = a >> 32, a0 = (uint32_t)a, b1 = b >> 32, b0 = (uint32_t)b;
    uint64_t middle = a1 * b0 + (a0 * b0 >> 32), other = a0 * b1 + (uint32_t)middle;
    return a1 * b1 + (middle >> 32) + (other >> 32);
}

static const double S[6] = {-0x1.4abbce625be52p-1, 0x1.466bc6775a476p-4,   -0x1.32d2cce500387p-8,
                            0x1.50783208843ebp-13, -0x1.e3027dea82bd7p-19, 0x1.e4a9d9166f052p-25};
static const double C[7] = {-0x1.3bd3cc9be45dep+0, 0x1.03c1f081b5ac0p-2,   -0x1.55d3c7e3cb241p-6,
                            0x1.e1f5068688d5bp-11, -0x1.a6d1eef479be1p-16, 0x1.f9ce245cada0bp-22,
                            -0x1.b2f3eb054afcdp-28};
static const double HALF_PI_HI = 0x1.921fb54442d18p+0, HALF_PI_LO = 0x1.1a62633145c07p-54;

typedef struct rotor {
    double c, s; /* A cos and A sin */
} rotor;

static inline rotor rotor_of(turn frequency, int64_t position, double factor)
{
    uint64_t magnitude = position < 0 ? 0 - (uint64_t)position : (uint64_t)position;
    uint64_t phase = frequency.high * magnitude + high_product(frequency.low, magnitude);
    uint64_t shifted = phase + (UINT64_C(1) << 61); /* bits 62 and 63: the nearest quarter */
    int64_t rest = (int64_t)(shifted & ((UINT64_C(1) << 62) - 1)) - (INT64_C(1) << 61);
    double r = (double)rest * 0x1p-62, z = r * r, s = S[5], c = C[6];
    for (int k = 4; k >= 0; k--)
        s = s * z + S[k];
    for (int k = 5; k >= 0; k--)
        c = c * z + C[k];
    s = r * HALF_PI_HI + r * (HALF_PI_LO + z * s);
    c = 1 + z * c;
    /* quarter n: cos is c -s -c s, sin is s c -s -c */
    unsigned n = (unsigned)(shifted >> 62);
    double cosine = n & 1 ? s : c, sine = n & 1 ? c : s;
    return (rotor){factor * (n == 1 || n == 2 ? -cosine : cosine),
                   factor * ((n >= 2) != (position < 0) ? -sine : sine)};
}

static void rotate(const rope_geometry *g, const double *cosines, const double *sines,
                   int64_t begin, int64_t count, const float *x, float *y)
{
    int64_t step = g->pairing == ROPE_HALF ? 1 : 2,
            partner = g->pairing == ROPE_HALF ? g->pairs : 1;
    x += g->rotary_offset + begin * step;
    y += g->rotary_offset + begin * step;
    for (int64_t i = 0; i < count; i++) {
        double x0 = x[i * step], x1 = x[i * step + partner];
        y[i * step] = (float)(x0 * cosines[i] - x1 * sines[i]);
        y[i * step + partner] = (float)(x0 * sines[i] + x1 * cosines[i]);
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
            double cosines[BLOCK], sines[BLOCK];
            int64_t count = g->pairs - begin < BLOCK ? g->pairs - begin : BLOCK;
            for (int64_t i = 0; i < count; i++) {
                rotor w =
                    rotor_of(p->frequency[begin + i], position[p->axis[begin + i]], p->factor);
                cosines[i] = w.c;
                sines[i] = w.s;
            }
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

static double error_bound(const rope_plan_args *args, int64_t position, int64_t pair)
{
    double angle = fabs((double)position * args->frequency_hi[pair]);
    return 1 + fmax(0, 0x1p24 * (0x1p-50 + 0x1p-95 * angle) - 0x1p-25);
}

const rope_kernel rope_exact = {
    .header = {ROPE_ABI, sizeof(rope_kernel), ROPE_ROTATION, ROPE_IN_PLACE},
    .name = "exact",
    .summary = "the exact rotation rounded once: f64 cos, sin and rotation, no table, portable C",
    .pairings = 1u << ROPE_INTERLEAVED | 1u << ROPE_HALF,
    .dtypes = 1u << ROPE_F32,
    .pipeline = {ROPE_FORMAT_DD, ROPE_FORMAT_FIXED64, ROPE_FORMAT_F64, ROPE_ARITHMETIC_F64},
    .plan = plan,
    .apply = apply,
    .destroy = destroy,
    .plan_bytes = plan_bytes,
    .error_bound = error_bound,
};
