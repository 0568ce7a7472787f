/* Regressions are found, noise is none. */
#include "bench/believe.h"
#include "bench/compare.h"
#include "bench/pick.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define HEAD                                                                                       \
    "kernel,pairing,dtype,spec,tokens,heads,mode,in_place,ns_per_element,ns_ci_low,ns_ci_high,"    \
    "ratio_scale,ratio_scale_low,ratio_scale_high,max_error_u,verdict\n"

static rows_table table_of(const char *text)
{
    char path[] = "/tmp/compare_test.XXXXXX";
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, text, strlen(text)), strlen(text));
    close(descriptor);
    rows_table table;
    rope_error error;
    assert_true(rows_read(path, &table, &error));
    unlink(path);
    return table;
}

static void expect(const char *old_row, const char *new_row, bool by_time, bench_change expected)
{
    char old_text[1024], new_text[1024];
    snprintf(old_text, sizeof old_text, HEAD "%s", old_row);
    snprintf(new_text, sizeof new_text, HEAD "%s", new_row);
    rows_table before = table_of(old_text), after = table_of(new_text);
    rope_error error;
    size_t count;
    bench_basis basis;
    bench_comparison *list = bench_compare(&before, &after, 0.05, by_time, &count, &basis, &error);
    assert_non_null(list);
    assert_int_equal(count, 1);
    if (list[0].verdict != expected)
        print_error("%s\n%s\n-> %s\n", old_row, new_row, bench_change_name(list[0].verdict));
    assert_int_equal(list[0].verdict, expected);
    free(list);
    rows_free(&before);
    rows_free(&after);
}

#define KEY "k,half,f32,s,1,32,apply,yes,"

static void judges_by_intervals(void **state)
{
    (void)state;
    const char *old = KEY "1,.9,1.1,2,1.9,2.1,2.5,pass\n";
    expect(old, KEY "2,1.9,2.1,2,1.9,2.1,2.5,pass\n", false, BENCH_SAME); /* the machine is busy */
    expect(old, KEY "2,1.9,2.1,2,1.9,2.1,2.5,pass\n", true, BENCH_SLOWER);
    expect(old, KEY "1,.9,1.1,2.4,2.3,2.5,2.5,pass\n", false, BENCH_SLOWER);
    expect(old, KEY "1,.9,1.1,2.4,2.1,2.7,2.5,pass\n", false, BENCH_SAME);   /* intervals meet */
    expect(old, KEY "1,.9,1.1,2.31,2.2,2.42,2.5,pass\n", false, BENCH_SAME); /* 2.2 / 2.1 < 1.05 */
    expect(old, KEY "1,.9,1.1,1.5,1.4,1.6,2.5,pass\n", false, BENCH_FASTER);
    expect(old, KEY "1,.9,1.1,1.5,1.4,1.6,3,pass\n", false, BENCH_LESS_EXACT);
    expect(old, KEY "1,.9,1.1,1.5,1.4,1.6,2.5,fail\n", false, BENCH_LESS_EXACT);
    expect(old, KEY "1,.9,1.1,,,,2.5,pass\n", false, BENCH_SAME); /* by time, lacking ratios */
    expect(old, KEY ",,,,,,,skip\n", false, BENCH_NO_TIME);
    expect(old, KEY "1,,,2,,,2.5,pass\n", false, BENCH_NO_TIME); /* no intervals */
}

static void names_what_is_missing(void **state)
{
    (void)state;
    rows_table before = table_of(HEAD KEY "1,.9,1.1,2,1.9,2.1,2.5,pass\n");
    rows_table after = table_of(HEAD "other,half,f32,s,1,32,apply,yes,1,.9,1.1,2,1.9,2.1,2,pass\n");
    rope_error error;
    size_t count;
    bench_basis basis;
    bench_comparison *list = bench_compare(&before, &after, 0.05, false, &count, &basis, &error);
    assert_int_equal(count, 2);
    assert_int_equal(list[0].verdict, BENCH_ONLY_NEW);
    assert_int_equal(list[1].verdict, BENCH_ONLY_OLD);
    free(list);
    rows_free(&after);
    after = table_of("a,b\n1,2\n");
    assert_null(bench_compare(&before, &after, 0.05, false, &count, &basis, &error));
    assert_non_null(strstr(error.text, "no column"));
    rows_free(&before);
    rows_free(&after);
}

