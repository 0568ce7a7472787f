/* Rounding of f64 values to narrower formats, nearest-even, in a few instructions. */
#ifndef PROPS_EXPLAIN_ROUND_H
#define PROPS_EXPLAIN_ROUND_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "impl/rope.h"

static inline int prop_precision(uint32_t dtype)
{
    return dtype == ROPE_F32 ? 24 : dtype == ROPE_F16 ? 11 : dtype == ROPE_BF16 ? 8 : 53;
}

/* The exponent of the smallest normal number. */
static inline int prop_lowest_exponent(uint32_t dtype)
{
    return dtype == ROPE_F16 ? -14 : dtype == ROPE_F64 ? -1022 : -126;
}

/* The largest finite value. */
static inline double prop_largest(uint32_t dtype)
{
    return dtype == ROPE_F32    ? 0x1.fffffep127
           : dtype == ROPE_F16  ? 65504.0
           : dtype == ROPE_BF16 ? 0x1.fep127
                                : 0x1.fffffffffffffp1023;
}

/* The format's spacing at x: 2^(e - p + 1), e the exponent of x, at least the lowest. Finite x of a
 * magnitude below 2^970; formats narrower than f64. */
static inline double prop_spacing(uint32_t dtype, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, 8);
    int exponent = (int)(bits >> 52 & 2047) - 1023;
    if (exponent < prop_lowest_exponent(dtype))
        exponent = prop_lowest_exponent(dtype);
    bits = (uint64_t)(exponent - prop_precision(dtype) + 1 + 1023) << 52;
    memcpy(&x, &bits, 8);
    return x;
}

/* x rounded to the format: adding 1.5 * 2^52 spacings leaves an f64 whose unit is the spacing. */
static inline double prop_round(uint32_t dtype, double x)
{
    if (dtype == ROPE_F64 || !(fabs(x) < 0x1p200))
        return dtype != ROPE_F64 && fabs(x) >= 0x1p200 ? copysign(INFINITY, x) : x;
    double magic = 0x1.8p52 * prop_spacing(dtype, x);
    double r = (x + magic) - magic;
    return fabs(r) > prop_largest(dtype) ? copysign(INFINITY, x) : copysign(r, x);
}

/* An f32 rounded to bf16 or f16. Adding half a unit of the bits that go, less one where the last
 * bit that stays is 0, carries into it exactly when nearest-even rounds up; subnormals of f16 are
 * multiples of 2^-24, which is f32's spacing in [1/2, 1). */
static inline float prop_round_f32(uint32_t dtype, float x)
{
    uint32_t bits, drop = dtype == ROPE_BF16 ? 16 : 13;
    if (dtype == ROPE_F16 && fabsf(x) < 0x1p-14f)
        return (x + copysignf(0.75f, x)) - copysignf(0.75f, x);
    memcpy(&bits, &x, 4);
    bits += (1u << (drop - 1)) - 1 + (bits >> drop & 1);
    bits &= ~((1u << drop) - 1);
    memcpy(&x, &bits, 4);
    return dtype == ROPE_F16 && fabsf(x) > 65504.0f ? copysignf(INFINITY, x) : x;
}

#endif
