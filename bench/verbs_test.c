/* bench, compare and pick as a user runs them: wrong input is one line that says what, where and
 * what was expected, with exit status 2, and leaves no file; cold starts come from what hyperfine
 * writes. */
#include <libgen.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "scripts/front/environment.h"
#include "scripts/front/rows.h"

#define SPEC "--spec head_dim=8,base=10000,pairing=half "
#define ONE "bench --kernel lookup --dtype f32 --shape 1x8 " SPEC
#define PICK "pick " SPEC "--dtype f32 --max-position 128 "

static char build[512], folder[] = "/tmp/tightrope-bench-XXXXXX";

static int run(const char *before, const char *arguments, char *output, size_t size)
{
    char command[2048];
    snprintf(command, sizeof command, "cd %s && %s %s/tightrope %s 2>&1", folder, before, build,
             arguments);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    size_t got = fread(output, 1, size - 1, pipe);
    output[got] = '\0';
    int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void ends(int expected, const char *before, const char *arguments, const char *text)
{
    char output[1 << 14];
    int status = run(before, arguments, output, sizeof output);
    if (status != expected || strstr(output, text) == NULL)
        fail_msg("%s: exit %d, expected %d and '%s', got: %s", arguments, status, expected, text,
                 output);
}

static void lacks(const char *arguments, const char *text)
{
    char output[1 << 14];
    assert_int_equal(run("", arguments, output, sizeof output), 0);
    if (strstr(output, text) != NULL)
        fail_msg("%s: '%s' in: %s", arguments, text, output);
}

/* One line, and no more. */
static void refuses(const char *arguments, const char *text)
{
    char output[1 << 14];
    int status = run("", arguments, output, sizeof output);
    const char *newline = strchr(output, '\n');
    if (status != 2 || newline == NULL || newline[1] != '\0' || strstr(output, text) == NULL)
        fail_msg("%s: exit %d, expected 2 and one line with '%s', got: %s", arguments, status, text,
                 output);
}

static void write_file(const char *name, const char *text, bool program)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    if (program)
        assert_int_equal(chmod(path, 0755), 0);
}

static bool exists(const char *name)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

static rows_table read_rows(const char *name)
{
    char path[600];
    rows_table table;
    rope_error error;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (!rows_read(path, &table, &error))
        fail_msg("%s", error.text);
    return table;
}

/* ---- bench ---- */

static void bench_refuses_what_it_cannot_time(void **state)
{
    (void)state;
    refuses(ONE "--no-processes --level long", "unknown level 'long', expected quick or full");
    refuses(ONE "--no-processes --seed one", "seed");
    refuses("bench --kernel lookup,nothing", "unknown kernel 'nothing'");
    refuses("bench --dtype f32,f8", "unknown dtype 'f8', expected f32, f16, bf16 or f64");
    refuses("bench --shape 4", "4");
    refuses("bench --shape 0x8", "tokens of a shape 0 is out of range, expected 1 to 131072");
    refuses("bench --shape 131072x1024 " SPEC, "too large, expected at most 2^29 elements");
    refuses("bench --spec head_dim=7,base=10000,pairing=half", "7");
    refuses("bench --plugin none.so", "none.so");
    refuses("bench --once --kernel alibi", "--once takes rotation kernels");
    refuses("bench --goals=nothing --csv=goals.csv", "no goal's name contains 'nothing', expected");
    assert_false(exists("goals.csv"));
    refuses("bench --goals=", "goals");
}

