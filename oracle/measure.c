/* How far a rotated pair is from the exact one. Finite data of ordinary size take a path without a
 * call (a few dozen f64 operations); infinities, NaN, and pairs near the ends of the exponent range
 * take measure_edges.c's. No MPFR here: the exact values arrive as double-double.
 *
 * The bound of the exact pair, 2^-96 A |x| a component (|x| the pair's 2-norm):
 *   cos and sin carry ORACLE_ROW_ERROR = 2^-100: at most 2^-100 (|x0| + |x1|) <= 2^-99.5 |x|.
 *   Each product x c is off by 2^-104 |x c|, their sum by 2^-104 (|x0 c| + |x1 s|) more (dd.h):
 * together at most 2^-103 sqrt(2) |x| < 2^-102 |x|.
 *   A carries 2^-104, and the product with it 2^-102.
 *   The sum is below 2^-98.9 A |x|. What may underflow in the scaled range below (an x component
 * 2^-674 times the other) is far smaller still.
 *
 * The error d = y - Y, Y = h + l: (y - h) is exact where y and h are within a factor 2 (Sterbenz)
 * and off by 2^-53 of itself else, where l is below 2^-52 of it; subtracting l rounds once more: d
 * is within 2^-51 relative of y - (h + l). The norm sqrt(d0^2 + d1^2) and the division add less
 * than 2^-50. 2^-48 covers them all. */
#include "oracle/measure.h"

#include <math.h>

#include "oracle/dd.h"
#include "oracle/measure_core.h"

static inline __attribute__((always_inline)) bool ordinary(const oracle_format *f, double a,
                                                           double x0, double x1, double y0,
                                                           double y1)
{
    double size = fabs(x0) + fabs(x1), product = a * size;
    /* Each comparison is false for a NaN. |Y| <= A (|x0| + |x1|), a quarter of the largest finite
     * leaves any bound below 1/u its room. */
    return size >= 0x1p-400 && size <= 0x1p400 && a >= 0x1p-60 && a <= 0x1p60 &&
           product <= 0.25 * f->largest && fabs(y0) <= f->largest && fabs(y1) <= f->largest &&
           fabs(y0) <= 0x1p480 && fabs(y1) <= 0x1p480;
}

/* By reference, so that what came on the stack is not copied again. */
static inline __attribute__((always_inline)) void measure(uint32_t dtype,
                                                          const oracle_cos_sin_dd *r,
                                                          const oracle_dd *a, const double x[2],
                                                          const double y[2], double bound_u,
                                                          oracle_pair_error *out)
{
    const oracle_format *f = &oracle_formats[dtype];
    if (__builtin_expect(!ordinary(f, a->hi, x[0], x[1], y[0], y[1]), 0)) {
        *out = measure_edge(f, *r, *a, x[0], x[1], y[0], y[1], bound_u);
        return;
    }
    oracle_dd e0, e1;
    measure_rotate(*r, *a, x[0], x[1], &e0, &e1);
    *out = measure_scaled(f, 0, *r, *a, x[0], x[1], e0, e1, y[0], y[1], bound_u);
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) static void measure_fma(uint32_t dtype,
                                                            const oracle_cos_sin_dd *r,
                                                            const oracle_dd *a, const double x[2],
                                                            const double y[2], double bound_u,
                                                            oracle_pair_error *out)
{
    measure(dtype, r, a, x, y, bound_u, out);
}
#endif

oracle_pair_error oracle_measure_pair(uint32_t dtype, oracle_cos_sin_dd r,
                                      oracle_dd attention_factor, double x0, double x1, double y0,
                                      double y1, double bound_u)
{
    oracle_pair_error result = {.outcome = ORACLE_ABOVE};
    const double x[2] = {x0, x1}, y[2] = {y0, y1};
    if (dtype > ROPE_F64)
        return result;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2")) {
        measure_fma(dtype, &r, &attention_factor, x, y, bound_u, &result);
        return result;
    }
#endif
    measure(dtype, &r, &attention_factor, x, y, bound_u, &result);
    return result;
}

void oracle_rotate(oracle_cos_sin_dd r, oracle_dd attention_factor, double x0, double x1,
                   oracle_dd *y0, oracle_dd *y1)
{
    double size = fmax(fabs(x0), fabs(x1));
    int k = size >= 0x1p-400 && size <= 0x1p400 ? 0 : size > 0 ? ilogb(size) : 0;
    measure_rotate(r, attention_factor, ldexp(x0, -k), ldexp(x1, -k), y0, y1);
    if (k != 0) {
        *y0 = (oracle_dd){ldexp(y0->hi, k), ldexp(y0->lo, k)};
        *y1 = (oracle_dd){ldexp(y1->hi, k), ldexp(y1->lo, k)};
    }
}
