#include "impl/spec/scalings.h"

#define BIT(name) ROPE_KEY_BIT(name)

static const rope_scaling_rule rules[] = {
    [ROPE_SCALING_NONE] = {0, BIT(divisors), "theta_i = base^(-2i/d)"},
    [ROPE_SCALING_LINEAR] = {BIT(factor), BIT(divisors), "theta_i / s"},
    [ROPE_SCALING_NTK] = {BIT(factor), 0, "theta_i of base s^(d/(d-2))"},
    [ROPE_SCALING_NTK_SU] = {BIT(factor), 0, "theta_i s^(-2(i+1)/d)"},
    [ROPE_SCALING_DYNAMIC] = {BIT(factor) | BIT(original), BIT(length),
                              "theta_i of base (s max(length, L)/L - (s-1))^(d/(d-2))"},
    [ROPE_SCALING_YARN] = {BIT(factor) | BIT(original),
                           BIT(beta_fast) | BIT(beta_slow) | BIT(mscale) | BIT(mscale_all_dim) |
                               BIT(truncate),
                           "r theta_i/s + (1-r) theta_i, r = clip((i - low)/(high - low), 0, 1), "
                           "low and high = d ln(L/(2 pi beta))/(2 ln base) at beta_fast and "
                           "beta_slow, rounded outwards"},
    [ROPE_SCALING_YARN_PAPER] = {BIT(factor) | BIT(original), BIT(beta_fast) | BIT(beta_slow),
                                 "(1-g) theta_i/s + g theta_i, "
                                 "g = clip((L theta_i/(2 pi) - beta_slow)/(beta_fast - beta_slow), "
                                 "0, 1)"},
    [ROPE_SCALING_LLAMA3] = {BIT(factor) | BIT(original) | BIT(low) | BIT(high), 0,
                             "(1-m) theta_i/s + m theta_i, "
                             "m = clip((L theta_i/(2 pi) - low)/(high - low), 0, 1)"},
    [ROPE_SCALING_LONGROPE] = {BIT(original) | BIT(short_factors) | BIT(long_factors),
                               BIT(factor) | BIT(max_position) | BIT(length),
                               "theta_i / short_factors[i] where length <= L, else / "
                               "long_factors[i]"},
    [ROPE_SCALING_PROPORTIONAL] = {BIT(share), BIT(factor),
                                   "base^(-2i/head_dim) / s for i < floor(share head_dim/2), "
                                   "else 0"},
};

const rope_scaling_rule *rope_scaling_rule_of(uint32_t scaling)
{
    return &rules[scaling];
}

uint32_t rope_scaling_keys(void)
{
    uint32_t set = BIT(attention_factor);
    for (uint32_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        set |= rules[i].needs | rules[i].takes;
    return set & ~BIT(divisors);
}
