/* Which figures a run measures. */
#include "bench/grid.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "impl/registry.h"

static void shapes_are_read_whole(void **state)
{
    (void)state;
    bench_shape *shapes;
    size_t count;
    rope_error error;
    assert_true(bench_shapes_parse("1x32,4096x8", &shapes, &count, &error));
    assert_int_equal(count, 2);
    assert_true(shapes[1].tokens == 4096 && shapes[1].heads == 8);
    free(shapes);
    static const char *const bad[] = {
        "",        "1",     "x",     "1x",    "x32",
        "1x32,",   "0x32",  "1x0",   "-1x32", "1x-1",
        "1x32x2",  "1 x32", "1x5e3", "2x32;", "9999999999999999999999x1",
        "131073x1"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(bench_shapes_parse(bad[i], &shapes, &count, &error));
}

static size_t count_points(const rope_kernel *const *kernels, size_t kernel_count, bool full,
                           uint32_t dtypes)
{
    static bench_problem problems[BENCH_MOST_SPECS];
    char texts[BENCH_MOST_SPECS][64];
    rope_error error;
    int specs = bench_usual_specs(full, texts);
    for (int i = 0; i < specs; i++)
        assert_true(bench_problem_new(texts[i], false, &problems[i], &error));
    bench_request request = {.kernels = kernels,
                             .kernel_count = kernel_count,
                             .problems = problems,
                             .problem_count = (size_t)specs,
                             .shapes = bench_usual_shapes,
                             .shape_count = BENCH_USUAL_SHAPES,
                             .dtypes = dtypes,
                             .thin = !full};
    size_t count;
    bench_point *points = bench_grid(&request, &count);
    assert_non_null(points);
    for (size_t k = 0; k < kernel_count; k++) { /* none is left out silently */
        bool present = false;
        for (size_t i = 0; i < count; i++)
            present |= points[i].kernel == kernels[k];
        assert_true(present);
    }
    free(points);
    for (int i = 0; i < specs; i++)
        bench_problem_free(&problems[i]);
    return count;
}

static void grids_have_their_sizes(void **state)
{
    (void)state;
    const rope_kernel *lookup = rope_registry_find("lookup");
    /* 3 head_dim x 3 bases x 2 pairings x 4 shapes x 2 modes x 2 places */
    assert_int_equal(count_points(&lookup, 1, true, 1u << ROPE_F32), 18 * 4 * 4);
    /* 2 pairings x (4 apply in place + 2 plan+apply + 1 out of place) */
    assert_int_equal(count_points(&lookup, 1, false, 1u << ROPE_F32), 2 * 7);
    /* Not taken: one point, to be named as skipped. */
    assert_int_equal(count_points(&lookup, 1, false, 1u << ROPE_F64), 1);
    rope_kernel elsewhere = *lookup;
    elsewhere.cpu_features = rope_cpu_features() & ROPE_CPU_AVX2 ? ROPE_CPU_NEON : ROPE_CPU_AVX2;
    const rope_kernel *both[] = {lookup, &elsewhere};
    assert_int_equal(count_points(both, 2, false, 1u << ROPE_F32), 2 * 7 + 1);
    rope_kernel away = *lookup; /* cannot work in place: measured out of place instead */
    away.header.flags = 0;
    const rope_kernel *one[] = {&away};
    assert_int_equal(count_points(one, 1, false, 1u << ROPE_F32), 2 * (4 + 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_are_read_whole),
        cmocka_unit_test(grids_have_their_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
