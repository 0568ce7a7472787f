/* Faults of frequency scaling, right wherever the spec has another scaling: F13 to F16, F18, F19,
 * F32. YaRN's are in yarn.c. Each multiplies the frequency by wrong / right, so that pairs which
 * the fault does not reach stay exact. */
#include "props/mutants/common.h"

#include <math.h>

static double two_pi(void)
{
    return 2 * acos(-1);
}

static double dimension(const rope_plan *p)
{
    return (double)p->spec.rotary_dim;
}

/* theta_i for base' = base * ratio over theta_i for base. */
static void scale_base(rope_plan *p, double ratio)
{
    for (int64_t i = 0; i < p->args.pairs; i++)
        mutant_scale_frequency(p, i, pow(ratio, -mutant_exponent(p, i)));
}

static void invert_linear(rope_plan *p)
{
    if (p->spec.scaling == ROPE_SCALING_LINEAR)
        for (int64_t i = 0; i < p->args.pairs; i++)
            mutant_scale_frequency(p, i, p->spec.factor * p->spec.factor);
}
static const mutant_hooks linear_inverted_hooks = {.alter = invert_linear};
MUTATION(linear_inverted, "F19", "linear: position times factor, not divided by it",
         .example = "head_dim=128,base=10000,pairing=half,scaling=linear,factor=4");

/* (s base)^(-2i/d) for base^(-2i/d) / s. */
static void scale_inside(rope_plan *p)
{
    if (p->spec.scaling == ROPE_SCALING_LINEAR)
        for (int64_t i = 0; i < p->args.pairs; i++)
            mutant_scale_frequency(p, i, pow(p->spec.factor, 1 - mutant_exponent(p, i)));
}
static const mutant_hooks scale_inside_power_hooks = {.alter = scale_inside};
MUTATION(scale_inside_power, "F13", "linear: the factor multiplies the base, inside the power",
         .example = "head_dim=128,base=10000,pairing=half,scaling=linear,factor=16");

/* (b s)^e for b s^e, e = d/(d-2): a ratio of b^(e-1) = b^(2/(d-2)). */
static void ntk_power_of_base(rope_plan *p)
{
    if (p->spec.scaling == ROPE_SCALING_NTK && p->spec.rotary_dim > 2)
        scale_base(p, pow(p->spec.base, 2 / (dimension(p) - 2)));
}
static const mutant_hooks ntk_base_hooks = {.alter = ntk_power_of_base};
MUTATION(ntk_base, "F14", "ntk: base (b s)^(d/(d-2)) for b s^(d/(d-2))",
         .example = "head_dim=128,base=10000,pairing=half,scaling=ntk,factor=4");

/* Dynamic NTK stretches the base by (s L'/L - (s - 1))^(d/(d-2)), L' = max(length, L). */
static double current_length(const rope_plan *p)
{
    return isnan(p->spec.length) ? p->spec.original : p->spec.length;
}
static double dynamic_alpha(const rope_plan *p, double length)
{
    return p->spec.factor * length / p->spec.original - (p->spec.factor - 1);
}
static void dynamic_for_length(rope_plan *p, double wrong)
{
    double right = fmax(current_length(p), p->spec.original);
    double exponent = dimension(p) / (dimension(p) - 2);
    if (p->spec.scaling == ROPE_SCALING_DYNAMIC && p->spec.rotary_dim > 2 && wrong != right)
        scale_base(p,
                   pow(dynamic_alpha(p, wrong), exponent) / pow(dynamic_alpha(p, right), exponent));
}

static void dynamic_at_full_length(rope_plan *p)
{
    dynamic_for_length(p, p->spec.factor * p->spec.original);
}
static const mutant_hooks dynamic_constant_hooks = {.alter = dynamic_at_full_length};
MUTATION(dynamic_constant, "F15", "dynamic: the base of length factor * original, at every length",
         .example = "head_dim=128,base=10000,pairing=half,scaling=dynamic,factor=4,original=4096,"
                    "length=8192");

