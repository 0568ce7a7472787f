/* impl's frequencies against the oracle's: two resolutions of one spec that share no arithmetic. To
 * 2^-98 as rope.h promises, the leading word the nearest f64, and as trained bit for bit. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "impl/spec/presets.h"
#include "oracle/oracle.h"

enum { BITS = 130 };

static void compare_pair(const char *name, const oracle *o, const rope_frequencies *f, int64_t i)
{
    mpfr_t exact, got, bound;
    mpfr_inits2(BITS, exact, got, bound, (mpfr_ptr)NULL);
    oracle_inverse_frequency(o, i, exact);
    mpfr_set_d(got, f->hi[i], MPFR_RNDN);
    mpfr_add_d(got, got, f->lo[i], MPFR_RNDN);
    mpfr_sub(got, got, exact, MPFR_RNDA);
    mpfr_abs(got, got, MPFR_RNDN);
    mpfr_abs(bound, exact, MPFR_RNDN);
    mpfr_mul_2si(bound, bound, -98, MPFR_RNDN);
    if (mpfr_greater_p(got, bound) || mpfr_nan_p(got) || f->hi[i] != mpfr_get_d(exact, MPFR_RNDN))
        fail_msg("%s, pair %lld: impl %.17g, oracle %.17g", name, (long long)i, f->hi[i],
                 mpfr_get_d(exact, MPFR_RNDN));
    mpfr_clears(exact, got, bound, (mpfr_ptr)NULL);
}

/* step 1: every pair; else about every step-th, the last included. */
static void compare(const char *name, const rope_spec *spec, rope_truth truth, int64_t step)
{
    rope_error error = {""};
    rope_frequencies f;
    oracle *o = oracle_new(spec, truth, &error);
    if (o == NULL || !rope_spec_resolve(spec, truth, &f, &error))
        fail_msg("%s: %s", name, error.text);
    assert_int_equal(f.pairs, oracle_pairs(o));
    assert_int_equal(f.axis_count, oracle_axis_count(o));
    for (int64_t i = 0; i < f.pairs; i++)
        assert_int_equal(f.axis[i], oracle_pair_axis(o, i));
    for (int64_t i = 0; i < f.pairs;
         i += i + step >= f.pairs && i != f.pairs - 1 ? f.pairs - 1 - i : step)
        compare_pair(name, o, &f, i);
    mpfr_t a;
    mpfr_init2(a, BITS);
    oracle_attention_factor(o, a);
    assert_true(f.attention_factor == mpfr_get_d(a, MPFR_RNDN));
    mpfr_clear(a);
    rope_frequencies_free(&f);
    oracle_free(o);
}

static void presets_agree(void **state)
{
    (void)state;
    size_t count;
    const rope_preset *presets = rope_presets(&count);
    for (size_t i = 0; i < count; i++) {
        rope_spec spec;
        rope_error error = {""};
        if (presets[i].lacks_lists)
            continue;
        if (!rope_spec_parse(presets[i].name, &spec, &error))
            fail_msg("%s: %s", presets[i].name, error.text);
        compare(presets[i].name, &spec, ROPE_TRUTH_EXACT, 1);
        compare(presets[i].name, &spec, ROPE_TRUTH_AS_TRAINED, 1);
        rope_spec_free(&spec);
    }
}

/* Spec text after "head_dim=D,base=B,pairing=half"; smallest dimension that it is defined for. */
static const struct {
    const char *text;
    int64_t smallest;
} scalings[] = {
    {"", 2},
    {",scaling=linear,factor=3", 2},
    {",scaling=ntk,factor=4", 4},
    {",scaling=ntk-su,factor=2.5", 2},
    {",scaling=dynamic,factor=4,original=4096,length=9000", 4},
    {",scaling=dynamic,factor=2,original=2048,length=512", 4},
    {",scaling=yarn,factor=16,original=4096", 2},
    {",scaling=yarn,factor=32,original=4096,truncate=0", 2},
    {",scaling=yarn,factor=40,original=4096,beta_fast=1,beta_slow=1", 2},
    {",scaling=yarn-paper,factor=16,original=4096", 2},
    {",scaling=llama3,factor=8,low=1,high=4,original=8192", 2},
    {",scaling=llama3,factor=16,low=1,high=1,original=8192", 2},
    {",scaling=proportional,share=0.25", 2},
};
enum { SCALINGS = sizeof scalings / sizeof scalings[0] };

static void compare_text(const char *text, int64_t step)
{
    rope_spec spec;
    rope_error error = {""};
    if (!rope_spec_parse(text, &spec, &error))
        fail_msg("%s: %s", text, error.text);
    compare(text, &spec, ROPE_TRUTH_EXACT, step);
    compare(text, &spec, ROPE_TRUTH_AS_TRAINED, step);
    rope_spec_free(&spec);
}

/* Every rotary_dim from 2 to 512 with every scaling where SPEC_AGREEMENT=full is in the environment
 * (a minute); else all scalings up to 16, and one, in turn, past that. Some pairs of each. */
static void dimensions_agree(void **state)
{
    (void)state;
    static const char *const bases[] = {"10000", "500000", "150000", "1000000"};
    char text[256];
    const char *level = getenv("SPEC_AGREEMENT");
    bool full = level != NULL && strcmp(level, "full") == 0;
    for (int64_t d = 2; d <= 512; d += 2)
        for (size_t i = 0; i < SCALINGS; i++) {
            if (d < scalings[i].smallest ||
                (!full && d > 16 && (size_t)d / 2 % (2 * SCALINGS) != i))
                continue;
            snprintf(text, sizeof text, "head_dim=%lld,base=%s,pairing=half%s", (long long)d,
                     bases[(size_t)d / 2 % 4], scalings[i].text);
            compare_text(text, d <= 16 ? 1 : d / 6 + 1);
        }
}

static void other_forms_agree(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "head_dim=80,rotary_dim=32,base=10000,pairing=half,exponent_by_head=1",
        "head_dim=80,rotary_dim=32,base=10000,pairing=half,scaling=ntk,factor=4,exponent_by_head=1",
        "head_dim=12,base=10000,pairing=half,axes=mrope,sections=2:3:1",
        "head_dim=64,base=10000,pairing=half,axes=hw",
        "head_dim=64,base=10000,pairing=half,axes=wh,sections=20:12",
        "head_dim=64,base=10000,pairing=half,axes=wh,scaling=linear,factor=3",
        "head_dim=8,base=10000,pairing=half,divisors=1:1.2:3:8",
        "head_dim=8,pairing=half,inv_freq=1:.1:.01:0",
        "head_dim=8,pairing=half,inv_freq=1:.1:.01:.001,attention_factor=1.3",
        "head_dim=4,base=10000,pairing=half,scaling=longrope,original=4096,max_position=131072,"
        "short_factors=1.1:2.3,long_factors=4.7:5.9",
        "head_dim=4,base=10000,pairing=half,scaling=longrope,original=4096,factor=32,length=4097,"
        "short_factors=1.1:2.3,long_factors=4.7:5.9",
        "head_dim=64,base=10000,pairing=half,scaling=yarn,factor=40,original=4096,mscale=0.707,"
        "mscale_all_dim=0.5",
        "head_dim=64,base=1.0001,pairing=half,scaling=llama3,factor=4000000000,low=1,high=1.01,"
        "original=6.5",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        compare_text(texts[i], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(presets_agree),
        cmocka_unit_test(dimensions_agree),
        cmocka_unit_test(other_forms_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
