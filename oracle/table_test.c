/* Two-level rows against MPFR, and against each other. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "oracle/table.h"
#include "oracle/table_product.h"
#include "oracle/test_spec.h"

enum { PAIRS = 64, RUN = 8192 };
static double out[4][RUN];

static oracle *make(double base)
{
    rope_spec spec = test_spec(2 * PAIRS, base);
    rope_error error;
    oracle *o = oracle_new(&spec, ROPE_TRUTH_EXACT, &error);
    if (o == NULL)
        fail_msg("%s", error.text);
    return o;
}

static void block(oracle *o, int64_t pair, int64_t first, int64_t count)
{
    rope_error error;
    if (!oracle_block(o, pair, first, count, out[0], out[1], out[2], out[3], &error))
        fail_msg("%s", error.text);
}

static double distance(mpfr_ptr exact, double hi, double lo)
{
    mpfr_sub_d(exact, exact, hi, MPFR_RNDN);
    mpfr_sub_d(exact, exact, lo, MPFR_RNDN);
    return fabs(mpfr_get_d(exact, MPFR_RNDA));
}

static double worst_of_block(oracle *o, int64_t pair, int64_t first, int64_t count, int64_t step)
{
    double worst = 0;
    mpfr_t c, s;
    mpfr_inits2(220, c, s, (mpfr_ptr)0);
    block(o, pair, first, count);
    for (int64_t j = 0; j < count; j += step) {
        oracle_cos_sin(o, first + j, pair, c, s);
        worst = fmax(worst, distance(c, out[0][j], out[1][j]));
        worst = fmax(worst, distance(s, out[2][j], out[3][j]));
        assert_true(fabs(out[1][j]) <= 0x1p-53 * fabs(out[0][j]));
    }
    mpfr_clears(c, s, (mpfr_ptr)0);
    return worst;
}

static void test_against_mpfr(void **state)
{
    (void)state;
    static const int64_t firsts[] = {0,         4090,      -4100,           131071, 16777216 - 100,
                                     -16777216, INT64_MIN, INT64_MAX - 8191};
    oracle *o = make(500000);
    double worst = 0;
    for (size_t i = 0; i < sizeof firsts / sizeof firsts[0]; i++)
        for (int64_t pair = 0; pair < PAIRS; pair += 9)
            worst = fmax(worst, worst_of_block(o, pair, firsts[i], RUN, 37));
    print_message("# oracle_block: within 2^%.2f of MPFR\n", log2(worst));
    assert_true(worst <= ORACLE_BLOCK_ERROR);
    assert_true(worst >= 0x1p-112); /* something was compared */
    oracle_free(o);
}

/* The same values however the range is cut. */
static void test_cuts(void **state)
{
    (void)state;
    oracle *o = make(10000);
    static double whole[4][RUN];
    block(o, 5, -5000, RUN);
    memcpy(whole, out, sizeof whole);
    for (int64_t at = 0, n = 1; at + n <= RUN; at += n, n = n * 5 / 3 + 1) {
        block(o, 5, -5000 + at, n);
        for (int k = 0; k < 4; k++)
            assert_memory_equal(out[k], whole[k] + at, (size_t)n * sizeof(double));
    }
    oracle_free(o);
}

static void test_vector_equals_portable(void **state)
{
    (void)state;
    oracle *o = make(10000);
    static double again[4][RUN];
    block(o, 3, 0, 4096);
    oracle_cos_sin_dd base = {{0x1.2p-1, 0x1p-57}, {-0x1.b4p-1, 0x1.3p-56}};
    const double *from[4] = {out[0], out[1], out[2], out[3]};
    double *first[4] = {again[0], again[1], again[2], again[3]};
    double *second[4] = {again[0] + 4096, again[1] + 4096, again[2] + 4096, again[3] + 4096};
    for (int64_t count = 4085; count <= 4096; count++) {
        table_product(base, from, count, first);
        table_product_portable(base, from, count, second);
        for (int k = 0; k < 4; k++)
            assert_memory_equal(first[k], second[k], (size_t)count * sizeof(double));
    }
    oracle_free(o);
}

/* oracle_row before and after it takes to the tables. */
static void test_rows(void **state)
{
    (void)state;
    oracle *direct = make(10000), *prepared = make(10000);
    oracle_prepare(prepared, 0, 1 << 20);
    oracle_cos_sin_dd a[PAIRS], b[PAIRS];
    for (int64_t p = -70000; p < 1 << 24; p = p < 0 ? p / 2 + 1000 : p * 9 / 7 + 3) {
        oracle_row(direct, &p, a);
        oracle_row(prepared, &p, b);
        for (int i = 0; i < PAIRS; i++) {
            assert_true(fabs((a[i].cos.hi - b[i].cos.hi) + (a[i].cos.lo - b[i].cos.lo)) <=
                        0x1p-101);
            assert_true(fabs((a[i].sin.hi - b[i].sin.hi) + (a[i].sin.lo - b[i].sin.lo)) <=
                        0x1p-101);
        }
    }
    oracle_free(direct);
    oracle_free(prepared);
}

static void test_still_pairs(void **state)
{
    (void)state;
    double values[2] = {0, 1};
    rope_spec spec = test_spec(4, NAN);
    spec.inv_freq = (rope_list){values, 2};
    oracle *o = oracle_new(&spec, ROPE_TRUTH_EXACT, NULL);
    assert_non_null(o);
    block(o, 0, -3, 5000);
    for (int j = 0; j < 5000; j++)
        assert_true(out[0][j] == 1 && out[1][j] == 0 && out[2][j] == 0 && out[3][j] == 0);
    oracle_free(o);
}

static void test_speed(void **state)
{
    (void)state;
    oracle *o = make(10000);
    clock_t begin = clock();
    for (int64_t pair = 0; pair < 8; pair++)
        block(o, pair, 0, 1);
    double build = 1e3 * (double)(clock() - begin) / CLOCKS_PER_SEC / 8;
    begin = clock();
    double sum = 0;
    for (int64_t first = 0; first < 1 << 20; first += 4096)
        for (int64_t pair = 0; pair < 8; pair++) {
            block(o, pair, first, 4096);
            sum += out[0][17];
        }
    double ns = 1e9 * (double)(clock() - begin) / CLOCKS_PER_SEC / 8 / (1 << 20);
    print_message("# oracle_block: %.2f ns a pair, %.2f ms to build a pair's table (%g)\n", ns,
                  build, sum);
    oracle_free(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_mpfr),
        cmocka_unit_test(test_cuts),
        cmocka_unit_test(test_vector_equals_portable),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_still_pairs),
        cmocka_unit_test(test_speed),
    };
    return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}
