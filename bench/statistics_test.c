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
        assert_int_equal(bench_sign_rank(table[i][0]), table[i][1]);
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
        cmocka_unit_test(intervals_are_order_statistics),
        cmocka_unit_test(intervals_cover_the_median),
        cmocka_unit_test(spread_measures_noise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
