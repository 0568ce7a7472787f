/* Intervals against tables and by simulation. */
#include "bench/statistics.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void ranks_agree_with_tables(void **state)
{
    (void)state;
    /* Ranks of 95 % intervals for the median, as tabled in textbooks. */
    static const int table[][2] = {{1, 0},  {5, 0},  {6, 1},  {8, 1},  {9, 2},   {11, 2},
                                   {12, 3}, {15, 4}, {20, 6}, {25, 8}, {50, 18}, {100, 40}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        assert_int_equal(bench_sign_rank(table[i][0], 0.05), table[i][1]);
}

static void ranks_of_other_levels(void **state)
{
    (void)state;
    /* 2 P(B <= k - 1) <= miss, by hand: 2 / 2^8 and 2 * 9 / 2^8; 2 / 2^11 and 2 / 2^10. */
    assert_int_equal(bench_sign_rank(8, 0.01), 1);
    assert_int_equal(bench_sign_rank(7, 0.01), 0);
    assert_int_equal(bench_sign_rank(8, 0.071), 2);
    assert_int_equal(bench_sign_rank(11, 0.001), 1);
    assert_int_equal(bench_sign_rank(10, 0.001), 0);
    const double values[] = {8, 1, 5, 3, 2, 4, 6, 7};
    bench_interval m = bench_median_within(values, 8, 0.01);
    assert_true(m.median == 4.5 && m.low == 1 && m.high == 8);
    assert_true(isnan(bench_median_within(values, 7, 0.01).low));
}

static void normal_reaches_are_tabled(void **state)
{
    (void)state;
    static const double table[][2] = {
        {0.05, 1.959964}, {0.01, 2.575829}, {0.001, 3.290527}, {1e-4, 3.890592}, {1e-9, 6.109410}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        assert_true(fabs(bench_normal_reach(table[i][0]) - table[i][1]) < 1e-5);
}

static void deviations_see_tails(void **state)
{
    (void)state;
    double values[100];
    for (int i = 0; i < 100; i++)
        values[i] = i % 2 ? 0.6745 : -0.6745;
    assert_true(fabs(bench_deviation(values, 100) - 1) < 1e-12);
    for (int i = 0; i < 6; i++) /* one in twenty and more lies far off */
        values[i] = 9.8;
    assert_true(fabs(bench_deviation(values, 100) - 5) < 1e-12);
    assert_true(bench_deviation(values, 0) == 0);
    assert_true(fabs(bench_deviation(values, 1) - 9.8 / 0.6745) < 1e-9);
}

static void intervals_are_order_statistics(void **state)
{
    (void)state;
    const double values[] = {7, 1, 5, 3, 11, 9, 2, 4, 6, 8, 10};
    bench_interval m = bench_median(values, 11);
    assert_true(m.median == 6 && m.low == 2 && m.high == 10);
    m = bench_median(values, 5);
    assert_true(m.median == 5 && isnan(m.low) && isnan(m.high));
    m = bench_median(values, 6);
    assert_true(m.median == 6 && m.low == 1 && m.high == 11);
    const double with_nan[] = {1, NAN, 2};
    assert_true(isnan(bench_median(with_nan, 3).median));
    assert_true(isnan(bench_median(values, 0).median));
    const double a[] = {2, 4, 6}, b[] = {1, 4, 2};
    assert_true(bench_paired_ratio(a, b, 3).median == 2);
}

static double uniform(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return ldexp((double)(*seed >> 11), -53);
}

/* Over many skewed samples with a known median, the interval holds it at least 95 % of the time:
 * with 4000 trials at true coverage 0.988 (n = 11) and 0.973 (n = 21), 94 % is over 10 standard
 * deviations away. */
static void intervals_cover_the_median(void **state)
{
    (void)state;
    uint64_t seed = 7;
    static const int sizes[] = {11, 21};
    for (int s = 0; s < 2; s++) {
        int covered = 0;
        for (int trial = 0; trial < 4000; trial++) {
            double values[21];
            for (int i = 0; i < sizes[s]; i++)
                values[i] = -log(1 - uniform(&seed)); /* exponential: median log 2 */
            bench_interval m = bench_median(values, sizes[s]);
            covered += m.low <= log(2) && log(2) <= m.high;
        }
        assert_true(covered >= 3760);
        assert_true(covered < 4000); /* and it is no trivial interval */
    }
}

static void spread_measures_noise(void **state)
{
    (void)state;
    const double steady[] = {1, 1, 1, 1, 1}, wide[] = {1, 2, 3, 4, 5};
    assert_true(bench_spread(steady, 5) == 0);
    assert_true(fabs(bench_spread(wide, 5) - 2.0 / 3) < 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_agree_with_tables),
        cmocka_unit_test(ranks_of_other_levels),
        cmocka_unit_test(normal_reaches_are_tabled),
        cmocka_unit_test(deviations_see_tails),
        cmocka_unit_test(intervals_are_order_statistics),
        cmocka_unit_test(intervals_cover_the_median),
        cmocka_unit_test(spread_measures_noise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
