/* Every value of docs/reference-values.md that concerns frequencies, angles, rotated pairs and
 * scores, to the digits that stand there. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "oracle/frequency.h"
#include "oracle/measure.h"
#include "oracle/oracle.h"

static rope_spec spec;

static oracle *open_spec(const char *text)
{
    rope_error error;
    if (!rope_spec_parse(text, &spec, &error))
        fail_msg("%s: %s", text, error.text);
    oracle *o = oracle_new(&spec, ROPE_TRUTH_EXACT, &error);
    if (o == NULL)
        fail_msg("%s: %s", text, error.text);
    return o;
}

static void close_spec(oracle *o)
{
    oracle_free(o);
    rope_spec_free(&spec);
}

/* Rounded to as many digits as expected has after its point (or significant ones with an 'e'). */
static void assert_prints(double value, const char *expected)
{
    char text[64];
    const char *point = strchr(expected, '.'), *exponent = strchr(expected, 'e');
    int after =
        point == NULL ? 0 : (int)(exponent != NULL ? exponent - point : (long)strlen(point)) - 1;
    snprintf(text, sizeof text, exponent != NULL ? "%.*e" : "%.*f", after, value);
    if (strcmp(text, expected) != 0)
        fail_msg("%s, expected %s", text, expected);
}

static double theta(const char *text, int64_t pair)
{
    oracle *o = open_spec(text);
    mpfr_t value;
    mpfr_init2(value, 53);
    oracle_inverse_frequency(o, pair, value);
    double d = mpfr_get_d(value, MPFR_RNDN);
    mpfr_clear(value);
    close_spec(o);
    return d;
}

static double attention(const char *text)
{
    oracle *o = open_spec(text);
    oracle_dd a = oracle_attention_factor_dd(o);
    close_spec(o);
    return a.hi;
}

/* ---- scalings ---- */

#define D128 "head_dim=128,base=10000,pairing=half,"
#define LLAMA3                                                                                     \
    "head_dim=128,base=500000,pairing=half,scaling=llama3,factor=8,low=1,high=4,original=8192"

/* base' of ntk and dynamic: the last frequency is base'^(-126/128). */
static double effective_base(const char *text)
{
    return pow(theta(text, 63), -128.0 / 126);
}

static void test_ntk(void **state)
{
    (void)state;
    assert_prints(effective_base(D128 "scaling=ntk,factor=4"), "40889.94");
    assert_prints(theta(D128 "scaling=ntk-su,factor=4", 0), "0.97857");
    assert_prints(effective_base(D128 "scaling=dynamic,factor=4,original=4096,length=4096"),
                  "10000.00");
    assert_prints(effective_base(D128 "scaling=dynamic,factor=4,original=4096,length=8192"),
                  "51293.79");
    assert_prints(effective_base(D128 "scaling=dynamic,factor=4,original=4096,length=16384"),
                  "135401.97");
    assert_prints(effective_base(D128 "scaling=dynamic,factor=4,original=4096,length=100"),
                  "10000.00"); /* below the trained length nothing changes */
}

static void yarn_range(const char *text, const char *low, const char *high)
{
    oracle *o = open_spec(text);
    mpfi_t l, span;
    mpfi_init2(l, 128);
    mpfi_init2(span, 128);
    assert_true(frequency_yarn_range(oracle_spec(o), l, span));
    assert_prints(mpfi_get_d(l), low);
    mpfi_add(l, l, span);
    assert_prints(mpfi_get_d(l), high);
    mpfi_clear(l);
    mpfi_clear(span);
    close_spec(o);
}

static void test_yarn(void **state)
{
    (void)state;
#define YARN "scaling=yarn,factor=4,truncate=false,"
    yarn_range(D128 YARN "original=4096", "20.944482", "45.026881");
    yarn_range("head_dim=128,base=1000000,pairing=half," YARN "original=32768", "23.595948",
               "39.650881");
    yarn_range("head_dim=64,base=10000,pairing=half," YARN "original=4096", "10.472241",
               "22.513441");
    yarn_range("head_dim=64,base=150000,pairing=half," YARN "original=4096", "8.092779",
               "17.398025");
    yarn_range("head_dim=64,base=150000,pairing=half,scaling=yarn,factor=4,original=4096", "8",
               "18");
    /* The upper clamp is d - 1, not d/2 - 1: 34.55 rounds up to 35. */
    yarn_range("head_dim=64,base=10000,pairing=half," YARN "original=131072", "22.51", "34.55");
    yarn_range("head_dim=64,base=10000,pairing=half,scaling=yarn,factor=4,original=131072", "22",
               "35");
    static const struct {
        int factor;
        const char *g;
    } magnitudes[] = {{4, "1.1386294"}, {16, "1.2772589"}, {32, "1.3465736"}, {40, "1.3688879"}};
    for (int i = 0; i < 4; i++) {
        char text[160];
        snprintf(text, sizeof text, D128 "scaling=yarn,factor=%d,original=4096",
                 magnitudes[i].factor);
        assert_prints(attention(text), magnitudes[i].g);
    }
    assert_true(attention(D128 "scaling=yarn,factor=40,original=4096,mscale=1,mscale_all_dim=1") ==
                1);
    /* Code and paper differ by up to three times in the middle band. */
    double most = 0;
    for (int i = 0; i < 64; i++)
        most = fmax(most, theta(D128 "scaling=yarn,factor=16,original=4096", i) /
                              theta(D128 "scaling=yarn-paper,factor=16,original=4096", i));
    assert_true(most > 2.5 && most < 3.5);
}