/* What cannot be written shows before the work, and nothing is left behind. */
static void bench_writes_all_or_nothing(void **state)
{
    (void)state;
    refuses(ONE "--no-processes --csv=no/such/folder.csv", "no/such/folder.csv");
    refuses("bench --goals --csv=no/such/folder.csv", "no/such/folder.csv");
    ends(2, "", ONE "--no-processes --csv=/dev/full", "/dev/full");
    ends(0, "", ONE "--no-processes --csv=one.csv", "floors");
    rows_table t = read_rows("one.csv");
    char closing[128];
    snprintf(closing, sizeof closing, "%zu rows written to two.csv: %zu pass\n", t.rows, t.rows);
    ends(0, "", ONE "--no-processes --csv=two.csv", closing);
    lacks(ONE "--no-processes --csv", "rows written");
    lacks(ONE "--no-processes --csv=-", "rows written");
    ends(0, "",
         "bench --kernel lookup --dtype f16 --shape 1x8 " SPEC "--no-processes --csv=two.csv",
         "1 rows written to two.csv: 1 skip\n");
    char record[64];
    assert_true(t.rows > 0);
    snprintf(record, sizeof record, "%.40s.json", rows_field(&t, 0, rows_column(&t, "run")));
    assert_true(exists(record)); /* what it was run on */
    rows_free(&t);
}

static void bench_prints_a_table(void **state)
{
    (void)state;
    ends(0, "", ONE "--no-processes", "\nlookup           half        f32        1x8 apply");
    ends(0, "", "bench --kernel alibi --no-processes", "\nalibi            -           f32");
}

static void once_does_its_work_in_silence(void **state)
{
    (void)state;
    char output[1024];
    assert_int_equal(run("", ONE "--once", output, sizeof output), 0);
    assert_string_equal(output, "");
    /* What a copy is timed by. */
    assert_int_equal(run("", "bench --once --shape 1x8 " SPEC, output, sizeof output), 0);
    assert_string_equal(output, "");
}

/* ---- cold starts ---- */

/* hyperfine's place is taken by a script that says 10, 12, ... 32 us of the kernel, and of the copy
 * 2, 2, ... 2 us: 64 elements. */
static void cold_starts_are_read_from_hyperfine(void **state)
{
    (void)state;
    write_file("hyperfine",
               "#!/bin/sh\n"
               "echo \"$@\" >words\n"
               "while [ \"$1\" != --export-json ]; do shift; done\n"
               "echo '{\"results\": [{\"times\": [10e-6, 12e-6, 14e-6, 16e-6, 18e-6, 20e-6, 22e-6,"
               " 24e-6, 26e-6, 28e-6, 30e-6, 32e-6]}, {\"times\": [2e-6, 2e-6, 2e-6, 2e-6, 2e-6,"
               " 2e-6, 2e-6, 2e-6, 2e-6, 2e-6, 2e-6, 2e-6]}]}' >\"$2\"\n",
               true);
    ends(0, "PATH=.:$PATH", ONE "--csv=cold.csv", "floors");
    rows_table t = read_rows("cold.csv");
    int cold = 0;
    for (size_t r = 0; r < t.rows; r++) {
        if (strcmp(rows_field(&t, r, rows_column(&t, "mode")), "process-cold") != 0)
            continue;
        cold++;
        assert_true(fabs(rows_field_number(&t, r, rows_column(&t, "ns_per_element")) - 21e3 / 64) <
                    1e-6);
        assert_true(fabs(rows_field_number(&t, r, rows_column(&t, "ns_ci_low")) - 14e3 / 64) <
                    1e-6); /* the 3rd of 12 */
        assert_true(fabs(rows_field_number(&t, r, rows_column(&t, "ratio_memcpy")) - 10.5) < 1e-9);
        assert_true(rows_field_number(&t, r, rows_column(&t, "samples")) == 12);
        assert_string_equal(rows_field(&t, r, rows_column(&t, "verdict")), "pass");
    }
    assert_int_equal(cold, 1);
    rows_free(&t);
    ends(0, "cat words #", "", "--once --spec 'head_dim=8,base=10000,pairing=half' --shape 1x8");
}

static void hyperfine_that_fails_or_is_missing(void **state)
{
    (void)state;
    write_file("hyperfine", "#!/bin/sh\nexit 7\n", true);
    ends(2, "PATH=.:$PATH", ONE "--csv=failed.csv", "hyperfine failed (status 7)");
    assert_false(exists("failed.csv"));
    write_file("hyperfine", "#!/bin/sh\n", true); /* succeeds, and writes nothing */
    ends(2, "PATH=.:$PATH", ONE "--csv=failed.csv", "hyperfine failed (status 0)");
    assert_false(exists("failed.csv"));
    ends(3, "PATH=/nowhere", ONE, "apt-get install hyperfine");
}

