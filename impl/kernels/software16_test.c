/* Storage in 16 bits: the software conversions against exact arithmetic, and how far f16 and bf16
 * are from the larger component's nearest value. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "impl/kernels/software16.c"
#include "impl/kernels/testing.h"

/* Widening is exact for every pattern; narrowing what was widened gives the pattern back. */
static void every_pattern_round_trips(void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits < 1u << 16; bits++) {
        uint16_t h = (uint16_t)bits;
        float f16 = f16_to_f32(h), bf16 = bf16_to_f32(h);
        if (isnan(load(ROPE_F16, &h, 0)))
            assert_true(isnan(f16) && isnan(f16_to_f32(f32_to_f16(f16))));
        else
            assert_true(f16 == load(ROPE_F16, &h, 0) && f32_to_f16(f16) == h);
        if (isnan(load(ROPE_BF16, &h, 0)))
            assert_true(isnan(bf16) && isnan(bf16_to_f32(f32_to_bf16(bf16))));
        else
            assert_true(bf16 == load(ROPE_BF16, &h, 0) && f32_to_bf16(bf16) == h);
    }
}

/* Around every pattern and every middle between two: the nearest, ties to the even pattern. */
static void narrowing_is_to_nearest_even(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++)
        for (uint32_t bits = 0; bits < (kind ? 0x7f80u : 0x7c00u); bits++) {
            uint16_t low = (uint16_t)bits, high = (uint16_t)(bits + 1);
            uint32_t dtype = kind ? ROPE_BF16 : ROPE_F16;
            uint16_t (*narrow)(float) = kind ? f32_to_bf16 : f32_to_f16;
            double a = load(dtype, &low, 0), b = load(dtype, &high, 0);
            if (isinf(b))
                b = kind ? 0x1p128 : 65536; /* where the next value would be */
            float middle = (float)((a + b) / 2), below = nextafterf(middle, 0);
            float above = nextafterf(middle, INFINITY);
            assert_int_equal(narrow(middle), bits & 1 ? high : low);
            assert_int_equal(narrow(below), low);
            assert_int_equal(narrow(above), high);
            assert_int_equal(narrow(-above), high | 0x8000);
        }
}

/* In ulp of the larger exact component. */
static double largest_error(const rope_kernel *kernel, uint32_t pairing, uint32_t dtype)
{
    enum { ROWS = 64, DIM = 128 };
    static uint16_t x[ROWS * DIM], y[ROWS * DIM];
    problem p;
    uint64_t seed = 4;
    double worst = 0;
    int digits = dtype == ROPE_F16 ? 10 : 7;
    problem_init(&p, (shape){DIM, DIM, 0}, pairing, dtype, 10000, 1, 0, 1 << 16);
    for (int n = 0; n < 300; n++) {
        int64_t position = (int64_t)(next_random(&seed) >> 42);
        p.args.first[0] = p.args.last[0] = position;
        rope_plan *made;
        assert_int_equal(kernel->plan(&p.args, &made), ROPE_OK);
        for (int i = 0; i < ROWS * DIM; i++)
            store_random(dtype, x, i, &seed);
        rope_view vx = {x, 1, ROWS, 0, DIM}, vy = {y, 1, ROWS, 0, DIM};
        assert_int_equal(kernel->apply(made, &vx, &vy, &position, 1), ROPE_OK);
        kernel->destroy(made);
        for (int64_t i = 0; i < DIM / 2; i++) {
            exact_cos_sin r = exact_rotor(&p.args, position, i);
            for (int64_t row = 0; row < ROWS; row++) {
                int64_t e0 = row * DIM + element(&p.spec, i, 0),
                        e1 = row * DIM + element(&p.spec, i, 1);
                long double x0 = load(dtype, x, e0), x1 = load(dtype, x, e1);
                long double y0 = x0 * r.c - x1 * r.s, y1 = x0 * r.s + x1 * r.c;
                double larger = (double)fmaxl(fabsl(y0), fabsl(y1));
                double ulp = ldexp(1, ilogb(larger) - digits);
                double error =
                    (double)fmaxl(fabsl(load(dtype, y, e0) - y0), fabsl(load(dtype, y, e1) - y1));
                worst = fmax(worst, error / ulp);
            }
        }
    }
    problem_free(&p);
    return worst;
}

static void errors_are_half_an_ulp_of_the_larger(void **state)
{
    (void)state;
    FOR_EACH_KERNEL(kernel, pairing, dtype)
    if (dtype == ROPE_F16 || dtype == ROPE_BF16) {
        double worst = largest_error(kernel, pairing, dtype);
        print_message("# %s %s %s: %.6f ulp of the larger component\n", kernel->name,
                      rope_pairing_name(pairing), rope_dtype_name(dtype), worst);
        assert_true(worst <= (dtype == ROPE_F16 ? 0.5003 : 0.5001) && worst > 0.499);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pattern_round_trips),
        cmocka_unit_test(narrowing_is_to_nearest_even),
        cmocka_unit_test(errors_are_half_an_ulp_of_the_larger),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
