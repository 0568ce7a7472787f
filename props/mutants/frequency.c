/* Faults of the inverse frequencies: F4, F8, F17, F20, F21, and frauds. */
#include "props/mutants/common.h"

#include <math.h>

static void each_frequency(rope_plan *p, double (*ratio)(const rope_plan *p, int64_t pair))
{
    for (int64_t i = 0; i < p->args.pairs; i++)
        mutant_scale_frequency(p, i, ratio(p, i));
}

/* Whether the frequencies come from the spec's base at all. */
static bool from_base(const rope_plan *p)
{
    return p->spec.inv_freq.count == 0 && p->spec.base > 1;
}

static void round_to_bf16(rope_plan *p)
{
    for (int64_t i = 0; i < p->args.pairs; i++) {
        p->hi[i] = mutant_round(p->hi[i], 8);
        p->lo[i] = 0;
    }
}
static const mutant_hooks frequency_bf16_hooks = {.alter = round_to_bf16};
MUTATION(frequency_bf16, "F4", "inverse frequencies rounded to bf16");

static void round_to_f16(rope_plan *p)
{
    for (int64_t i = 0; i < p->args.pairs; i++) {
        p->hi[i] = mutant_round_f16(p->hi[i]);
        p->lo[i] = 0;
    }
}
static const mutant_hooks frequency_f16_hooks = {.alter = round_to_f16};
MUTATION(frequency_f16, "F4", "inverse frequencies rounded to f16; small ones become 0",
         .example = "head_dim=128,base=1e9,pairing=half");

/* ggml: theta = position, then theta *= base^(-2/d) from pair to pair, all in f32; the scaling of a
 * pair multiplies afterwards. */
static void turn_by_recurrence(const rope_plan *p, int64_t position, int64_t pair, float *c,
                               float *s)
{
    float angle = (float)position, step = 1;
    double plain = 1;
    if (from_base(p)) {
        step = (float)pow(p->spec.base, -mutant_exponent(p, 1));
        plain = pow(p->spec.base, -mutant_exponent(p, pair));
    }
    for (int64_t i = 0; i < pair; i++)
        angle *= step;
    angle *= (float)(p->hi[pair] / plain);
    *c = (float)(p->args.attention_factor * cos((double)angle));
    *s = (float)(p->args.attention_factor * sin((double)angle));
}
static const mutant_hooks frequency_recurrence_hooks = {.turn = turn_by_recurrence};
MUTATION(frequency_recurrence, "F8", "angle *= base^(-2/d) from pair to pair, in f32");

static double by_head_dim(const rope_plan *p, int64_t pair)
{
    if (!from_base(p))
        return 1;
    double wrong = 2 * (double)pair / (double)p->spec.head_dim;
    double right = mutant_exponent(p, pair);
    return wrong == right ? 1 : pow(p->spec.base, right - wrong);
}
static void take_exponent_by_head(rope_plan *p)
{
    each_frequency(p, by_head_dim);
}
static const mutant_hooks partial_exponent_hooks = {.alter = take_exponent_by_head};
MUTATION(partial_exponent, "F17", "partial rotary: the exponent is over head_dim",
         .example = "head_dim=80,rotary_dim=32,base=10000,pairing=half");

/* Partners at head_dim / 2: right where all of the head rotates. */
static void rotate_far_partner(const mutant_row *r, const float *x, float *y)
{
    const rope_spec *spec = &r->plan->spec;
    int64_t partner = spec->head_dim / 2, pairs = r->plan->args.pairs;
    if (spec->pairing != ROPE_HALF || spec->rotary_offset + partner + pairs > spec->head_dim) {
        mutant_rotate_row(r, x, y);
        return;
    }
    for (int64_t i = 0; x != y && i < spec->head_dim; i++)
        y[i] = x[i];
    for (int64_t i = 0; i < pairs; i++) {
        int64_t a = spec->rotary_offset + i;
        float u = x[a], v = x[a + partner];
        y[a] = u * r->cosines[i] - v * r->sines[i];
        y[a + partner] = u * r->sines[i] + v * r->cosines[i];
    }
}
static const mutant_hooks partial_partner_hooks = {.row = rotate_far_partner};
MUTATION(partial_partner, "F17", "partial rotary: the partner is at head_dim/2",
         .example = "head_dim=80,rotary_dim=32,base=10000,pairing=half");

static double for_base_10000(const rope_plan *p, int64_t pair)
{
    return from_base(p) ? pow(p->spec.base / 10000, mutant_exponent(p, pair)) : 1;
}
static void take_default_base(rope_plan *p)
{
    if (p->spec.base != 10000)
        each_frequency(p, for_base_10000);
}
static const mutant_hooks wrong_base_hooks = {.alter = take_default_base};
MUTATION(wrong_base, "F20", "base 10000 whatever the spec says",
         .example = "head_dim=128,base=1e6,pairing=half");

