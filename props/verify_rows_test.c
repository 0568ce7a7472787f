/* Rows of verify.csv for what was not run: a kernel and a spec that never met are in the file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "impl/registry.h"
#include "props/verify.h"

static const char *const specs[] = {"head_dim=8,base=10000,pairing=half",
                                    "head_dim=8,base=500000,pairing=interleaved"};

enum { F32 = 1u << ROPE_F32, F16 = 1u << ROPE_F16, BF16 = 1u << ROPE_BF16, ALL = ~0u };

/* The rows of one kernel over both specs; with a unit (whose findings are all pending) or none. */
static rows_table rows_of(const rope_kernel *kernel, bool unit, uint32_t dtypes)
{
    char path[] = "/tmp/verify-rows-XXXXXX";
    rope_error error;
    rows_table table;
    size_t properties;
    prop_verification v = {.kernels = &kernel, .kernel_count = 1, .dtypes = dtypes};
    prop_unit one = {.kernel = kernel, .suite = &v.suite};
    prop_properties(&properties);
    assert_true(prop_suite_chosen(&v.suite, specs, 2, PROP_QUICK, ROPE_TRUTH_EXACT, &error));
    one.findings = calloc(2 * properties, sizeof *one.findings);
    assert_non_null(one.findings);
    v.units = &one;
    v.unit_count = unit;
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    rows_writer *w = rows_create(path, prop_verify_columns, &error);
    assert_non_null(w);
    prop_verify_rows(&v, "run", w);
    assert_true(rows_commit(w, &error) && rows_read(path, &table, &error));
    unlink(path);
    free(one.findings);
    prop_suite_free(&v.suite);
    return table;
}

static void expect(const rows_table *t, size_t row, const char *column, const char *value)
{
    assert_true(row < t->rows);
    assert_string_equal(rows_field(t, row, rows_column(t, column)), value);
}

static void a_pairing_that_a_kernel_lacks(void **state)
{
    (void)state;
    rows_table t = rows_of(rope_registry_find("interleaved"), true, ALL);
    assert_int_equal(t.rows, 1);
    expect(&t, 0, "run", "run");
    expect(&t, 0, "kernel", "interleaved");
    expect(&t, 0, "pairing", "half");
    expect(&t, 0, "dtype", "f32");
    expect(&t, 0, "spec", specs[0]);
    expect(&t, 0, "truth", "exact");
    expect(&t, 0, "property", "contract");
    expect(&t, 0, "cases", "0");
    expect(&t, 0, "max_error_u", "");
    expect(&t, 0, "verdict", "unsupported");
    expect(&t, 0, "reason", "pairing half unsupported");
    rows_free(&t);
    t = rows_of(rope_registry_find("lookup"), true, ALL); /* has both */
    assert_int_equal(t.rows, 0);
    rows_free(&t);
}

static void a_dtype_that_a_kernel_lacks(void **state)
{
    (void)state;
    rows_table t = rows_of(rope_registry_find("lookup"), false, F16 | BF16);
    static const char *const dtypes[] = {"f16", "bf16", "f16", "bf16"};
    assert_int_equal(t.rows, 4);
    for (size_t r = 0; r < t.rows; r++) {
        expect(&t, r, "spec", specs[r / 2]);
        expect(&t, r, "pairing", r < 2 ? "half" : "interleaved");
        expect(&t, r, "dtype", dtypes[r]);
        expect(&t, r, "verdict", "unsupported");
        expect(&t, r, "reason", "dtype unsupported, the kernel takes f32");
    }
    rows_free(&t);
}

static void a_machine_that_lacks_a_feature(void **state)
{
    (void)state;
    rope_kernel elsewhere = *rope_registry_find("software16");
    elsewhere.cpu_features = ROPE_CPU_NEON | ROPE_CPU_AVX512; /* no machine has both */
    rows_table t = rows_of(&elsewhere, false, F32 | F16);
    assert_int_equal(t.rows, 2); /* f16 of each spec */
    for (size_t r = 0; r < t.rows; r++) {
        expect(&t, r, "dtype", "f16");
        expect(&t, r, "verdict", "not run");
        assert_non_null(
            strstr(rows_field(&t, r, rows_column(&t, "reason")), "which this machine lacks"));
    }
    rows_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_pairing_that_a_kernel_lacks),
                                       cmocka_unit_test(a_dtype_that_a_kernel_lacks),
                                       cmocka_unit_test(a_machine_that_lacks_a_feature)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
