/* The scalings: known values, against formulas in MPFR, and the faults that real code has shipped
 * in them, each beside what it would have given. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <mpfr.h>

#include "impl/spec/frequencies.h"
#include "impl/spec/spec.h"

typedef struct solved {
    rope_spec spec;
    rope_frequencies f;
} solved;

static solved solve_truth(const char *text, rope_truth truth)
{
    solved s;
    rope_error error = {""};
    if (!rope_spec_parse(text, &s.spec, &error) || !rope_spec_resolve(&s.spec, truth, &s.f, &error))
        fail_msg("%s: %s", text, error.text);
    return s;
}

static solved solve(const char *text)
{
    return solve_truth(text, ROPE_TRUTH_EXACT);
}

static void release(solved *s)
{
    rope_frequencies_free(&s->f);
    rope_spec_free(&s->spec);
}

static double theta(const char *text, int pair)
{
    solved s = solve(text);
    double value = s.f.hi[pair];
    release(&s);
    return value;
}

static double attention(const char *text)
{
    solved s = solve(text);
    double value = s.f.attention_factor;
    release(&s);
    return value;
}

/* Equal to the digits that a reference prints. */
static void near(double got, double wanted, double tolerance)
{
    if (!(fabs(got - wanted) <= tolerance * fabs(wanted)))
        fail_msg("got %.17g, wanted %.17g", got, wanted);
}

static void refuse(const char *text, const char *word)
{
    rope_spec spec;
    rope_error error = {""};
    if (rope_spec_parse(text, &spec, &error))
        fail_msg("%s is taken, expected an error on %s", text, word);
    if (strstr(error.text, word) == NULL)
        fail_msg("%s: '%s' does not name %s", text, error.text, word);
}

#define D128 "head_dim=128,base=10000,pairing=half"
#define LLAMA3 "head_dim=128,base=500000,pairing=half,scaling=llama3,low=1,high=4,original=8192"

static void llama3_values(void **state)
{
    (void)state;
    near(theta(LLAMA3 ",factor=8", 29), 2.1665707635033586093e-3, 1e-15);
    near(theta(LLAMA3 ",factor=8", 34), 1.7850781277e-4, 1e-10);
    near(theta(LLAMA3 ",factor=8", 63), 3.0689259889145110891e-7, 1e-15);
    near(theta("llama-3.1-8b", 63), 3.0689259889145110891e-7, 1e-15);
}

static void yarn_values(void **state)
{
    (void)state;
    near(attention(D128 ",scaling=yarn,factor=4,original=4096"), 1.1386294361119890619, 1e-15);
    near(attention(D128 ",scaling=yarn,factor=16,original=4096"), 1.2772589, 1e-7);
    near(attention(D128 ",scaling=yarn,factor=32,original=4096"), 1.3465736, 1e-7);
    near(attention(D128 ",scaling=yarn-paper,factor=40,original=4096"), 1.3688879, 1e-7);
    near(attention(D128 ",scaling=yarn,factor=1,original=4096"), 1, 0);
}

/* c(32) and c(1), unrounded, as printed to 6 decimals. */
static void yarn_ranges(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double low, high;
    } cases[] = {
        {"head_dim=128,base=10000,pairing=half,scaling=yarn,factor=4,original=4096,truncate=0",
         20.944482, 45.026881},
        {"head_dim=128,base=1000000,pairing=half,scaling=yarn,factor=4,original=32768,truncate=0",
         23.595948, 39.650881},
        {"head_dim=64,base=10000,pairing=half,scaling=yarn,factor=4,original=4096,truncate=0",
         10.472241, 22.513441},
        {"gpt-oss", 8.092779, 17.398025},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        solved s = solve(cases[i].text);
        rope_solver solver;
        rope_error error;
        assert_true(rope_solver_begin(&solver, &s.spec, &error));
        double low = rope_triple_f64(solver.low), high = low + rope_triple_f64(solver.span);
        assert_true(fabs(low - cases[i].low) <= .5000001e-6);
        assert_true(fabs(high - cases[i].high) <= .5000001e-6);
        release(&s);
    }
}

