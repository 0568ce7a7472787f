/* The lists of specs: each name can be used, and says what it stands for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "impl/spec/spec.h"
#include "scripts/front/list_specs.h"

static rows_table list(const char *columns, void (*rows)(rows_writer *w))
{
    char path[] = "/tmp/list_specs_XXXXXX";
    rope_error error = {""};
    rows_table table = {0};
    close(mkstemp(path));
    rows_writer *w = rows_create(path, columns, &error);
    assert_non_null(w);
    rows(w);
    if (!rows_commit(w, &error) || !rows_read(path, &table, &error))
        fail_msg("%s", error.text);
    unlink(path);
    return table;
}

static void presets_can_be_used(void **state)
{
    (void)state;
    rows_table t = list(LIST_PRESETS_COLUMNS, list_presets);
    int name = rows_column(&t, "name"), spec = rows_column(&t, "spec");
    assert_true(t.rows >= 40);
    for (size_t row = 0; row < t.rows; row++) {
        rope_spec by_name, by_spec;
        rope_error error = {""};
        static char a[8192], b[8192];
        if (!rope_spec_parse(rows_field(&t, row, name), &by_name, &error) ||
            !rope_spec_parse(rows_field(&t, row, spec), &by_spec, &error))
            fail_msg("%s: %s", rows_field(&t, row, name), error.text);
        rope_spec_format(&by_name, a, sizeof a);
        rope_spec_format(&by_spec, b, sizeof b);
        assert_string_equal(a, b);
        assert_true(rows_field_number(&t, row, rows_column(&t, "head_dim")) ==
                    (double)by_name.head_dim);
        assert_true(rows_field_number(&t, row, rows_column(&t, "trained_length")) >= 2048);
        assert_true(rows_field(&t, row, rows_column(&t, "source"))[0] != '\0');
        for (size_t other = 0; other < row; other++)
            assert_string_not_equal(rows_field(&t, row, name), rows_field(&t, other, name));
        rope_spec_free(&by_name);
        rope_spec_free(&by_spec);
    }
    rows_free(&t);
}

static void scalings_are_complete(void **state)
{
    (void)state;
    rows_table t = list(LIST_SCALINGS_COLUMNS, list_scalings);
    assert_int_equal(t.rows, ROPE_SCALING_PROPORTIONAL + 1);
    int disagreement = rows_column(&t, "disagreement");
    for (uint32_t i = 0; i < t.rows; i++) {
        assert_string_equal(rows_field(&t, i, 0), rope_scaling_name(i));
        assert_null(strstr(rows_field(&t, i, disagreement), "nan"));
    }
    /* Figures that are published: the paper's form by 3x, gpt-oss by 76 %, A by 1.3689. */
    const char *yarn = rows_field(&t, ROPE_SCALING_YARN, disagreement);
    assert_non_null(strstr(yarn, " 3.041x"));
    assert_non_null(strstr(yarn, " 1.763x (pair 17)"));
    assert_non_null(strstr(yarn, " 1.3689x"));
    assert_non_null(strstr(rows_field(&t, ROPE_SCALING_DYNAMIC, disagreement), "x (pair 63)"));
    rows_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(presets_can_be_used),
        cmocka_unit_test(scalings_are_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
