#include "impl/spec/dd.h"

/* python3: from mpmath import mp, log; mp.prec = 300; hi = float(log(2)); lo = float(log(2) - hi)
 */
const rope_dd rope_dd_ln2 = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};

/* 2^x = e^r with r = x ln 2, by Horner's rule p_(n-1) = 1 + (r/n) p_n, p_25 = 1.
 * |r| <= 0.34658 (2 u^2 |r| from rope_dd_ln2's own error included below), all p_n within
 * [0.7071, 1.4143], and the dropped tail is below r^25/25! < 2^-121.
 * Rounding, in u^2: r 4 + 2 (relative), r/n 3, the product 4, the sum 2 (relative to p). Hence for
 * the absolute error e_n of p_n
 *     e_(n-1) <= |r|/n (e_n + 7 p_n) + 2 p_(n-1),
 * and, with p_n <= 1.19 for n >= 1 (|r|/2 = .1733), e_1 <= .1733 (e_2 + 8.4) + 2.4 <= 4.5 where
 * e_2 <= 2.9, so e_0 <= .3466 (4.5 + 8.4) + 2 p_0 <= 4.5 + 2 p_0. Relative to p_0 >= .7071: at most
 * 6.4 + 2 = 8.4 u^2. The error of r adds 6 * .3466 = 2.1 u^2: below 11 u^2. */
rope_dd rope_dd_exp2(rope_dd x)
{
    rope_dd r = dd_multiply(x, rope_dd_ln2), p = {1, 0};
    for (int n = 25; n >= 1; n--)
        p = dd_add_double(dd_multiply(dd_divide_double(r, n), p), 1);
    return p;
}

/* One Newton step from y = log2(x.hi) of the C library: with e = x 2^-y - 1,
 *     log2 x = y + (e - e^2/2 + e^3/3 - ...) / ln 2.
 * Nothing is assumed of the library but |y - log2 x| <= 2^-40, so |e| <= 2^-40 and what is dropped
 * is below e^4/4 < 2^-162. |y| <= 1/2 + 2^-40, so exp2 keeps 11 u^2 and x 2^-y 15 u^2; that error
 * passes to the logarithm divided by ln 2, 21.7 u^2. The last sum adds 2 u^2 |log2 x| <= 1 u^2. */
rope_dd rope_dd_log2(rope_dd x)
{
    double y = log2(x.hi);
    rope_dd e = dd_add_double(dd_multiply(x, rope_dd_exp2((rope_dd){-y, 0})), -1);
    rope_dd square = dd_multiply_double(dd_multiply(e, e), -0.5);
    double cube = e.hi * e.hi * e.hi / 3;
    rope_dd series = dd_add_double(dd_add(e, square), cube);
    return dd_add_double(dd_divide(series, rope_dd_ln2), y);
}

/* x = m 2^exponent with m in [sqrt(1/2), sqrt(2)]. */
static rope_dd mantissa(rope_dd x, int *exponent)
{
    if (frexp(x.hi, exponent) < 0x1.6a09e667f3bcdp-1)
        --*exponent;
    return dd_scale(x, -*exponent);
}

/* log2 x = E + log2 m. numerator E / denominator splits exactly into a whole number, which costs
 * nothing, and a fraction below 1; so no large exponent ever multiplies an error:
 *     f = remainder/denominator, |f| <= 1: 3 u^2;
 *     g = log2(m) n/d, |g| <= 1/2: 23 u^2 + (2 + 3)/2 u^2;
 *     f + g: 3 u^2 * 3/2; less its nearest whole number: 2 u^2 / 2;
 * together 34 u^2; times ln 2, plus exp2's 11 u^2: below 35 u^2. */
rope_dd rope_dd_power(rope_dd x, int64_t numerator, int64_t denominator)
{
    int exponent;
    rope_dd m = mantissa(x, &exponent);
    int64_t product = numerator * exponent, whole = product / denominator;
    int64_t remainder = product - whole * denominator;
    rope_dd f = dd_divide_double((rope_dd){(double)remainder, 0}, (double)denominator);
    rope_dd g = dd_multiply_double(rope_dd_log2(m), (double)numerator);
    rope_dd sum = dd_add(f, dd_divide_double(g, (double)denominator));
    double nearest = nearbyint(sum.hi);
    return dd_scale(rope_dd_exp2(dd_add_double(sum, -nearest)), (int)(whole + (int64_t)nearest));
}

/* (E + log2 m) ln 2: .6932 (23 u^2 + 2 u^2 |log2 x|), then 4 u^2 + 1 u^2 of |ln x|. */
rope_dd rope_dd_log(rope_dd x)
{
    int exponent;
    rope_dd m = mantissa(x, &exponent);
    return dd_multiply(dd_add_double(rope_dd_log2(m), exponent), rope_dd_ln2);
}