static void longrope_values(void **state)
{
    (void)state;
    const char *text = "head_dim=4,base=10000,pairing=half,scaling=longrope,original=4096,"
                       "max_position=131072,short_factors=1:2,long_factors=4:5";
    near(attention(text), 1.1902381, 1e-7);
    char longer[256];
    /* F32: 4096 is short still, 4097 long; the allocated length (max_position) does not decide. */
    near(theta(text, 1), .01 / 2, 1e-15);
    snprintf(longer, sizeof longer, "%s,length=4096", text);
    near(theta(longer, 1), .01 / 2, 1e-15);
    snprintf(longer, sizeof longer, "%s,length=4097", text);
    near(theta(longer, 1), .01 / 5, 1e-15);
    near(theta(longer, 0), 1. / 4, 1e-15);
}

static void ntk_values(void **state)
{
    (void)state;
    /* F14: theta_1 of base 40889.94, not of (10000 * 4)^(d/(d-2)) = 47326.95. */
    near(pow(theta(D128 ",scaling=ntk,factor=4", 32), -2), 40889.94, 1e-6);
    assert_true(fabs(47326.95 / 40889.94 - 1) > .1);
    near(theta(D128 ",scaling=ntk,factor=4", 0), 1, 0);
    near(theta(D128 ",scaling=ntk-su,factor=4", 0), .97857, 1e-5);
    refuse("head_dim=2,base=10000,pairing=half,scaling=ntk,factor=4", "rotary_dim");
    refuse("head_dim=2,base=10000,pairing=half,scaling=dynamic,factor=4,original=64", "rotary_dim");
}

/* F15: the base moves with the length, it is no constant; F16: below L it stays. */
static void dynamic_values(void **state)
{
    (void)state;
    static const struct {
        const char *length;
        double base;
    } cases[] = {{"", 1e4},
                 {",length=1", 1e4},
                 {",length=4096", 1e4},
                 {",length=8192", 51293.79},
                 {",length=16384", 135401.97}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[200];
        snprintf(text, sizeof text, D128 ",scaling=dynamic,factor=4,original=4096%s",
                 cases[i].length);
        near(pow(theta(text, 32), -2), cases[i].base, 1e-7);
    }
    near(pow(theta("head_dim=64,base=1000,pairing=half,scaling=dynamic,factor=2,original=2048,"
                   "length=512",
                   16),
             -2),
         1000, 1e-12);
    refuse(D128 ",scaling=dynamic,factor=4,original=4096,length=0", "length");
    refuse(D128 ",scaling=dynamic,factor=4", "original");
}

/* F10: mscale = mscale_all_dim cancel; 1.3689 is the default's, 1.8739 its square. */
static void f10_yarn_magnitude(void **state)
{
    (void)state;
    const char *both = D128 ",scaling=yarn,factor=40,original=4096,mscale=1,mscale_all_dim=1";
    near(attention(both), 1, 0);
    near(attention(D128 ",scaling=yarn,factor=40,original=4096"), 1.3688879, 1e-7);
    near(attention(D128 ",scaling=yarn,factor=40,original=4096,mscale=0.707,mscale_all_dim=0.5"),
         (.0707 * log(40) + 1) / (.05 * log(40) + 1), 1e-14);
    near(attention(D128 ",scaling=yarn,factor=40,original=4096,attention_factor=1.5"), 1.5, 0);
    refuse(D128 ",scaling=yarn,factor=40,original=4096,mscale=1", "mscale_all_dim");
}

