/* dd's own claims: frequencies to 2^-90, polynomials recomputed and measured, positions past 2^50,
 * and how many values are not correctly rounded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "impl/kernels/dd.c"
#include "impl/kernels/testing.h"

#if defined(__x86_64__)

/* |Fhi + Flo - theta / (pi/2)| <= 2^-90 theta / (pi/2) for the host's theta = hi + lo. */
static void frequencies_hold_90_bits(void **state)
{
    (void)state;
    const double bases[] = {10000, 500000, 1e6, 150000, 8e6};
    mpfr_t f, e, pi;
    mpfr_inits2(300, f, e, pi, (mpfr_ptr)0);
    mpfr_const_pi(pi, MPFR_RNDN);
    double worst = 0;
    for (size_t b = 0; b < sizeof bases / sizeof bases[0]; b++) {
        problem p;
        problem_init(&p, (shape){256, 256, 0}, ROPE_HALF, ROPE_F32, bases[b], 1, 0, 0);
        for (int64_t i = 0; i < p.args.pairs; i++) {
            double hi, lo;
            quarter_turns(p.hi[i], p.lo[i], &hi, &lo);
            assert_true(fabs(lo) <= ldexp(fabs(hi), -53));
            mpfr_set_d(f, p.hi[i], MPFR_RNDN);
            mpfr_add_d(f, f, p.lo[i], MPFR_RNDN);
            mpfr_mul_ui(f, f, 2, MPFR_RNDN);
            mpfr_div(f, f, pi, MPFR_RNDN);
            mpfr_set_d(e, hi, MPFR_RNDN);
            mpfr_add_d(e, e, lo, MPFR_RNDN);
            mpfr_sub(e, e, f, MPFR_RNDN);
            mpfr_div(e, e, f, MPFR_RNDN);
            worst = fmax(worst, fabs(mpfr_get_d(e, MPFR_RNDA)));
        }
        problem_free(&p);
    }
    print_message("# quarter-turn frequencies: 2^%.1f\n", log2(worst));
    assert_true(worst <= 0x1p-97);
    mpfr_clears(f, e, pi, (mpfr_ptr)0);
}

/* Interpolates S(z) = (sin(pi/2 r) / r - pi/2) / z or C(z) = (cos(pi/2 r) - 1) / z, z = r^2, at the
 * n Chebyshev nodes of [0, 1/4] (Newton's divided differences, 400 bits), to monomial coefficients.
 */
static void target(mpfr_t g, mpfr_t z, bool sine)
{
    mpfr_t r, h;
    mpfr_inits2(400, r, h, (mpfr_ptr)0);
    mpfr_sqrt(r, z, MPFR_RNDN);
    mpfr_const_pi(h, MPFR_RNDN);
    mpfr_div_2ui(h, h, 1, MPFR_RNDN);
    mpfr_mul(g, h, r, MPFR_RNDN);
    if (sine) {
        mpfr_sin(g, g, MPFR_RNDN);
        mpfr_div(g, g, r, MPFR_RNDN);
        mpfr_sub(g, g, h, MPFR_RNDN);
    } else {
        mpfr_cos(g, g, MPFR_RNDN);
        mpfr_sub_ui(g, g, 1, MPFR_RNDN);
    }
    mpfr_div(g, g, z, MPFR_RNDN);
    mpfr_clears(r, h, (mpfr_ptr)0);
}

static void interpolate(int n, bool sine, double *coefficients)
{
    mpfr_t node[8], difference[8], poly[8], t;
    mpfr_init2(t, 400);
    for (int i = 0; i < n; i++) {
        mpfr_inits2(400, node[i], difference[i], poly[i], (mpfr_ptr)0);
        mpfr_const_pi(t, MPFR_RNDN);
        mpfr_mul_si(t, t, 2 * i + 1, MPFR_RNDN);
        mpfr_div_si(t, t, 2 * n, MPFR_RNDN);
        mpfr_cos(t, t, MPFR_RNDN);
        mpfr_add_ui(t, t, 1, MPFR_RNDN);
        mpfr_div_ui(node[i], t, 8, MPFR_RNDN);
        target(difference[i], node[i], sine);
        mpfr_set_ui(poly[i], 0, MPFR_RNDN);
    }
    for (int k = 1; k < n; k++)
        for (int i = n - 1; i >= k; i--) {
            mpfr_sub(difference[i], difference[i], difference[i - 1], MPFR_RNDN);
            mpfr_sub(t, node[i], node[i - k], MPFR_RNDN);
            mpfr_div(difference[i], difference[i], t, MPFR_RNDN);
        }
    for (int k = n - 1; k >= 0; k--) { /* poly = poly (z - node[k]) + difference[k] */
        for (int i = n - 1; i >= 0; i--) {
            mpfr_mul(t, poly[i], node[k], MPFR_RNDN);
            mpfr_neg(poly[i], t, MPFR_RNDN);
            if (i > 0)
                mpfr_add(poly[i], poly[i], poly[i - 1], MPFR_RNDN);
        }
        mpfr_add(poly[0], poly[0], difference[k], MPFR_RNDN);
    }
    for (int i = 0; i < n; i++) {
        coefficients[i] = mpfr_get_d(poly[i], MPFR_RNDN);
        mpfr_clears(node[i], difference[i], poly[i], (mpfr_ptr)0);
    }
    mpfr_clear(t);
}

