/* The list of mutants is whole, and the toy case's wrong rows come out as published:
 * head_dim 8, base 10000, x = 1..8, position 3. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "impl/registry.h"
#include "props/encoding_mutants.h"
#include "props/mutants.h"

enum { TOY = 8 };

static void assert_near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%.9g, expected %.9g", value, expected);
}

static const rope_kernel *kernel_of(const char *name)
{
    const prop_mutant *m = prop_mutant_find(name);
    assert_non_null(m);
    assert_non_null(m->kernel);
    return m->kernel;
}

static rope_plan *toy_plan(const rope_kernel *kernel, rope_pairing pairing)
{
    static double hi[TOY / 2], lo[TOY / 2];
    static uint8_t axis[TOY / 2];
    rope_spec spec = {.size = sizeof spec,
                      .pairing = pairing,
                      .head_dim = TOY,
                      .rotary_dim = TOY,
                      .base = 10000,
                      .factor = NAN,
                      .truncate = 1};
    for (int i = 0; i < TOY / 2; i++)
        hi[i] = pow(10, -i);
    rope_plan_args args = {.size = sizeof args,
                           .spec = &spec,
                           .axis_count = 1,
                           .first = {-64},
                           .last = {2048},
                           .pairs = TOY / 2,
                           .frequency_hi = hi,
                           .frequency_lo = lo,
                           .axis = axis,
                           .attention_factor = 1};
    rope_plan *plan = NULL;
    assert_int_equal(kernel->plan(&args, &plan), ROPE_OK);
    return plan;
}

static void toy_row(const rope_kernel *kernel, const rope_plan *plan, int64_t position,
                    const float *x, float *y)
{
    rope_view from = {(void *)x, 1, 1, TOY, TOY}, to = {y, 1, 1, TOY, TOY};
    assert_int_equal(kernel->apply(plan, &from, &to, &position, 1), ROPE_OK);
}

static const float ones_up[TOY] = {1, 2, 3, 4, 5, 6, 7, 8};
static const float ones_down[TOY] = {8, 7, 6, 5, 4, 3, 2, 1};
static const double right_half[TOY] = {-1.695593, .137552,  2.788682, 3.975982,
                                       -4.808842, 6.323059, 7.086837, 8.011964};
static const double right_interleaved[TOY] = {-1.272233, -1.838865, 1.683929, 4.707907,
                                              4.817777,  6.147278,  6.975969, 8.020964};

static void expect_row(const char *name, rope_pairing pairing, bool in_place, const double *row)
{
    const rope_kernel *kernel =
        strcmp(name, "lookup") == 0 ? rope_registry_find(name) : kernel_of(name);
    rope_plan *plan = toy_plan(kernel, pairing);
    float y[TOY];
    memcpy(y, ones_up, sizeof y);
    toy_row(kernel, plan, 3, in_place ? y : ones_up, y);
    for (int i = 0; i < TOY; i++)
        if (!(fabs((double)y[i] - row[i]) < 1e-6))
            fail_msg("%s element %d: %.6f, expected %.6f", name, i, (double)y[i], row[i]);
    kernel->destroy(plan);
}

static double squared_norm(const char *name, rope_pairing pairing, bool in_place)
{
    const rope_kernel *kernel = kernel_of(name);
    rope_plan *plan = toy_plan(kernel, pairing);
    float y[TOY];
    double sum = 0;
    memcpy(y, ones_up, sizeof y);
    toy_row(kernel, plan, 3, in_place ? y : ones_up, y);
    for (int i = 0; i < TOY; i++)
        sum += (double)y[i] * (double)y[i];
    kernel->destroy(plan);
    return sum;
}

static void toy_rows_test(void **state)
{
    (void)state;
    static const double back[TOY] = {-.284392,  3.683794, 3.208619, 4.023982,
                                     -5.091082, 5.140979, 6.906864, 7.987964};
    double aliased[TOY] = {-1.695593, .137552,  2.788682, 3.975982,
                           -5.189245, 5.772668, 7.080498, 8.011892};
    expect_row("lookup", ROPE_HALF, false, right_half);
    expect_row("lookup", ROPE_INTERLEAVED, false, right_interleaved);
    expect_row("pairing_swapped", ROPE_HALF, false, right_interleaved);
    expect_row("pairing_swapped", ROPE_INTERLEAVED, false, right_half);
    expect_row("inverse_rotation", ROPE_HALF, false, back);
    expect_row("in_place_aliasing", ROPE_HALF, true, aliased);
    expect_row("in_place_aliasing", ROPE_HALF, false, right_half);
    assert_near(squared_norm("in_place_aliasing", ROPE_HALF, true), 201.055, 1e-3);
    assert_near(squared_norm("mismatched_table", ROPE_HALF, false), 188.9107, 1e-4);
    assert_near(squared_norm("mismatched_table", ROPE_INTERLEAVED, false), 226.4161, 1e-4);
}

/* score(m, n) = rotated q at m dot rotated k at n, q = 1..8, k = 8..1, the mixed call q first. */
static double score(const rope_kernel *kernel, rope_pairing pairing, int64_t m, int64_t n)
{
    rope_plan *plan = toy_plan(kernel, pairing);
    float q[TOY], k[TOY];
    double sum = 0;
    toy_row(kernel, plan, m, ones_up, q);
    toy_row(kernel, plan, n, ones_down, k);
    for (int i = 0; i < TOY; i++)
        sum += (double)q[i] * (double)k[i];
    kernel->destroy(plan);
    return sum;
}

