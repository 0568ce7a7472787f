#include "oracle/encoding.h"

#include <math.h>

#include "impl/registry.h"

/* Angles below 2^64 lose up to 64 bits to the reduction; 256 leave more than 128 behind the point.
 */
enum { PRECISION = 256 };

static oracle_dd to_dd(mpfr_t x)
{
    oracle_dd r;
    r.hi = mpfr_get_d(x, MPFR_RNDN);
    mpfr_sub_d(x, x, r.hi, MPFR_RNDN);
    r.lo = mpfr_get_d(x, MPFR_RNDN);
    return r;
}

/* w_i = base^(-2i/dim), or base^(-i/(dim/2-1)): the exponent's quotient, the power: relative error
 * < 2^-240. */
static void frequency(mpfr_t w, uint32_t layout, int64_t dim, double base, int64_t i)
{
    mpfr_t exponent;
    mpfr_init2(exponent, PRECISION);
    mpfr_set_si(exponent, layout == ROPE_LAYOUT_PAPER ? -2 * i : -i, MPFR_RNDN);
    mpfr_div_si(exponent, exponent, layout == ROPE_LAYOUT_PAPER ? dim : dim / 2 - 1, MPFR_RNDN);
    mpfr_set_d(w, base, MPFR_RNDN);
    mpfr_pow(w, w, exponent, MPFR_RNDN);
    mpfr_clear(exponent);
}

oracle_dd oracle_sinusoidal_frequency(uint32_t layout, int64_t dim, double base, int64_t i)
{
    mpfr_t w;
    mpfr_init2(w, PRECISION);
    frequency(w, layout, dim, base, i);
    oracle_dd r = to_dd(w);
    mpfr_clear(w);
    return r;
}

oracle_dd oracle_sinusoidal(uint32_t layout, int64_t dim, double base, int64_t position,
                            int64_t element)
{
    int64_t pair = layout == ROPE_LAYOUT_PAPER ? element / 2 : element % (dim / 2);
    bool cosine = layout == ROPE_LAYOUT_PAPER ? element % 2 == 1 : element >= dim / 2;
    mpfr_t angle;
    mpfr_init2(angle, PRECISION);
    frequency(angle, layout, dim, base, pair);
    mpfr_mul_si(angle, angle, position, MPFR_RNDN);
    (cosine ? mpfr_cos : mpfr_sin)(angle, angle, MPFR_RNDN);
    oracle_dd r = to_dd(angle);
    mpfr_clear(angle);
    return r;
}

oracle_dd oracle_alibi_slope(int64_t heads, int64_t head)
{
    int64_t power = 1;
    while (power <= heads / 2)
        power *= 2;
    mpfr_t slope;
    mpfr_init2(slope, PRECISION);
    bool first = head < power;
    mpfr_set_si(slope, first ? -8 * (head + 1) : -8 * (2 * (head - power) + 1), MPFR_RNDN);
    mpfr_div_si(slope, slope, first ? power : 2 * power, MPFR_RNDN);
    mpfr_exp2(slope, slope, MPFR_RNDN);
    oracle_dd r = to_dd(slope);
    mpfr_clear(slope);
    return r;
}

double oracle_sum_error_u(uint32_t dtype, double x, oracle_dd p, double size_of_p, double y)
{
    /* y - x is rounded, so its rest is kept: (y - x) = d + r exactly (two-sum), then (d - hi) + (r
     * - lo). Where y ~ x + p, d - hi is exact (Sterbenz) or its rounding is 2^-53 of an error that
     * is large already. */
    double d = y - x, back = d - y, r = (y - (d - back)) + (-x - back);
    double error = fabs((d - p.hi) + (r - p.lo));
    double scale = rope_dtype_unit_roundoff(dtype) * (fabs(x) + size_of_p);
    return error == 0 ? 0 : error / scale;
}
