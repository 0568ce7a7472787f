/* Two runs of one binary are no regression, however busy the machine; a slower kernel is one. Rows
 * are made as bench makes them: rounds of a kernel and both floors, medians and their intervals. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "bench/compare.h"

enum { KERNELS = 10, FIGURES = 16, ROUNDS = 12, SEEDS = 100, FEWER_SEEDS = 25 };

/* Deviations of logarithms. Rounds are noisy within a run; a run's whole figure is off by what
 * lasts for the run (addresses, neighbours), which no interval of that run can show. */
typedef struct {
    double rounds, run;
    double spikes; /* share of rounds in which a neighbour doubles the time */
} machine;
static const machine quiet = {.rounds = 0.005, .run = 0.002};
static const machine usual = {.rounds = 0.02, .run = 0.005, .spikes = 0.02};
static const machine busy = {.rounds = 0.15, .run = 0.05, .spikes = 0.1};

static uint64_t random_state;

static double uniform(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return ldexp((double)((random_state >> 11) | 1), -53);
}

static double normal(void)
{
    double radius = sqrt(-2 * log(uniform()));
    return radius * cos(2 * M_PI * uniform());
}

static void time_rounds(const machine *m, double nanoseconds, double *times)
{
    double run = nanoseconds * exp(m->run * normal());
    for (int i = 0; i < ROUNDS; i++)
        times[i] = run * exp(m->rounds * normal()) * (uniform() < m->spikes ? 2 : 1);
}

static void put(FILE *f, bench_interval i)
{
    fprintf(f, "%.17g,%.17g,%.17g,", i.median, i.low, i.high);
}

static void put_figure(FILE *f, const machine *m, int kernel, int figure, double factor,
                       double floors)
{
    double k[ROUNDS], copy[ROUNDS], scale[ROUNDS];
    time_rounds(m, (1 + 0.1 * kernel) * factor, k);
    time_rounds(m, floors, copy);
    time_rounds(m, 0.8 * floors, scale);
    fprintf(f, "k%d,half,f32,s,%d,32,apply,%s,", kernel, 1 << figure / 2,
            figure % 2 ? "yes" : "no");
    put(f, bench_median(k, ROUNDS));
    put(f, bench_paired_ratio(k, copy, ROUNDS));
    put(f, bench_paired_ratio(k, scale, ROUNDS));
    fprintf(f, "%.17g,%.17g,2,pass\n", bench_median(copy, ROUNDS).median,
            bench_median(scale, ROUNDS).median);
}

/* What differs of the figures [from, to) of the first kernel. */
typedef struct {
    int from, to;
    double kernel, floors; /* times as long */
} change;

static rows_table run(const machine *m, change c)
{
    char path[] = "/tmp/compare_noise_test.XXXXXX";
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    FILE *f = fdopen(descriptor, "w");
    assert_non_null(f);
    fprintf(f, "kernel,pairing,dtype,spec,tokens,heads,mode,in_place,ns_per_element,ns_ci_low,"
               "ns_ci_high,ratio_memcpy,ratio_memcpy_low,ratio_memcpy_high,ratio_scale,"
               "ratio_scale_low,ratio_scale_high,memcpy_ns_per_element,scale_ns_per_element,"
               "max_error_u,verdict\n");
    for (int k = 0; k < KERNELS; k++)
        for (int i = 0; i < FIGURES; i++) {
            bool changed = k == 0 && i >= c.from && i < c.to;
            put_figure(f, m, k, i, changed ? c.kernel : 1, changed ? c.floors : 1);
        }
    assert_int_equal(fclose(f), 0);
    rows_table table;
    rope_error error = {""};
    if (!rows_read(path, &table, &error))
        fail_msg("%s", error.text);
    unlink(path);
    return table;
}

typedef struct {
    int figures, others;        /* slower ones: of the first kernel, of all others */
    int faster;                 /* anywhere */
    bool kernel, other_kernels; /* slower as a whole */
} found;

