/* What is timed is run as promised, and checked: wrong kernels do not pass. No time is asserted. */
#include "bench/measure.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bench/drift.h"
#include "bench/gbench_shim.h"
#include "impl/registry.h"

static bench_problem problem;
static const bench_effort effort = {.rounds = 6, .seconds = 1e-5, .seed = 3, .checked_tokens = 4};

static int make_problem(void **state)
{
    (void)state;
    rope_error error;
    return !bench_problem_new("head_dim=16,rotary_dim=12,base=10000,pairing=half", true, &problem,
                              &error);
}

static int free_problem(void **state)
{
    (void)state;
    bench_problem_free(&problem);
    return 0;
}

/* ---- Google Benchmark ---- */

enum { CALLS = 100000 };
static char order[CALLS];
static int calls;

static void body(void *context)
{
    if (calls < CALLS)
        order[calls++] = *(char *)context;
    for (volatile int i = 0; i < 20000; i++) /* so that a sample is few calls */
        continue;
}

static void rounds_alternate(void **state)
{
    (void)state;
    char names[] = "abc";
    const bench_subject subjects[] = {
        {"a", body, names}, {"b", body, names + 1}, {"c", body, names + 2}};
    double ns[6 * 3];
    calls = 0;
    assert_true(bench_gbench_rounds(subjects, 3, 6, 1e-6, ns));
    for (int i = 0; i < 18; i++)
        assert_true(ns[i] > 0);
    /* Runs of equal letters, from the end: c is last of an even round, and a of an odd one. */
    char runs[64];
    int count = 0;
    for (int i = calls - 1; i >= 0 && count < 60; i--)
        if (i == calls - 1 || order[i] != order[i + 1])
            runs[count++] = order[i];
    runs[count] = '\0';
    /* Backwards: abc (round 5), cba (round 4), ...; neighbours of one letter join. */
    assert_memory_equal(runs, "abcbabcbabcb", 12);
    assert_false(bench_gbench_rounds(subjects, 0, 6, 1e-6, ns));
    assert_false(bench_gbench_rounds(subjects, 3, 6, NAN, ns));
}

/* ---- kernels that are wrong ---- */

static int wrong; /* which defect */

static rope_status wrong_apply(const rope_plan *plan, const rope_view *x, const rope_view *y,
                               const int64_t *positions, int64_t stride)
{
    if (wrong == 4)
        return ROPE_RANGE;
    rope_status status = rope_registry_find("lookup")->apply(plan, x, y, positions, stride);
    float *last = (float *)y->data + (y->tokens - 1) * y->token_stride;
    if (wrong == 1)
        last[3] *= 1 + 0x1p-20f;
    if (wrong == 2)
        last[13] += 1; /* of the part that is only copied */
    if (wrong == 3)
        last[0] = NAN;
    return status;
}

static double wrong_bound(const rope_plan_args *args, int64_t position, int64_t pair)
{
    if (wrong == 5)
        return NAN;
    return wrong == 6 ? 1e-3 : rope_registry_find("lookup")->error_bound(args, position, pair);
}

static bench_result measure(const rope_kernel *kernel, int defect, bool in_place, bench_mode mode)
{
    rope_error error = {""};
    bench_result result;
    bench_point point = {.kernel = kernel,
                         .problem = &problem,
                         .dtype = ROPE_F32,
                         .tokens = 3,
                         .heads = 2,
                         .mode = mode,
                         .in_place = in_place};
    wrong = defect;
    assert_true(bench_measure(&point, &effort, &result, &error));
    return result;
}

static void right_kernels_pass(void **state)
{
    (void)state;
    for (int mode = BENCH_APPLY; mode <= BENCH_PLAN_APPLY; mode++)
        for (int in_place = 0; in_place < 2; in_place++) {
            bench_result r =
                measure(rope_registry_find("lookup"), 0, in_place != 0, (bench_mode)mode);
            assert_int_equal(r.verdict, BENCH_PASS);
            assert_true(r.max_error_u > 0 && r.max_error_u <= r.bound_u);
            assert_true(r.ns.median > 0 && r.ns.low <= r.ns.median && r.ns.median <= r.ns.high);
            assert_true(r.ratio_memcpy.median > 0 && r.ratio_scale.median > 0);
            assert_int_equal(r.bytes, 3 * 2 * 16 * 4);
            assert_int_equal(r.samples, 6);
            assert_int_equal(r.last_position - r.first_position, 2);
        }
}