/* F11: truncate=0 keeps 8.092779 / 17.398025; rounded to 8 / 18 pair 17 is 76 % off. */
static void f11_yarn_range_rounding(void **state)
{
    (void)state;
#define GPT_OSS "head_dim=64,base=150000,pairing=half,scaling=yarn,factor=32,original=4096"
    double plain = pow(150000, -34. / 64);
    double ramp = (17 - 8.092779) / (17.398025 - 8.092779), rounded = 9. / 10;
    near(theta(GPT_OSS ",truncate=0", 17), plain * (ramp / 32 + 1 - ramp), 1e-4);
    near(theta(GPT_OSS, 17), plain * (rounded / 32 + 1 - rounded), 1e-14);
    near(theta(GPT_OSS, 17) / theta(GPT_OSS ",truncate=0", 17), 1.76, .01);
    near(theta(GPT_OSS ",truncate=0", 8), pow(150000, -.25), 1e-14);
    near(theta(GPT_OSS ",truncate=0", 18), pow(150000, -36. / 64) / 32, 1e-14);
#undef GPT_OSS
}

/* F12: d64 base 1e4 L131072 ends at 34.55, inside the clamp d - 1 = 63; d/2 - 1 = 31 would cut it.
 */
static void f12_yarn_clamp(void **state)
{
    (void)state;
    const char *text = "head_dim=64,base=10000,pairing=half,scaling=yarn,factor=4,original=131072,"
                       "truncate=0";
    double low = 64 * log(131072 / (2 * M_PI * 32)) / (2 * log(1e4));
    double high = 64 * log(131072 / (2 * M_PI)) / (2 * log(1e4));
    near(high, 34.55, 1e-3);
    double plain = pow(1e4, -62. / 64), ramp = (31 - low) / (high - low);
    near(theta(text, 31), plain * (ramp / 4 + 1 - ramp), 1e-12);
    assert_true(fabs(theta(text, 31) / (plain / 4) - 1) > .3); /* what 31 gives */
    /* c(1) = 69.1 is cut to 63: the ramp runs from 21 to 63. */
    plain = pow(100, -62. / 64);
    near(theta("head_dim=64,base=100,pairing=half,scaling=yarn,factor=4,original=131072,"
               "beta_fast=1000",
               31),
         plain * (10. / 42 / 4 + 32. / 42), 1e-14);
}

/* F13: theta / s, and not (s base)^(-2i/d), which leaves pair 0 alone. */
static void f13_scale_inside_power(void **state)
{
    (void)state;
    near(theta(D128 ",scaling=linear,factor=16", 0), 1. / 16, 0);
    near(theta(D128 ",scaling=linear,factor=16", 63), pow(1e4, -126. / 128) / 16, 1e-14);
}

/* F17: exponent over rotary_dim; over head_dim pair 8 would be 10000^(-16/80) = .158489. */
static void f17_partial_exponent(void **state)
{
    (void)state;
    const char *partial = "head_dim=80,rotary_dim=32,base=10000,pairing=half";
    near(theta(partial, 8), .01, 1e-15);
    near(theta("head_dim=80,rotary_dim=32,base=10000,pairing=half,exponent_by_head=1", 8), .158489,
         1e-5);
}

/* F18: divisors of the middle band, printed for i = 29..34, then 8. */
static void f18_llama3_factors(void **state)
{
    (void)state;
    static const double divisors[] = {1.207484, 1.553415, 2.026313, 2.694530,
                                      3.684253, 5.257327, 8,        8};
    for (int i = 0; i < 29; i++)
        near(theta(LLAMA3 ",factor=8", i), pow(5e5, -i / 64.), 1e-14);
    for (int i = 29; i < 37; i++)
        near(pow(5e5, -i / 64.) / theta(LLAMA3 ",factor=8", i), divisors[i - 29], 1e-6);
    refuse("head_dim=128,base=500000,pairing=half,scaling=llama3,factor=8,low=1,original=8192",
           "high");
    refuse("head_dim=128,base=500000,pairing=half,scaling=llama3,factor=8,high=4,original=8192",
           "low");
    refuse(LLAMA3, "factor");
    refuse("head_dim=128,base=500000,pairing=half,scaling=llama3,factor=8,low=4,high=1,"
           "original=8192",
           "high");
}

