/* What the kernels' own tests share: problems, data of any dtype, and the exact rotation in long
 * double. The oracle judges kernels in verify; these tests need nothing but the C library and MPFR
 * (for the frequencies), so that a kernel's folder stands by itself. */
#ifndef ROPE_KERNELS_TESTING_H
#define ROPE_KERNELS_TESTING_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <mpfr.h> /* after stdint.h: intmax_t */

#include "impl/registry.h"

typedef struct problem {
    rope_spec spec;
    rope_plan_args args;
    double *hi, *lo;
    uint8_t *axis;
} problem;

typedef struct shape {
    int64_t head_dim, rotary_dim, rotary_offset;
} shape;

/* theta_i = base^(-2i/rotary_dim) as hi + lo, each to the nearest. */
static inline void problem_init(problem *p, shape s, uint32_t pairing, uint32_t dtype, double base,
                                uint32_t axes, int64_t first, int64_t last)
{
    int64_t pairs = s.rotary_dim / 2;
    memset(p, 0, sizeof *p);
    p->spec.size = sizeof p->spec;
    p->spec.pairing = pairing;
    p->spec.head_dim = s.head_dim;
    p->spec.rotary_dim = s.rotary_dim;
    p->spec.rotary_offset = s.rotary_offset;
    p->spec.base = base;
    p->spec.axes = axes == 1 ? ROPE_AXES_TEXT : ROPE_AXES_MROPE_INTERLEAVED;
    p->hi = malloc((size_t)pairs * sizeof *p->hi);
    p->lo = malloc((size_t)pairs * sizeof *p->lo);
    p->axis = malloc((size_t)pairs);
    mpfr_t t, e;
    mpfr_inits2(200, t, e, (mpfr_ptr)0);
    for (int64_t i = 0; i < pairs; i++) {
        mpfr_set_si(e, -2 * (long)i, MPFR_RNDN);
        mpfr_div_si(e, e, (long)s.rotary_dim, MPFR_RNDN);
        mpfr_set_d(t, base, MPFR_RNDN);
        mpfr_pow(t, t, e, MPFR_RNDN);
        p->hi[i] = mpfr_get_d(t, MPFR_RNDN);
        mpfr_sub_d(t, t, p->hi[i], MPFR_RNDN);
        p->lo[i] = mpfr_get_d(t, MPFR_RNDN);
        p->axis[i] = (uint8_t)(i % (int64_t)axes);
    }
    mpfr_clears(t, e, (mpfr_ptr)0);
    p->args = (rope_plan_args){.size = sizeof p->args,
                               .spec = &p->spec,
                               .dtype = dtype,
                               .axis_count = axes,
                               .pairs = pairs,
                               .frequency_hi = p->hi,
                               .frequency_lo = p->lo,
                               .axis = p->axis,
                               .attention_factor = 1};
    for (uint32_t a = 0; a < axes; a++) {
        p->args.first[a] = first;
        p->args.last[a] = last;
    }
}

static inline void problem_free(problem *p)
{
    free(p->hi);
    free(p->lo);
    free(p->axis);
}

/* Element i of a tensor, exactly. */
static inline double load(uint32_t dtype, const void *data, int64_t i)
{
    if (dtype == ROPE_F32)
        return ((const float *)data)[i];
    if (dtype == ROPE_F64)
        return ((const double *)data)[i];
    uint16_t bits = ((const uint16_t *)data)[i];
    if (dtype == ROPE_BF16) {
        uint32_t wide = (uint32_t)bits << 16;
        float value;
        memcpy(&value, &wide, sizeof value);
        return value;
    }
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double value = exponent == 31  ? (fraction ? NAN : INFINITY)
                   : exponent == 0 ? ldexp(fraction, -24)
                                   : ldexp(1024 + fraction, exponent - 25);
    return bits >> 15 ? -value : value;
}