static void wrong_kernels_do_not(void **state)
{
    (void)state;
    rope_kernel kernel = *rope_registry_find("lookup");
    kernel.apply = wrong_apply;
    kernel.error_bound = wrong_bound;
    static const bench_verdict expected[] = {BENCH_PASS, BENCH_FAIL,        BENCH_FAIL, BENCH_FAIL,
                                             BENCH_FAIL, BENCH_NO_CONTRACT, BENCH_FAIL};
    for (int defect = 0; defect <= 6; defect++)
        for (int in_place = 0; in_place < 2; in_place++) {
            bench_result r = measure(&kernel, defect, in_place != 0, BENCH_APPLY);
            if (r.verdict != expected[defect])
                print_error("defect %d: %s\n", defect, r.reason);
            assert_int_equal(r.verdict, expected[defect]);
            assert_true((r.reason[0] != '\0') == (defect != 0));
        }
}

static void what_cannot_run_is_named(void **state)
{
    (void)state;
    rope_kernel kernel = *rope_registry_find("lookup");
    kernel.pairings = 1u << ROPE_INTERLEAVED;
    assert_int_equal(measure(&kernel, 0, false, BENCH_APPLY).verdict, BENCH_SKIP);
    kernel = *rope_registry_find("lookup");
    kernel.header.flags = 0;
    assert_int_equal(measure(&kernel, 0, true, BENCH_APPLY).verdict, BENCH_SKIP);
    kernel.cpu_features = rope_cpu_features() & ROPE_CPU_AVX2 ? ROPE_CPU_NEON : ROPE_CPU_AVX2;
    bench_result r = measure(&kernel, 0, false, BENCH_APPLY);
    assert_int_equal(r.verdict, BENCH_SKIP);
    assert_non_null(strstr(r.reason, "lacks"));
    assert_true(isnan(r.ns.median));
}

static void drift_is_seen(void **state)
{
    (void)state;
    char text[256];
    bench_point points[3];
    bench_result results[3];
    for (int i = 0; i < 3; i++) {
        points[i] = (bench_point){.tokens = 1, .mode = BENCH_APPLY};
        results[i] = (bench_result){.bytes = 64, .memcpy_ns = 1, .scale_ns = 1};
    }
    assert_true(bench_drift(points, results, 3, text, sizeof text) == 1);
    assert_non_null(strstr(text, "steady"));
    results[2].memcpy_ns = 1.5;
    assert_true(bench_drift(points, results, 3, text, sizeof text) == 1.5);
    assert_non_null(strstr(text, "drifted"));
    results[2].bytes = 128; /* another size: nothing to compare */
    assert_true(bench_drift(points, results, 3, text, sizeof text) == 1);
    results[2].memcpy_ns = NAN;
    assert_true(bench_drift(points, results, 3, text, sizeof text) == 1);
}

/* What hyperfine times: one cold call, of a kernel or, without one, of a copy. */
static void a_cold_run_needs_no_kernel(void **state)
{
    (void)state;
    rope_error error = {""};
    bench_point point = {
        .kernel = rope_registry_find("lookup"), .problem = &problem, .tokens = 3, .heads = 2};
    for (int k = 0; k < 2; k++, point.kernel = NULL)
        if (!bench_once(&point, 1, &error))
            fail_msg("%s", error.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_alternate),     cmocka_unit_test(right_kernels_pass),
        cmocka_unit_test(wrong_kernels_do_not), cmocka_unit_test(what_cannot_run_is_named),
        cmocka_unit_test(drift_is_seen),        cmocka_unit_test(a_cold_run_needs_no_kernel),
    };
    return cmocka_run_group_tests(tests, make_problem, free_problem);
}