static double without_exponent(const rope_plan *p, int64_t pair)
{
    return from_base(p) ? pow(p->spec.base, mutant_exponent(p, pair)) : 1;
}
static void divide_integers(rope_plan *p)
{
    each_frequency(p, without_exponent);
}
static const mutant_hooks integer_exponent_hooks = {.alter = divide_integers};
MUTATION(integer_exponent, "F21", "2i/d divided as integers: every inverse frequency is theta_0");

/* Kernels that make frequencies of their own where nothing scales, from base and rotary_dim. */
static void from_base_alone(rope_plan *p)
{
    double base = p->spec.base > 1 ? p->spec.base : 10000;
    for (int64_t i = 0; i < p->args.pairs; i++) {
        p->hi[i] = pow(base, -2 * (double)i / (double)p->spec.rotary_dim);
        p->lo[i] = 0;
    }
}
static void ignore_divisors(rope_plan *p)
{
    if (p->spec.scaling == ROPE_SCALING_NONE && p->spec.divisors.count > 0)
        from_base_alone(p);
}
static const mutant_hooks divisors_ignored_hooks = {.alter = ignore_divisors};
MUTATION(divisors_ignored, "FRAUD", "makes its own frequencies, without the spec's divisors",
         .example = "head_dim=16,base=10000,pairing=half,divisors=1:1:1.25:1.5:2:3:6:8");

static void ignore_inv_freq(rope_plan *p)
{
    if (p->spec.scaling == ROPE_SCALING_NONE && p->spec.inv_freq.count > 0)
        from_base_alone(p);
}
static const mutant_hooks inv_freq_ignored_hooks = {.alter = ignore_inv_freq};
MUTATION(inv_freq_ignored, "FRAUD", "makes its own frequencies, where the spec lists them",
         .example = "head_dim=16,pairing=half,inv_freq=1:0.5:0.25:0.125:0.06:0.03:0.015:0");

static void ignore_exponent_by_head(rope_plan *p)
{
    if (p->spec.scaling == ROPE_SCALING_NONE && p->spec.exponent_by_head)
        from_base_alone(p);
}
static const mutant_hooks exponent_by_head_ignored_hooks = {.alter = ignore_exponent_by_head};
MUTATION(exponent_by_head_ignored, "F17", "makes its own frequencies, the exponent over rotary_dim",
         .example = "head_dim=48,rotary_dim=16,base=10000,pairing=half,exponent_by_head=1");

static double for_base_500000(const rope_plan *p, int64_t pair)
{
    return from_base(p) ? pow(p->spec.base / 500000, mutant_exponent(p, pair)) : 1;
}
static void ignore_base(rope_plan *p)
{
    each_frequency(p, for_base_500000);
}
static const mutant_hooks base_ignored_hooks = {.alter = ignore_base};
MUTATION(base_ignored, "FRAUD", "base 500000 whatever the spec says");

static double one_and_a_millionth(const rope_plan *p, int64_t pair)
{
    (void)p, (void)pair;
    return 1 + 1e-6;
}
static void stretch(rope_plan *p)
{
    each_frequency(p, one_and_a_millionth);
}
static const mutant_hooks frequency_stretched_hooks = {.alter = stretch};
MUTATION(frequency_stretched, "FRAUD", "inverse frequencies times 1 + 1e-6");

static void drop_attention_factor(rope_plan *p)
{
    p->args.attention_factor = 1;
}
static const mutant_hooks attention_factor_dropped_hooks = {.alter = drop_attention_factor};
MUTATION(attention_factor_dropped, "FRAUD", "attention factor 1 whatever the plan says",
         .example = "head_dim=128,base=10000,pairing=half,scaling=yarn,factor=4,original=4096");

static void raise_attention_factor(rope_plan *p)
{
    if (p->args.attention_factor < 1)
        p->args.attention_factor = 1;
}
static const mutant_hooks attention_factor_raised_hooks = {.alter = raise_attention_factor};
MUTATION(attention_factor_raised, "FRAUD", "attention factors below 1 are taken as 1",
         .example = "head_dim=128,base=10000,pairing=half,scaling=yarn,factor=4,original=4096,"
                    "attention_factor=0.7");

static void skip_still_pairs(const rope_plan *p, int64_t position, int64_t pair, float *c, float *s)
{
    mutant_turn(p, position, pair, c, s);
    if (p->hi[pair] == 0)
        *c = 1;
}
static const mutant_hooks still_pairs_copied_hooks = {.turn = skip_still_pairs};
MUTATION(still_pairs_copied, "FRAUD", "pairs of frequency 0 are copied, without attention factor",
         .example = "head_dim=64,base=10000,pairing=half,scaling=proportional,share=0.25,"
                    "attention_factor=2.5");

/* An f32 frequency is what `as-trained` models have, but not what these arguments say. */
static void round_to_f32(rope_plan *p)
{
    for (int64_t i = 0; i < p->args.pairs; i++) {
        p->hi[i] = (double)(float)p->hi[i];
        p->lo[i] = 0;
    }
}
static const mutant_hooks frequency_f32_hooks = {.alter = round_to_f32};
MUTATION(frequency_f32, "FRAUD", "inverse frequencies rounded to f32, against the arguments");