static void unreadable_values_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *row, *column; /* NULL: believed */
    } cases[] = {
        {KEY "1,.9,1.1,2,1.9,2.1,2.5,pass\n", NULL},
        {KEY "1,,,,,,,no contract\n", NULL},
        {KEY ",,,,,,,skip\n", NULL},
        {KEY "1,.9,1.1,2,1.9,2.1,nan,pass\n", "max_error_u is 'nan'"},
        {KEY "1,.9,1.1,2,1.9,2.1,inf,pass\n", "max_error_u is 'inf'"},
        {KEY "1,.9,1.1,2,1.9,2.1,zork,pass\n", "max_error_u is 'zork'"},
        {KEY "1,.9,1.1,2,1.9,2.1,-1,pass\n", "max_error_u is '-1'"},
        {KEY "1,.9,1.1,2,1.9,2.1,2.5u,pass\n", "max_error_u is '2.5u'"},
        {KEY "-1,.9,1.1,2,1.9,2.1,2,pass\n", "ns_per_element"},
        {KEY "0,0,1.1,2,1.9,2.1,2,pass\n",
         "ns_per_element is '0', expected a finite number above 0"},
        {KEY "1,nan,1.1,2,1.9,2.1,2,pass\n", "ns_ci_low"},
        {KEY "1,.9,1e999,2,1.9,2.1,2,pass\n", "ns_ci_high"},
        {KEY "1,.9,1.1,2,1.9,x,2,pass\n", "ratio_scale_high"},
        {KEY "1,.9,1.1,2,1.9,2.1,2,maybe\n", "verdict is 'maybe'"},
        {KEY "1,.9,1.1,2,1.9,2.1,2,\n", "verdict is ''"},
        {"k,half,f32,s,,32,apply,yes,1,.9,1.1,2,1.9,2.1,2,pass\n", "tokens"},
        {"k,half,f32,s,1,x,apply,yes,1,.9,1.1,2,1.9,2.1,2,pass\n", "heads"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[1024];
        snprintf(text, sizeof text, HEAD KEY "1,.9,1.1,2,1.9,2.1,2.5,pass\n%s", cases[i].row);
        rows_table table = table_of(text);
        rope_error error = {""};
        bool good = bench_believe("f.csv", &table, &error);
        if (good != (cases[i].column == NULL))
            print_error("%s-> %s\n", cases[i].row, error.text);
        assert_true(good == (cases[i].column == NULL));
        if (!good) {
            assert_non_null(strstr(error.text, "f.csv: line 3: "));
            assert_non_null(strstr(error.text, cases[i].column));
        }
        rows_free(&table);
    }
}

static void unmeasured_errors_are_marked(void **state)
{
    (void)state;
    rows_table before = table_of(HEAD KEY "1,.9,1.1,2,1.9,2.1,2.5,pass\n");
    rows_table after = table_of(HEAD KEY "1,.9,1.1,2,1.9,2.1,,pass\n");
    rope_error error;
    size_t count;
    bench_basis basis;
    bench_comparison *list = bench_compare(&before, &after, 0.05, false, &count, &basis, &error);
    assert_true(list[0].error_unmeasured);
    free(list);
    list = bench_compare(&before, &before, 0.05, false, &count, &basis, &error);
    assert_false(list[0].error_unmeasured);
    free(list);
    rows_free(&before);
    rows_free(&after);
}

