/* `tightrope oracle` as a user runs it: its columns, several axes, and bad input (one line, exit
 * status 2, nothing written). */
#include <libgen.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "impl/spec/npy.h"

#define PLAIN "--spec head_dim=8,base=10000,pairing=half "

static char build[512], folder[] = "/tmp/tightrope-oracle-XXXXXX";

static int run(const char *arguments, char *output, size_t size)
{
    char command[2048];
    snprintf(command, sizeof command, "cd %s && %s/tightrope oracle %s 2>&1", folder, build,
             arguments);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    size_t got = fread(output, 1, size - 1, pipe);
    output[got] = '\0';
    int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void prints(const char *arguments, const char *rows)
{
    char output[4096], expected[4096];
    assert_int_equal(run(arguments, output, sizeof output), 0);
    snprintf(expected, sizeof expected,
             "position,pair,inverse_frequency,angle,cos,sin,attention_factor\n%s", rows);
    assert_string_equal(output, expected);
}

static void refuses(const char *arguments, const char *word)
{
    char output[4096];
    int status = run(arguments, output, sizeof output);
    const char *newline = strchr(output, '\n');
    if (status != 2 || newline == NULL || newline[1] != '\0' || strstr(output, word) == NULL)
        fail_msg("oracle %s: exit %d, expected 2 and one line with '%s', got: %s", arguments,
                 status, word, output);
}

static void test_rows(void **state)
{
    (void)state;
    prints(PLAIN "--positions 10 --pair 1 --digits 5",
           "10,1,0.10000,1.0000,0.54030,0.84147,1.0000\n");
    prints(PLAIN "--positions 0,-10 --pair 1 --digits 3 --csv",
           "0,1,0.100,0,1.00,0,1.00\n-10,1,0.100,-1.00,0.540,-0.841,1.00\n");
    prints(PLAIN "--positions 9223372036854775807 --pair 0 --digits 21",
           "9223372036854775807,0,1.00000000000000000000,9223372036854775807.00,"
           "0.847788007348018782808,0.530335266220223799222,1.00000000000000000000\n");
}

static void test_several_axes(void **state)
{
    (void)state;
    const int64_t positions[2][3] = {{1, 20, 300}, {4, 50, 600}}, shape[2] = {2, 3};
    char path[600];
    rope_error error;
    snprintf(path, sizeof path, "%s/thw.npy", folder);
    assert_true(npy_write(path, NPY_I64, 2, shape, positions, &error));
    prints(
        "--spec head_dim=6,base=1000,pairing=half,axes=mrope,sections=1:1:1 --positions thw.npy "
        "--digits 2",
        "1,0,1.0,1.0,0.54,0.84,1.0\n20,1,0.10,2.0,-0.42,0.91,1.0\n300,2,0.010,3.0,-0.99,0.14,1.0\n"
        "4,0,1.0,4.0,-0.65,-0.76,1.0\n50,1,0.10,5.0,0.28,-0.96,1.0\n600,2,0.010,6.0,0.96,-0.28,"
        "1.0\n");
    refuses(PLAIN "--positions thw.npy", "axes");
}

static void test_bad_input(void **state)
{
    (void)state;
    refuses("", "--spec");
    refuses(PLAIN, "--positions");
    refuses(PLAIN "--positions 1 --pair 4", "--pair");
    refuses(PLAIN "--positions 1 --digits 1", "--digits");
    refuses(PLAIN "--positions 1 --digits 1e3", "--digits");
    refuses(PLAIN "--positions 3:3", "3:3");
    refuses(PLAIN "--positions 1 --truth nearly", "nearly");
    refuses(PLAIN "--positions 1 --csv=no/such/folder.csv", "no/such");
    refuses(PLAIN "--positions 1 --csv=/dev/full", "/dev/full");
    refuses(PLAIN "--positions 1 2>&1 >/dev/full #", "standard output");
    alarm(60); /* rows that nobody gets are not made: all of these would take minutes */
    refuses(PLAIN "--positions 0:16000000 2>&1 >/dev/full #", "standard output");
    alarm(0);
    refuses(PLAIN "--positions 1 --positions 2", "twice");
}

static void test_file(void **state)
{
    (void)state;
    char output[4096], path[600];
    assert_int_equal(run(PLAIN "--positions 0:3 --csv=rows.csv", output, sizeof output), 0);
    assert_string_equal(output, "");
    snprintf(path, sizeof path, "%s/rows.csv", folder);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    int lines = 0;
    for (int c; (c = fgetc(file)) != EOF;)
        lines += c == '\n';
    fclose(file);
    assert_int_equal(lines, 1 + 3 * 4);
}

static int begin(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int end(void **state)
{
    (void)state;
    char command[700];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

int main(int argc, char **argv)
{
    (void)argc;
    /* build/oracle/verb_oracle_test -> build, from anywhere */
    char *real = realpath(argv[0], NULL);
    if (real == NULL)
        return 1;
    snprintf(build, sizeof build, "%s", dirname(dirname(real)));
    free(real);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_several_axes),
        cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_file),
    };
    return cmocka_run_group_tests_name("verb_oracle", tests, begin, end);
}
