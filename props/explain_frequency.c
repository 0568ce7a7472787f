/* How far an f32 inverse frequency that a framework has computed may lie from the exact one.
 *
 * Before scaling, theta_i = base^(-2i/d). In f32, 1 / base^x needs one step where d is a power of
 * two (x is then exact, and one libm power and one division are rounded) and up to 8 otherwise
 * (x = 2i/d carries half a step, which the power multiplies by x ln base); exp(-i ln(base)/d) up to
 * 20, since its argument, ln(1/theta_i), is rounded in steps of its own size. So the reach grows
 * with ln(1/theta_i): W_i = floor(4 + 1.5 ln(1/theta_i)), and 0 for pair 0, which every formula
 * yields exactly.
 *
 * Scaling adds its own roundings and multiplies what it is given by the condition number of
 * theta -> theta':
 *   linear     one division: + 1
 *   ntk and dynamic forms, in f32 from a base' that is itself rounded: + 2
 *   longrope   the factor, the product and the reciprocal: + 3
 *   llama3     in the middle band theta' = theta ((1 - m)/s + m), m = (L theta/(2 pi) - low)/(high
 * - low): d ln theta' / d ln theta = 1 + (L theta / 2 pi) (1 - 1/s) / ((high - low) ((1 - m)/s +
 * m)), up to 1 + 31/3 for s = 32, low = 1, high = 4; the six roundings of m and the four of the
 * blend enter likewise: (W_i + 3) times that, + 4 yarn       theta' = theta (1 - r (1 - 1/s)): the
 * ramp r does not depend on theta, but its own rounding does: |dr| <= u ((|low| + |i - low|)/D + r
 * (|low| + |high| + D)/D + r + 1), D = high - low (the first terms vanish where low and high are
 * whole numbers), divided by 1 - r (1 - 1/s), which is as small as 1/s; a step is at least u of the
 * value: W_i + 4 + that yarn-paper the ramp is a function of theta, as for llama3: r = (L theta/(2
 * pi) - slow)/(fast - slow)
 */
#include <math.h>

#include "props/explain.h"

static double unscaled(const rope_spec *spec, const double *theta, int64_t pairs, int64_t pair)
{
    switch (spec->scaling) {
    case ROPE_SCALING_LINEAR:
        return theta[pair] * spec->factor;
    case ROPE_SCALING_YARN:
    case ROPE_SCALING_YARN_PAPER:
    case ROPE_SCALING_LLAMA3:
    case ROPE_SCALING_LONGROPE:
        return pow(spec->base, -(double)pair / (double)pairs);
    default:
        return theta[pair];
    }
}

/* Condition of theta (blend between 1/s and 1 by m = (rotations - low)/(high - low)), from theta.
 */
static double blend_condition(double theta, double original, double low, double high, double s)
{
    double rotations = original * theta / (2 * M_PI);
    if (rotations < low || rotations > high)
        return 1;
    double m = (rotations - low) / (high - low);
    return 1 + rotations * (1 - 1 / s) / ((high - low) * ((1 - m) / s + m));
}

/* What the rounding of yarn's ramp adds, in units of u of theta'. */
static double yarn_ramp(const rope_spec *spec, int64_t pair)
{
    double d = (double)spec->rotary_dim;
    double at_fast = d * log(spec->original / (2 * M_PI * spec->beta_fast)) / (2 * log(spec->base));
    double at_slow = d * log(spec->original / (2 * M_PI * spec->beta_slow)) / (2 * log(spec->base));
    double low = fmax(spec->truncate ? floor(at_fast) : at_fast, 0);
    double high = fmin(spec->truncate ? ceil(at_slow) : at_slow, d - 1);
    double width = fmax(high - low, 0.001), i = (double)pair;
    double r = fmin(fmax((i - low) / width, 0), 1);
    if (r <= 0 || r >= 1)
        return 0;
    double change = r + (r < 0.5 ? 1 : 0);
    if (!spec->truncate)
        change +=
            (fabs(low) + fabs(i - low)) / width + r * (fabs(low) + fabs(high) + width) / width;
    double less = 1 - 1 / spec->factor;
    return change * less / (1 - r * less);
}

void prop_frequency_steps(const rope_spec *spec, const double *theta, int64_t pairs, int32_t *steps)
{
    for (int64_t i = 0; i < pairs; i++) {
        double before = unscaled(spec, theta, pairs, i);
        double w = 0;
        if (before > 0 && before < 1)
            w = floor(4 + 1.5 * log(1 / before));
        switch (spec->scaling) {
        case ROPE_SCALING_LINEAR:
            w += 1;
            break;
        case ROPE_SCALING_NTK:
        case ROPE_SCALING_NTK_SU:
        case ROPE_SCALING_DYNAMIC:
            w += i == 0 ? 0 : 2;
            break;
        case ROPE_SCALING_LONGROPE:
            w += 3;
            break;
        case ROPE_SCALING_LLAMA3: {
            double c = blend_condition(before, spec->original, spec->low, spec->high, spec->factor);
            w = c > 1 ? ceil(c * (w + 3)) + 4 : w + (before < 1 ? 1 : 0);
            break;
        }
        case ROPE_SCALING_YARN_PAPER: {
            double c = blend_condition(before, spec->original, spec->beta_slow, spec->beta_fast,
                                       spec->factor);
            w = c > 1 ? ceil(c * (w + 3)) + 4 : w + (before < 1 ? 1 : 0);
            break;
        }
        case ROPE_SCALING_YARN:
            w += i == 0 ? 0 : 4 + ceil(yarn_ramp(spec, i));
            break;
        default:
            break;
        }
        if (spec->divisors.count > 0)
            w += 1;
        steps[i] = theta[i] > 0 ? (int32_t)fmin(w, 1000) : 0;
    }
}
