/* Inverse frequencies from their definitions, in interval arithmetic: whatever is computed contains
 * the exact value, so no error analysis is needed beyond the width of the result.
 *
 * theta_i = base^(-2i/d), d = rotary_dim (Su et al., arXiv 2104.09864, section 3.2.2), then:
 *   linear        theta / s                                  (Chen et al., arXiv 2306.15595)
 *   ntk           (base s^(d/(d-2)))^(-2i/d)
 *   ntk-su        theta s^(-2(i+1)/d)                        (Su, kexue.fm)
 *   dynamic       ntk with s L'/L - (s-1) for s, L' = max(length, L)
 *   yarn          Hugging Face transformers, modeling_rope_utils
 *   yarn-paper    Peng et al., arXiv 2309.00071, eq. 20-23
 *   llama3        Hugging Face transformers and Meta's llama-models
 *   longrope      Ding et al., arXiv 2402.13753; as Hugging Face computes it
 *   proportional  Gemma 4: exponent over head_dim, zeros past the share
 * An explicit list of inverse frequencies replaces all of this but the attention factor. */
#include "oracle/frequency.h"

#include <math.h>

#include "oracle/enclose.h"

static double or_default(double value, double otherwise)
{
    return isnan(value) ? otherwise : value;
}

/* ---- axes ---- */

uint32_t frequency_axis_count(const rope_spec *spec)
{
    static const uint32_t counts[] = {1, 3, 3, 2, 2};
    return spec->axes < sizeof counts / sizeof counts[0] ? counts[spec->axes] : 1;
}

static int64_t section(const rope_spec *spec, int64_t axis)
{
    return axis < spec->sections.count ? (int64_t)spec->sections.values[axis] : 0;
}

static bool is_axial(const rope_spec *spec)
{
    return spec->axes == ROPE_AXES_HEIGHT_WIDTH || spec->axes == ROPE_AXES_WIDTH_HEIGHT;
}

/* Pairs of the first of two image axes: half of them unless sections say otherwise. */
static int64_t axial_first(const rope_spec *spec)
{
    return spec->sections.count > 0 ? section(spec, 0) : spec->rotary_dim / 4;
}

uint32_t frequency_axis(const rope_spec *spec, int64_t pair)
{
    switch (spec->axes) {
    case ROPE_AXES_MROPE:
        return pair < section(spec, 0) ? 0 : pair < section(spec, 0) + section(spec, 1) ? 1 : 2;
    case ROPE_AXES_MROPE_INTERLEAVED:
        if (pair % 3 == 1 && pair < 3 * section(spec, 1))
            return 1;
        return pair % 3 == 2 && pair < 3 * section(spec, 2) ? 2 : 0;
    case ROPE_AXES_HEIGHT_WIDTH: /* positions are (height, width) */
        return pair < axial_first(spec) ? 0 : 1;
    case ROPE_AXES_WIDTH_HEIGHT:
        return pair < axial_first(spec) ? 1 : 0;
    default:
        return 0;
    }
}

/* ---- parts of the definitions ---- */

frequency_exponent frequency_exponent_of(const rope_spec *spec, int64_t pair)
{
    frequency_exponent e = {pair, spec->rotary_dim, false};
    if (is_axial(spec)) {
        /* Each axis has a series of its own over its share of the elements. */
        int64_t first = axial_first(spec);
        if (pair < first)
            e.dim = 2 * first;
        else
            e = (frequency_exponent){pair - first, spec->rotary_dim - 2 * first, false};
    }
    if (spec->exponent_by_head || spec->scaling == ROPE_SCALING_PROPORTIONAL)
        e.dim = spec->head_dim;
    if (spec->scaling == ROPE_SCALING_PROPORTIONAL)
        e.zero = pair >= (int64_t)floor(or_default(spec->share, 1) * (double)spec->head_dim / 2);
    return e;
}

void frequency_dynamic_stretch(const rope_spec *spec, mpfi_ptr out)
{
    double length = or_default(spec->length, spec->original);
    if (length < spec->original)
        length = spec->original;
    /* (s L' - (s - 1) L) / L = (s (L' - L) + L) / L: one rounding, so that a = 3 comes out as 3. */
    mpfi_t difference;
    mpfi_init2(difference, mpfi_get_prec(out));
    mpfi_set_d(difference, length);
    mpfi_sub_d(difference, difference, spec->original);
    mpfi_mul_d(difference, difference, spec->factor);
    mpfi_add_d(difference, difference, spec->original);
    mpfi_div_d(out, difference, spec->original);
    mpfi_clear(difference);
}

