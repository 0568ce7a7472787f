/* Double-word functions against MPFR at 400 bits: never past the bounds that dd.h states. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <mpfr.h>

#include "impl/spec/dd.h"

static void set_dd(mpfr_t out, rope_dd x)
{
    mpfr_set_d(out, x.hi, MPFR_RNDN);
    mpfr_add_d(out, out, x.lo, MPFR_RNDN);
}

/* |got - exact| / scale, in units of u^2 = 2^-106. */
static double error_in_uu(rope_dd got, mpfr_t exact, double scale)
{
    mpfr_t difference;
    mpfr_init2(difference, 400);
    set_dd(difference, got);
    mpfr_sub(difference, difference, exact, MPFR_RNDN);
    mpfr_abs(difference, difference, MPFR_RNDN);
    mpfr_div_d(difference, difference, scale, MPFR_RNDN);
    mpfr_mul_2ui(difference, difference, 106, MPFR_RNDN);
    double error = mpfr_get_d(difference, MPFR_RNDU);
    mpfr_clear(difference);
    return error;
}

static double uniform(void)
{
    return ((double)random() + (double)random() * 0x1p-31) * 0x1p-31;
}

static void exp2_keeps_its_bound(void **state)
{
    (void)state;
    double worst = 0;
    mpfr_t x, y;
    mpfr_inits2(400, x, y, (mpfr_ptr)NULL);
    srandom(1);
    for (int n = 0; n < 20000; n++) {
        rope_dd t = dd_sum(uniform() - 0.5, (uniform() - 0.5) * 0x1p-54);
        set_dd(x, t);
        mpfr_exp2(y, x, MPFR_RNDN);
        double error = error_in_uu(rope_dd_exp2(t), y, mpfr_get_d(y, MPFR_RNDN));
        worst = error > worst ? error : worst;
    }
    mpfr_clears(x, y, (mpfr_ptr)NULL);
    print_message("exp2: worst %.3f u^2\n", worst);
    assert_true(worst > 0.5 && worst <= 11);
}

static void log2_keeps_its_bound(void **state)
{
    (void)state;
    double worst = 0;
    mpfr_t x, y;
    mpfr_inits2(400, x, y, (mpfr_ptr)NULL);
    srandom(2);
    for (int n = 0; n < 20000; n++) {
        rope_dd t = dd_sum(exp2(uniform() - 0.5), (uniform() - 0.5) * 0x1p-54);
        set_dd(x, t);
        mpfr_log2(y, x, MPFR_RNDN);
        double error = error_in_uu(rope_dd_log2(t), y, 1);
        worst = error > worst ? error : worst;
    }
    mpfr_clears(x, y, (mpfr_ptr)NULL);
    print_message("log2: worst %.3f u^2\n", worst);
    assert_true(worst > 0.5 && worst <= 23);
}

static void power_keeps_its_bound(void **state)
{
    (void)state;
    static const double bases[] = {1.5, 2, 3, 10, 500, 1e4, 5e5, 1e6, 8e6, 1e9, 0x1p200, 0x1p-200};
    static const int64_t dimensions[] = {2, 6, 10, 24, 64, 80, 96, 128, 256, 514, 65536};
    double worst = 0;
    mpfr_t x, y, e;
    mpfr_inits2(400, x, y, e, (mpfr_ptr)NULL);
    for (size_t b = 0; b < sizeof bases / sizeof bases[0]; b++)
        for (size_t d = 0; d < sizeof dimensions / sizeof dimensions[0]; d++)
            for (int64_t i = 0; i <= dimensions[d] / 2; i += 1 + dimensions[d] / 600) {
                mpfr_set_d(x, bases[b], MPFR_RNDN);
                mpfr_set_si(e, -2 * i, MPFR_RNDN);
                mpfr_div_si(e, e, dimensions[d], MPFR_RNDN);
                mpfr_pow(y, x, e, MPFR_RNDN);
                rope_dd got = rope_dd_power((rope_dd){bases[b], 0}, -2 * i, dimensions[d]);
                double error = error_in_uu(got, y, mpfr_get_d(y, MPFR_RNDN));
                worst = error > worst ? error : worst;
            }
    mpfr_clears(x, y, e, (mpfr_ptr)NULL);
    print_message("power: worst %.3f u^2\n", worst);
    assert_true(worst > 0.5 && worst <= 35);
}

static void constants_are_recomputed(void **state)
{
    (void)state;
    mpfr_t x;
    mpfr_init2(x, 400);
    mpfr_const_log2(x, MPFR_RNDN);
    double hi = mpfr_get_d(x, MPFR_RNDN);
    mpfr_sub_d(x, x, hi, MPFR_RNDN);
    assert_true(hi == rope_dd_ln2.hi && mpfr_get_d(x, MPFR_RNDN) == rope_dd_ln2.lo);
    mpfr_clear(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exp2_keeps_its_bound),
        cmocka_unit_test(log2_keeps_its_bound),
        cmocka_unit_test(power_keeps_its_bound),
        cmocka_unit_test(constants_are_recomputed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
