/* impl/spec's inverse frequencies (triple-word arithmetic) against the oracle's enclosures: two
 * implementations of the same definitions that share no arithmetic. hi is within 1 ulp, hi + lo
 * within 2^-98 relative, as rope.h promises to kernels; as-trained frequencies are equal. */
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
#include "oracle/test_spec.h"

static long compared;
static double worst; /* relative error of hi + lo */

static void compare_pair(const oracle *o, const rope_frequencies *f, int64_t pair, mpfr_ptr exact)
{
    oracle_inverse_frequency(o, pair, exact);
    assert_int_equal(f->axis[pair], oracle_pair_axis(o, pair));
    compared++;
    if (mpfr_zero_p(exact)) {
        assert_true(f->hi[pair] == 0 && f->lo[pair] == 0);
        return;
    }
    double size = mpfr_get_d(exact, MPFR_RNDN), ulp = nextafter(fabs(size), INFINITY) - fabs(size);
    mpfr_sub_d(exact, exact, f->hi[pair], MPFR_RNDN);
    assert_true(fabs(mpfr_get_d(exact, MPFR_RNDA)) <= ulp);
    mpfr_sub_d(exact, exact, f->lo[pair], MPFR_RNDN);
    double relative = fabs(mpfr_get_d(exact, MPFR_RNDA)) / fabs(size);
    worst = fmax(worst, relative);
    assert_true(relative <= 0x1p-98);
}

static void compare(const rope_spec *spec, rope_truth truth, const char *what)
{
    rope_error error;
    rope_frequencies f;
    if (!rope_spec_resolve(spec, truth, &f, &error))
        fail_msg("%s: %s", what, error.text);
    oracle *o = oracle_new(spec, truth, &error);
    if (o == NULL)
        fail_msg("%s: %s", what, error.text);
    assert_int_equal(f.pairs, oracle_pairs(o));
    assert_int_equal(f.axis_count, oracle_axis_count(o));
    mpfr_t exact;
    mpfr_init2(exact, 200);
    for (int64_t i = 0; i < f.pairs; i++) {
        if (truth == ROPE_TRUTH_AS_TRAINED) {
            oracle_inverse_frequency(o, i, exact);
            if (mpfr_cmp_d(exact, f.hi[i]) != 0 || f.lo[i] != 0)
                fail_msg("%s: as trained, pair %lld is %a, the oracle's %a", what, (long long)i,
                         f.hi[i], mpfr_get_d(exact, MPFR_RNDN));
        } else {
            compare_pair(o, &f, i, exact);
        }
    }
    oracle_attention_factor(o, exact);
    assert_true(f.attention_factor == mpfr_get_d(exact, MPFR_RNDN));
    mpfr_clear(exact);
    oracle_free(o);
    rope_frequencies_free(&f);
}

static void compare_text(const char *text)
{
    rope_error error;
    rope_spec spec;
    if (!rope_spec_parse(text, &spec, &error))
        fail_msg("%s: %s", text, error.text);
    compare(&spec, ROPE_TRUTH_EXACT, text);
    compare(&spec, ROPE_TRUTH_AS_TRAINED, text);
    rope_spec_free(&spec);
}

static void test_presets(void **state)
{
    (void)state;
    size_t count, tried = 0;
    const rope_preset *presets = rope_presets(&count);
    for (size_t i = 0; i < count; i++) {
        rope_error error;
        rope_spec spec;
        if (!rope_spec_parse(presets[i].name, &spec, &error)) {
            if (strstr(error.text, "factor lists that only its file has") == NULL)
                fail_msg("%s: %s", presets[i].name, error.text);
            continue; /* the released lists are not ours to copy; test_lists has others */
        }
        tried++;
        rope_spec_free(&spec);
        compare_text(presets[i].name);
    }
    assert_true(tried * 10 >= count * 9);
}

