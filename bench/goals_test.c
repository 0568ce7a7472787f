/* The goals of speed: when one is met, which of three attempts counts, and that each names kernels
 * which can do what it asks. What they measure is not asserted: that is the machine's. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bench/goal.h"
#include "bench/goals.h"
#include "impl/registry.h"

static bench_interval interval(double low, double median, double high)
{
    return (bench_interval){.median = median, .low = low, .high = high};
}

static void met_where_the_interval_reaches_the_limit(void **state)
{
    (void)state;
    const bench_goal least = {.at_least = true, .limit = 2}, most = {.limit = 2};
    const double below = nextafter(2, 0), above = nextafter(2, 3);
    assert_true(bench_goal_met(&least, interval(1, 1.5, 2)));
    assert_true(bench_goal_met(&least, interval(3, 4, 5)));
    assert_false(bench_goal_met(&least, interval(1, 1.5, below)));
    assert_true(bench_goal_met(&most, interval(2, 2.5, 3)));
    assert_true(bench_goal_met(&most, interval(1, 1.2, 1.5)));
    assert_false(bench_goal_met(&most, interval(above, 2.5, 3)));
    /* Too few rounds for an interval, or times that are no numbers: nothing is met. */
    assert_false(bench_goal_met(&least, interval(NAN, 9, NAN)));
    assert_false(bench_goal_met(&most, interval(NAN, 1, NAN)));
}

/* Attempts as they will turn out. */
typedef struct {
    struct {
        double figure, nanoseconds;
    } turns[3];
    int taken, fails_at; /* 0: none */
} script;

static bool play(void *context, bench_interval *ratio, double *nanoseconds, rope_error *error)
{
    script *s = context;
    if (s->fails_at == s->taken + 1)
        return rope_fail(error, "a kernel refused");
    assert_in_range(s->taken, 0, 2);
    double figure = s->turns[s->taken].figure;
    *nanoseconds = s->turns[s->taken++].nanoseconds;
    *ratio = interval(figure, figure, figure);
    return true;
}

static void check_turns(script s, int taken, double figure)
{
    const bench_goal least = {.at_least = true, .limit = 2};
    bench_interval ratio;
    rope_error error;
    assert_true(bench_goal_settle(&least, play, &s, &ratio, &error));
    assert_int_equal(s.taken, taken);
    assert_true(isnan(figure) ? isnan(ratio.median) : ratio.median == figure);
}

static void the_least_disturbed_attempt_counts(void **state)
{
    (void)state;
    check_turns((script){.turns = {{2, 9}}}, 1, 2); /* met at once: not tried again */
    check_turns((script){.turns = {{1, 9}, {2, 8}}}, 2, 2);
    /* A figure that would do, but both sides took longer than when it was missed. */
    check_turns((script){.turns = {{1, 8}, {2, 9}, {3, 10}}}, 3, 1);
    check_turns((script){.turns = {{1.5, 8}, {2, 9}, {1, 7}}}, 3, 1);
    check_turns((script){.turns = {{1, NAN}, {1, NAN}, {1, NAN}}}, 3, NAN);

    script s = {.turns = {{1, 9}}, .fails_at = 2};
    const bench_goal least = {.at_least = true, .limit = 2};
    bench_interval ratio;
    rope_error error;
    assert_false(bench_goal_settle(&least, play, &s, &ratio, &error));
    assert_string_equal(error.text, "a kernel refused");
}

static void check_side(const bench_goal *g, const bench_side *s)
{
    if (s->act == BENCH_ACT_SCALE || s->act == BENCH_ACT_COPY)
        return;
    const rope_kernel *kernel = rope_registry_find(s->kernel);
    if (kernel == NULL || !(kernel->pairings & 1u << g->pairing) ||
        !(kernel->dtypes & 1u << g->dtype) ||
        (g->in_place && !(kernel->header.flags & ROPE_IN_PLACE)))
        fail_msg("%s: %s cannot do that", g->name, s->kernel);
    /* As many bytes on both sides, to a token's. */
    int64_t head_dim = s->head_dim > 0 ? s->head_dim : g->head_dim;
    assert_true(g->tokens * g->head_dim >= head_dim && head_dim % 2 == 0);
}

static void every_goal_can_be_measured(void **state)
{
    (void)state;
    size_t count;
    bench_goal *goals = bench_goals_list(&count);
    assert_non_null(goals);
    assert_true(count >= 60);
    for (size_t i = 0; i < count; i++) {
        const bench_goal *g = &goals[i];
        check_side(g, &g->over);
        check_side(g, &g->under);
        assert_true(g->limit > 0 && isfinite(g->limit));
        assert_true(g->tokens > 0 && g->heads > 0);
        for (size_t j = 0; j < i; j++)
            if (strcmp(goals[j].name, g->name) == 0)
                fail_msg("%s stands twice", g->name);
    }
    free(goals);
}

static void names_select(void **state)
{
    (void)state;
    size_t count, expected = 0, selected;
    bench_goal *goals = bench_goals_list(&count);
    assert_non_null(goals);
    assert_int_equal(bench_goals_select(goals, count, ""), count);
    for (size_t i = 0; i < count; i++)
        expected += strstr(goals[i].name, "half_d64") != NULL;
    assert_in_range(expected, 2, count - 1);
    selected = bench_goals_select(goals, count, "half_d64");
    assert_int_equal(selected, expected);
    for (size_t i = 0; i < selected; i++) {
        assert_non_null(strstr(goals[i].name, "half_d64"));
        assert_true(i == 0 || strcmp(goals[i].name, goals[i - 1].name) != 0);
    }
    assert_int_equal(bench_goals_select(goals, selected, "half_d64_"), expected);
    assert_int_equal(bench_goals_select(goals, selected, "nothing"), 0);
    free(goals);
}

static void unwritable_output_costs_no_measurement(void **state)
{
    (void)state;
    bool all_met;
    rope_error error;
    assert_false(bench_goals("no/such/folder.csv", "", &all_met, &error));
    assert_non_null(strstr(error.text, "no/such/folder.csv"));
    assert_false(bench_goals("no/such/folder.csv", "nothing", &all_met, &error));
    assert_non_null(strstr(error.text, "contains 'nothing'"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(met_where_the_interval_reaches_the_limit),
        cmocka_unit_test(the_least_disturbed_attempt_counts),
        cmocka_unit_test(every_goal_can_be_measured),
        cmocka_unit_test(names_select),
        cmocka_unit_test(unwritable_output_costs_no_measurement),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