const rope_list *frequency_longrope_factors(const rope_spec *spec)
{
    double length = or_default(spec->length, spec->original);
    return length <= spec->original ? &spec->short_factors : &spec->long_factors;
}

/* c(beta) = d ln(L / (2 pi beta)) / (2 ln base): the pair that turns beta times over L positions.
 */
static void yarn_pair(const rope_spec *spec, double beta, mpfi_ptr out)
{
    mpfi_t t;
    mpfi_init2(t, mpfi_get_prec(out));
    mpfi_const_pi(t);
    mpfi_mul_d(t, t, beta);
    mpfi_mul_2ui(t, t, 1);
    mpfi_d_div(out, spec->original, t);
    mpfi_log(out, out);
    mpfi_mul_si(out, out, (long)spec->rotary_dim);
    mpfi_set_d(t, spec->base);
    mpfi_log(t, t);
    mpfi_mul_2ui(t, t, 1);
    mpfi_div(out, out, t);
    mpfi_clear(t);
}

static void set_integer_or_keep(mpfi_ptr end, bool truncate, int64_t rounded)
{
    if (truncate)
        mpfi_set_si(end, (long)rounded);
}

bool frequency_yarn_range(const rope_spec *spec, mpfi_ptr low, mpfi_ptr span)
{
    double fast = or_default(spec->beta_fast, 32), slow = or_default(spec->beta_slow, 1);
    mpfi_t high;
    mpfi_init2(high, mpfi_get_prec(low));
    yarn_pair(spec, fast, low);
    yarn_pair(spec, slow, high);
    /* c is never a whole number: L/(2 pi beta) is transcendental, base^(2c/d) algebraic. */
    int64_t down = 0, up = 0;
    bool decided = !spec->truncate || (enclose_floor(low, &down) && enclose_ceil(high, &up));
    set_integer_or_keep(low, spec->truncate, down);
    set_integer_or_keep(high, spec->truncate, up);

    mpfr_ptr low_ends[] = {&low->left, &low->right}, high_ends[] = {&high->left, &high->right};
    for (int i = 0; i < 2; i++) {
        if (mpfr_sgn(low_ends[i]) < 0)
            mpfr_set_ui(low_ends[i], 0, MPFR_RNDN);
        if (mpfr_cmp_si(high_ends[i], (long)spec->rotary_dim - 1) > 0)
            mpfr_set_si(high_ends[i], (long)spec->rotary_dim - 1, MPFR_RNDN);
    }
    mpfi_sub(span, high, low);
    /* Equal ends: high + .001, the f64 .001 of the released code. Untruncated ends are equal only
     * for equal betas, where both come from the same pair number (and neither is clamped). */
    bool equal = spec->truncate ? mpfi_is_zero(span) > 0
                                : fast == slow && mpfi_cmp_si(low, 0) > 0 &&
                                      mpfi_cmp_si(high, (long)spec->rotary_dim - 1) < 0;
    if (equal)
        mpfi_set_d(span, 0.001);
    mpfi_clear(high);
    return decided && mpfi_has_zero(span) == 0;
}

/* out = (1 - m) theta / s + m theta. */
static void blend(mpfi_ptr out, mpfi_srcptr m, mpfi_srcptr theta, double factor)
{
    mpfi_t scaled, rest;
    mpfi_init2(scaled, mpfi_get_prec(out));
    mpfi_init2(rest, mpfi_get_prec(out));
    mpfi_ui_sub(rest, 1, m);
    mpfi_div_d(scaled, theta, factor);
    mpfi_mul(scaled, scaled, rest);
    mpfi_mul(rest, m, theta);
    mpfi_add(out, scaled, rest);
    mpfi_clear(scaled);
    mpfi_clear(rest);
}

