/* What as-trained frequencies are, and are not: how far they move angles, and how many entries a
 * libm's powf computes otherwise. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "oracle/oracle.h"
#include "oracle/test_spec.h"

static oracle *make(const rope_spec *spec, rope_truth truth)
{
    rope_error error;
    oracle *o = oracle_new(spec, truth, &error);
    if (o == NULL)
        fail_msg("%s", error.text);
    return o;
}

static double frequency(const oracle *o, int64_t pair)
{
    mpfr_t value;
    mpfr_init2(value, 53);
    oracle_inverse_frequency(o, pair, value);
    double d = mpfr_get_d(value, MPFR_RNDN);
    mpfr_clear(value);
    return d;
}

/* docs/oracle.md states these figures. At position 10^6 an f32 table of frequencies alone moves an
 * angle by .02 to .05 rad for the usual bases. */
static void test_angles_move(void **state)
{
    (void)state;
    static const double bases[] = {10000, 500000, 1000000};
    for (int k = 0; k < 3; k++) {
        rope_spec spec = test_spec(128, bases[k]);
        oracle *exact = make(&spec, ROPE_TRUTH_EXACT), *f32 = make(&spec, ROPE_TRUTH_AS_TRAINED);
        double worst = 0;
        for (int64_t i = 0; i < 64; i++) {
            double t = frequency(f32, i);
            assert_true(t == (double)(float)t);
            worst = fmax(worst, 1e6 * fabs(t - frequency(exact, i)));
        }
        print_message("# base %g: angles at 10^6 move by up to %.4f rad\n", bases[k], worst);
        assert_true(worst > 0.01 && worst < 0.1);
        oracle_free(exact);
        oracle_free(f32);
    }
}

/* 1 / base ** (arange(0, d, 2) / d) with this machine's powf, as a framework on a CPU computes it.
 */
static void test_powf(void **state)
{
    (void)state;
    static const float bases[] = {10000, 500000, 1000000};
    int differ = 0, entries = 0;
    double most = 0;
    for (int k = 0; k < 3; k++)
        for (int dim = 64; dim <= 256; dim *= 2) {
            rope_spec spec = test_spec(dim, (double)bases[k]);
            oracle *o = make(&spec, ROPE_TRUTH_AS_TRAINED);
            for (int i = 0; i < dim / 2; i++) {
                float theirs = 1 / powf(bases[k], (float)(2 * i) / (float)dim);
                float ours = (float)frequency(o, i);
                double ulp = (double)(nextafterf(ours, INFINITY) - ours);
                entries++;
                differ += theirs != ours;
                most = fmax(most, fabs((double)theirs - (double)ours) / ulp);
            }
            oracle_free(o);
        }
    print_message("# powf differs in %d of %d entries, by at most %g ulp\n", differ, entries, most);
    assert_int_equal(entries, 672);
    assert_true(differ * 10 <= entries);
    assert_true(most <= 2);
}

/* A checkpoint's own list is taken as it is. */
static void test_own_list(void **state)
{
    (void)state;
    double list[] = {1, (double)0.1f, (double)1e-5f, 0};
    rope_spec spec = test_spec(8, NAN);
    spec.inv_freq = (rope_list){list, 4};
    oracle *o = make(&spec, ROPE_TRUTH_AS_TRAINED);
    for (int i = 0; i < 4; i++)
        assert_true(frequency(o, i) == list[i]);
    oracle_free(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_angles_move),
        cmocka_unit_test(test_powf),
        cmocka_unit_test(test_own_list),
    };
    return cmocka_run_group_tests_name("as_trained", tests, NULL, NULL);
}
