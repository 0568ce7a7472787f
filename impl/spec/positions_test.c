#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "impl/spec/npy.h"
#include "impl/spec/positions.h"

static void expect(const char *text, int64_t count, const int64_t *values)
{
    rope_positions p;
    rope_error error = {""};
    if (!rope_positions_parse(text, 100, &p, &error))
        fail_msg("%s: %s", text, error.text);
    assert_int_equal(p.tokens, count);
    assert_int_equal(p.axes, 1);
    assert_memory_equal(p.values, values, (size_t)count * sizeof *values);
    rope_positions_free(&p);
}

static void lists_are_read(void **state)
{
    (void)state;
    expect("7", 1, (int64_t[]){7});
    expect("-3:2", 5, (int64_t[]){-3, -2, -1, 0, 1});
    expect("0:10:4,5,5,-1", 6, (int64_t[]){0, 4, 8, 5, 5, -1});
    expect("3:0:-1", 3, (int64_t[]){3, 2, 1});
    expect("9223372036854775807,-9223372036854775808", 2, (int64_t[]){INT64_MAX, INT64_MIN});
    expect("-9223372036854775808:9223372036854775807:9223372036854775807", 3,
           (int64_t[]){INT64_MIN, -1, INT64_MAX - 1});
}

static void bad_lists_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "1x",
                                      "x",
                                      "1:",
                                      ":5",
                                      "1,,2",
                                      "5:5",
                                      "5:4",
                                      "1:2:0",
                                      "2:1:0",
                                      "1:2:3:4",
                                      "1:2:3:",
                                      " 1",
                                      "+1",
                                      "1.5",
                                      "0:101",
                                      "1,",
                                      "--1",
                                      "-",
                                      "0:5:-1",
                                      "9223372036854775808",
                                      "99999999999999999999",
                                      "-9223372036854775808:9223372036854775807",
                                      "/no/such.npy"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        rope_positions p;
        rope_error error = {""};
        if (rope_positions_parse(bad[i], 100, &p, &error))
            fail_msg("'%s' is taken", bad[i]);
        assert_true(error.text[0] != '\0');
        assert_null(p.values);
    }
}

static void ranges_are_read(void **state)
{
    (void)state;
    int64_t first, end;
    rope_error error;
    assert_true(rope_range_parse("-5:16777216", &first, &end, &error));
    assert_true(first == -5 && end == 16777216);
    assert_false(rope_range_parse("5", &first, &end, &error));
    assert_false(rope_range_parse("5:5", &first, &end, &error));
    assert_false(rope_range_parse("0:5:1", &first, &end, &error));
    assert_false(rope_range_parse("0:5,7", &first, &end, &error));
}

static void arrays_are_read(void **state)
{
    (void)state;
    char path[] = "/tmp/positions_XXXXXX.npy";
    close(mkstemps(path, 4));
    rope_error error = {""};
    rope_positions p;
    const int32_t narrow[] = {1, -2, 3, 4, 5, 6};
    assert_true(npy_write(path, NPY_I32, 2, (int64_t[]){2, 3}, narrow, &error));
    assert_true(rope_positions_parse(path, 100, &p, &error));
    assert_true(p.tokens == 2 && p.axes == 3);
    for (int i = 0; i < 6; i++)
        assert_int_equal(p.values[i], narrow[i]);
    rope_positions_free(&p);
    const double wrong[] = {1};
    assert_true(npy_write(path, NPY_F64, 1, (int64_t[]){1}, wrong, &error));
    assert_false(rope_positions_parse(path, 100, &p, &error));
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_read),
        cmocka_unit_test(bad_lists_are_refused),
        cmocka_unit_test(ranges_are_read),
        cmocka_unit_test(arrays_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