static void test_llama3(void **state)
{
    (void)state;
    assert_prints(theta(LLAMA3, 29), "2.1665707635e-03");
    assert_prints(theta(LLAMA3, 34), "1.7850781277e-04");
    assert_prints(theta(LLAMA3, 63), "3.0689259889e-07");
    static const char *const divisors[] = {"1.207484", "1.553415", "2.026313", "2.694530",
                                           "3.684253", "5.257327", "8.000000"};
    for (int i = 0; i < 7; i++)
        assert_prints(theta("head_dim=128,base=500000,pairing=half", 29 + i) /
                          theta(LLAMA3, 29 + i),
                      divisors[i]);
    assert_prints(theta("head_dim=128,base=500000,pairing=half", 28) / theta(LLAMA3, 28),
                  "1.000000");
}

static void test_others(void **state)
{
    (void)state;
    assert_prints(attention("head_dim=4,base=10000,pairing=half,scaling=longrope,original=4096,"
                            "max_position=131072,short_factors=1:1,long_factors=1:4"),
                  "1.1902381");
    assert_prints(theta("head_dim=4,base=10000,pairing=half,scaling=longrope,original=4096,"
                        "max_position=131072,short_factors=1:1,long_factors=1:4,length=4096",
                        1),
                  "0.01000"); /* short at L itself */
    assert_prints(theta("head_dim=4,base=10000,pairing=half,scaling=longrope,original=4096,"
                        "max_position=131072,short_factors=1:1,long_factors=1:4,length=4097",
                        1),
                  "0.00250");
    /* proportional: exponent over head_dim, zeros past the share. */
    const char *proportional =
        "head_dim=128,base=1000000,pairing=half,scaling=proportional,share=0.25";
    assert_true(theta(proportional, 15) == theta("head_dim=128,base=1000000,pairing=half", 15));
    assert_true(theta(proportional, 16) == 0);
    /* partial: exponent over rotary_dim, or over head_dim. */
    assert_prints(theta("head_dim=80,rotary_dim=32,base=10000,pairing=half", 8), "0.010000");
    assert_prints(theta("head_dim=80,rotary_dim=32,base=10000,pairing=half,exponent_by_head=1", 8),
                  "0.158489");
}

static void assert_axes(const char *text, const char *expected)
{
    oracle *o = open_spec(text);
    char got[128];
    int64_t pairs = oracle_pairs(o);
    for (int64_t i = 0; i < pairs; i++)
        got[i] = "thw"[oracle_pair_axis(o, i)];
    got[pairs] = '\0';
    assert_string_equal(got, expected);
    close_spec(o);
}

static void test_axes(void **state)
{
    (void)state;
    assert_axes("head_dim=32,base=10000,pairing=half,axes=mrope,sections=5:9:2",
                "ttttthhhhhhhhhww");
    assert_axes("head_dim=128,base=5000000,pairing=half,axes=mrope-interleaved,sections=24:20:20",
                "thwthwthwthwthwthwthwthwthwthwthwthwthwthwthwthwthwthwthwthwtttt");
    assert_axes("head_dim=32,base=10000,pairing=half,axes=mrope-interleaved,sections=8:5:3",
                "thwthwthwthtthtt");
    assert_axes("head_dim=128,base=1000000,pairing=half,axes=mrope,sections=16:24:24",
                "tttttttttttttttthhhhhhhhhhhhhhhhhhhhhhhhwwwwwwwwwwwwwwwwwwwwwwww");
}

/* ---- angles ---- */

static double cosine(const char *text, int64_t position, int64_t pair)
{
    oracle *o = open_spec(text);
    mpfr_t c, s;
    mpfr_inits2(53, c, s, (mpfr_ptr)0);
    oracle_cos_sin(o, position, pair, c, s);
    double value = mpfr_get_d(c, MPFR_RNDN);
    mpfr_clears(c, s, (mpfr_ptr)0);
    close_spec(o);
    return value;
}

