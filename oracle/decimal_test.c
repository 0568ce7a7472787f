/* Decimals are rounded once, from the exact value. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "oracle/decimal.h"
#include "oracle/test_spec.h"

static oracle *small; /* base 10000, d = 8: theta = 1, .1, .01, .001 */

static int make(void **state)
{
    (void)state;
    rope_spec spec = test_spec(8, 10000);
    small = oracle_new(&spec, ROPE_TRUTH_EXACT, NULL);
    return small == NULL;
}

static int drop(void **state)
{
    (void)state;
    oracle_free(small);
    return 0;
}

static void assert_decimal(oracle_quantity q, int64_t position, int64_t pair, int digits,
                           const char *expected)
{
    char *text = oracle_decimal(small, q, position, pair, digits);
    assert_string_equal(text, expected);
    free(text);
}

static void test_layout(void **state)
{
    (void)state;
    assert_decimal(ORACLE_FREQUENCY, 0, 0, 5, "1.0000");
    assert_decimal(ORACLE_FREQUENCY, 0, 3, 5, "0.0010000");
    assert_decimal(ORACLE_ANGLE, 0, 1, 20, "0");
    assert_decimal(ORACLE_SIN, 0, 1, 20, "0");
    assert_decimal(ORACLE_COS, 0, 1, 20, "1.0000000000000000000");
    assert_decimal(ORACLE_ANGLE, 123456, 0, 6, "123456");
    assert_decimal(ORACLE_ANGLE, 123456, 0, 5, "1.2346e5");
    assert_decimal(ORACLE_ANGLE, -123456, 0, 8, "-123456.00");
    assert_decimal(ORACLE_ANGLE, INT64_MIN, 0, 20, "-9223372036854775808.0");
    assert_decimal(ORACLE_ATTENTION_FACTOR, 0, 0, 3, "1.00");
}

/* 12345 * .01 = 123.45 exactly, though .01 = 10000^(-1/2) is no binary number. */
static void test_ties_to_even(void **state)
{
    (void)state;
    assert_decimal(ORACLE_ANGLE, 12345, 2, 4, "123.4");
    assert_decimal(ORACLE_ANGLE, 12355, 2, 4, "123.6");
    assert_decimal(ORACLE_ANGLE, -12355, 2, 4, "-123.6");
    assert_decimal(ORACLE_ANGLE, 12365, 2, 4, "123.6");
    assert_decimal(ORACLE_ANGLE, 99995, 2, 4, "1000");
    assert_decimal(ORACLE_ANGLE, 12345, 0, 4, "1.234e4");
    assert_decimal(ORACLE_ANGLE, 12346, 2, 4, "123.5");
}

/* Digits of cos(1) and sin(1): Python's mpmath, 60 digits. */
static void test_digits(void **state)
{
    (void)state;
    assert_decimal(ORACLE_COS, 1, 0, 50, "0.54030230586813971740093660744297660373231042061792");
    assert_decimal(ORACLE_SIN, 1, 0, 50, "0.84147098480789650665250232163029899962256306079837");
    char *longest = oracle_decimal(small, ORACLE_SIN, 1, 0, ORACLE_MAX_DIGITS);
    assert_int_equal(strlen(longest), ORACLE_MAX_DIGITS + 2);
    free(longest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layout),
        cmocka_unit_test(test_ties_to_even),
        cmocka_unit_test(test_digits),
    };
    return cmocka_run_group_tests_name("decimal", tests, make, drop);
}
