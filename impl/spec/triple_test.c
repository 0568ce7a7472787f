/* Triple words against MPFR at 600 bits: no operation past the bound that its callers build on. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <mpfr.h>

#include "impl/spec/triple.h"

enum { BITS = 600 };

static void set(mpfr_t out, rope_triple x)
{
    mpfr_set_d(out, x.w[0], MPFR_RNDN);
    mpfr_add_d(out, out, x.w[1], MPFR_RNDN);
    mpfr_add_d(out, out, x.w[2], MPFR_RNDN);
}

/* |got - exact| / |scale|, in units of ROPE_TRIPLE_ERROR. */
static double error_of(rope_triple got, mpfr_t exact, mpfr_t scale)
{
    mpfr_t difference;
    mpfr_init2(difference, BITS);
    set(difference, got);
    mpfr_sub(difference, difference, exact, MPFR_RNDN);
    if (!mpfr_zero_p(difference))
        mpfr_div(difference, difference, scale, MPFR_RNDN);
    double error = fabs(mpfr_get_d(difference, MPFR_RNDA)) / ROPE_TRIPLE_ERROR;
    mpfr_clear(difference);
    return error;
}

static double uniform(void)
{
    return ((double)random() + (double)random() * 0x1p-31) * 0x1p-31;
}

/* Words with gaps, zeros, signs and near-ties between them. */
static rope_triple any(void)
{
    rope_triple x = rope_triple_of((uniform() + 1) * (random() & 1 ? 1 : -1));
    for (int i = 1; i < 3; i++) {
        int kind = (int)(random() % 8);
        double y = kind == 0   ? 0
                   : kind == 1 ? ldexp(1, -53 * i)
                   : kind == 2 ? ldexp(uniform(), -53 * i - (int)(random() % 60))
                               : ldexp(uniform() - 0.5, -53 * i);
        x = rope_triple_add(x, rope_triple_of(y));
    }
    return rope_triple_scale(x, (int)(random() % 41) - 20);
}

static void operations_keep_their_bound(void **state)
{
    (void)state;
    double worst[5] = {0};
    mpfr_t a, b, exact;
    mpfr_inits2(BITS, a, b, exact, (mpfr_ptr)NULL);
    srandom(1);
    for (int n = 0; n < 40000; n++) {
        rope_triple x = any(), y = any();
        if (n % 4 == 0) /* cancellation: y near -x */
            y = rope_triple_add(rope_triple_negative(x), rope_triple_scale(y, -(n % 130)));
        if (rope_triple_sign(y) == 0)
            continue;
        if (n % 7 == 0) /* division by one word has a path of its own */
            y = rope_triple_of(n % 2 ? y.w[0] : (double)(n % 97 + 1));
        set(a, x);
        set(b, y);
        rope_triple got[5] = {rope_triple_add(x, y), rope_triple_subtract(x, y),
                              rope_triple_multiply(x, y), rope_triple_divide(x, y)};
        for (int op = 0; op < 5; op++) {
            if (op == 0)
                mpfr_add(exact, a, b, MPFR_RNDN);
            if (op == 1)
                mpfr_sub(exact, a, b, MPFR_RNDN);
            if (op == 2)
                mpfr_mul(exact, a, b, MPFR_RNDN);
            if (op == 3)
                mpfr_div(exact, a, b, MPFR_RNDN);
            if (op == 4) {
                mpfr_abs(a, a, MPFR_RNDN);
                mpfr_sqrt(exact, a, MPFR_RNDN);
                got[4] = rope_triple_square_root(x.w[0] < 0 ? rope_triple_negative(x) : x);
            }
            double error = error_of(got[op], exact, exact);
            worst[op] = error > worst[op] ? error : worst[op];
            assert_true(rope_triple_f64(got[op]) == mpfr_get_d(exact, MPFR_RNDN));
        }
    }
    mpfr_clears(a, b, exact, (mpfr_ptr)NULL);
    for (int op = 0; op < 5; op++) {
        print_message("operation %d: worst %.3g of the bound\n", op, worst[op]);
        assert_true(worst[op] <= 1);
    }
}

