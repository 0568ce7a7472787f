/* Specs: text in, checked, resolved, text out. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>
#include <mpfr.h>

#include "impl/spec/spec.h"

static void parse(const char *text, rope_spec *spec)
{
    rope_error error = {""};
    if (!rope_spec_parse(text, spec, &error))
        fail_msg("%s: %s", text, error.text);
}

/* The text is refused with one line that has `word` in it. */
static void refuse(const char *text, const char *word)
{
    rope_spec spec;
    rope_error error = {""};
    if (rope_spec_parse(text, &spec, &error))
        fail_msg("%s is taken, expected an error on %s", text, word);
    if (strstr(error.text, word) == NULL)
        fail_msg("%s: '%s' does not name %s", text, error.text, word);
    assert_null(strchr(error.text, '\n'));
}

static void keys_are_read(void **state)
{
    (void)state;
    rope_spec spec;
    parse("head_dim=80,rotary_dim=32,rotary_offset=8,base=0x1.388p13,pairing=interleaved", &spec);
    assert_int_equal(spec.head_dim, 80);
    assert_int_equal(spec.rotary_dim, 32);
    assert_int_equal(spec.rotary_offset, 8);
    assert_true(spec.base == 10000);
    assert_int_equal(spec.pairing, ROPE_INTERLEAVED);
    assert_int_equal(spec.scaling, ROPE_SCALING_NONE);
    rope_spec_free(&spec);
    parse("head_dim=64,base=1e4,pairing=half", &spec);
    assert_int_equal(spec.rotary_dim, 64);
    assert_int_equal(spec.pairing, ROPE_HALF);
    rope_spec_free(&spec);
}

static void bad_text_is_refused(void **state)
{
    (void)state;
#define REST ",base=10000,pairing=half"
    refuse("", "empty");
    refuse("head_dim=64,rotary_dim=31" REST, "rotary_dim");
    refuse("head_dim=64,rotary_dim=0" REST, "rotary_dim");
    refuse("head_dim=64,rotary_dim=-2" REST, "rotary_dim");
    refuse("head_dim=64,rotary_dim=128" REST, "rotary_dim");
    refuse("head_dim=63" REST, "rotary_dim");
    refuse("head_dim=64,rotary_dim=32,rotary_offset=33" REST, "rotary_offset");
    refuse("head_dim=0" REST, "head_dim");
    refuse("head_dim=1e9" REST, "head_dim");
    refuse("head_dim=99999999999999999999999" REST, "head_dim");
    refuse("base=10000,pairing=half", "head_dim");
    refuse("head_dim=64,pairing=half", "base");
    refuse("head_dim=64,base=10000", "pairing");
    refuse("head_dim=64,pairing=half,base=1", "base");
    refuse("head_dim=64,pairing=half,base=0", "base");
    refuse("head_dim=64,pairing=half,base=-10000", "base");
    refuse("head_dim=64,pairing=half,base=nan", "base");
    refuse("head_dim=64,pairing=half,base=inf", "base");
    refuse("head_dim=64,pairing=half,base=1e999", "base");
    refuse("head_dim=64,pairing=half,base= 10000", "base");
    refuse("head_dim=64,pairing=half,base=", "base");
    refuse("head_dim=64,pairing=half,base=1e4x", "base");
    refuse("head_dim=64" REST ",colour=red", "colour");
    refuse("Head_dim=64" REST, "Head_dim");
    refuse("head_dim=64" REST ",base=20000", "base");
    refuse("head_dim=64" REST ",", "key=value");
    refuse("head_dim=64" REST ",half", "half");
    refuse("head_dim=64,base=10000,pairing=both", "interleaved");
    refuse("head_dim=64" REST ",scaling=spiral", "spiral");
    refuse("head_dim=64" REST ",scaling=linear", "factor");
    refuse("head_dim=64" REST ",factor=4", "factor");
    refuse("head_dim=64" REST ",scaling=linear,factor=0.5", "factor");
    refuse("head_dim=64" REST ",scaling=linear,factor=4,low=1", "low");
    refuse("head_dim=64" REST ",divisors=1:2", "divisors");
    refuse("head_dim=64" REST ",divisors=1::2", "divisors");
    refuse("head_dim=4" REST ",inv_freq=@/no/such.npy", "/no/such.npy");
    refuse("head_dim=4,pairing=half,inv_freq=1:nan", "inv_freq");
    refuse("head_dim=4,pairing=half,inv_freq=1:-1", "inv_freq");
    refuse("head_dim=64" REST ",axes=mrope", "sections");
    refuse("head_dim=64" REST ",axes=mrope,sections=16:8:9", "sections");
    refuse("head_dim=64" REST ",sections=32", "axes");
    refuse("lama-3.1-8b", "llama-3.1-8b");
    refuse("phi-3-mini-128k", "config.json of microsoft/Phi-3-mini-128k-instruct");
    refuse("phi-3-mini-128k,short_factors=1:2,long_factors=1:2", "short_factors");
    refuse("llama-3.1-8b,rotary_dim=3", "rotary_dim");
    refuse("llama-3.1-8b,colour=red", "colour");
#undef REST
}