/* ---- compare ---- */

#define COLUMNS                                                                                    \
    "kernel,pairing,dtype,spec,tokens,heads,mode,in_place,ns_per_element,ns_ci_low,ns_ci_high,"    \
    "ratio_memcpy,ratio_memcpy_low,ratio_memcpy_high,max_error_u,verdict\n"
#define FIGURE(kernel, low, median, high, error)                                                   \
    "\"" kernel "\",\"half\",\"f32\",\"s\",512,32,\"apply\",\"no\"," median "," low "," high       \
    "," median "," low "," high "," error ",\"pass\"\n"

static void compare_names_what_is_wrong(void **state)
{
    (void)state;
    write_file("old.csv", COLUMNS FIGURE("a", "1.9", "2", "2.1", "1"), false);
    write_file("other.csv", COLUMNS FIGURE("b", "1.9", "2", "2.1", "1"), false);
    write_file("minus.csv", COLUMNS FIGURE("a", "1.9", "-2", "2.1", "1"), false);
    write_file("words.csv", "one,two\n1,2\n", false);
    refuses("compare old.csv", "1 files given, expected two");
    refuses("compare old.csv none.csv", "none.csv");
    refuses("compare none.csv old.csv", "none.csv");
    refuses("compare old.csv words.csv", "column");
    refuses("compare old.csv minus.csv",
            "line 2: ns_per_element is '-2', expected a finite number");
    refuses("compare --tolerance much old.csv old.csv", "tolerance");
    refuses("compare --tolerance=-1 old.csv old.csv", "expected 0 to 10");
    refuses("compare --tolerance 11 old.csv old.csv", "expected 0 to 10");
    refuses("compare old.csv old.csv --csv=no/such/folder.csv", "no/such/folder.csv");
    ends(2, "", "compare old.csv other.csv", "no figure is in both old.csv and other.csv");
}

static void compare_tells_slower_from_noise(void **state)
{
    (void)state;
    write_file("same.csv", COLUMNS FIGURE("a", "1.9", "2.15", "2.4", "1"), false);
    write_file("slow.csv", COLUMNS FIGURE("a", "3.9", "4", "4.1", "1"), false);
    write_file("worse.csv", COLUMNS FIGURE("a", "1.9", "2", "2.1", "1.5"), false);
    ends(0, "", "compare old.csv same.csv", "0 slower, 0 faster");
    ends(1, "", "compare old.csv slow.csv", "slower     a s f32 512x32 apply");
    ends(0, "", "compare slow.csv old.csv", "faster     a s f32 512x32 apply");
    ends(1, "", "compare --by-time old.csv slow.csv", "slower     a s f32 512x32 apply");
    ends(0, "", "compare --tolerance 1.5 --by-time old.csv slow.csv", "0 slower, 0 faster");
    ends(1, "", "compare old.csv worse.csv", "1 less exact");
    ends(1, "", "compare --csv old.csv slow.csv", "\"a\",\"half\",\"f32\",\"s\",512,32,");
}

/* ---- pick ---- */

static void pick_names_what_is_wrong(void **state)
{
    (void)state;
    refuses("pick --dtype f32 --max-position 1 --max-error 1", "--spec is missing");
    refuses("pick " SPEC "--max-position 1 --max-error 1", "--dtype is missing");
    refuses("pick " SPEC "--dtype f32 --max-error 1", "--max-position is missing");
    refuses(PICK, "--max-error is missing");
    refuses("pick " SPEC "--dtype f8 --max-position 1 --max-error 1", "unknown dtype 'f8'");
    refuses("pick " SPEC "--dtype f32 --max-position=-1 --max-error 1", "max-position");
    refuses("pick " SPEC "--dtype f32 --max-position 1.5 --max-error 1", "max-position");
    refuses(PICK "--max-error little", "max-error");
    refuses(PICK "--max-error 0", "max-error 0 is no positive number");
    refuses(PICK "--max-error nan", "max-error");
    refuses(PICK "--max-error 8 none.csv", "none.csv");
    refuses(PICK "--max-error 8 words.csv",
            "words.csv: no column 'ns_per_element', expected rows of bench");
    refuses(PICK "--max-error 8 minus.csv", "minus.csv: line 2: ns_per_element is '-2'");
    refuses(PICK "--max-error 8 --csv=no/such/folder.csv old.csv", "no/such/folder.csv");
}

