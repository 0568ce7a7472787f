/* Inverse frequencies as frameworks compute them in f32, each step correctly rounded (MPFR at 24
 * bits, round to nearest even). The steps and their order are those of Hugging Face's
 * modeling_rope_utils, stated in docs/oracle.md; a real framework's powf differs from the correctly
 * rounded one in some entries. */
#include <math.h>

#include "oracle/enclose.h"
#include "oracle/frequency.h"

enum { F32_BITS = 24 };

static double or_default(double value, double otherwise)
{
    return isnan(value) ? otherwise : value;
}

/* Each below rounds once, to f32, in place. */
static void divide(mpfr_ptr x, double divisor)
{
    mpfr_t d;
    mpfr_init2(d, F32_BITS); /* a Python float meets an f32 tensor as f32 */
    mpfr_set_d(d, divisor, MPFR_RNDN);
    mpfr_div(x, x, d, MPFR_RNDN);
    mpfr_clear(d);
}

static void multiply(mpfr_ptr x, double factor)
{
    mpfr_t f;
    mpfr_init2(f, F32_BITS);
    mpfr_set_d(f, factor, MPFR_RNDN);
    mpfr_mul(x, x, f, MPFR_RNDN);
    mpfr_clear(f);
}

static void subtract(mpfr_ptr x, double what)
{
    mpfr_t w;
    mpfr_init2(w, F32_BITS);
    mpfr_set_d(w, what, MPFR_RNDN);
    mpfr_sub(x, x, w, MPFR_RNDN);
    mpfr_clear(w);
}

/* out = fl(fl((1 - m)) a + m b), each operation rounded. */
static void blend(mpfr_ptr out, mpfr_srcptr m, mpfr_srcptr a, mpfr_srcptr b)
{
    mpfr_t rest, second;
    mpfr_inits2(F32_BITS, rest, second, (mpfr_ptr)0);
    mpfr_ui_sub(rest, 1, m, MPFR_RNDN);
    mpfr_mul(rest, rest, a, MPFR_RNDN);
    mpfr_mul(second, m, b, MPFR_RNDN);
    mpfr_add(out, rest, second, MPFR_RNDN);
    mpfr_clears(rest, second, (mpfr_ptr)0);
}

static void clamp(mpfr_ptr x)
{
    if (mpfr_sgn(x) < 0)
        mpfr_set_zero(x, 1);
    if (mpfr_cmp_ui(x, 1) > 0)
        mpfr_set_ui(x, 1, MPFR_RNDN);
}

/* The base that the framework's f64 arithmetic arrives at (real arithmetic here), as f32. */
static void effective_base(const rope_spec *spec, frequency_exponent e, mpfr_ptr out)
{
    for (mpfr_prec_t bits = 128; bits <= ENCLOSE_MAX_BITS; bits *= 2) {
        mpfi_t base, stretch;
        mpfi_init2(base, bits);
        mpfi_init2(stretch, bits);
        mpfi_set_d(base, spec->base);
        if (spec->scaling == ROPE_SCALING_NTK || spec->scaling == ROPE_SCALING_DYNAMIC) {
            if (spec->scaling == ROPE_SCALING_NTK)
                mpfi_set_d(stretch, spec->factor);
            else
                frequency_dynamic_stretch(spec, stretch);
            enclose_power(stretch, stretch, (uint64_t)e.dim, (uint64_t)(e.dim - 2));
            mpfi_mul(base, base, stretch);
        }
        bool decided = enclose_round(out, base);
        mpfi_clear(base);
        mpfi_clear(stretch);
        if (decided)
            return;
    }
}

/* base ** (2 index / dim): the exponent rounded, then the power. */
static void power(mpfr_ptr out, mpfr_srcptr base, int64_t index, int64_t dim)
{
    mpfr_t exponent;
    mpfr_init2(exponent, F32_BITS);
    mpfr_set_si(exponent, (long)(2 * index), MPFR_RNDN);
    mpfr_div_si(exponent, exponent, (long)dim, MPFR_RNDN);
    mpfr_pow(out, base, exponent, MPFR_RNDN);
    mpfr_clear(exponent);
}

/* Reads the ends of YaRN's range as f64, the framework's type for them. */
static void yarn_range(const rope_spec *spec, double *low, double *span)
{
    for (mpfr_prec_t bits = 128; bits <= ENCLOSE_MAX_BITS; bits *= 2) {
        mpfi_t l, s;
        mpfi_init2(l, bits);
        mpfi_init2(s, bits);
        bool decided = frequency_yarn_range(spec, l, s);
        *low = mpfi_get_d(l);
        *span = mpfi_get_d(s);
        mpfi_clear(l);
        mpfi_clear(s);
        if (decided)
            return;
    }
}

/* inv_freq_interpolation (1 - (1 - ramp)) + inv_freq_extrapolation (1 - ramp). */
static void scale_yarn(const rope_spec *spec, int64_t index, mpfr_srcptr pos_freq, mpfr_ptr theta)
{
    double low, span;
    yarn_range(spec, &low, &span);
    mpfr_t m, interpolated;
    mpfr_inits2(F32_BITS, m, interpolated, (mpfr_ptr)0);
    mpfr_set_si(m, (long)index, MPFR_RNDN);
    subtract(m, low);
    divide(m, span);
    clamp(m);
    mpfr_ui_sub(m, 1, m, MPFR_RNDN);
    mpfr_set(interpolated, pos_freq, MPFR_RNDN);
    multiply(interpolated, spec->factor);
    mpfr_ui_div(interpolated, 1, interpolated, MPFR_RNDN);
    blend(theta, m, interpolated, theta);
    mpfr_clears(m, interpolated, (mpfr_ptr)0);
}

