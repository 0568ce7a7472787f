/* The record of a run: complete, valid JSON, and named by its own hash. */
#include "scripts/front/environment.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>
#include <cmocka.h>

static const char *string_at(cJSON *root, const char *outer, const char *inner)
{
    cJSON *object = outer ? cJSON_GetObjectItemCaseSensitive(root, outer) : root;
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, inner));
    if (text == NULL)
        print_error("no text %s.%s\n", outer ? outer : "", inner);
    assert_non_null(text);
    return text;
}

static void hashes_as_the_standard_does(void **state)
{
    (void)state;
    char hex[65];
    front_sha256("abc", 3, hex); /* FIPS 180-4, appendix B.1 */
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

static void holds_all_that_a_run_depends_on(void **state)
{
    (void)state;
    char *argv[] = {"bench", "--kernel", "a b", "it's", "\xff\n", NULL};
    rope_error error;
    front_run run;
    assert_true(front_run_begin(&run, 5, argv, UINT64_MAX, &error));
    front_run_note(&run, "grid", "old");
    front_run_note(&run, "grid", "thinned");
    assert_true(front_run_finish(&run, &error));
    assert_int_equal(strlen(run.id), 16);
    char hex[65];
    front_sha256(run.json, strlen(run.json), hex);
    assert_memory_equal(run.id, hex, 16);
    cJSON *root = cJSON_Parse(run.json);
    assert_non_null(root);
    assert_string_equal(string_at(root, NULL, "seed"), "18446744073709551615");
    assert_string_equal(string_at(root, NULL, "command_line"),
                        "tightrope bench --kernel 'a b' 'it'\\''s' $'\\xff\\x0a'");
    assert_string_equal(string_at(root, "notes", "grid"), "thinned");
    static const char *const keys[][2] = {
        {NULL, "schema_version"},   {NULL, "time_utc"},
        {NULL, "load_before"},      {NULL, "load_after"},
        {NULL, "duration_s"},       {"build", "commit"},
        {"build", "compiler"},      {"build", "kernel_flags"},
        {"libraries", "mpfr"},      {"libraries", "mpfi"},
        {"libraries", "benchmark"}, {"libraries", "csv"},
        {"machine", "cpu_model"},   {"machine", "microcode"},
        {"machine", "governor"},    {"machine", "hardware_counters"},
        {"machine", "cpu_flags"}};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        assert_true(*string_at(root, keys[i][0], keys[i][1]) != '\0');
    cJSON *build = cJSON_GetObjectItemCaseSensitive(root, "build");
    assert_true(cJSON_IsBool(cJSON_GetObjectItemCaseSensitive(build, "dirty")));
    /* A flag that the Makefile gives to all but the kernels. */
    assert_non_null(strstr(string_at(root, "build", "flags"), "-fno-tree-slp-vectorize"));
    assert_null(strstr(string_at(root, "build", "kernel_flags"), "-fno-tree-slp-vectorize"));
    cJSON_Delete(root);
    front_run_free(&run);
}

static void is_written_under_its_name(void **state)
{
    (void)state;
    char folder[] = "/tmp/environment_test.XXXXXX", path[128];
    assert_non_null(mkdtemp(folder));
    char *argv[] = {"verify", NULL};
    rope_error error;
    front_run run;
    assert_true(front_run_begin(&run, 1, argv, 1, &error));
    assert_true(front_run_finish(&run, &error));
    assert_true(front_run_write(&run, folder, &error));
    snprintf(path, sizeof path, "%s/%s.json", folder, run.id);
    assert_int_equal(unlink(path), 0);
    char csv[128];
    snprintf(csv, sizeof csv, "%s/rows.csv", folder);
    assert_true(front_run_write_beside(&run, csv, &error));
    char summary[256], here[256];
    assert_true(front_run_summary(csv, run.id, summary, sizeof summary));
    front_here_summary(here, sizeof here);
    assert_int_equal(strncmp(here, "commit ", 7), 0);
    assert_memory_equal(summary, here, strlen(here)); /* and then the time */
    assert_memory_equal(summary + strlen(here), ", 2", 3);
    assert_true(front_run_fact(csv, run.id, NULL, "time_utc", here, sizeof here));
    assert_string_equal(here, strrchr(summary, ' ') + 1);
    assert_true(front_run_fact(csv, run.id, "build", "commit", here, sizeof here));
    assert_memory_equal(here, summary + strlen("commit "), 12);
    assert_false(front_run_fact(csv, run.id, "notes", "weather", here, sizeof here));
    assert_string_equal(here, "");
    assert_false(front_run_summary(csv, "0123456789abcdef", summary, sizeof summary));
    FILE *record = fopen(path, "a"); /* another run's, then */
    assert_non_null(record);
    assert_true(fputc(' ', record) == ' ' && fclose(record) == 0);
    assert_false(front_run_summary(csv, run.id, summary, sizeof summary));
    assert_false(front_run_fact(csv, run.id, NULL, "time_utc", here, sizeof here));
    assert_int_equal(unlink(path), 0);
    assert_false(front_run_summary(csv, run.id, summary, sizeof summary));
    assert_true(front_run_write_beside(&run, "/dev/null", &error)); /* and nothing in /dev */
    char stray[128];
    snprintf(stray, sizeof stray, "/dev/%s.json", run.id);
    assert_int_not_equal(access(stray, F_OK), 0);
    assert_true(front_run_write_beside(&run, "-", &error));
    assert_int_equal(rmdir(folder), 0);
    assert_false(front_run_write(&run, "/proc/no", &error));
    front_run_free(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hashes_as_the_standard_does),
        cmocka_unit_test(holds_all_that_a_run_depends_on),
        cmocka_unit_test(is_written_under_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
