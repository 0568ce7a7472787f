/* The four dtypes as numbers. Internal to the oracle. */
#ifndef ORACLE_FORMAT_H
#define ORACLE_FORMAT_H

#include <stdint.h>
#include <string.h>

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "the oracle must not be compiled with value-changing flags (-ffast-math and its parts)"
#endif

typedef struct oracle_format {
    int precision;    /* bits of the significand, the hidden one included */
    int min_exponent; /* of the smallest normal number */
    double u;         /* unit roundoff, 2^-precision */
    double eta;       /* smallest subnormal */
    double largest;   /* largest finite */
} oracle_format;

/* Indexed by rope_dtype. */
extern const oracle_format oracle_formats[4];

/* 2^exponent, for exponents of normal numbers, -1022 to 1023. */
static inline double oracle_power_of_two(int exponent)
{
    uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* floor(log2 |x|) of a normal number; below -1022 for 0 and subnormal ones. */
static inline int oracle_exponent(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (int)(bits >> 52 & 2047) - 1023;
}

/* The nearest value of a format to x + tail, ties to even, |tail| below half an ulp of x; overflow
 * to infinity. */
double oracle_format_round(const oracle_format *format, double x, double tail);

#endif