/* F19: position 4096 at factor 4 turns like 1024. */
static void f19_linear_inverted(void **state)
{
    (void)state;
    double t = theta(D128 ",scaling=linear,factor=4", 0);
    near(cos(4096 * t), .987354, 1e-6);
    near(cos(4096 * 4), -.828534, 1e-6);
    near(theta(D128 ",scaling=linear,factor=4", 1), 0.21649108084001633809, 1e-15);
}

/* F20: base 1e6; 1e4 would give .540302. */
static void f20_wrong_base(void **state)
{
    (void)state;
    near(cos(100 * theta("head_dim=128,base=1000000,pairing=half", 32)), .995004, 1e-6);
    near(cos(100 * theta(D128, 32)), .540302, 1e-6);
    refuse("head_dim=128,pairing=half", "base"); /* no silent default */
}

/* F21: 2i/d as integers is 0 for every pair. */
static void f21_integer_exponent(void **state)
{
    (void)state;
    near(theta(D128, 1), .8660, 1e-4);
    near(theta(D128, 2), .74989, 1e-4);
}

/* F31: sections 5:9:2 in the order t, h, w. */
static void f31_section_order(void **state)
{
    (void)state;
    solved s = solve("head_dim=32,base=10000,pairing=half,axes=mrope,sections=5:9:2");
    for (int i = 0; i < 16; i++)
        assert_int_equal(s.f.axis[i], i < 5 ? 0 : i < 14 ? 1 : 2);
    release(&s);
    s = solve("head_dim=32,base=10000,pairing=half,axes=mrope-interleaved,sections=6:5:5");
    for (int i = 0; i < 16; i++)
        assert_int_equal(s.f.axis[i], i < 15 ? i % 3 : 0);
    release(&s);
    refuse("head_dim=32,base=10000,pairing=half,axes=mrope-interleaved,sections=2:9:5", "sections");
    refuse("head_dim=32,base=10000,pairing=half,axes=mrope,sections=8:8", "sections");
    refuse("head_dim=32,base=10000,pairing=half,axes=mrope,sections=7.5:4.5:4", "sections");
}

static void proportional_values(void **state)
{
    (void)state;
    solved s = solve("head_dim=512,base=1000000,pairing=half,scaling=proportional,share=0.25");
    assert_int_equal(s.f.pairs, 256);
    near(s.f.hi[63], pow(1e6, -126. / 512), 1e-14);
    for (int i = 64; i < 256; i++)
        assert_true(s.f.hi[i] == 0 && s.f.lo[i] == 0);
    release(&s);
    refuse("head_dim=512,rotary_dim=128,base=10000,pairing=half,scaling=proportional,share=.25",
           "rotary_dim");
}

