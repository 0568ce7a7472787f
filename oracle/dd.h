/* Double-double arithmetic by error-free transforms. Internal to the oracle. Every function is
 * inlined into its caller, so that in a function compiled for FMA __builtin_fma is one instruction
 * (elsewhere libm's, which is exact too). Sources: Dekker (Numer. Math. 18, 1971); Ogita, Rump,
 * Oishi (SIAM J. Sci. Comput. 26, 2005); Joldes, Muller, Popescu (ACM TOMS 44, 2017). */
#ifndef ORACLE_DD_H
#define ORACLE_DD_H

#include "oracle/oracle.h"

#define DD_INLINE static inline __attribute__((always_inline))

/* hi + lo = a + b exactly. */
DD_INLINE oracle_dd dd_two_sum(double a, double b)
{
    double s = a + b, t = s - a;
    return (oracle_dd){s, (a - (s - t)) + (b - t)};
}

/* hi + lo = a + b exactly when |a| >= |b| or a = 0. */
DD_INLINE oracle_dd dd_fast_two_sum(double a, double b)
{
    double s = a + b;
    return (oracle_dd){s, b - (s - a)};
}

/* x d, x an f64: relative error at most 2^-104 (one rounding of the low part, which is below 2^-52
 * |x d|, and that of the renormalisation, exact). Nothing under- or overflows in the callers. */
DD_INLINE oracle_dd dd_times(oracle_dd d, double x)
{
    double p = x * d.hi;
    return (oracle_dd){p, __builtin_fma(x, d.lo, __builtin_fma(x, d.hi, -p))};
}

/* a b: relative error at most 2^-102: a.lo b.lo is dropped (2^-106), and the low part, below 2^-51
 * |a b|, is rounded twice (2^-104 each). */
DD_INLINE oracle_dd dd_product(oracle_dd a, oracle_dd b)
{
    double p = a.hi * b.hi, e = __builtin_fma(a.hi, b.hi, -p);
    return dd_fast_two_sum(p, __builtin_fma(a.lo, b.hi, __builtin_fma(a.hi, b.lo, e)));
}

/* a + b with the error of the low parts' two roundings: at most 2^-104 (|a| + |b|) for |lo| <=
 * 2^-52 |hi|; the absolute bound holds through cancellation. */
DD_INLINE oracle_dd dd_sum(oracle_dd a, oracle_dd b)
{
    oracle_dd s = dd_two_sum(a.hi, b.hi);
    return dd_fast_two_sum(s.hi, s.lo + (a.lo + b.lo));
}

#endif
