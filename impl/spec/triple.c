#include "impl/spec/triple.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* The three successive nearest f64, by Python's decimal at 120 digits: ln 2 = 2 atanh(1/3),
 * pi = 16 atan(1/5) - 4 atan(1/239). triple_test.c recomputes them with MPFR. */
const rope_triple rope_triple_ln2 = {
    {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56, 0x1.7b57a079a1934p-111}};
const rope_triple rope_triple_two_pi = {
    {0x1.921fb54442d18p+2, 0x1.1a62633145c07p-52, -0x1.f1976b7ed8fbcp-108}};

typedef struct pair {
    double value, error; /* the operation's result, rounded, and what the rounding left */
} pair;

/* Knuth's 2Sum: a + b exactly. */
static pair exact_sum(double a, double b)
{
    double s = a + b, t = s - a;
    return (pair){s, (a - (s - t)) + (b - t)};
}

static pair exact_product(double a, double b)
{
    double p = a * b;
    return (pair){p, fma(a, b, -p)};
}

/* VecSum: the same sum, the total's rounding first and errors after. Exact. */
static void vector_sum(double *x, int n)
{
    double s = x[n - 1];
    for (int i = n - 2; i >= 0; i--) {
        pair p = exact_sum(x[i], s);
        s = p.value;
        x[i + 1] = p.error;
    }
    x[0] = s;
}

/* Terms of roughly falling size to a triple word. Two passes of VecSum order terms of equal size;
 * then VecSumErrBranch (algorithm 5 of the paper) skips zeros and keeps three words. */
static rope_triple normalize(double *x, int n)
{
    rope_triple r = {{0, 0, 0}};
    vector_sum(x, n);
    vector_sum(x, n);
    int j = 0;
    double rest = x[0];
    for (int i = 1; i < n; i++) {
        pair p = exact_sum(rest, x[i]);
        r.w[j] = p.value;
        rest = p.value;
        if (p.error != 0) {
            if (j == 2)
                return r;
            j++;
            r.w[j] = rest = p.error;
        }
    }
    return r;
}

rope_triple rope_triple_of(double x)
{
    return (rope_triple){{x, 0, 0}};
}

rope_triple rope_triple_negative(rope_triple x)
{
    return (rope_triple){{-x.w[0], -x.w[1], -x.w[2]}};
}

int rope_triple_sign(rope_triple x)
{
    return (x.w[0] > 0) - (x.w[0] < 0);
}

rope_triple rope_triple_scale(rope_triple x, int n)
{
    return (rope_triple){{ldexp(x.w[0], n), ldexp(x.w[1], n), ldexp(x.w[2], n)}};
}

/* The six words merged by size, summed exactly, cut to three. */
rope_triple rope_triple_add(rope_triple x, rope_triple y)
{
    double z[6];
    for (int i = 0, j = 0; i + j < 6;) {
        bool first = j == 3 || (i < 3 && fabs(x.w[i]) >= fabs(y.w[j]));
        int at = i + j;
        z[at] = first ? x.w[i++] : y.w[j++];
    }
    return normalize(z, 6);
}

rope_triple rope_triple_subtract(rope_triple x, rope_triple y)
{
    return rope_triple_add(x, rope_triple_negative(y));
}

/* Dropped: x1 y2, x2 y1, x2 y2 and the roundings of `last`, each at most a few u^3 |x y|. */
rope_triple rope_triple_multiply(rope_triple x, rope_triple y)
{
    pair p00 = exact_product(x.w[0], y.w[0]), p01 = exact_product(x.w[0], y.w[1]);
    pair p10 = exact_product(x.w[1], y.w[0]), p11 = exact_product(x.w[1], y.w[1]);
    double last = p01.error + p10.error + (x.w[0] * y.w[2] + x.w[2] * y.w[0]);
    double z[] = {p00.value, p01.value, p10.value, p00.error, p11.value, last};
    return normalize(z, 6);
}

/* x / d. Each remainder is exact (fma of a rounded quotient), and the words of x join it in turn;
 * the last quotient's error is a few u^3 of x/d. */
static rope_triple divide_double(rope_triple x, double d)
{
    double q[3];
    q[0] = x.w[0] / d;
    pair second = exact_sum(fma(-q[0], d, x.w[0]), x.w[1]);
    q[1] = second.value / d;
    q[2] = (fma(-q[1], d, second.value) + (second.error + x.w[2])) / d;
    return normalize(q, 3);
}

/* Long division, one f64 of quotient a step; the remainder after four is below 2^-200. */
rope_triple rope_triple_divide(rope_triple x, rope_triple y)
{
    double q[4];
    if (y.w[1] == 0 && y.w[2] == 0)
        return divide_double(x, y.w[0]);
    for (int i = 0; i < 4; i++) {
        q[i] = x.w[0] / y.w[0];
        x = rope_triple_subtract(x, rope_triple_multiply(rope_triple_of(q[i]), y));
    }
    return normalize(q, 4);
}

