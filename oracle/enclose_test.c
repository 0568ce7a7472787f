/* MPFI confirms the MPFR error analyses of row.c and oracle.c, and the enclosures themselves. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "oracle/enclose.h"
#include "oracle/internal.h"
#include "oracle/test_spec.h"

static double far_end(mpfi_srcptr value, oracle_dd d)
{
    mpfi_t t;
    mpfr_t far;
    mpfi_init2(t, 400);
    mpfr_init2(far, 64);
    mpfi_sub_d(t, value, d.hi);
    mpfi_sub_d(t, t, d.lo);
    mpfi_mag(far, t);
    double distance = mpfr_get_d(far, MPFR_RNDU);
    mpfi_clear(t);
    mpfr_clear(far);
    return distance;
}

static bool overlap(mpfi_srcptr a, mpfi_srcptr b)
{
    return mpfr_lessequal_p(&a->left, &b->right) && mpfr_lessequal_p(&b->left, &a->right);
}

/* row.c claims 2^-106 for what it computes with MPFR alone; oracle.c that its enclosures of cos and
 * sin contain the exact values. MPFI's own cos and sin, at 400 bits, judge both. */
static void rows_and_enclosures(const rope_spec *spec)
{
    oracle *o = oracle_new(spec, ROPE_TRUTH_EXACT, NULL);
    assert_non_null(o);
    mpfi_t angle, c, s, c2, s2;
    mpfi_init2(angle, 500);
    mpfi_init2(c, 400);
    mpfi_init2(s, 400);
    mpfi_init2(c2, 150);
    mpfi_init2(s2, 150);
    double worst = 0;
    int64_t position = 1;
    for (int n = 0; n < 400; n++) {
        uint64_t next = (uint64_t)position * 6364136223846793005u + 1442695;
        position = n % 40 == 0 ? INT64_MAX - n : (int64_t)next >> (n % 60);
        oracle_cos_sin_dd row[6];
        oracle_row(o, &position, row);
        for (int i = 0; i < 6; i++) {
            oracle_enclose_frequency(o, i, angle);
            mpfi_mul_si(angle, angle, (long)position);
            mpfi_cos(c, angle);
            mpfi_sin(s, angle);
            worst = fmax(worst, fmax(far_end(c, row[i].cos), far_end(s, row[i].sin)));
            oracle_enclose_cos_sin(o, position, i, c2, s2);
            assert_true(overlap(c, c2) && overlap(s, s2));
            assert_true(enclose_narrow(c2, 60) || mpfi_has_zero(c2) >= 0);
        }
    }
    print_message("# rows by MPFR: within 2^%.2f of MPFI's far end\n", log2(worst));
    assert_true(worst <= 0x1p-106);
    assert_true(worst > 0x1p-120);
    mpfi_clear(angle);
    mpfi_clear(c);
    mpfi_clear(s);
    mpfi_clear(c2);
    mpfi_clear(s2);
    oracle_free(o);
}

static void test_rows_and_enclosures(void **state)
{
    (void)state;
    double list[] = {1, 0.3, 1e-9, 1e-300, 12345.678, 0};
    rope_spec spec = test_spec(12, NAN);
    spec.inv_freq = (rope_list){list, 6};
    rows_and_enclosures(&spec);
    spec = test_spec(12, 3); /* frequencies that are no binary numbers */
    rows_and_enclosures(&spec);
}

static void test_powers(void **state)
{
    (void)state;
    mpfi_t base, power;
    mpfi_init2(base, 128);
    mpfi_init2(power, 128);
    mpfi_set_ui(base, 65536);
    enclose_power(power, base, 24, 64); /* 2^(16 * 3/8) = 64, a single point */
    assert_true(mpfr_cmp_ui(&power->left, 64) == 0 && mpfr_cmp_ui(&power->right, 64) == 0);
    mpfi_set_d(base, 2.25);
    enclose_power(power, base, 1, 2);
    assert_true(mpfr_cmp_d(&power->left, 1.5) == 0 && mpfr_cmp_d(&power->right, 1.5) == 0);
    mpfi_set_ui(base, 10000);
    enclose_power(power, base, 3, 8);
    assert_true(enclose_narrow(power, 100) && !enclose_narrow(power, 127));
    mpfr_t value;
    mpfr_init2(value, 53);
    assert_true(enclose_round(value, power));
    assert_true(mpfr_get_d(value, MPFR_RNDN) == 0x1.f9f6e4990f227p+4); /* 31.6227766... */
    mpfi_interv_d(power, 1 - 0x1p-60, 1 + 0x1p-60);
    assert_true(enclose_round(value, power));
    mpfi_interv_d(power, 1, 1 + 0x1p-52);
    assert_false(enclose_round(value, power));
    int64_t whole;
    mpfi_interv_d(power, 2.5, 3.5);
    assert_false(enclose_floor(power, &whole));
    mpfi_interv_d(power, 2.5, 2.75);
    assert_true(enclose_floor(power, &whole) && whole == 2);
    assert_true(enclose_ceil(power, &whole) && whole == 3);
    mpfi_clear(base);
    mpfi_clear(power);
    mpfr_clear(value);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_and_enclosures),
        cmocka_unit_test(test_powers),
    };
    return cmocka_run_group_tests_name("enclose", tests, NULL, NULL);
}