static bool scale_yarn(const rope_spec *spec, int64_t index, mpfi_ptr theta)
{
    mpfi_t low, span, done;
    mpfi_init2(low, mpfi_get_prec(theta));
    mpfi_init2(span, mpfi_get_prec(theta));
    mpfi_init2(done, mpfi_get_prec(theta));
    bool decided = frequency_yarn_range(spec, low, span);
    if (decided) {
        mpfi_si_sub(done, (long)index, low);
        if (spec->truncate) {
            /* ramp = done/span is rational: theta (span s - done (s - 1)) / (span s) needs one
             * rounding, so that a multiplier like 3/4 (ramp 1/3, s 4) is exact. */
            mpfi_div(low, done, span);
            if (mpfr_sgn(&low->right) <= 0) {
                /* ramp 0: kept */
            } else if (mpfr_cmp_ui(&low->left, 1) >= 0) {
                mpfi_div_d(theta, theta, spec->factor);
            } else {
                mpfi_mul_d(span, span, spec->factor);
                mpfi_set_d(low, spec->factor);
                mpfi_sub_ui(low, low, 1);
                mpfi_mul(low, low, done);
                mpfi_sub(low, span, low);
                mpfi_mul(theta, theta, low);
                mpfi_div(theta, theta, span);
            }
        } else {
            mpfi_div(done, done, span);
            enclose_clamp(done);
            mpfi_ui_sub(done, 1, done);
            blend(theta, done, theta, spec->factor);
        }
    }
    mpfi_clear(low);
    mpfi_clear(span);
    mpfi_clear(done);
    return decided;
}

/* m = clip((L theta / (2 pi) - low) / (high - low), 0, 1), then (1 - m) theta/s + m theta. The
 * clipped m is 1 where the wavelength is below L/high and 0 where it is above L/low, so the bands
 * need no branch. Where low = high (Llama 4 Scout) the band is empty and m steps from 0 to 1; false
 * when it is not decided on which side theta lies (L theta / (2 pi) is transcendental, never low).
 */
static bool scale_by_rotations(const rope_spec *spec, double low, double high, mpfi_ptr theta)
{
    bool decided = true;
    mpfi_t m, t;
    mpfi_init2(m, mpfi_get_prec(theta));
    mpfi_init2(t, mpfi_get_prec(theta));
    mpfi_const_pi(t);
    mpfi_mul_2ui(t, t, 1);
    mpfi_mul_d(m, theta, spec->original);
    mpfi_div(m, m, t);
    mpfi_sub_d(m, m, low);
    if (low == high) {
        decided = mpfi_has_zero(m) == 0;
        mpfi_set_ui(m, mpfi_cmp_ui(m, 0) > 0);
    } else {
        mpfi_set_d(t, high);
        mpfi_sub_d(t, t, low);
        mpfi_div(m, m, t);
        enclose_clamp(m);
    }
    blend(theta, m, theta, spec->factor);
    mpfi_clear(m);
    mpfi_clear(t);
    return decided;
}

/* theta / stretch^(p/q). */
static void divide_by_power(mpfi_ptr theta, mpfi_srcptr stretch, int64_t p, int64_t q)
{
    mpfi_t power;
    mpfi_init2(power, mpfi_get_prec(theta));
    enclose_power(power, stretch, (uint64_t)p, (uint64_t)q);
    mpfi_div(theta, theta, power);
    mpfi_clear(power);
}

static bool scale(const rope_spec *spec, frequency_exponent e, int64_t pair, mpfi_ptr theta)
{
    bool decided = true;
    mpfi_t stretch;
    mpfi_init2(stretch, mpfi_get_prec(theta));
    switch (spec->scaling) {
    case ROPE_SCALING_LINEAR:
        mpfi_div_d(theta, theta, spec->factor);
        break;
    case ROPE_SCALING_NTK: /* (base s^(d/(d-2)))^(-2i/d) = base^(-2i/d) s^(-2i/(d-2)) */
        mpfi_set_d(stretch, spec->factor);
        divide_by_power(theta, stretch, 2 * e.index, e.dim - 2);
        break;
    case ROPE_SCALING_NTK_SU:
        mpfi_set_d(stretch, spec->factor);
        divide_by_power(theta, stretch, 2 * (e.index + 1), e.dim);
        break;
    case ROPE_SCALING_DYNAMIC:
        frequency_dynamic_stretch(spec, stretch);
        divide_by_power(theta, stretch, 2 * e.index, e.dim - 2);
        break;
    case ROPE_SCALING_YARN:
        decided = scale_yarn(spec, e.index, theta);
        break;
    case ROPE_SCALING_YARN_PAPER:
        decided = scale_by_rotations(spec, or_default(spec->beta_slow, 1),
                                     or_default(spec->beta_fast, 32), theta);
        break;
    case ROPE_SCALING_LLAMA3:
        decided = scale_by_rotations(spec, spec->low, spec->high, theta);
        break;
    case ROPE_SCALING_LONGROPE:
        mpfi_div_d(theta, theta, frequency_longrope_factors(spec)->values[pair]);
        break;
    case ROPE_SCALING_PROPORTIONAL:
        mpfi_div_d(theta, theta, or_default(spec->factor, 1));
        break;
    default:
        break;
    }
    mpfi_clear(stretch);
    return decided;
}