/* Largest |r z (P - S)| or |z (P - C)| over [0, 1/2], sampled. */
static double polynomial_error(int n, bool sine, const double *coefficients)
{
    double worst = 0;
    mpfr_t z, g, p;
    mpfr_inits2(400, z, g, p, (mpfr_ptr)0);
    for (int k = 1; k <= 2000; k++) {
        double r = k / 4000.0;
        mpfr_set_d(z, r, MPFR_RNDN);
        mpfr_sqr(z, z, MPFR_RNDN);
        target(g, z, sine);
        mpfr_set_zero(p, 1);
        for (int i = n - 1; i >= 0; i--) {
            mpfr_mul(p, p, z, MPFR_RNDN);
            mpfr_add_d(p, p, coefficients[i], MPFR_RNDN);
        }
        mpfr_sub(g, g, p, MPFR_RNDN);
        mpfr_mul(g, g, z, MPFR_RNDN);
        worst = fmax(worst, fabs(mpfr_get_d(g, MPFR_RNDA)) * (sine ? r : 1));
    }
    mpfr_clears(z, g, p, (mpfr_ptr)0);
    return worst;
}

static void polynomials_are_the_interpolations(void **state)
{
    (void)state;
    double s[6], c[7];
    interpolate(6, true, s);
    interpolate(7, false, c);
    for (int i = 0; i < 6; i++)
        assert_true(s[i] == CONSTANTS.s[i][0]);
    for (int i = 0; i < 7; i++)
        assert_true(c[i] == CONSTANTS.c[i][0]);
    double sine = polynomial_error(6, true, s), cosine = polynomial_error(7, false, c);
    print_message("# sin polynomial 2^%.2f, cos polynomial 2^%.2f\n", log2(sine), log2(cosine));
    assert_true(sine <= 0x1p-56 && cosine <= 0x1p-55);
}

/* cos and sin made of an f32 pair against the exact ones, rounded once: how many differ. Only a
 * value within 2^-20 ulp of the middle between two f32 can be rounded wrongly (an entry is off by
 * less than 2^-52, 2^-28 ulp at worst), so the rest is judged against long double. */
static int64_t misrounded(const problem *p, const rope_plan *plan, int64_t first, int64_t tokens)
{
    int64_t wrong = 0, pairs = p->args.pairs;
    for (int64_t position = first; position < first + tokens; position++) {
        float cosines[BLOCK], sines[BLOCK];
        cos_sin(plan, &position, 0, pairs, cosines, sines);
        for (int64_t i = 0; i < pairs; i++) {
            exact_cos_sin r = exact_rotor(&p->args, position, i);
            wrong += (cosines[i] != (float)r.c) + (sines[i] != (float)r.s);
        }
    }
    return wrong;
}

static void values_are_correctly_rounded(void **state)
{
    (void)state;
    problem p;
    rope_plan *made;
    problem_init(&p, (shape){128, 128, 0}, ROPE_HALF, ROPE_F32, 10000, 1, 0, 1 << 24);
    assert_int_equal(plan(&p.args, &made), ROPE_OK);
    int64_t wrong = misrounded(&p, made, 0, 4096) + misrounded(&p, made, (1 << 24) - 4096, 4096);
    print_message("# %lld of %d values misrounded\n", (long long)wrong, 2 * 8192 * 64);
    assert_true(wrong <= 1); /* about one in 10^9 is expected */
    destroy(made);
    problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frequencies_hold_90_bits),
        cmocka_unit_test(polynomials_are_the_interpolations),
        cmocka_unit_test(values_are_correctly_rounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
    return 0;
}
#endif
