/* What certify_measure.c measures, from MPFR alone. */
#include <math.h>

#include "impl/registry.h"
#include "props/certify_measure.h"

/* A (c x0 - s x1) and A (s x0 + c x1), within 2^-(precision - 8) A|x|. */
static void rotate_mpfr(const oracle *o, int64_t position, int64_t pair, double x0, double x1,
                        mpfr_t v0, mpfr_t v1)
{
    mpfr_prec_t precision = mpfr_get_prec(v0);
    mpfr_t c, s, t;
    mpfr_inits2(precision, c, s, t, (mpfr_ptr)0);
    oracle_cos_sin(o, position, pair, c, s);
    mpfr_mul_d(v0, c, x0, MPFR_RNDN);
    mpfr_mul_d(t, s, x1, MPFR_RNDN);
    mpfr_sub(v0, v0, t, MPFR_RNDN);
    mpfr_mul_d(v1, s, x0, MPFR_RNDN);
    mpfr_mul_d(t, c, x1, MPFR_RNDN);
    mpfr_add(v1, v1, t, MPFR_RNDN);
    oracle_attention_factor(o, t);
    mpfr_mul(v0, v0, t, MPFR_RNDN);
    mpfr_mul(v1, v1, t, MPFR_RNDN);
    mpfr_clears(c, s, t, (mpfr_ptr)0);
}

static double quantum_of(uint32_t dtype, const mpfr_t v)
{
    double eta = rope_dtype_smallest(dtype);
    if (mpfr_zero_p(v))
        return eta;
    /* v = m 2^e with m in [1/2, 1). */
    double quantum = ldexp(rope_dtype_unit_roundoff(dtype), (int)mpfr_get_exp(v));
    return quantum > eta ? quantum : eta;
}

static bool is_nearest(uint32_t dtype, const mpfr_t v, double y, double reach)
{
    double quantum = quantum_of(dtype, v);
    mpfr_t n, d;
    mpfr_inits2(mpfr_get_prec(v), n, d, (mpfr_ptr)0);
    mpfr_div_d(d, v, quantum, MPFR_RNDN);
    mpfr_rint(n, d, MPFR_RNDN); /* ties to even */
    mpfr_sub(d, d, n, MPFR_RNDN);
    double nearest = mpfr_get_d(n, MPFR_RNDN), offset = mpfr_get_d(d, MPFR_RNDN);
    /* Within reach of a midpoint at 400 bits: an exact tie, as with exact data at position 0. */
    mpfr_abs(d, d, MPFR_RNDN);
    mpfr_sub_d(d, d, 0.5, MPFR_RNDN);
    mpfr_abs(d, d, MPFR_RNDN);
    if (mpfr_cmp_d(d, reach / quantum) <= 0) {
        double other = nearest + (offset > 0 ? 1 : -1);
        nearest = fmod(nearest, 2) == 0 ? nearest : other;
    }
    mpfr_clears(n, d, (mpfr_ptr)0);
    return y == nearest * quantum;
}

enum { EXACT_BITS = 400 };

int certify_nearest(const oracle *o, uint32_t dtype, int64_t position, int64_t pair, double x0,
                    double x1, double y0, double y1)
{
    mpfr_t v0, v1;
    mpfr_inits2(EXACT_BITS, v0, v1, (mpfr_ptr)0);
    rotate_mpfr(o, position, pair, x0, x1, v0, v1);
    double reach = 0x1p-380 * oracle_attention_factor_dd(o).hi * hypot(x0, x1);
    int correct = is_nearest(dtype, v0, y0, reach) + is_nearest(dtype, v1, y1, reach);
    mpfr_clears(v0, v1, (mpfr_ptr)0);
    return correct;
}

void certify_measure_mpfr(const oracle *o, uint32_t dtype, int64_t position, int64_t pair,
                          double x0, double x1, double y0, double y1, double *error_u, double *ulp)
{
    mpfr_t v[2], norm, t;
    mpfr_inits2(300, v[0], v[1], norm, t, (mpfr_ptr)0);
    rotate_mpfr(o, position, pair, x0, x1, v[0], v[1]);
    *ulp = 0;
    for (int k = 0; k < 2; k++) {
        double quantum = quantum_of(dtype, v[k]);
        mpfr_sub_d(v[k], v[k], k == 0 ? y0 : y1, MPFR_RNDN);
        mpfr_div_d(t, v[k], quantum, MPFR_RNDN);
        *ulp = fmax(*ulp, fabs(mpfr_get_d(t, MPFR_RNDN)));
    }
    mpfr_hypot(t, v[0], v[1], MPFR_RNDN);
    mpfr_set_d(norm, x0, MPFR_RNDN);
    mpfr_set_d(v[0], x1, MPFR_RNDN);
    mpfr_hypot(norm, norm, v[0], MPFR_RNDN);
    oracle_attention_factor(o, v[0]);
    mpfr_mul(norm, norm, v[0], MPFR_RNDN);
    mpfr_div(t, t, norm, MPFR_RNDN);
    mpfr_div_d(t, t, rope_dtype_unit_roundoff(dtype), MPFR_RNDN);
    *error_u = mpfr_get_d(t, MPFR_RNDN);
    certify_unit unit = certify_unit_of(dtype, mpfr_get_d(v[0], MPFR_RNDN));
    double slack = certify_underflow_u(&unit) / hypot(x0, x1);
    if (slack > CERTIFY_UNDERFLOW_SEEN)
        *error_u = fmax(*error_u - slack, 0);
    mpfr_clears(v[0], v[1], norm, t, (mpfr_ptr)0);
}