static void dynamic_unclamped(rope_plan *p)
{
    if (p->spec.scaling == ROPE_SCALING_DYNAMIC)
        dynamic_for_length(p, current_length(p));
}
static const mutant_hooks dynamic_below_length_hooks = {.alter = dynamic_unclamped};
MUTATION(dynamic_below_length, "F16", "dynamic: the formula used below the trained length too",
         .example = "head_dim=64,base=1000,pairing=half,scaling=dynamic,factor=2,original=2048,"
                    "length=512");

/* llama3's divisor of a pair: 1 up to wavelength L/high, s from L/low, between them
 * 1 / ((1 - m)/s + m), m = (L/wavelength - low)/(high - low). */
static double llama3_smooth(const rope_plan *p, int64_t pair)
{
    double theta = pow(p->spec.base, -mutant_exponent(p, pair));
    double turns = p->spec.original * theta / two_pi();
    return (turns - p->spec.low) / (p->spec.high - p->spec.low);
}
static double llama3_divisor(const rope_plan *p, int64_t pair, bool parenthesised)
{
    double m = llama3_smooth(p, pair), s = p->spec.factor;
    if (m >= 1)
        return 1;
    if (m <= 0)
        return s;
    return parenthesised ? 1 / ((1 - m) / s + m) : 1 / ((1 - m) / s) + m;
}

static void drop_llama3(rope_plan *p)
{
    if (p->spec.scaling == ROPE_SCALING_LLAMA3)
        for (int64_t i = 0; i < p->args.pairs; i++)
            mutant_scale_frequency(p, i, llama3_divisor(p, i, true));
}
#define LLAMA3                                                                                     \
    "head_dim=128,base=500000,pairing=half,scaling=llama3,factor=8,low=1,high=4,original=8192"
static const mutant_hooks llama3_factors_dropped_hooks = {.alter = drop_llama3};
MUTATION(llama3_factors_dropped, "F18", "llama3: no scaling at all", .example = LLAMA3);

static void misparenthesise_llama3(rope_plan *p)
{
    if (p->spec.scaling == ROPE_SCALING_LLAMA3)
        for (int64_t i = 0; i < p->args.pairs; i++)
            mutant_scale_frequency(p, i, llama3_divisor(p, i, true) / llama3_divisor(p, i, false));
}
static const mutant_hooks llama3_factors_hooks = {.alter = misparenthesise_llama3};
MUTATION(llama3_factors, "F18", "llama3: divisor 1/((1-m)/s) + m for 1/((1-m)/s + m)",
         .example = LLAMA3);

/* LongRoPE takes the long factors where length > original. */
static void choose_long_factors(rope_plan *p, bool wrong)
{
    const rope_spec *spec = &p->spec;
    bool right = current_length(p) > spec->original;
    if (spec->scaling != ROPE_SCALING_LONGROPE || wrong == right ||
        spec->short_factors.count < p->args.pairs || spec->long_factors.count < p->args.pairs)
        return;
    for (int64_t i = 0; i < p->args.pairs; i++) {
        double ratio = spec->short_factors.values[i] / spec->long_factors.values[i];
        mutant_scale_frequency(p, i, wrong ? ratio : 1 / ratio);
    }
}
#define LONGROPE                                                                                   \
    "head_dim=8,base=10000,pairing=half,scaling=longrope,original=4096,max_position=131072,"       \
    "short_factors=1:1.1:1.2:1.3,long_factors=1:2:8:32,length="

static void long_at_threshold(rope_plan *p)
{
    choose_long_factors(p, current_length(p) >= p->spec.original);
}
static const mutant_hooks longrope_threshold_hooks = {.alter = long_at_threshold};
MUTATION(longrope_threshold, "F32", "longrope: long factors at length = original already",
         .example = LONGROPE "4096");

static void long_by_allocation(rope_plan *p)
{
    choose_long_factors(p, p->spec.max_position > p->spec.original);
}
static const mutant_hooks longrope_allocated_hooks = {.alter = long_by_allocation};
MUTATION(longrope_allocated, "F32", "longrope: chosen by max_position, not by the length in use",
         .example = LONGROPE "100");
