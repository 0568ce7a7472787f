/* Faults of YaRN (the form of released code), right wherever the spec has another scaling: F10 to
 * F12, and a fraud. Source of the right form: Peng et al. (arXiv 2309.00071), section 3.2, as
 * released code computes it: c(beta) = d ln(L / (2 pi beta)) / (2 ln base), low = max(floor
 * c(beta_fast), 0), high = min(ceil c(beta_slow), d - 1), ramp = clip((i - low)/(high - low), 0,
 * 1), theta' = theta (ramp/s + 1 - ramp). */
#include "props/mutants/common.h"

#include <math.h>

#define YARN "head_dim=128,base=10000,pairing=half,scaling=yarn,factor=16,original=4096"

typedef struct ramp {
    double low, high;
} ramp;

static double or_default(double value, double otherwise)
{
    return isnan(value) || value == 0 ? otherwise : value;
}

static double boundary(const rope_plan *p, double beta)
{
    double d = (double)p->spec.rotary_dim;
    return d * log(p->spec.original / (beta * 2 * acos(-1))) / (2 * log(p->spec.base));
}

static ramp make_ramp(const rope_plan *p, double fast, double slow, bool whole, double last)
{
    double low = boundary(p, fast), high = boundary(p, slow);
    ramp r = {fmax(whole ? floor(low) : low, 0), fmin(whole ? ceil(high) : high, last)};
    if (r.low == r.high)
        r.high += 0.001;
    return r;
}

static ramp right_ramp(const rope_plan *p)
{
    return make_ramp(p, or_default(p->spec.beta_fast, 32), or_default(p->spec.beta_slow, 1),
                     p->spec.truncate != 0, (double)p->spec.rotary_dim - 1);
}

static double gain(const rope_plan *p, ramp r, int64_t pair)
{
    double part = fmin(fmax(((double)pair - r.low) / (r.high - r.low), 0), 1);
    return part / p->spec.factor + 1 - part;
}

static bool is_yarn(const rope_plan *p)
{
    return p->spec.scaling == ROPE_SCALING_YARN;
}

static void take_ramp(rope_plan *p, ramp wrong)
{
    ramp right = right_ramp(p);
    for (int64_t i = 0; i < p->args.pairs; i++)
        mutant_scale_frequency(p, i, gain(p, wrong, i) / gain(p, right, i));
}

static void flip_truncate(rope_plan *p)
{
    if (is_yarn(p))
        take_ramp(p,
                  make_ramp(p, or_default(p->spec.beta_fast, 32), or_default(p->spec.beta_slow, 1),
                            p->spec.truncate == 0, (double)p->spec.rotary_dim - 1));
}
static const mutant_hooks yarn_range_rounding_hooks = {.alter = flip_truncate};
MUTATION(yarn_range_rounding, "F11",
         "yarn: the ramp's ends rounded where truncate is off, and back",
         .example = "head_dim=64,base=150000,pairing=half,scaling=yarn,factor=32,original=4096,"
                    "truncate=false");

static void clamp_to_pairs(rope_plan *p)
{
    if (is_yarn(p))
        take_ramp(p,
                  make_ramp(p, or_default(p->spec.beta_fast, 32), or_default(p->spec.beta_slow, 1),
                            p->spec.truncate != 0, (double)p->args.pairs - 1));
}
static const mutant_hooks yarn_clamp_hooks = {.alter = clamp_to_pairs};
MUTATION(yarn_clamp, "F12", "yarn: the ramp's upper end clamped to d/2 - 1 for d - 1",
         .example = "head_dim=64,base=10000,pairing=half,scaling=yarn,factor=4,original=131072");

static void ignore_betas(rope_plan *p)
{
    if (is_yarn(p))
        take_ramp(p, make_ramp(p, 32, 1, p->spec.truncate != 0, (double)p->spec.rotary_dim - 1));
}
static const mutant_hooks yarn_betas_ignored_hooks = {.alter = ignore_betas};
MUTATION(yarn_betas_ignored, "FRAUD", "yarn: beta_fast 32 and beta_slow 1 whatever the spec says",
         .example = YARN ",beta_fast=16,beta_slow=2");

/* 0.1 m ln s + 1. */
static double magnitude(const rope_plan *p, double mscale)
{
    return p->spec.factor <= 1 ? 1 : 0.1 * mscale * log(p->spec.factor) + 1;
}

#define DEEPSEEK                                                                                   \
    "head_dim=64,base=10000,pairing=interleaved,scaling=yarn,factor=40,original=4096,mscale=1,"    \
    "mscale_all_dim=1"

static void ignore_all_dim(rope_plan *p)
{
    bool both = or_default(p->spec.mscale, 0) != 0 && or_default(p->spec.mscale_all_dim, 0) != 0;
    if (is_yarn(p) && both && isnan(p->spec.attention_factor))
        p->args.attention_factor = magnitude(p, p->spec.mscale);
}
static const mutant_hooks yarn_magnitude_hooks = {.alter = ignore_all_dim};
MUTATION(yarn_magnitude, "F10", "yarn: attention factor without the division by mscale_all_dim's",
         .example = DEEPSEEK);

static void square_magnitude(rope_plan *p)
{
    if (is_yarn(p)) {
        double g = magnitude(p, or_default(p->spec.mscale, 1));
        p->args.attention_factor = g * g;
    }
}
static const mutant_hooks yarn_magnitude_squared_hooks = {.alter = square_magnitude};
MUTATION(yarn_magnitude_squared, "F10", "yarn: attention factor applied twice",
         .example = DEEPSEEK);