static void text_round_trips(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "head_dim=128,base=500000,pairing=half,scaling=llama3,factor=8,low=1,high=4,original=8192",
        "head_dim=80,rotary_dim=32,rotary_offset=8,base=10000.000000000002,pairing=interleaved",
        "head_dim=64,base=1e+30,pairing=half,scaling=linear,factor=2.1",
        "head_dim=8,pairing=half,inv_freq=1:0.1:0.01:0",
        "head_dim=128,base=1000000,pairing=half,axes=mrope,sections=16:24:24",
        "head_dim=64,base=150000,pairing=half,scaling=yarn,factor=32,original=4096,truncate=0",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        rope_spec spec, again;
        parse(texts[i], &spec);
        char once[512], twice[512];
        int length = rope_spec_format(&spec, once, sizeof once);
        assert_int_equal(length, (int)strlen(once));
        parse(once, &again);
        rope_spec_format(&again, twice, sizeof twice);
        assert_string_equal(once, twice);
        char cut[16];
        assert_int_equal(rope_spec_format(&spec, cut, sizeof cut), length);
        assert_memory_equal(cut, once, 15);
        assert_int_equal(cut[15], 0);
        rope_spec_free(&spec);
        rope_spec_free(&again);
    }
    rope_spec spec;
    char text[256];
    parse(texts[0], &spec);
    rope_spec_format(&spec, text, sizeof text);
    assert_string_equal(text, texts[0]);
    rope_spec_free(&spec);
}

static void overrides_replace(void **state)
{
    (void)state;
    rope_spec spec;
    parse("llama-3.1-8b,factor=32", &spec);
    assert_true(spec.factor == 32 && spec.low == 1 && spec.original == 8192);
    rope_spec_free(&spec);
    parse("llama-3.1-8b,scaling=none", &spec);
    assert_true(isnan(spec.factor) && isnan(spec.low) && spec.base == 500000);
    rope_spec_free(&spec);
    parse("phi-3-mini-128k,scaling=none", &spec);
    assert_true(spec.head_dim == 96 && isnan(spec.original));
    rope_spec_free(&spec);
    parse("llama-3-8b,head_dim=64", &spec);
    assert_int_equal(spec.rotary_dim, 64);
    rope_spec_free(&spec);
    parse("gpt-neox-20b,head_dim=64", &spec);
    assert_int_equal(spec.rotary_dim, 24);
    rope_spec_free(&spec);
}