static void powers_keep_their_bound(void **state)
{
    (void)state;
    static const double bases[] = {1.5, 2, 3, 10, 500, 1e4, 5e5, 1e6, 8e6, 1e9, 0x1p200, 0x1p-200};
    static const int64_t dimensions[] = {2, 6, 10, 24, 64, 80, 96, 128, 256, 514, 65536};
    double worst = 0, worst_log2 = 0;
    mpfr_t x, y, e, one;
    mpfr_inits2(BITS, x, y, e, one, (mpfr_ptr)NULL);
    mpfr_set_ui(one, 1, MPFR_RNDN);
    for (size_t b = 0; b < sizeof bases / sizeof bases[0]; b++) {
        rope_triple_log2 base = rope_triple_log2_of(rope_triple_of(bases[b]));
        mpfr_set_d(x, bases[b], MPFR_RNDN);
        mpfr_log2(y, x, MPFR_RNDN);
        mpfr_sub_si(y, y, (long)base.whole, MPFR_RNDN);
        double error = error_of(base.fraction, y, one);
        worst_log2 = error > worst_log2 ? error : worst_log2;
        for (size_t d = 0; d < sizeof dimensions / sizeof dimensions[0]; d++)
            for (int64_t i = 0; i <= dimensions[d] / 2; i += 1 + dimensions[d] / 600) {
                mpfr_set_si(e, -2 * i, MPFR_RNDN);
                mpfr_div_si(e, e, dimensions[d], MPFR_RNDN);
                mpfr_pow(y, x, e, MPFR_RNDN);
                error = error_of(rope_triple_power(base, -2 * i, dimensions[d]), y, y);
                worst = error > worst ? error : worst;
            }
    }
    mpfr_clears(x, y, e, one, (mpfr_ptr)NULL);
    print_message("power: worst %.3g, log2: worst %.3g of the bound\n", worst / 32,
                  worst_log2 / 16);
    assert_true(worst > 0 && worst <= 32 && worst_log2 <= 16);
}

static void constants_are_recomputed(void **state)
{
    (void)state;
    mpfr_t x;
    mpfr_init2(x, BITS);
    for (int which = 0; which < 2; which++) {
        rope_triple wanted = which == 0 ? rope_triple_ln2 : rope_triple_two_pi;
        if (which == 0)
            mpfr_const_log2(x, MPFR_RNDN);
        else
            mpfr_const_pi(x, MPFR_RNDN);
        mpfr_mul_ui(x, x, which == 0 ? 1 : 2, MPFR_RNDN);
        for (int i = 0; i < 3; i++) {
            assert_true(wanted.w[i] == mpfr_get_d(x, MPFR_RNDN));
            mpfr_sub_d(x, x, wanted.w[i], MPFR_RNDN);
        }
    }
    mpfr_clear(x);
}

static void f32_is_rounded_once(void **state)
{
    (void)state;
    const double tie = 0x1.000001p0, up = 0x1.000002p0; /* half way between 1 and the next f32 */
    assert_true(rope_triple_f32(rope_triple_of(tie)) == 1);
    assert_true(rope_triple_f32((rope_triple){{tie, 0x1p-60, 0}}) == up);
    assert_true(rope_triple_f32((rope_triple){{tie, -0x1p-60, 0}}) == 1);
    assert_true(rope_triple_f32((rope_triple){{tie, 0, 0x1p-120}}) == up);
    assert_true(rope_triple_f32((rope_triple){{-tie, 0, -0x1p-120}}) == -up);
    assert_true(rope_triple_f32((rope_triple){{0x1.000003p0, 0, -0x1p-120}}) == up);
    assert_true(rope_triple_f32((rope_triple){{0x1.000003p0, 0, 0}}) == 0x1.000004p0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_keep_their_bound),
        cmocka_unit_test(powers_keep_their_bound),
        cmocka_unit_test(constants_are_recomputed),
        cmocka_unit_test(f32_is_rounded_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
