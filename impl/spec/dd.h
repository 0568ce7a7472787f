/* Double-word arithmetic: an unevaluated sum hi + lo with |lo| <= ulp(hi)/2, about 106 bits.
 * Algorithms and relative error bounds (u = 2^-53): Joldes, Muller, Popescu, "Tight and rigorous
 * error bounds for basic building blocks of double-word arithmetic" (ACM TOMS 44(2), 2017), numbers
 * as in that paper. They hold barring overflow and underflow; specs bound their numbers so that
 * every intermediate here stays within [2^-800, 2^800] or is 0. */
#ifndef ROPE_DD_H
#define ROPE_DD_H

#include <math.h>
#include <stdint.h>

typedef struct rope_dd {
    double hi, lo;
} rope_dd;

/* a + b exactly; needs |a| >= |b| or a = 0. */
static inline rope_dd dd_fast_sum(double a, double b)
{
    double s = a + b;
    return (rope_dd){s, b - (s - a)};
}

/* a + b exactly. */
static inline rope_dd dd_sum(double a, double b)
{
    double s = a + b, t = s - a;
    return (rope_dd){s, (a - (s - t)) + (b - t)};
}

/* a * b exactly. */
static inline rope_dd dd_product(double a, double b)
{
    double p = a * b;
    return (rope_dd){p, fma(a, b, -p)};
}

/* Algorithm 4, DWPlusFP: 2 u^2. */
static inline rope_dd dd_add_double(rope_dd x, double y)
{
    rope_dd s = dd_sum(x.hi, y);
    return dd_fast_sum(s.hi, x.lo + s.lo);
}

/* Algorithm 6, AccurateDWPlusDW: 3 u^2 / (1 - 4u). */
static inline rope_dd dd_add(rope_dd x, rope_dd y)
{
    rope_dd s = dd_sum(x.hi, y.hi), t = dd_sum(x.lo, y.lo);
    s = dd_fast_sum(s.hi, s.lo + t.hi);
    return dd_fast_sum(s.hi, t.lo + s.lo);
}

static inline rope_dd dd_negative(rope_dd x)
{
    return (rope_dd){-x.hi, -x.lo};
}

/* Algorithm 9, DWTimesFP3: 2 u^2. */
static inline rope_dd dd_multiply_double(rope_dd x, double y)
{
    rope_dd p = dd_product(x.hi, y);
    return dd_fast_sum(p.hi, fma(x.lo, y, p.lo));
}

/* Algorithm 12, DWTimesDW3: 4 u^2. */
static inline rope_dd dd_multiply(rope_dd x, rope_dd y)
{
    rope_dd p = dd_product(x.hi, y.hi);
    double t = fma(x.lo, y.hi, fma(x.hi, y.lo, x.lo * y.lo));
    return dd_fast_sum(p.hi, p.lo + t);
}

/* Algorithm 15, DWDivFP3: 3 u^2. */
static inline rope_dd dd_divide_double(rope_dd x, double y)
{
    double q = x.hi / y;
    rope_dd p = dd_product(q, y);
    return dd_fast_sum(q, ((x.hi - p.hi) - p.lo + x.lo) / y);
}

/* Algorithm 17, DWDivDW2: 15 u^2 + 56 u^3. */
static inline rope_dd dd_divide(rope_dd x, rope_dd y)
{
    double q = x.hi / y.hi;
    rope_dd r = dd_multiply_double(y, q);
    return dd_fast_sum(q, ((x.hi - r.hi) + (x.lo - r.lo)) / y.hi);
}

/* x 2^n, exact. */
static inline rope_dd dd_scale(rope_dd x, int n)
{
    return (rope_dd){ldexp(x.hi, n), ldexp(x.lo, n)};
}

/* ln 2 to 2^-108, for callers that leave base 2. */
extern const rope_dd rope_dd_ln2;

/* 2^x for |x| <= 1/2 + 2^-40; relative error <= 11 u^2. */
rope_dd rope_dd_exp2(rope_dd x);

/* log2(x) for x in [sqrt(1/2), sqrt(2)]; absolute error <= 23 u^2. */
rope_dd rope_dd_log2(rope_dd x);

/* x^(numerator / denominator), relative error <= 35 u^2 < 2^-100, for x in [2^-256, 2^256],
 * 0 < denominator <= 2^24 and |numerator| <= denominator. */
rope_dd rope_dd_power(rope_dd x, int64_t numerator, int64_t denominator);

/* ln x for x in [2^-256, 2^256]; absolute error <= 17 u^2 + 7 u^2 |ln x|. */
rope_dd rope_dd_log(rope_dd x);

#endif