static void score_test(void **state)
{
    (void)state;
    const rope_kernel *right = rope_registry_find("lookup"), *mixed = kernel_of("mixed_q_k_calls");
    assert_near(score(right, ROPE_INTERLEAVED, 5, 3), 77.909967, 1e-4);
    assert_near(score(right, ROPE_INTERLEAVED, 1005, 1003), 77.909967, 1e-4);
    assert_near(score(right, ROPE_HALF, 5, 3), 39.024808, 1e-4);
    assert_near(score(mixed, ROPE_HALF, 5, 3), 42.0004, 1e-4);
    assert_near(score(mixed, ROPE_HALF, 1005, 1003), -48.1080, 1e-4);
}

static void list_test(void **state)
{
    (void)state;
    size_t count, others = 0, encodings;
    const prop_mutant *all = prop_mutants(&count);
    for (size_t i = 0; i < count; i++) {
        const prop_mutant *m = &all[i];
        rope_error error;
        int number = 0;
        char rest;
        if (strcmp(m->fault_class, "FRAUD") != 0) {
            assert_int_equal(sscanf(m->fault_class, "F%d%c", &number, &rest), 1);
            assert_in_range(number, 1, 34);
        }
        assert_ptr_equal(prop_mutant_find(m->name), m); /* no name twice */
        assert_null(rope_registry_find(m->name));
        if (m->waits_for != NULL)
            continue;
        if (!rope_kernel_check(m->header, &error))
            fail_msg("%s: %s", m->name, error.text);
        if (m->header->kind != ROPE_ROTATION) {
            others++;
            continue;
        }
        assert_ptr_equal(m->header, &m->kernel->header);
        assert_string_equal(m->kernel->name, m->name);
    }
    prop_encoding_mutants(&encodings);
    assert_int_equal(others, encodings);
    for (int number = 1; number <= 34; number++) {
        char class[16];
        size_t i = 0;
        snprintf(class, sizeof class, "F%d", number);
        while (i < count && strcmp(all[i].fault_class, class) != 0)
            i++;
        if (i == count)
            fail_msg("no mutant of class %s", class);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(list_test),
        cmocka_unit_test(toy_rows_test),
        cmocka_unit_test(score_test),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