static void lists_are_checked(void **state)
{
    (void)state;
    const char *longrope = "head_dim=4,base=10000,pairing=half,scaling=longrope,original=4096,";
    char text[256];
    static const struct {
        const char *rest, *word;
    } cases[] = {{"max_position=8192,short_factors=1:2", "long_factors"},
                 {"max_position=8192,long_factors=1:2", "short_factors"},
                 {"max_position=8192,short_factors=1:2,long_factors=1:2:3", "long_factors"},
                 {"max_position=8192,short_factors=1,long_factors=1:2", "short_factors"},
                 {"max_position=8192,short_factors=1:0,long_factors=1:2", "short_factors"},
                 {"short_factors=1:2,long_factors=1:2", "max_position"},
                 {"max_position=1024,short_factors=1:2,long_factors=1:2", "max_position"},
                 {"max_position=8192,factor=4,short_factors=1:2,long_factors=1:2", "factor"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        snprintf(text, sizeof text, "%s%s", longrope, cases[i].rest);
        refuse(text, cases[i].word);
    }
    near(theta("head_dim=4,base=10000,pairing=half,divisors=1:8", 1), .00125, 1e-15);
    near(theta("head_dim=4,pairing=half,inv_freq=0.5:0", 0), .5, 0);
    refuse("head_dim=4,base=10000,pairing=half,divisors=1:8,inv_freq=1:1", "divisors");
    refuse("head_dim=4,base=10000,pairing=half,scaling=linear,factor=2,inv_freq=1:1", "inv_freq");
    refuse(D128 ",scaling=yarn,factor=4,original=4096,length=4096", "length");
    refuse(D128 ",scaling=yarn,original=4096", "factor");
    refuse(D128 ",scaling=yarn,factor=4", "original");
    refuse(D128 ",scaling=yarn,factor=4,original=4096,beta_fast=1,beta_slow=32", "beta_fast");
}

/* The f32 steps give the frequencies that the frameworks' f32 gives where each step is rounded. */
static void as_trained_values(void **state)
{
    (void)state;
    rope_spec spec;
    rope_frequencies f;
    rope_error error = {""};
    assert_true(rope_spec_parse("head_dim=4,base=1e30,pairing=half,scaling=linear,factor=4e9",
                                &spec, &error));
    spec.base = 0x1p100;
    assert_true(rope_spec_resolve(&spec, ROPE_TRUTH_AS_TRAINED, &f, &error));
    rope_frequencies_free(&f);
    rope_spec_free(&spec);
    assert_true(rope_spec_parse("head_dim=64,base=1e30,pairing=half,scaling=linear,factor=4e9,"
                                "divisors=1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:"
                                "1:1:1:1",
                                &spec, &error));
    assert_false(rope_spec_resolve(&spec, ROPE_TRUTH_AS_TRAINED, &f, &error));
    assert_non_null(strstr(error.text, "pair"));
    rope_spec_free(&spec);
    assert_true(
        rope_spec_parse("head_dim=4,base=1e30,pairing=half,scaling=ntk,factor=4e9", &spec, &error));
    assert_false(rope_spec_resolve(&spec, ROPE_TRUTH_AS_TRAINED, &f, &error));
    assert_non_null(strstr(error.text, "base"));
    rope_spec_free(&spec);
    solved s = solve_truth(D128, ROPE_TRUTH_AS_TRAINED);
    for (int i = 0; i < 64; i++) {
        float exponent = (float)(2 * i) / 128;
        float power = (float)pow(1e4, (double)exponent); /* double pow is right here to 2^-52 */
        assert_true(s.f.hi[i] == (double)(1 / power) && s.f.lo[i] == 0);
    }
    release(&s);
    s = solve_truth("llama-3.1-8b", ROPE_TRUTH_AS_TRAINED);
    solved exact = solve("llama-3.1-8b");
    double worst = 0;
    for (int i = 0; i < 64; i++) {
        assert_true(s.f.hi[i] == (double)(float)s.f.hi[i]);
        worst = fmax(worst, fabs(s.f.hi[i] / exact.f.hi[i] - 1));
    }
    assert_true(worst > 0x1p-26 && worst < 0x1p-20);
    release(&s);
    release(&exact);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(llama3_values),        cmocka_unit_test(yarn_values),
        cmocka_unit_test(longrope_values),      cmocka_unit_test(yarn_ranges),
        cmocka_unit_test(ntk_values),           cmocka_unit_test(dynamic_values),
        cmocka_unit_test(f10_yarn_magnitude),   cmocka_unit_test(f11_yarn_range_rounding),
        cmocka_unit_test(f12_yarn_clamp),       cmocka_unit_test(f13_scale_inside_power),
        cmocka_unit_test(f17_partial_exponent), cmocka_unit_test(f18_llama3_factors),
        cmocka_unit_test(f19_linear_inverted),  cmocka_unit_test(f20_wrong_base),
        cmocka_unit_test(f21_integer_exponent), cmocka_unit_test(f31_section_order),
        cmocka_unit_test(proportional_values),  cmocka_unit_test(lists_are_checked),
        cmocka_unit_test(as_trained_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