static void picks_by_the_measured_error(void **state)
{
    (void)state;
    bench_candidate list[] = {
        {.ns = 1, .max_error_u = 4.5}, {.ns = 2, .max_error_u = 4}, {.ns = 3, .max_error_u = NAN}};
    for (int i = 0; i < 3; i++)
        bench_candidate_judge(&list[i], 4);
    assert_non_null(strstr(list[0].reason, "measured 4.5 u, above the budget"));
    assert_int_equal(bench_pick(list, 3), 1);
    list[1].reason[0] = 'x';
    assert_int_equal(bench_pick(list, 3), 2);
    list[2].ns = NAN;
    bench_candidate_judge(&list[2], 4);
    assert_int_equal(bench_pick(list, 3), -1);
}

static void picks_say_what_is_not_known(void **state)
{
    (void)state;
    bench_candidate list[] = {{.ns_low = 2.9, .ns = 3, .ns_high = 3.1},
                              {.ns_low = 1.9, .ns = 2, .ns_high = 2.9},
                              {.ns_low = .9, .ns = 1, .ns_high = 1.1, .reason = "no"}};
    assert_int_equal(bench_pick(list, 3), 1);
    assert_int_equal(bench_runner_up(list, 3, 1), 0);
    assert_int_equal(bench_runner_up(list + 1, 2, 0), -1);
    assert_false(bench_is_faster(&list[1], &list[0])); /* they meet */
    list[0].ns_low = 2.91;
    assert_true(bench_is_faster(&list[1], &list[0]));
    list[0].ns_low = NAN; /* too few rounds for an interval */
    assert_false(bench_is_faster(&list[1], &list[0]));
    const bench_source a = {.file = "f", .spec = "s", .run = "r", .tokens = 512, .heads = 8};
    bench_source b = a;
    b.line = 9;
    assert_true(bench_same_source(&a, &b));
    b.tokens = 16;
    assert_false(bench_same_source(&a, &b));
    b = a;
    b.in_place = true;
    assert_false(bench_same_source(&a, &b));
    b = a;
    b.run[0] = 'q';
    assert_false(bench_same_source(&a, &b));
    b = a;
    b.file = "g"; /* a copy of the rows */
    assert_true(bench_same_run(&a, &b));
    bench_source nameless = a;
    nameless.run[0] = b.run[0] = '\0';
    assert_false(bench_same_run(&nameless, &b)); /* who knows */
    b.file = NULL;                               /* timed here and now */
    assert_false(bench_same_run(&a, &b));
}

static void sums_up_kernels(void **state)
{
    (void)state;
    rows_table table = table_of("kernel\nk\nk\nk\nk\nk\nk\nk\nk\nother\n");
    bench_comparison list[9];
    for (size_t i = 0; i < 9; i++)
        list[i] = (bench_comparison){.table = &table,
                                     .row = i,
                                     .before = {1, 1, 1},
                                     .after = {1, 1, 1},
                                     .change = {1.05 + 0.01 * (double)i, NAN, NAN}};
    size_t figures;
    bench_basis basis = {.kernels = 1};
    bench_interval m = bench_compare_kernel(list, 9, &basis, "k", &figures);
    assert_int_equal(figures, 8);
    assert_true(fabs(m.low - 1.05) < 1e-12 && fabs(m.high - 1.12) < 1e-12);
    for (size_t i = 0; i < 8; i++) /* what its floors changed by, in the median, widens it */
        list[i].control = i == 0 ? 1 : -0.03;
    m = bench_compare_kernel(list, 9, &basis, "k", &figures);
    assert_true(fabs(log(1.085 / m.low) - hypot(log(1.085 / 1.05), 0.03)) < 1e-12);
    assert_true(fabs(log(m.high / 1.085) - hypot(log(1.12 / 1.085), 0.03)) < 1e-12);
    basis.kernels = 2; /* 8 figures are too few for two kernels at 99 % */
    assert_true(isnan(bench_compare_kernel(list, 9, &basis, "k", &figures).low));
    rows_free(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(judges_by_intervals),
        cmocka_unit_test(names_what_is_missing),
        cmocka_unit_test(unreadable_values_are_refused),
        cmocka_unit_test(unmeasured_errors_are_marked),
        cmocka_unit_test(picks_by_the_measured_error),
        cmocka_unit_test(picks_say_what_is_not_known),
        cmocka_unit_test(sums_up_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