static inline uint64_t next_random(uint64_t *state) /* splitmix64 */
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* A signed finite element of a random magnitude, never near the ends of the dtype's range. */
static inline void store_random(uint32_t dtype, void *data, int64_t i, uint64_t *state)
{
    uint64_t r = next_random(state);
    uint32_t wide = (uint32_t)r & 0x807fffffu;
    if (dtype == ROPE_F16) {
        ((uint16_t *)data)[i] =
            (uint16_t)((r & 0x83ffu) | ((r >> 40) % 8 + 10) << 10); /* 2^-5 .. 2^3 */
    } else if (dtype == ROPE_F64) {
        ((double *)data)[i] = ldexp((double)(int64_t)r, -63 - (int)((r >> 5) % 16));
    } else {
        wide |= (uint32_t)((r >> 40) % 24 + 115) << 23; /* 2^-12 .. 2^11 */
        if (dtype == ROPE_F32)
            memcpy((float *)data + i, &wide, sizeof wide);
        else
            ((uint16_t *)data)[i] = (uint16_t)(wide >> 16);
    }
}

typedef struct exact_cos_sin {
    long double c, s;
} exact_cos_sin;

/* cos and sin of p theta. p hi + p lo is a + e with a = fl(p hi), |e| <= 2^-28 for |a| < 2^24; long
 * double cosl and sinl are within 1 ulp, 2^-64: off by less than 2^-57, 2^-33 u of f32. Larger
 * angles and positions go through MPFR. */
static inline exact_cos_sin exact_rotor(const rope_plan_args *args, int64_t position, int64_t pair)
{
    double p = (double)position, a = p * args->frequency_hi[pair];
    long double e = (long double)fma(p, args->frequency_hi[pair], -a) +
                    (long double)p * args->frequency_lo[pair];
    if (fabs(p) <= 0x1p53 && fabs(a) <= 0x1p24) {
        long double c = cosl(a), s = sinl(a);
        return (exact_cos_sin){c - e * s - e * e / 2 * c, s + e * c - e * e / 2 * s};
    }
    mpfr_t angle, t;
    mpfr_inits2(400, angle, t, (mpfr_ptr)0);
    mpfr_set_d(angle, args->frequency_hi[pair], MPFR_RNDN);
    mpfr_add_d(angle, angle, args->frequency_lo[pair], MPFR_RNDN);
    mpfr_set_sj(t, position, MPFR_RNDN);
    mpfr_mul(angle, angle, t, MPFR_RNDN);
    mpfr_cos(t, angle, MPFR_RNDN);
    mpfr_sin(angle, angle, MPFR_RNDN);
    exact_cos_sin r = {mpfr_get_ld(t, MPFR_RNDN), mpfr_get_ld(angle, MPFR_RNDN)};
    mpfr_clears(angle, t, (mpfr_ptr)0);
    return r;
}

/* Normwise error of a pair, in u. */
static inline double pair_error(const rope_plan_args *args, exact_cos_sin r, double x0, double x1,
                                double y0, double y1)
{
    long double a = args->attention_factor;
    long double d0 = (long double)y0 - a * (x0 * r.c - x1 * r.s);
    long double d1 = (long double)y1 - a * (x0 * r.s + x1 * r.c);
    double norm = hypot(x0, x1);
    if (norm == 0)
        return y0 == 0 && y1 == 0 ? 0 : INFINITY;
    return (double)(sqrtl(d0 * d0 + d1 * d1) /
                    (a * (long double)norm * rope_dtype_unit_roundoff(args->dtype)));
}

/* Elements of pair i in a row. */
static inline int64_t element(const rope_spec *spec, int64_t pair, int which)
{
    return spec->rotary_offset +
           (spec->pairing == ROPE_HALF ? pair + which * spec->rotary_dim / 2 : 2 * pair + which);
}

static inline bool runs_here(const rope_kernel *kernel)
{
    return kernel->header.kind == ROPE_ROTATION &&
           (kernel->cpu_features & ~rope_cpu_features()) == 0;
}

/* Walks the registry: for every kernel that this machine runs, pairing and dtype that it takes. */
#define FOR_EACH_KERNEL(kernel, pairing, dtype)                                                    \
    for (size_t count_, i_ = 0; rope_registry(&count_) && i_ < count_; i_++)                       \
        for (const rope_kernel *kernel = (const rope_kernel *)rope_registry(&count_)[i_];          \
             kernel != NULL && runs_here(kernel); kernel = NULL)                                   \
            for (uint32_t pairing = 0; pairing < 2; pairing++)                                     \
                for (uint32_t dtype = 0; dtype < 4; dtype++)                                       \
                    if ((kernel->pairings & 1u << pairing) && (kernel->dtypes & 1u << dtype))

#endif