/* Rows decide among those that keep the budget by contract; what fails its rows, or has measured
 * more than the budget, is out. */
static void pick_goes_by_the_rows(void **state)
{
    (void)state;
#define TIMED(kernel, ns, error, verdict)                                                          \
    "\"" kernel "\",\"half\",\"f32\",\"head_dim=8,base=10000,pairing=half\",8,512,32,\"apply\","   \
    "\"no\",127," ns "," ns "," ns "," error ",\"" verdict "\",\"wrong at 3\"\n"
    const char *columns = "kernel,pairing,dtype,spec,head_dim,tokens,heads,mode,in_place,"
                          "last_position,ns_per_element,ns_ci_low,ns_ci_high,max_error_u,verdict,"
                          "reason\n";
    char text[2048];
    snprintf(text, sizeof text, "%s%s%s", columns, TIMED("lookup", "2", "1.5", "pass"),
             TIMED("scalar", "1", "1.5", "pass"));
    write_file("rows.csv", text, false);
    ends(0, "", PICK "--max-error 8 rows.csv", "lookup\n");
    ends(0, "", PICK "--max-error 100000 rows.csv", "scalar\n");
    ends(0, "", PICK "--max-error 8 rows.csv", "no time in the rows");
    snprintf(text, sizeof text, "%s%s%s", columns, TIMED("lookup", "2", "9", "pass"),
             TIMED("scalar", "1", "1.5", "fail"));
    write_file("failed.csv", text, false);
    ends(1, "", PICK "--max-error 8 failed.csv", "no: measured 9 u, above the budget");
    ends(0, "", PICK "--max-error 100000 failed.csv", "no: its rows fail: wrong at 3");
    ends(1, "", PICK "--max-error 8 failed.csv", "no kernel keeps 8 u up to position 128");
    ends(0, "", "pick " SPEC "--dtype f16 --max-position 128 --max-error 8 --csv",
         "\"does not take f16\"");
    ends(0, "",
         "pick --spec head_dim=8,base=10000,pairing=interleaved --dtype f32 --max-position 4 "
         "--max-error 8 --csv",
         "\"does not take the pairing interleaved\"");
}

/* A record as bench writes it, of a run that is named by its hash. */
static void record(char run[17], const char *floors, const char *time)
{
    char text[256], hex[65], name[32];
    snprintf(text, sizeof text, "{\"time_utc\":\"%s\",\"notes\":{\"floors\":\"%s\"}}\n", time,
             floors);
    front_sha256(text, strlen(text), hex);
    snprintf(run, 17, "%.16s", hex);
    snprintf(name, sizeof name, "%s.json", run);
    write_file(name, text, false);
}

/* Two kernels of one run each, or both of one. */
static void timed_rows(const char *name, const char *lookup_run, const char *lookup_ns,
                       const char *scalar_run, const char *scalar_ns)
{
    char text[2048];
    snprintf(
        text, sizeof text,
        "run,kernel,pairing,dtype,spec,head_dim,tokens,heads,mode,in_place,last_position,"
        "ns_per_element,ns_ci_low,ns_ci_high,max_error_u,verdict,reason\n"
        "%s,lookup,half,f32,\"head_dim=8,base=10000,pairing=half\",8,512,32,apply,no,127,%s,%s,"
        "%s,1.5,pass,\n"
        "%s,scalar,half,f32,\"head_dim=8,base=10000,pairing=half\",8,512,32,apply,no,127,%s,%s,"
        "%s,1.5,pass,\n",
        lookup_run, lookup_ns, lookup_ns, lookup_ns, scalar_run, scalar_ns, scalar_ns, scalar_ns);
    write_file(name, text, false);
}

