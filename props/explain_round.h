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

#endif
