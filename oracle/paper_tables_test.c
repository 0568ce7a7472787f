/* Rotary sums, the decay curve and the exclusion scan against values computed with 50 digits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <mpfr.h>

#include "oracle/base_scan.h"
#include "oracle/paper_tables.h"

static void near(double got, double wanted, double tolerance)
{
    if (!(fabs(got - wanted) <= tolerance))
        fail_msg("got %.17g, wanted %.17g within %g", got, wanted, tolerance);
}

static void decay_curve(void **state)
{
    (void)state;
    static const struct {
        double base;
        int64_t m;
        double value;
    } printed[] = {{1e4, 0, 32.5},      {1e4, 1, 31.5382},    {1e4, 10, 17.9541},
                   {1e4, 100, 10.2273}, {1e4, 1000, 4.4708},  {1e4, 4096, 4.8828},
                   {1e4, 5000, 7.5961}, {1e4, 10000, 3.8585}, {1e4, 131072, 8.3943},
                   {5e5, 10, 20.8857},  {5e5, 1000, 10.2002}, {5e5, 131072, 4.0916}};
    for (size_t i = 0; i < sizeof printed / sizeof printed[0]; i++) {
        double bound;
        near(oracle_decay_mean(128, printed[i].base, printed[i].m, &bound), printed[i].value,
             5.1e-5);
        assert_true(bound < 1e-8);
    }
}

/* B(m) in MPFR at 200 bits: what the f64 walk and its error bound are held against. */
static double exact_sum(int64_t head_dim, double base, int64_t m)
{
    mpfr_t sum, term, exponent;
    mpfr_inits2(200, sum, term, exponent, (mpfr_ptr)NULL);
    mpfr_set_zero(sum, 1);
    for (int64_t i = 0; i < head_dim / 2; i++) {
        mpfr_set_si(exponent, -2 * i, MPFR_RNDN);
        mpfr_div_si(exponent, exponent, head_dim, MPFR_RNDN);
        mpfr_set_d(term, base, MPFR_RNDN);
        mpfr_pow(term, term, exponent, MPFR_RNDN);
        mpfr_mul_si(term, term, m, MPFR_RNDN);
        mpfr_cos(term, term, MPFR_RNDN);
        mpfr_add(sum, sum, term, MPFR_RNDN);
    }
    double result = mpfr_get_d(sum, MPFR_RNDN);
    mpfr_clears(sum, term, exponent, (mpfr_ptr)NULL);
    return result;
}

static void rotary_sums(void **state)
{
    (void)state;
    double error;
    near(oracle_rotary_sum(128, 1e4, 1, &error), 62.0937, 5.1e-5);
    near(oracle_rotary_sum(128, 1e4, 100, &error), 30.5435, 5.1e-5);
    near(oracle_rotary_sum(128, 1e4, 1000, &error), 10.1777, 5.1e-5);
    near(oracle_rotary_sum(128, 1e4, 4096, &error), -3.3826, 5.1e-5);
    assert_int_equal(oracle_first_negative(128, 1e4, 1 << 17), 1707);
    assert_int_equal(oracle_first_negative(128, 5e5, 1 << 17), 18438);
    assert_int_equal(oracle_first_negative(128, 1e6, 1 << 17), 27115);
    assert_int_equal(oracle_first_negative(128, 1e4, 1706), 0);
    for (int64_t m = 1; m < 3000000; m = m * 3 + 1)
        for (int64_t dim = 6; dim <= 256; dim = dim * 2 + 2) {
            double sum = oracle_rotary_sum(dim, 12345.678, m, &error);
            near(sum, exact_sum(dim, 12345.678, m), error);
            assert_true(error < 1e-6);
        }
}

static void smallest_bases(void **state)
{
    (void)state;
    static const struct {
        int64_t context;
        double base, tolerance;
    } known[] = {
        {1000, 4206.02, .005}, {1024, 4293.44, .005}, {2048, 11587.2, .05}, {4096, 26952.3, .05}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        oracle_base found;
        assert_true(oracle_smallest_base(128, known[i].context, 10, 1e6, 1e-9, NULL, NULL, &found));
        near(found.feasible, known[i].base, known[i].tolerance);
        near(found.infeasible / found.feasible, 1, 1.01e-9);
        assert_int_equal(found.gaps, 0);
        /* The claim on both sides of the bracket, by 200-bit sums at the binding distance. */
        assert_true(exact_sum(128, found.infeasible * (1 - 1e-6), found.critical) < 0);
        assert_true(exact_sum(128, found.feasible, found.critical) >= 0);
    }
    /* Feasible bases are no interval: 11600 is feasible for 2048, 11700 to 12418 are not. */
    oracle_base found;
    assert_true(oracle_smallest_base(128, 2048, 11600, 1e6, 1e-9, NULL, NULL, &found));
    assert_true(found.feasible == 11600);
    assert_true(oracle_smallest_base(128, 2048, 11700, 1e6, 1e-9, NULL, NULL, &found));
    near(found.feasible, 12418.15979, 1e-4);
    assert_false(oracle_smallest_base(128, 1 << 14, 10, 1e3, 1e-9, NULL, NULL, &found));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decay_curve),
        cmocka_unit_test(rotary_sums),
        cmocka_unit_test(smallest_bases),
    };
    return cmocka_run_group_tests_name("paper_tables", tests, NULL, NULL);
}