/* Two Newton steps from the f64 root: y + (x - y^2) / (2 y). */
rope_triple rope_triple_square_root(rope_triple x)
{
    rope_triple y = rope_triple_of(sqrt(x.w[0]));
    for (int i = 0; i < 2; i++) {
        rope_triple left = rope_triple_subtract(x, rope_triple_multiply(y, y));
        y = rope_triple_add(y, rope_triple_divide(left, rope_triple_scale(y, 1)));
    }
    return y;
}

/* value, or, where its last bit is even and more follows, its neighbour on that side: rounding to
 * odd, after which a second rounding to fewer bits is the right one. */
static double to_odd(double value, double rest)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (rest == 0 || (bits & 1) != 0)
        return value;
    return nextafter(value, rest > 0 ? (double)INFINITY : -(double)INFINITY);
}

double rope_triple_f64(rope_triple x)
{
    return x.w[0] + to_odd(x.w[1], x.w[2]);
}

float rope_triple_f32(rope_triple x)
{
    return (float)to_odd(x.w[0], x.w[1] != 0 ? x.w[1] : x.w[2]);
}

/* 2^x = e^r with r = x ln 2, |x| <= 1/2 + 2^-40, by Horner's rule p_(n-1) = 1 + (r/n) p_n,
 * p_34 = 1. The tail is below r^34/34! < 2^-170. With E = ROPE_TRIPLE_ERROR for each operation and
 * |r| <= .3466, p_n within [.7, 1.42]: the absolute error obeys e_(n-1) <= |r|/n (e_n + 3E p_n) +
 * 2E p_(n-1), so e_0 <= 6E, and r's own error (2E relative) adds .7 E p_0: below 10E relative,
 * 2^-141.6. */
static rope_triple exp2_small(rope_triple x)
{
    rope_triple r = rope_triple_multiply(x, rope_triple_ln2), one = rope_triple_of(1), p = one;
    for (int n = 34; n >= 1; n--) {
        rope_triple step = rope_triple_divide(r, rope_triple_of(n));
        p = rope_triple_add(rope_triple_multiply(step, p), one);
    }
    return p;
}

/* One Newton step from y = log2 m of the C library, m in [sqrt(1/2), sqrt(2)]: with
 * e = m 2^-y - 1, log2 m = y + (e - e^2/2 + e^3/3) / ln 2. Nothing is assumed of the library but
 * |y - log2 m| <= 2^-40: then |e| <= 2^-40 and the next term is below 2^-161. exp2_small's error
 * and the product's, 11E, pass to the logarithm divided by ln 2: 16E < 2^-141. */
static rope_triple log2_small(rope_triple m)
{
    double y = log2(m.w[0]);
    rope_triple power = rope_triple_multiply(m, exp2_small(rope_triple_of(-y)));
    rope_triple e = rope_triple_subtract(power, rope_triple_of(1));
    rope_triple square = rope_triple_multiply(e, e);
    rope_triple cube = rope_triple_multiply(square, e);
    rope_triple series = rope_triple_subtract(e, rope_triple_scale(square, -1));
    series = rope_triple_add(series, rope_triple_divide(cube, rope_triple_of(3)));
    return rope_triple_add(rope_triple_divide(series, rope_triple_ln2), rope_triple_of(y));
}

rope_triple_log2 rope_triple_log2_of(rope_triple x)
{
    int exponent;
    if (frexp(x.w[0], &exponent) < 0x1.6a09e667f3bcdp-1)
        exponent--;
    return (rope_triple_log2){exponent, log2_small(rope_triple_scale(x, -exponent))};
}

rope_triple rope_triple_log2_sum(rope_triple_log2 x)
{
    return rope_triple_add(x.fraction, rope_triple_of((double)x.whole));
}

/* numerator whole / denominator splits exactly into a whole number and a fraction below 1, so no
 * large exponent multiplies an error: f + g with f = remainder/denominator, |f| <= 1, and
 * g = fraction numerator/denominator, |g| <= 1/2 and 2^-141 + 2E off. Times ln 2, plus exp2's
 * 2^-141.6: below 2^-140.2. */
rope_triple rope_triple_power(rope_triple_log2 x, int64_t numerator, int64_t denominator)
{
    int64_t product = numerator * x.whole, whole = product / denominator;
    rope_triple d = rope_triple_of((double)denominator);
    rope_triple f = rope_triple_of((double)(product - whole * denominator));
    rope_triple g = rope_triple_multiply(x.fraction, rope_triple_of((double)numerator));
    rope_triple sum = rope_triple_divide(rope_triple_add(f, g), d);
    double nearest = nearbyint(sum.w[0]);
    rope_triple rest = rope_triple_subtract(sum, rope_triple_of(nearest));
    return rope_triple_scale(exp2_small(rest), (int)(whole + (int64_t)nearest));
}