/* Times of a run that drifted, or of several runs, are no ranking, and pick says so. */
static void pick_doubts_what_cannot_be_ranked(void **state)
{
    (void)state;
    char steady[17], later[17], drifted[17], text[256];
#define LARGE PICK "--max-error 100000 "
#define UNCERTAIN "the ranking between them is uncertain"
    record(steady, "steady: 1.01", "2026-01-02T00:00:00Z");
    record(later, "steady: 1.01", "2026-01-03T00:00:00Z");
    record(drifted, "drifted: a floor took 1.5 times as long", "2026-01-04T00:00:00Z");
    timed_rows("steady.csv", steady, "2", steady, "1");
    timed_rows("later.csv", later, "4", later, "3");
    timed_rows("drifted.csv", drifted, "0.2", drifted, "0.1");
    timed_rows("both.csv", steady, "2", later, "1");
    timed_rows("nameless.csv", "", "4", "", "3");
    ends(0, "", LARGE "steady.csv", "scalar\n");
    lacks(LARGE "steady.csv", "note:");
    snprintf(text, sizeof text, "\nnote: run %s, floors drifted: a floor took 1.5 times as long\n",
             drifted);
    ends(0, "", LARGE "drifted.csv", text);
    ends(0, "", LARGE "drifted.csv", "scalar and lookup drifted: " UNCERTAIN);
    ends(0, "", LARGE "--csv drifted.csv", "\"not known\",\"drifted: a floor took");
    snprintf(text, sizeof text, "\nnote: the times are of 2 runs (%s, %s): the machine", later,
             steady);
    ends(0, "", LARGE "both.csv", text);
    ends(0, "", LARGE "both.csv", "place and run: " UNCERTAIN);
    ends(0, "", LARGE "--csv both.csv", "\"not known\",\"steady");
    ends(0, "", LARGE "--csv steady.csv", "\"yes\",\"steady");
    /* The same kernels twice: steady before drifted, then the newest, in whatever order. */
    ends(0, "", LARGE "drifted.csv steady.csv", "1 ns per element");
    ends(0, "", LARGE "steady.csv drifted.csv", "1 ns per element");
    lacks(LARGE "drifted.csv steady.csv", "note:");
    ends(0, "", LARGE "steady.csv later.csv", "3 ns per element");
    ends(0, "", LARGE "later.csv steady.csv drifted.csv", "3 ns per element");
    ends(0, "", LARGE "later.csv steady.csv", ", preferred to another run's\n");
    lacks(LARGE "later.csv later.csv", "preferred");
    /* A run without a record counts as the oldest; of two such the first file's stands. */
    ends(0, "", LARGE "nameless.csv steady.csv", "1 ns per element");
    ends(0, "", LARGE "nameless.csv rows.csv", "3 ns per element");
    ends(0, "", LARGE "rows.csv nameless.csv", "1 ns per element");
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
    /* build/bench/verbs_test -> build, from anywhere */
    char *real = realpath(argv[0], NULL);
    if (real == NULL)
        return 1;
    snprintf(build, sizeof build, "%s", dirname(dirname(real)));
    free(real);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bench_refuses_what_it_cannot_time),
        cmocka_unit_test(bench_writes_all_or_nothing),
        cmocka_unit_test(bench_prints_a_table),
        cmocka_unit_test(once_does_its_work_in_silence),
        cmocka_unit_test(cold_starts_are_read_from_hyperfine),
        cmocka_unit_test(hyperfine_that_fails_or_is_missing),
        cmocka_unit_test(compare_names_what_is_wrong),
        cmocka_unit_test(compare_tells_slower_from_noise),
        cmocka_unit_test(pick_names_what_is_wrong),
        cmocka_unit_test(pick_goes_by_the_rows),
        cmocka_unit_test(pick_doubts_what_cannot_be_ranked),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