static found compare(uint64_t seed, const machine *m, change c, bool by_time)
{
    random_state = seed * 1000003;
    for (int i = 0; i < 10; i++) /* seeds that are near one another begin alike */
        uniform();
    rows_table before = run(m, (change){0}), after = run(m, c);
    rope_error error;
    size_t count, figures;
    bench_basis basis;
    bench_comparison *list = bench_compare(&before, &after, 0.05, by_time, &count, &basis, &error);
    assert_non_null(list);
    assert_int_equal(basis.figures, KERNELS * FIGURES);
    assert_int_equal(basis.kernels, KERNELS);
    assert_int_equal(basis.controls, KERNELS * FIGURES);
    found result = {0};
    for (size_t i = 0; i < count; i++) {
        bool slower = list[i].verdict == BENCH_SLOWER;
        bool first = strcmp(rows_field(list[i].table, list[i].row, 0), "k0") == 0;
        result.figures += slower && first;
        result.others += slower && !first;
        result.faster += list[i].verdict == BENCH_FASTER;
    }
    for (int k = 0; k < KERNELS; k++) {
        char name[16];
        snprintf(name, sizeof name, "k%d", k);
        bool slower = bench_compare_kernel(list, count, &basis, name, &figures).low >
                      1 + basis.kernel_tolerance;
        assert_int_equal(figures, FIGURES);
        if (k == 0)
            result.kernel = slower;
        else
            result.other_kernels |= slower;
    }
    free(list);
    rows_free(&before);
    rows_free(&after);
    return result;
}

static void same_binary_never_regresses(void **state)
{
    (void)state;
    const machine *const machines[] = {&quiet, &usual, &busy};
    for (int m = 0; m < 3; m++)
        for (int by_time = 0; by_time <= (machines[m] == &busy); by_time++)
            for (uint64_t seed = 1; seed <= SEEDS; seed++) {
                found f = compare(seed, machines[m], (change){0}, by_time);
                if (f.figures + f.others + f.faster > 0 || f.kernel || f.other_kernels)
                    fail_msg("machine %d, by time %d, seed %d: %d figures slower, %d faster", m,
                             by_time, (int)seed, f.figures + f.others, f.faster);
            }
}

/* A tenth: on the usual machine in the kernel's median, on a quiet one in most figures too. */
static void slower_kernel_is_found(void **state)
{
    (void)state;
    for (int by_time = 0; by_time < 2; by_time++)
        for (uint64_t seed = 1; seed <= FEWER_SEEDS; seed++) {
            found f = compare(seed, &usual, (change){0, FIGURES, 1.1, 1}, by_time);
            assert_true(f.kernel && !f.other_kernels && f.others == 0);
            f = compare(seed, &quiet, (change){0, FIGURES, 1.1, 1}, by_time);
            assert_true(f.kernel && f.figures > FIGURES / 2 && !f.other_kernels && f.others == 0);
        }
}

static void slower_figure_is_found(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= FEWER_SEEDS; seed++) {
        found f = compare(seed, &quiet, (change){3, 4, 1.15, 1}, false);
        assert_true(f.figures == 1 && f.others == 0 && !f.kernel && !f.other_kernels);
    }
}

/* A neighbour takes the cache while one figure of the old run is timed: both floors become faster,
 * the kernel, which computes, does not; its ratio grows. By time nothing has changed. */
static void faster_floors_are_no_regression(void **state)
{
    (void)state;
    for (int by_time = 0; by_time < 2; by_time++)
        for (uint64_t seed = 1; seed <= FEWER_SEEDS; seed++) {
            found f = compare(seed, &quiet, (change){3, 4, 1, 0.4}, by_time);
            assert_true(f.figures + f.others == 0 && !f.kernel && !f.other_kernels);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_binary_never_regresses),
        cmocka_unit_test(slower_kernel_is_found),
        cmocka_unit_test(slower_figure_is_found),
        cmocka_unit_test(faster_floors_are_no_regression),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
