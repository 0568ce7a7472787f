/* The other encodings are timed as they are called, and a wrong one does not pass. */
#include "bench/encodings.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "impl/registry.h"

static const bench_effort effort = {.rounds = 6, .seconds = 1e-5, .seed = 3, .checked_tokens = 4};

static void every_encoding_passes(void **state)
{
    (void)state;
    size_t kernels, seen = 0;
    const rope_header *const *headers = rope_registry(&kernels);
    for (size_t k = 0; k < kernels; k++) {
        bench_encoding *points = NULL;
        size_t count = 0;
        assert_true(bench_encodings_add(headers[k], &points, &count));
        assert_int_equal(count == 0, headers[k]->kind == ROPE_ROTATION);
        seen += count > 0;
        for (size_t i = 0; i < count; i++) {
            bench_result result;
            rope_error error;
            if (points[i].tokens == 4096)
                continue; /* too slow for a test, and the same code */
            assert_true(bench_encoding_measure(&points[i], &effort, &result, &error));
            assert_string_equal(result.reason, "");
            assert_int_equal(result.verdict, BENCH_PASS);
            assert_int_equal(result.samples, effort.rounds);
            assert_int_equal(result.bytes,
                             4 * points[i].tokens * points[i].heads * points[i].width);
            assert_true(result.ns.median > 0 && result.ratio_memcpy.median > 0);
            assert_true(result.max_error_u > 0 && result.max_error_u <= result.bound_u);
        }
        free(points);
    }
    assert_true(seen >= 3);
}

static rope_table_kernel good_table;
static rope_bias_kernel good_bias;

/* The last element of the last row is off by 2^-10. */
static rope_status apply_wrong(const rope_plan *plan, const rope_view *x, const rope_view *y,
                               const int64_t *positions, int64_t stride)
{
    rope_status status = good_table.apply(plan, x, y, positions, stride);
    ((float *)y->data)[(y->tokens - 1) * y->token_stride + y->head_stride - 1] += 0x1p-10f;
    return status;
}

static rope_status apply_range(const rope_plan *plan, const rope_view *x, const rope_view *y,
                               const int64_t *positions, int64_t stride)
{
    (void)plan, (void)x, (void)y, (void)positions, (void)stride;
    return ROPE_RANGE;
}

/* The keys' positions one off: every bias is wrong but of no distance. */
static rope_status bias_wrong(const rope_plan *plan, const rope_scores *x, const rope_scores *y,
                              const int64_t *queries, const int64_t *keys)
{
    int64_t *moved = malloc((size_t)x->keys * sizeof *moved);
    for (int64_t k = 0; moved != NULL && k < x->keys; k++)
        moved[k] = keys[k] + 1;
    rope_status status = moved ? good_bias.apply(plan, x, y, queries, moved) : ROPE_NO_MEMORY;
    free(moved);
    return status;
}

static void assert_fails(const rope_header *kernel, const char *reason)
{
    bench_encoding *points = NULL;
    size_t count = 0;
    assert_true(bench_encodings_add(kernel, &points, &count));
    for (size_t i = 0; i < 4; i++) { /* both places, two sizes */
        bench_result result;
        rope_error error;
        assert_true(bench_encoding_measure(&points[i], &effort, &result, &error));
        assert_int_equal(result.verdict, BENCH_FAIL);
        assert_non_null(strstr(result.reason, reason));
    }
    free(points);
}

static void a_wrong_one_fails(void **state)
{
    (void)state;
    static const char *const tables[] = {"sinusoidal", "learnt"};
    for (int i = 0; i < 2; i++) {
        good_table = *(const rope_table_kernel *)rope_registry_find_any(tables[i]);
        rope_table_kernel wrong = good_table;
        wrong.apply = apply_wrong;
        assert_fails(&wrong.header, "element 127");
        wrong.apply = apply_range;
        assert_fails(&wrong.header, "outside its plan");
    }
    good_bias = *(const rope_bias_kernel *)rope_registry_find_any("alibi");
    rope_bias_kernel wrong = good_bias;
    wrong.apply = bias_wrong;
    assert_fails(&wrong.header, "error above the contract");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_encoding_passes),
        cmocka_unit_test(a_wrong_one_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