bool frequency_enclose(const rope_spec *spec, int64_t pair, mpfi_ptr out)
{
    if (spec->inv_freq.count > 0) {
        mpfi_set_d(out, spec->inv_freq.values[pair]);
        return true;
    }
    frequency_exponent e = frequency_exponent_of(spec, pair);
    if (e.zero) {
        mpfi_set_ui(out, 0);
        return true;
    }
    mpfi_t base;
    mpfi_init2(base, mpfi_get_prec(out));
    mpfi_set_d(base, spec->base);
    enclose_power(out, base, (uint64_t)(2 * e.index), (uint64_t)e.dim);
    mpfi_ui_div(out, 1, out);
    mpfi_clear(base);
    if (spec->divisors.count > 0)
        mpfi_div_d(out, out, spec->divisors.values[pair]);
    return scale(spec, e, pair, out);
}

/* ---- attention factor ---- */

/* g(s, m) = 0.1 m ln s + 1, and 1 for s <= 1. The tenth is exact: real-number YaRN has 1/10. */
static void yarn_magnitude(double factor, double m, mpfi_ptr out)
{
    if (factor <= 1) {
        mpfi_set_ui(out, 1);
        return;
    }
    mpfi_set_d(out, factor);
    mpfi_log(out, out);
    mpfi_mul_d(out, out, m);
    mpfi_div_ui(out, out, 10);
    mpfi_add_ui(out, out, 1);
}

static void longrope_magnitude(const rope_spec *spec, mpfi_ptr out)
{
    mpfi_t t;
    mpfi_init2(t, mpfi_get_prec(out));
    if (isnan(spec->max_position)) {
        mpfi_set_d(out, or_default(spec->factor, 1));
    } else {
        mpfi_set_d(out, spec->max_position);
        mpfi_div_d(out, out, spec->original);
    }
    if (mpfi_cmp_ui(out, 1) > 0) {
        mpfi_log(out, out);
        mpfi_set_d(t, spec->original);
        mpfi_log(t, t);
        mpfi_div(out, out, t);
        mpfi_add_ui(out, out, 1);
        mpfi_sqrt(out, out);
    } else {
        mpfi_set_ui(out, 1);
    }
    mpfi_clear(t);
}

void frequency_attention_factor(const rope_spec *spec, mpfi_ptr out)
{
    bool yarn = spec->scaling == ROPE_SCALING_YARN || spec->scaling == ROPE_SCALING_YARN_PAPER;
    /* The released code tests mscale and mscale_all_dim for truth: 0 counts as absent. */
    bool both = or_default(spec->mscale, 0) != 0 && or_default(spec->mscale_all_dim, 0) != 0;
    mpfi_set_ui(out, 1);
    if (!isnan(spec->attention_factor)) {
        mpfi_set_d(out, spec->attention_factor);
    } else if (yarn && both) {
        mpfi_t all;
        mpfi_init2(all, mpfi_get_prec(out));
        yarn_magnitude(spec->factor, spec->mscale, out);
        yarn_magnitude(spec->factor, spec->mscale_all_dim, all);
        if (spec->mscale == spec->mscale_all_dim)
            mpfi_set_ui(out, 1);
        else
            mpfi_div(out, out, all);
        mpfi_clear(all);
    } else if (yarn) {
        yarn_magnitude(spec->factor, 1, out);
    } else if (spec->scaling == ROPE_SCALING_LONGROPE) {
        longrope_magnitude(spec, out);
    }
}