/* %d is the dimension. */
static const char *const scalings[] = {
    "head_dim=%d,base=10000,pairing=half",
    "head_dim=%d,base=500000,pairing=half,scaling=linear,factor=3",
    "head_dim=%d,base=10000,pairing=half,scaling=ntk,factor=4",
    "head_dim=%d,base=10000,pairing=half,scaling=ntk-su,factor=4",
    "head_dim=%d,base=10000,pairing=half,scaling=dynamic,factor=4,original=4096,length=10000",
    "head_dim=%d,base=10000,pairing=half,scaling=dynamic,factor=4,original=4096,length=100",
    "head_dim=%d,base=10000,pairing=half,scaling=yarn,factor=16,original=4096",
    "head_dim=%d,base=150000,pairing=half,scaling=yarn,factor=32,original=4096,truncate=false",
    ("head_dim=%d,base=10000,pairing=half,scaling=yarn,factor=40,original=4096,"
     "mscale=1,mscale_all_dim=0.7"),
    "head_dim=%d,base=10000,pairing=half,scaling=yarn-paper,factor=16,original=4096",
    "head_dim=%d,base=500000,pairing=half,scaling=llama3,factor=8,low=1,high=4,original=8192",
    "head_dim=%d,base=1000000,pairing=half,scaling=proportional,share=0.25",
    "head_dim=%d,base=65536,pairing=half,scaling=yarn,factor=4,original=4096",
    "head_dim=512,rotary_dim=%d,base=10000,pairing=half,exponent_by_head=1",
};

/* The unit test takes every 28th dimension, another for each scaling; TIGHTROPE_FULL all. */
static void test_scalings(void **state)
{
    (void)state;
    bool full = getenv("TIGHTROPE_FULL") != NULL;
    for (size_t k = 0; k < sizeof scalings / sizeof scalings[0]; k++)
        for (int dim = 2; dim <= 512; dim += 2) {
            char text[256];
            bool needs_four = strstr(scalings[k], "=ntk,") || strstr(scalings[k], "=dynamic");
            if (dim == 2 && needs_four)
                continue;
            if (!full && dim > 8 && (dim / 2 + 2 * (int)k) % 28 != 0)
                continue;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            snprintf(text, sizeof text, scalings[k], dim);
#pragma GCC diagnostic pop
            compare_text(text);
        }
    print_message("# %ld frequencies compared, worst relative error 2^%.1f\n", compared,
                  log2(worst));
    assert_true(compared > (full ? 400000 : 15000));
}

static void test_axes(void **state)
{
    (void)state;
    compare_text("head_dim=128,base=1000000,pairing=half,axes=mrope,sections=16:24:24");
    compare_text("head_dim=128,base=5000000,pairing=half,axes=mrope-interleaved,sections=24:20:20");
    compare_text("head_dim=80,base=10000,pairing=half,axes=hw");
    compare_text("head_dim=80,base=10000,pairing=half,axes=wh");
    compare_text("head_dim=64,base=10000,pairing=half,axes=hw,sections=20:12");
}

static void test_lists(void **state)
{
    (void)state;
    compare_text("head_dim=8,base=10000,pairing=half,scaling=longrope,original=4096,"
                 "max_position=131072,length=131072,short_factors=1:1.1:1.2:1.3,"
                 "long_factors=1:2.5:10:30");
    compare_text("head_dim=8,base=10000,pairing=half,scaling=longrope,original=4096,"
                 "max_position=131072,length=4096,short_factors=1:1.1:1.2:1.3,"
                 "long_factors=1:2.5:10:30");
    compare_text("head_dim=8,base=10000,pairing=half,divisors=1:1.5:3:8");
    compare_text("head_dim=8,pairing=half,inv_freq=1:0.3:0:1e-5,attention_factor=1.25");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_presets),
        cmocka_unit_test(test_scalings),
        cmocka_unit_test(test_axes),
        cmocka_unit_test(test_lists),
    };
    return cmocka_run_group_tests_name("resolve", tests, NULL, NULL);
}
