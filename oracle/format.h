/* The four dtypes as numbers. Internal to the oracle. */
#ifndef ORACLE_FORMAT_H
#define ORACLE_FORMAT_H

#include <stdint.h>

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

/* The nearest value of a format to x + tail, ties to even, |tail| below half an ulp of x; overflow
 * to infinity. */
double oracle_format_round(const oracle_format *format, double x, double tail);

#endif