/* Families that are known by these names. */
static void families_are_known(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t head_dim, rotary_dim;
        double base;
        rope_pairing pairing;
        rope_scaling scaling;
    } known[] = {
        {"llama-2", 128, 128, 1e4, ROPE_HALF, ROPE_SCALING_NONE},
        {"llama-3", 128, 128, 5e5, ROPE_HALF, ROPE_SCALING_NONE},
        {"llama-3.1", 128, 128, 5e5, ROPE_HALF, ROPE_SCALING_LLAMA3},
        {"llama-3.2-1b", 64, 64, 5e5, ROPE_HALF, ROPE_SCALING_LLAMA3},
        {"llama-3.2-3b", 128, 128, 5e5, ROPE_HALF, ROPE_SCALING_LLAMA3},
        {"code-llama", 128, 128, 1e6, ROPE_HALF, ROPE_SCALING_NONE},
        {"mistral-7b-v0.1", 128, 128, 1e4, ROPE_HALF, ROPE_SCALING_NONE},
        {"mistral-7b-v0.3", 128, 128, 1e6, ROPE_HALF, ROPE_SCALING_NONE},
        {"mixtral", 128, 128, 1e6, ROPE_HALF, ROPE_SCALING_NONE},
        {"qwen2.5", 128, 128, 1e6, ROPE_HALF, ROPE_SCALING_NONE},
        {"qwen3", 128, 128, 1e6, ROPE_HALF, ROPE_SCALING_NONE},
        {"qwen2-vl", 128, 128, 1e6, ROPE_HALF, ROPE_SCALING_NONE},
        {"qwen3-vl", 128, 128, 5e6, ROPE_HALF, ROPE_SCALING_NONE},
        {"gemma-2", 256, 256, 1e4, ROPE_HALF, ROPE_SCALING_NONE},
        {"gemma-3/local", 256, 256, 1e4, ROPE_HALF, ROPE_SCALING_NONE},
        {"gemma-3/global", 256, 256, 1e6, ROPE_HALF, ROPE_SCALING_LINEAR},
        {"phi-2", 80, 32, 1e4, ROPE_HALF, ROPE_SCALING_NONE},
        {"gpt-neox-20b", 96, 24, 1e4, ROPE_HALF, ROPE_SCALING_NONE},
        {"pythia", 128, 32, 1e4, ROPE_HALF, ROPE_SCALING_NONE},
        {"gpt-j", 256, 64, 1e4, ROPE_INTERLEAVED, ROPE_SCALING_NONE},
        {"falcon", 64, 64, 1e4, ROPE_HALF, ROPE_SCALING_NONE},
        {"deepseek-v3", 64, 64, 1e4, ROPE_INTERLEAVED, ROPE_SCALING_YARN},
        {"glm-4", 128, 64, 5e6, ROPE_INTERLEAVED, ROPE_SCALING_NONE},
        {"command-r", 128, 128, 8e6, ROPE_INTERLEAVED, ROPE_SCALING_NONE},
        {"olmo-2", 128, 128, 5e5, ROPE_HALF, ROPE_SCALING_NONE},
        {"stablelm-3b", 80, 20, 1e4, ROPE_HALF, ROPE_SCALING_NONE},
        {"smollm3", 128, 128, 5e6, ROPE_HALF, ROPE_SCALING_NONE},
        {"gpt-oss", 64, 64, 150000, ROPE_HALF, ROPE_SCALING_YARN},
        {"modernbert/global", 64, 64, 160000, ROPE_HALF, ROPE_SCALING_NONE},
        {"modernbert/local", 64, 64, 1e4, ROPE_HALF, ROPE_SCALING_NONE},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        rope_spec spec;
        parse(known[i].name, &spec);
        assert_int_equal(spec.head_dim, known[i].head_dim);
        assert_int_equal(spec.rotary_dim, known[i].rotary_dim);
        assert_true(spec.base == known[i].base);
        assert_int_equal(spec.pairing, known[i].pairing);
        assert_int_equal(spec.scaling, known[i].scaling);
        rope_spec_free(&spec);
    }
}

static void copies_are_deep(void **state)
{
    (void)state;
    rope_spec spec, copy;
    parse("head_dim=8,pairing=half,inv_freq=1:.1:.01:.001", &spec);
    assert_true(rope_spec_copy(&spec, &copy));
    assert_ptr_not_equal(spec.inv_freq.values, copy.inv_freq.values);
    rope_spec_free(&spec);
    assert_true(copy.inv_freq.values[3] == .001);
    rope_spec_free(&copy);
}

