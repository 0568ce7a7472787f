/* The arithmetic of oracle_measure_pair, inlined into its fast path and into measure_edge. Internal
 * to the oracle; bounds are derived in measure.c. */
#ifndef ORACLE_MEASURE_CORE_H
#define ORACLE_MEASURE_CORE_H

#include <math.h>
#include <string.h>

#include "oracle/dd.h"
#include "oracle/format.h"
#include "oracle/measure.h"

/* Judges a pair with infinities, NaN, or magnitudes near the ends of a format's range. */
oracle_pair_error measure_edge(const oracle_format *f, oracle_cos_sin_dd r, oracle_dd a, double x0,
                               double x1, double y0, double y1, double bound_u);

DD_INLINE void measure_rotate(oracle_cos_sin_dd r, oracle_dd a, double x0, double x1, oracle_dd *y0,
                              oracle_dd *y1)
{
    *y0 = dd_sum(dd_times(r.cos, x0), dd_times(r.sin, -x1));
    *y1 = dd_sum(dd_times(r.sin, x0), dd_times(r.cos, x1));
    if (a.hi != 1 || a.lo != 0) {
        *y0 = dd_product(*y0, a);
        *y1 = dd_product(*y1, a);
    }
}

/* 1 / ulp of the exact value e in the format, both scaled by 2^-k. The ulp is that of e's binade,
 * where e just below a power of two belongs to the binade below. Capped at 2^1023. */
DD_INLINE double measure_inverse_ulp(const oracle_format *f, int k, oracle_dd e)
{
    uint64_t bits;
    memcpy(&bits, &e.hi, sizeof bits);
    int exponent = oracle_exponent(e.hi);
    if ((bits & 0xfffffffffffffu) == 0 && e.hi * e.lo < 0)
        exponent--;
    int least = f->min_exponent - k;
    int ulp = (exponent > least ? exponent : least) - f->precision + 1;
    return oracle_power_of_two(ulp < -1023 ? 1023 : -ulp);
}

/* Is y the nearest value of the format to e? ulps: |y - e| in ulp of e. */
DD_INLINE bool measure_nearest(const oracle_format *f, int k, oracle_dd e, double y, double ulps)
{
    if (ulps != 0.5)
        return ulps < 0.5;
    return oracle_format_round(f, ldexp(e.hi, k), ldexp(e.lo, k)) == ldexp(y, k);
}

/* x, y and the exact pair (e0, e1) are scaled by 2^-k, so that nothing over- or underflows that
 * matters. */
DD_INLINE oracle_pair_error measure_scaled(const oracle_format *f, int k, oracle_cos_sin_dd r,
                                           oracle_dd a, double x0, double x1, oracle_dd e0,
                                           oracle_dd e1, double y0, double y1, double bound_u)
{
    double d0 = fabs((y0 - e0.hi) - e0.lo), d1 = fabs((y1 - e1.hi) - e1.lo);
    double size = a.hi * __builtin_sqrt(x0 * x0 + x1 * x1);
    double distance = __builtin_sqrt(d0 * d0 + d1 * d1);
    /* sqrt(2) 2^-96 A |x| for the two components; nothing where the rotation is the identity. */
    bool identity = r.sin.hi == 0 && r.cos.hi == 1 && a.hi == 1 && a.lo == 0;
    double far = distance * (1 + 0x1p-48) + (identity ? 0 : 0x1p-95 * size);
    double unit = 1 / (size * f->u);
    double eta = k == 0 ? f->eta : ldexp(f->eta, -k);
    double underflow_u = 2 * eta * unit * (1 - 0x1p-50);

    oracle_pair_error result = {.has_error = true};
    result.normwise_u = far * unit;
    result.outcome = result.normwise_u <= bound_u + underflow_u ? ORACLE_WITHIN : ORACLE_ABOVE;
    if (underflow_u > 0x1p-20)
        result.normwise_u = result.normwise_u > underflow_u ? result.normwise_u - underflow_u : 0;
    result.absolute = distance;
    double ulps0 = d0 * measure_inverse_ulp(f, k, e0), ulps1 = d1 * measure_inverse_ulp(f, k, e1);
    result.ulp_larger = fabs(e0.hi) >= fabs(e1.hi) ? ulps0 : ulps1;
    result.ulp_component = ulps0 > ulps1 ? ulps0 : ulps1;
    result.correctly_rounded =
        measure_nearest(f, k, e0, y0, ulps0) + measure_nearest(f, k, e1, y1, ulps1);
    return result;
}

#endif
