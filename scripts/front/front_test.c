/* Tests of the command's front: options, numbers, lists. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "scripts/front/front.h"

static char captured[4096];

/* Runs front_parse with stderr going to a file, which is then read into `captured`. */
static int parse(int argc, char **argv, const front_option *options, front_values *operands)
{
    FILE *file = tmpfile();
    int saved = dup(STDERR_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    int status = front_parse(argc, argv, "verb", "does", options, operands);
    fflush(stderr);
    dup2(saved, STDERR_FILENO);
    close(saved);
    rewind(file);
    captured[fread(captured, 1, sizeof captured - 1, file)] = '\0';
    fclose(file);
    return status;
}

static int lines(const char *text)
{
    int count = 0;
    for (; *text != '\0'; text++)
        count += *text == '\n';
    return count;
}

static const char *seed, *csv;
static front_values specs;
static bool quiet;
static const front_option options[] = {
    {.name = "seed", .argument = "N", .help = "seed", .value = &seed},
    {.name = "csv", .argument = "[FILE]", .help = "rows", .value = &csv},
    {.name = "spec", .argument = "S", .help = "spec", .values = &specs},
    {.name = "quiet", .help = "less", .flag = &quiet},
    {0},
};

static int reset(void **state)
{
    (void)state;
    seed = csv = NULL;
    specs = (front_values){0};
    quiet = false;
    return 0;
}

#define PARSE(operands, ...)                                                                       \
    parse((int)(sizeof((char *[]){__VA_ARGS__}) / sizeof(char *)), (char *[]){__VA_ARGS__, NULL},  \
          options, operands)

static void takes_options_in_any_order(void **state)
{
    (void)state;
    front_values operands = {0};
    assert_int_equal(PARSE(&operands, "verb", "a", "--seed", "7", "--csv", "b", "--spec=x",
                           "--spec", "y", "--quiet"),
                     -1);
    assert_string_equal(seed, "7");
    assert_string_equal(csv, ""); /* a bare --csv never takes the next word */
    assert_int_equal(specs.count, 2);
    assert_string_equal(specs.items[1], "y");
    assert_true(quiet);
    assert_int_equal(operands.count, 2);
    assert_string_equal(operands.items[0], "a");
    assert_string_equal(operands.items[1], "b");
}

static void refuses_in_one_line(void **state)
{
    (void)state;
    assert_int_equal(PARSE(NULL, "verb", "--sed", "7"), 2); /* no abbreviation, no guess */
    assert_int_equal(lines(captured), 1);
    assert_int_equal(PARSE(NULL, "verb", "--se=7"), 2);
    assert_non_null(strstr(captured, "--se"));
    assert_int_equal(lines(captured), 1);
    assert_int_equal(PARSE(NULL, "verb", "--seed"), 2);
    assert_int_equal(lines(captured), 1);
    assert_int_equal(PARSE(NULL, "verb", "-x"), 2);
    assert_int_equal(lines(captured), 1);
    assert_int_equal(PARSE(NULL, "verb", "--quiet=1"), 2);
    assert_int_equal(lines(captured), 1);
    assert_int_equal(PARSE(NULL, "verb", "--csv="), 2); /* not a bare --csv */
    assert_non_null(strstr(captured, "--csv="));
    assert_int_equal(lines(captured), 1);
    assert_null(csv);
    assert_int_equal(PARSE(NULL, "verb", "-hx"), 2); /* only -h alone asks for help */
    assert_int_equal(lines(captured), 1);
    assert_int_equal(PARSE(NULL, "verb", "stray"), 2);
    assert_int_equal(lines(captured), 1);
    assert_int_equal(PARSE(NULL, "verb", "--seed", "1", "--seed", "2"), 2);
    assert_int_equal(lines(captured), 1);
    assert_int_equal(PARSE(NULL, "verb", "--spec\nx"), 2);
    assert_int_equal(lines(captured), 1);
}

/* What a script leaves of a variable that was never set: the option is named. */
static void refuses_empty_values(void **state)
{
    (void)state;
    front_values operands = {0};
    assert_int_equal(PARSE(NULL, "verb", "--seed", ""), 2);
    assert_string_equal(captured, "tightrope verb: --seed has an empty value, expected N\n");
    assert_int_equal(PARSE(NULL, "verb", "--seed="), 2);
    assert_string_equal(captured, "tightrope verb: --seed has an empty value, expected N\n");
    assert_int_equal(PARSE(NULL, "verb", "--spec", "x", "--spec", ""), 2);
    assert_string_equal(captured, "tightrope verb: --spec has an empty value, expected S\n");
    assert_int_equal(PARSE(&operands, "verb", "a", ""), 2);
    assert_string_equal(captured,
                        "tightrope verb: empty argument '', see `tightrope verb --help`\n");
    assert_int_equal(PARSE(&operands, "verb", "--", ""), 2);
    assert_int_equal(lines(captured), 1);
}

static void reads_whole_numbers_whole(void **state)
{
    (void)state;
    int64_t value = 0;
    rope_error error;
    assert_true(front_int64("-9223372036854775808", "n", INT64_MIN, INT64_MAX, &value, &error));
    assert_true(value == INT64_MIN);
    assert_false(front_int64("9223372036854775808", "n", INT64_MIN, INT64_MAX, &value, &error));
    assert_false(front_int64("1x", "n", 0, 9, &value, &error));
    assert_false(front_int64(" 1", "n", 0, 9, &value, &error));
    assert_false(front_int64("", "n", 0, 9, &value, &error));
    assert_false(front_int64("10", "n", 0, 9, &value, &error));
    uint64_t large = 0;
    assert_true(front_uint64("0xffffffffffffffff", "n", &large, &error));
    assert_true(large == UINT64_MAX);
    assert_false(front_uint64("-1", "n", &large, &error));
    double number = 0;
    assert_true(front_double("0x1p-3", "n", &number, &error));
    assert_true(number == 0.125);
    assert_false(front_double("nan", "n", &number, &error));
    assert_false(front_double("1e999", "n", &number, &error));
}

static bool count_item(const char *item, void *context, rope_error *error)
{
    (void)item, (void)error;
    ++*(int *)context;
    return true;
}

static void splits_lists(void **state)
{
    (void)state;
    int count = 0;
    rope_error error;
    assert_true(front_split("a,b,c", count_item, &count, &error));
    assert_int_equal(count, 3);
    assert_false(front_split("a,,c", count_item, &count, &error));
    assert_false(front_split("", count_item, &count, &error));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(takes_options_in_any_order, reset),
        cmocka_unit_test_setup(refuses_in_one_line, reset),
        cmocka_unit_test_setup(refuses_empty_values, reset),
        cmocka_unit_test_setup(reads_whole_numbers_whole, reset),
        cmocka_unit_test_setup(splits_lists, reset),
    };
    return cmocka_run_group_tests_name("front", tests, reset, reset);
}
