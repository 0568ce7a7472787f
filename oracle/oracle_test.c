/* The oracle's values against digits computed elsewhere (docs/reference-values.md). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "oracle/oracle.h"
#include "oracle/test_spec.h"

static oracle *make(const rope_spec *spec)
{
    rope_error error;
    oracle *o = oracle_new(spec, ROPE_TRUTH_EXACT, &error);
    if (o == NULL)
        fail_msg("%s", error.text);
    return o;
}

static void assert_digits(mpfr_srcptr value, const char *expected)
{
    char text[128];
    int digits = (int)(strchr(expected, 'e') - expected) - 1 - (expected[0] == '-');
    mpfr_snprintf(text, sizeof text, "%.*Re", digits - 1, value);
    assert_string_equal(text, expected);
}

static void theta(const rope_spec *spec, int64_t pair, const char *expected)
{
    oracle *o = make(spec);
    mpfr_t value;
    mpfr_init2(value, 200);
    oracle_inverse_frequency(o, pair, value);
    assert_digits(value, expected);
    mpfr_clear(value);
    oracle_free(o);
}

static void test_self_test(void **state)
{
    (void)state;
    rope_error error;
    if (!oracle_self_test(&error))
        fail_msg("%s", error.text);
}

static void test_frequencies(void **state)
{
    (void)state;
    rope_spec spec = test_spec(128, 500000);
    theta(&spec, 0, "1.0000000000000000000e+00");
    theta(&spec, 1, "8.1461723385654470410e-01");
    spec.scaling = ROPE_SCALING_LLAMA3;
    spec.factor = 8, spec.low = 1, spec.high = 4, spec.original = 8192;
    theta(&spec, 29, "2.1665707635033586093e-03");
    theta(&spec, 63, "3.0689259889145110891e-07");
    spec = test_spec(128, 10000);
    spec.scaling = ROPE_SCALING_LINEAR;
    spec.factor = 4;
    theta(&spec, 1, "2.1649108084001633809e-01");
}

static void test_attention_factor(void **state)
{
    (void)state;
    rope_spec spec = test_spec(128, 10000);
    spec.scaling = ROPE_SCALING_YARN;
    spec.factor = 4, spec.original = 4096;
    oracle *o = make(&spec);
    mpfr_t value;
    mpfr_init2(value, 200);
    oracle_attention_factor(o, value);
    assert_digits(value, "1.1386294361119890619e+00");
    oracle_dd a = oracle_attention_factor_dd(o);
    mpfr_sub_d(value, value, a.hi, MPFR_RNDN);
    mpfr_sub_d(value, value, a.lo, MPFR_RNDN);
    assert_true(fabs(mpfr_get_d(value, MPFR_RNDA)) <= 0x1p-104);
    mpfr_clear(value);
    oracle_free(o);
}

/* oracle_row against oracle_cos_sin, at positions of every size. */
static void test_rows(void **state)
{
    (void)state;
    rope_spec spec = test_spec(64, 500000);
    oracle *o = make(&spec);
    oracle_cos_sin_dd row[32];
    mpfr_t c, s;
    mpfr_inits2(200, c, s, (mpfr_ptr)0);
    static const int64_t positions[] = {0,       1,        -1,     4095,    4096,      131071,
                                        1048575, 16777217, -65537, 1 << 30, INT64_MAX, INT64_MIN};
    for (size_t p = 0; p < sizeof positions / sizeof positions[0]; p++) {
        oracle_row(o, &positions[p], row);
        for (int64_t i = 0; i < 32; i++) {
            oracle_cos_sin(o, positions[p], i, c, s);
            mpfr_sub_d(c, c, row[i].cos.hi, MPFR_RNDN);
            mpfr_sub_d(c, c, row[i].cos.lo, MPFR_RNDN);
            mpfr_sub_d(s, s, row[i].sin.hi, MPFR_RNDN);
            mpfr_sub_d(s, s, row[i].sin.lo, MPFR_RNDN);
            assert_true(fabs(mpfr_get_d(c, MPFR_RNDA)) <= ORACLE_ROW_ERROR);
            assert_true(fabs(mpfr_get_d(s, MPFR_RNDA)) <= ORACLE_ROW_ERROR);
        }
    }
    mpfr_clears(c, s, (mpfr_ptr)0);
    oracle_free(o);
}

static void test_refuses(void **state)
{
    (void)state;
    rope_error error;
    rope_spec spec = test_spec(64, NAN);
    assert_null(oracle_new(&spec, ROPE_TRUTH_EXACT, &error));
    assert_non_null(strstr(error.text, "base"));
    spec = test_spec(64, 10000);
    spec.scaling = ROPE_SCALING_YARN;
    spec.original = 4096;
    assert_null(oracle_new(&spec, ROPE_TRUTH_EXACT, &error));
    assert_non_null(strstr(error.text, "factor"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_self_test),        cmocka_unit_test(test_frequencies),
        cmocka_unit_test(test_attention_factor), cmocka_unit_test(test_rows),
        cmocka_unit_test(test_refuses),
    };
    return cmocka_run_group_tests_name("oracle", tests, NULL, NULL);
}
