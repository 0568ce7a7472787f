/* Inverse frequencies as frameworks compute them in f32, in the order of Hugging Face's
 * modeling_rope_utils, each operation correctly rounded. C's + - * / on float are (IEEE 754, and
 * -ffp-contract=off); the power is rounded from triple words. A Python number that meets an f32
 * tensor becomes f32 first; what the framework computes before that (the base of ntk and dynamic,
 * the range of yarn) it computes in f64, here exactly, then rounded.
 *
 * In the framework: exponent = arange(0, d, 2) / d; power = base ** exponent; theta = 1 / power. */
#include <float.h>
#include <math.h>

#include "impl/spec/frequencies.h"

_Static_assert(FLT_EVAL_METHOD == 0, "float operations must round to float");

/* x^exponent of an f32 x, by its log2, and an f32 exponent in [0, 1], nearest f32. No result is
 * half way between two f32 values: it would be irrational, or b^k with x = b^(2^j), k < 2^j, which
 * has fewer bits than x. */
static float power(rope_triple_log2 x, float exponent)
{
    int bits;
    double mantissa = frexp((double)exponent, &bits); /* 24 bits, >= 2^-16: denominator <= 2^40 */
    if (exponent == 0)
        return 1;
    int64_t denominator = INT64_C(1) << (24 - bits);
    return rope_triple_f32(rope_triple_power(x, (int64_t)ldexp(mantissa, 24), denominator));
}

static rope_triple_log2 log2_of_f32(float x)
{
    return rope_triple_log2_of(rope_triple_of((double)x));
}

/* ntk and dynamic change the base first: base s^(d/(d-2)) = base s s^(2/(d-2)). */
bool rope_solver_begin_f32(rope_solver *s, rope_error *error)
{
    const rope_spec *spec = s->spec;
    if (spec->inv_freq.count != 0)
        return true;
    double base = (double)(float)spec->base;
    if (spec->scaling == ROPE_SCALING_NTK || spec->scaling == ROPE_SCALING_DYNAMIC) {
        int64_t d = rope_place_of(spec, 0).dimension;
        rope_triple more = rope_triple_power(s->stretch_log2, 2, d - 2);
        more = rope_triple_multiply(rope_triple_multiply(more, s->stretch),
                                    rope_triple_of(spec->base));
        base = (double)rope_triple_f32(more);
    }
    if (!(base > 1 && base <= (double)FLT_MAX))
        return rope_fail(error,
                         "base comes to %.9g as f32, truth as-trained expects more than 1 "
                         "and a finite number",
                         base);
    s->base_f32 = log2_of_f32((float)base);
    if (spec->scaling == ROPE_SCALING_NTK_SU)
        s->factor_f32 = log2_of_f32((float)spec->factor);
    return true;
}

static float clip(float x)
{
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

/* interpolation (1 - kept) + extrapolation kept, kept = 1 - ramp */
static float scale_yarn(const rope_solver *s, int64_t index, float powered, float theta)
{
    float ramp = (float)index - (float)rope_triple_f64(s->low);
    ramp = clip(ramp / (float)rope_triple_f64(s->span));
    float kept = 1 - ramp;
    float interpolated = 1 / ((float)s->spec->factor * powered);
    return interpolated * (1 - kept) + theta * kept;
}

static float scale_llama3(const rope_spec *spec, float theta)
{
    const float two_pi = 0x1.921fb6p+2f, factor = (float)spec->factor;
    float wavelength = two_pi / theta;
    if (wavelength > (float)(spec->original / spec->low))
        return theta / factor;
    if (wavelength < (float)(spec->original / spec->high) || spec->high == spec->low)
        return theta;
    float smooth = (float)spec->original / wavelength - (float)spec->low;
    smooth = smooth / (float)(spec->high - spec->low);
    return (1 - smooth) * theta / factor + smooth * theta;
}

/* No framework's code: the paper's formula in the steps of llama3's. */
static float scale_yarn_paper(const rope_spec *spec, float theta)
{
    const float two_pi = 0x1.921fb6p+2f;
    float turns = (float)spec->original / (two_pi / theta);
    float kept =
        clip((turns - (float)spec->beta_slow) / (float)(spec->beta_fast - spec->beta_slow));
    return (1 - kept) * (theta / (float)spec->factor) + kept * theta;
}

float rope_frequency_as_trained(const rope_solver *s, int64_t pair, rope_place p)
{
    const rope_spec *spec = s->spec;
    if (spec->inv_freq.count != 0)
        return (float)spec->inv_freq.values[pair];
    if (p.still)
        return 0;
    float powered = power(s->base_f32, (float)(2 * p.index) / (float)p.dimension);
    float theta = 1 / powered;
    if (spec->divisors.count != 0)
        theta = theta / (float)spec->divisors.values[pair];
    switch (spec->scaling) {
    case ROPE_SCALING_LINEAR:
    case ROPE_SCALING_PROPORTIONAL:
        return theta / (float)spec->factor;
    case ROPE_SCALING_NTK_SU:
        return theta / power(s->factor_f32, (float)(2 * (p.index + 1)) / (float)p.dimension);
    case ROPE_SCALING_YARN:
        return scale_yarn(s, p.index, powered, theta);
    case ROPE_SCALING_YARN_PAPER:
        return scale_yarn_paper(spec, theta);
    case ROPE_SCALING_LLAMA3:
        return scale_llama3(spec, theta);
    case ROPE_SCALING_LONGROPE:
        return 1 / ((float)rope_longrope_factors(spec)->values[pair] * powered);
    default:
        return theta;
    }
}