/* 2^-98 of base^(-2i/d) / factor, at every even rotary_dim up to 512. */
static void plain_frequencies_are_exact(void **state)
{
    (void)state;
    static const double bases[] = {10000, 500000, 1000000, 1.25};
    mpfr_t exact, got, e;
    mpfr_inits2(300, exact, got, e, (mpfr_ptr)NULL);
    for (int64_t d = 2; d <= 512; d += 2) {
        rope_spec spec;
        rope_spec_init(&spec);
        spec.head_dim = d;
        spec.pairing = ROPE_HALF;
        spec.base = bases[d / 2 % 4];
        if (d % 4 == 0) {
            spec.scaling = ROPE_SCALING_LINEAR;
            spec.factor = 3;
        }
        rope_frequencies f;
        rope_error error;
        assert_true(rope_spec_validate(&spec, &error));
        assert_true(rope_spec_resolve(&spec, ROPE_TRUTH_EXACT, &f, &error));
        assert_int_equal(f.pairs, d / 2);
        assert_true(f.attention_factor == 1 && f.axis_count == 1);
        for (int64_t i = 0; i < f.pairs; i++) {
            mpfr_set_si(e, -2 * i, MPFR_RNDN);
            mpfr_div_si(e, e, d, MPFR_RNDN);
            mpfr_set_d(exact, spec.base, MPFR_RNDN);
            mpfr_pow(exact, exact, e, MPFR_RNDN);
            mpfr_div_ui(exact, exact, d % 4 == 0 ? 3 : 1, MPFR_RNDN);
            mpfr_set_d(got, f.hi[i], MPFR_RNDN);
            mpfr_add_d(got, got, f.lo[i], MPFR_RNDN);
            mpfr_sub(got, got, exact, MPFR_RNDN);
            mpfr_div(got, got, exact, MPFR_RNDN);
            assert_true(fabs(mpfr_get_d(got, MPFR_RNDA)) <= 0x1p-98);
            assert_true(f.hi[i] == mpfr_get_d(exact, MPFR_RNDN));
        }
        rope_frequencies_free(&f);
        rope_spec_free(&spec);
    }
    mpfr_clears(exact, got, e, (mpfr_ptr)NULL);
}

static void axes_are_shared_out(void **state)
{
    (void)state;
    rope_spec spec;
    rope_frequencies f;
    rope_error error;
    parse("head_dim=12,base=100,pairing=half,axes=3,sections=2:3:1", &spec);
    assert_true(rope_spec_resolve(&spec, ROPE_TRUTH_EXACT, &f, &error));
    assert_int_equal(f.axis_count, 3);
    assert_memory_equal(f.axis, ((uint8_t[]){0, 0, 1, 1, 1, 2}), 6);
    rope_frequencies_free(&f);
    rope_spec_free(&spec);
    parse("head_dim=128,base=5000000,pairing=half,axes=mrope-interleaved,sections=24:20:20", &spec);
    assert_true(rope_spec_resolve(&spec, ROPE_TRUTH_EXACT, &f, &error));
    for (int i = 0; i < 64; i++)
        assert_int_equal(f.axis[i], i % 3 != 0 && i < 60 ? i % 3 : 0);
    rope_frequencies_free(&f);
    rope_spec_free(&spec);
    parse("head_dim=16,base=100,pairing=half,axes=wh", &spec);
    assert_true(rope_spec_resolve(&spec, ROPE_TRUTH_EXACT, &f, &error));
    assert_int_equal(f.axis_count, 2);
    assert_memory_equal(f.axis, ((uint8_t[]){1, 1, 1, 1, 0, 0, 0, 0}), 8);
    assert_true(f.hi[4] == 1 && f.hi[2] == 0.1 && f.hi[6] == 0.1);
    rope_frequencies_free(&f);
    rope_spec_free(&spec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_read),
        cmocka_unit_test(bad_text_is_refused),
        cmocka_unit_test(text_round_trips),
        cmocka_unit_test(overrides_replace),
        cmocka_unit_test(copies_are_deep),
        cmocka_unit_test(families_are_known),
        cmocka_unit_test(plain_frequencies_are_exact),
        cmocka_unit_test(axes_are_shared_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