static void set_two_pi(mpfr_ptr out)
{
    mpfr_const_pi(out, MPFR_RNDN);
    mpfr_mul_2ui(out, out, 1, MPFR_RNDN);
}

static void scale_yarn_paper(const rope_spec *spec, mpfr_ptr theta)
{
    double slow = or_default(spec->beta_slow, 1), fast = or_default(spec->beta_fast, 32);
    mpfr_t m, t;
    mpfr_inits2(F32_BITS, m, t, (mpfr_ptr)0);
    set_two_pi(t);
    mpfr_div(m, t, theta, MPFR_RNDN); /* wavelength */
    mpfr_set_d(t, spec->original, MPFR_RNDN);
    mpfr_div(m, t, m, MPFR_RNDN);
    subtract(m, slow);
    divide(m, fast - slow);
    clamp(m);
    mpfr_set(t, theta, MPFR_RNDN);
    divide(t, spec->factor);
    blend(theta, m, t, theta);
    mpfr_clears(m, t, (mpfr_ptr)0);
}

static void scale_llama3(const rope_spec *spec, mpfr_ptr theta)
{
    mpfr_t wavelength, smooth, edge, low_band;
    mpfr_inits2(F32_BITS, wavelength, smooth, edge, low_band, (mpfr_ptr)0);
    set_two_pi(wavelength);
    mpfr_div(wavelength, wavelength, theta, MPFR_RNDN);
    mpfr_set_d(edge, spec->original / spec->low, MPFR_RNDN);
    bool longer = mpfr_greater_p(wavelength, edge) != 0;
    mpfr_set_d(edge, spec->original / spec->high, MPFR_RNDN);
    bool shorter = mpfr_less_p(wavelength, edge) != 0;
    if (longer) {
        divide(theta, spec->factor);
    } else if (!shorter && spec->low != spec->high) {
        mpfr_set_d(smooth, spec->original, MPFR_RNDN);
        mpfr_div(smooth, smooth, wavelength, MPFR_RNDN);
        subtract(smooth, spec->low);
        divide(smooth, spec->high - spec->low);
        mpfr_ui_sub(low_band, 1, smooth, MPFR_RNDN);
        mpfr_mul(low_band, low_band, theta, MPFR_RNDN);
        divide(low_band, spec->factor);
        mpfr_mul(smooth, smooth, theta, MPFR_RNDN);
        mpfr_add(theta, low_band, smooth, MPFR_RNDN);
    }
    mpfr_clears(wavelength, smooth, edge, low_band, (mpfr_ptr)0);
}

static void scale(const rope_spec *spec, frequency_exponent e, int64_t pair, mpfr_srcptr pos_freq,
                  mpfr_ptr theta)
{
    mpfr_t t;
    mpfr_init2(t, F32_BITS);
    switch (spec->scaling) {
    case ROPE_SCALING_LINEAR:
        divide(theta, spec->factor);
        break;
    case ROPE_SCALING_NTK_SU:
        mpfr_set_d(t, spec->factor, MPFR_RNDN);
        power(t, t, e.index + 1, e.dim);
        mpfr_div(theta, theta, t, MPFR_RNDN);
        break;
    case ROPE_SCALING_YARN:
        scale_yarn(spec, e.index, pos_freq, theta);
        break;
    case ROPE_SCALING_YARN_PAPER:
        scale_yarn_paper(spec, theta);
        break;
    case ROPE_SCALING_LLAMA3:
        scale_llama3(spec, theta);
        break;
    case ROPE_SCALING_LONGROPE: /* 1 / (ext_factors * base ** ...) */
        mpfr_set(t, pos_freq, MPFR_RNDN);
        multiply(t, frequency_longrope_factors(spec)->values[pair]);
        mpfr_ui_div(theta, 1, t, MPFR_RNDN);
        break;
    case ROPE_SCALING_PROPORTIONAL:
        divide(theta, or_default(spec->factor, 1));
        break;
    default: /* ntk and dynamic change the base alone */
        break;
    }
    mpfr_clear(t);
}

void frequency_as_trained(const rope_spec *spec, int64_t pair, mpfr_ptr out)
{
    mpfr_t theta, pos_freq, base;
    mpfr_inits2(F32_BITS, theta, pos_freq, base, (mpfr_ptr)0);
    frequency_exponent e = frequency_exponent_of(spec, pair);
    if (spec->inv_freq.count > 0) {
        mpfr_set_d(theta, spec->inv_freq.values[pair], MPFR_RNDN);
    } else if (e.zero) {
        mpfr_set_zero(theta, 1);
    } else {
        effective_base(spec, e, base);
        power(pos_freq, base, e.index, e.dim);
        mpfr_ui_div(theta, 1, pos_freq, MPFR_RNDN);
        if (spec->divisors.count > 0)
            divide(theta, spec->divisors.values[pair]);
        scale(spec, e, pair, pos_freq, theta);
    }
    mpfr_set(out, theta, MPFR_RNDN);
    mpfr_clears(theta, pos_freq, base, (mpfr_ptr)0);
}
