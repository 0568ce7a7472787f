/* Reference values of the other encodings, and the kernels against them by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>

#include "oracle/encoding.h"

static void assert_near(double got, double wanted, double tolerance)
{
    if (!(fabs(got - wanted) <= tolerance))
        fail_msg("got %.17g, wanted %.17g within %g", got, wanted, tolerance);
}

static void sinusoidal_values(void **state)
{
    (void)state;
    for (int64_t element = 0; element < 8; element++)
        assert_true(oracle_sinusoidal(ROPE_LAYOUT_PAPER, 8, 1e4, 0, element).hi ==
                    (double)(element % 2));
    /* dim 512, w_1 of both definitions. */
    assert_near(oracle_sinusoidal_frequency(ROPE_LAYOUT_PAPER, 512, 1e4, 1).hi, .964661620, 5e-10);
    assert_near(oracle_sinusoidal_frequency(ROPE_LAYOUT_CONCAT, 512, 1e4, 1).hi, .964525526, 5e-10);
    /* The last frequency of the concatenated form is 1 / base exactly. */
    assert_near(oracle_sinusoidal_frequency(ROPE_LAYOUT_CONCAT, 512, 1e4, 255).hi, 1e-4, 1e-20);
    assert_near(oracle_sinusoidal(ROPE_LAYOUT_PAPER, 8, 1e4, 3, 1).hi, cos(3), 1e-16);
    assert_near(oracle_sinusoidal(ROPE_LAYOUT_PAPER, 8, 1e4, 3, 2).hi, sin(.3), 1e-16);
    assert_near(oracle_sinusoidal(ROPE_LAYOUT_CONCAT, 8, 1e4, -3, 0).hi, -sin(3), 1e-16);
    /* 2^62 radians: glibc reduces any f64 argument exactly. */
    assert_near(oracle_sinusoidal(ROPE_LAYOUT_PAPER, 2, 1e4, INT64_C(1) << 62, 1).hi, cos(0x1p62),
                1e-15);
}

static void alibi_values(void **state)
{
    (void)state;
    for (int64_t h = 0; h < 8; h++)
        assert_true(oracle_alibi_slope(8, h).hi == ldexp(1, (int)-(h + 1)));
    static const double tail12[] = {.70710678, .35355339, .1767767, .088388348};
    for (int64_t h = 0; h < 4; h++)
        assert_near(oracle_alibi_slope(12, 8 + h).hi, tail12[h], 5e-9);
    assert_near(oracle_alibi_slope(40, 32).hi, .91700404, 5e-9);
    assert_near(oracle_alibi_slope(40, 39).hi, .27262693, 5e-9);
    assert_near(oracle_alibi_slope(112, 111).hi, .016316778, 5e-10);
}

static void sum_errors(void **state)
{
    (void)state;
    /* One u of the sum 1 + 1, whose terms are 1 and 1: error 2^-24 over 2^-24 * 2. */
    assert_true(oracle_sum_error_u(ROPE_F32, 1, (oracle_dd){1, 0}, 1, 2 + 0x1p-24) == 0.5);
    assert_true(oracle_sum_error_u(ROPE_F32, 1, (oracle_dd){1, 0x1p-60}, 1, 2) ==
                0x1p-60 / 0x1p-23);
    assert_true(isnan(oracle_sum_error_u(ROPE_F32, 1, (oracle_dd){1, 0}, 1, NAN)));
    assert_true(oracle_sum_error_u(ROPE_F32, 0, (oracle_dd){0, 0}, 0, 0) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sinusoidal_values),
        cmocka_unit_test(alibi_values),
        cmocka_unit_test(sum_errors),
    };
    return cmocka_run_group_tests_name("encoding", tests, NULL, NULL);
}