static void test_angles(void **state)
{
    (void)state;
    const char *plain = "head_dim=128,base=10000,pairing=half";
    assert_prints(cosine(plain, 257, 0), "0.819306");
    assert_prints(cosine(plain, 256, 0), "-0.039791");
    assert_prints(cosine(plain, -1, 0), "0.540302");
    assert_prints(cosine(plain, 4294967295, 0), "-0.867935");
    assert_prints(cosine(D128 "scaling=linear,factor=4", 4096, 0), "0.987354");
    assert_prints(cosine(plain, 16384, 0), "-0.828534");
    assert_prints(cosine("head_dim=128,base=1000000,pairing=half", 100, 32), "0.995004");
    assert_prints(cosine(plain, 100, 32), "0.540302");
}

/* ---- rotated rows and scores ---- */

static void rotate(oracle *o, int64_t position, const double *x, double *y)
{
    oracle_cos_sin_dd row[16];
    int64_t pairs = oracle_pairs(o);
    int64_t step = oracle_spec(o)->pairing == ROPE_HALF ? 1 : 2, partner = step == 1 ? pairs : 1;
    oracle_row(o, &position, row);
    for (int64_t i = 0; i < pairs; i++) {
        oracle_dd a, b;
        oracle_rotate(row[i], oracle_attention_factor_dd(o), x[i * step], x[i * step + partner], &a,
                      &b);
        y[i * step] = a.hi;
        y[i * step + partner] = b.hi;
    }
}

static double score(oracle *o, const double *q, int64_t m, const double *k, int64_t n)
{
    double rq[8], rk[8], sum = 0;
    rotate(o, m, q, rq);
    rotate(o, n, k, rk);
    for (int i = 0; i < 8; i++)
        sum += rq[i] * rk[i];
    return sum;
}

static const double rising[8] = {1, 2, 3, 4, 5, 6, 7, 8}, falling[8] = {8, 7, 6, 5, 4, 3, 2, 1};

static void test_toy_rows(void **state)
{
    (void)state;
    static const char *const specs[2] = {"head_dim=8,base=10000,pairing=interleaved",
                                         "head_dim=8,base=10000,pairing=half"};
    static const char *const rows[2][8] = {{"-1.272233", "-1.838865", "1.683929", "4.707907",
                                            "4.817777", "6.147278", "6.975969", "8.020964"},
                                           {"-1.695593", "0.137552", "2.788682", "3.975982",
                                            "-4.808842", "6.323059", "7.086837", "8.011964"}};
    static const char *const scores[2] = {"77.909967", "39.024808"};
    for (int k = 0; k < 2; k++) {
        oracle *o = open_spec(specs[k]);
        double y[8], norm = 0;
        rotate(o, 3, rising, y);
        for (int i = 0; i < 8; i++) {
            assert_prints(y[i], rows[k][i]);
            norm += y[i] * y[i];
        }
        assert_prints(norm, "204.000000");
        assert_prints(score(o, rising, 5, falling, 3), scores[k]);
        assert_prints(score(o, rising, 1005, falling, 1003), scores[k]);
        close_spec(o);
    }
}

static void test_worked_example(void **state)
{
    (void)state;
    static const double q[8] = {0x1.017ed89db8441p-3, -0x1.0e8cfe9bd45ccp-3, 0x1.47e57a468b06dp-1,
                                0x1.adabbec84d4f0p-4, -0x1.1243418e643edp-1, 0x1.7245f95ced1e6p-2,
                                0x1.4dd2f26bd103cp+0, 0x1.e4e7cbc69bca3p-1};
    static const double k[8] = {-0x1.684ffc1daaf28p-1, -0x1.43f2a959cc8bbp+0, -0x1.3f1dd4920f4fbp-1,
                                0x1.528adc38b0ce3p-5,  -0x1.299a9bc1a2383p+1, -0x1.c015d809d257ep-3,
                                -0x1.3ef405142e27ep+0, -0x1.76ebbf28c26f7p-1};
    oracle *o = open_spec("head_dim=8,base=10000,pairing=interleaved");
    assert_prints(score(o, q, 2, k, 0), "-1.76312926345045");
    assert_prints(score(o, q, 5, k, 3), "-1.76312926345045");
    assert_prints(score(o, q, 10, k, 8), "-1.76312926345045");
    assert_prints(score(o, q, 7, k, 7), "-1.46798704863673");
    close_spec(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ntk),      cmocka_unit_test(test_yarn),
        cmocka_unit_test(test_llama3),   cmocka_unit_test(test_others),
        cmocka_unit_test(test_axes),     cmocka_unit_test(test_angles),
        cmocka_unit_test(test_toy_rows), cmocka_unit_test(test_worked_example),
    };
    return cmocka_run_group_tests_name("reference", tests, NULL, NULL);
}
