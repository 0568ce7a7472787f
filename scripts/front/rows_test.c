/* Rows: what is written is read back, files appear whole or not at all. */
#include "scripts/front/rows.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64];

static const char *in_folder(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/rows_test.XXXXXX");
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static void put(const char *path, const char *bytes, size_t size)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static void reads_back_what_it_wrote(void **state)
{
    (void)state;
    static const char *const texts[] = {"",     "plain",     "a,b", "say \"no\"", "two\nlines",
                                        "\r\n", " padded  ", "'",   "\"",         "\xc3\xa9"};
    static const double numbers[] = {0.1, -0.0, 1e300, 0x1p-1074, 1.0 / 3, INFINITY, NAN, 1e22};
    rope_error error;
    const char *path = in_folder("rows.csv");
    rows_writer *w = rows_create(path, "text,number,integer,hex,none", &error);
    assert_non_null(w);
    size_t count = sizeof texts / sizeof texts[0];
    for (size_t i = 0; i < count; i++) {
        rows_text(w, texts[i]);
        rows_number(w, numbers[i % 8]);
        rows_integer(w, INT64_MIN + (int64_t)i);
        rows_hex(w, numbers[i % 8]);
        rows_empty(w);
        rows_end(w);
    }
    assert_int_not_equal(access(path, F_OK), 0); /* not before it is whole */
    assert_true(rows_commit(w, &error));
    rows_table table;
    assert_true(rows_read(path, &table, &error));
    assert_int_equal(table.rows, count);
    assert_int_equal(table.columns, 5);
    assert_int_equal(rows_column(&table, "hex"), 3);
    assert_int_equal(rows_column(&table, "nothing"), -1);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(rows_field(&table, i, 0), texts[i]);
        double number = rows_field_number(&table, i, 1), hex = rows_field_number(&table, i, 3);
        assert_true(isnan(numbers[i % 8]) ? isnan(number) : number == numbers[i % 8]);
        assert_true(isnan(numbers[i % 8]) ? isnan(hex) : hex == numbers[i % 8]);
        assert_string_equal(rows_field(&table, i, 4), "");
    }
    assert_string_equal(rows_field(&table, 0, 2), "-9223372036854775808");
    rows_free(&table);
}

static void leaves_nothing_of_an_unfinished_file(void **state)
{
    (void)state;
    rope_error error;
    const char *path = in_folder("half.csv");
    rows_writer *w = rows_create(path, "a,b", &error);
    assert_non_null(w);
    rows_integer(w, 1);
    rows_end(w); /* one field of two */
    assert_false(rows_commit(w, &error));
    assert_non_null(strstr(error.text, "number of fields"));
    w = rows_create(path, "a", &error);
    rows_abandon(w);
    w = rows_create(path, "a", &error);
    assert_non_null(w);
    rows_remove_temporaries();
    assert_false(rows_commit(w, &error)); /* its file is gone */
    char command[128];
    snprintf(command, sizeof command, "test -z \"$(ls %s | grep half)\"", folder);
    assert_int_equal(system(command), 0);
}

static void refuses_paths_it_cannot_write(void **state)
{
    (void)state;
    rope_error error;
    assert_null(rows_create("/proc/no/such.csv", "a", &error));
    assert_non_null(strstr(error.text, "/proc/no/such.csv"));
    char *longest = malloc(8192);
    memset(longest, 'a', 8191);
    longest[8191] = '\0';
    assert_null(rows_create(longest, "a", &error));
    free(longest);
    char directory[256];
    snprintf(directory, sizeof directory, "%s", in_folder("folder"));
    assert_int_equal(mkdir(directory, 0700), 0);
    rows_writer *w = rows_create(directory, "a", &error);
    assert_true(w == NULL || !rows_commit(w, &error));
}

static void tells_a_full_disk_and_spares_the_device(void **state)
{
    (void)state;
    rope_error error;
    rows_writer *w = rows_create("/dev/full", "a", &error);
    assert_non_null(w);
    assert_false(rows_failed(w));
    for (int i = 0; i < 1 << 16; i++) { /* more than stdio holds back */
        rows_integer(w, i);
        rows_end(w);
    }
    assert_true(rows_failed(w));
    assert_false(rows_commit(w, &error));
    assert_non_null(strstr(error.text, "/dev/full"));
    struct stat status;
    assert_int_equal(stat("/dev/full", &status), 0);
    assert_true(S_ISCHR(status.st_mode)); /* a rename would have made it a file */
}

static void refuses_what_is_no_table(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *word;
    } bad[] = {{"", ": line 1 is empty"},
               {"a,b\n1\n", ": line 2 has another number of fields"},
               {"a,b\n\n1,2\n1,2,3\n", ": line 4 has another number of fields"},
               {"a,b\r\n1,2\r\n1", ": line 3 has another number of fields"},
               {"a\n\"open", ": line 2 is no CSV (an open quote"},
               {"a\n1\n\"x\"y\n", ": line 3 is no CSV (a stray quote"}};
    rope_error error;
    rows_table table;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const char *path = in_folder("bad.csv");
        put(path, bad[i].bytes, strlen(bad[i].bytes));
        assert_false(rows_read(path, &table, &error));
        assert_non_null(strstr(error.text, bad[i].word));
        assert_non_null(strstr(error.text, path));
    }
    put(in_folder("bad.csv"), "a\n\0\n", 4);
    assert_false(rows_read(in_folder("bad.csv"), &table, &error));
    assert_non_null(strstr(error.text, "NUL"));
    alarm(60); /* a reader of what never ends is ended */
    assert_false(rows_read("/dev/zero", &table, &error));
    alarm(0);
    assert_false(rows_read(in_folder("none.csv"), &table, &error));
    assert_false(rows_read(folder, &table, &error)); /* a folder */
    const char *fifo = in_folder("fifo.csv");
    alarm(60); /* a reader that waits for the fifo's writer is ended */
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_false(rows_read(fifo, &table, &error));
    assert_non_null(strstr(error.text, "fifo"));
    alarm(0);
    unlink(fifo);
}

/* As an editor counts them: empty lines, and those within a quoted field, too. */
static void lines_are_the_files(void **state)
{
    (void)state;
    const char *path = in_folder("lines.csv");
    const char text[] = "a,b\r\n1,2\n\n\n3,4\n\"x\ny\nz\",5\n6,7";
    static const size_t lines[] = {2, 5, 8, 9};
    rope_error error;
    rows_table table;
    put(path, text, sizeof text - 1);
    assert_true(rows_read(path, &table, &error));
    assert_int_equal(table.rows, 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(rows_line(&table, i), lines[i]);
    rows_free(&table);
    static const char marked[] = "\xef\xbb\xbf"
                                 "run,b\n1,2\n"; /* by a spreadsheet */
    put(path, marked, sizeof marked - 1);
    assert_true(rows_read(path, &table, &error));
    assert_int_equal(rows_column(&table, "run"), 0);
    rows_free(&table);
    put(path, marked, 3);
    assert_false(rows_read(path, &table, &error));
    assert_non_null(strstr(error.text, "line 1 is empty"));
    /* Rows that lie across the reader's buffer, and more than its first list of lines. */
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < 30000; i++)
        fprintf(file, "%d\n", i);
    assert_int_equal(fclose(file), 0);
    assert_true(rows_read(path, &table, &error));
    assert_int_equal(table.rows, 29999);
    for (size_t i = 0; i < table.rows; i++) {
        assert_int_equal(rows_line(&table, i), i + 2);
        assert_true(rows_field_number(&table, i, 0) == (double)(i + 1));
    }
    rows_free(&table);
}

static void fills_folders_whole(void **state)
{
    (void)state;
    rope_error error;
    char path[256], temporary[512], file[1024];
    snprintf(path, sizeof path, "%s", in_folder("report"));
    for (int round = 0; round < 2; round++) { /* new, then over the old one */
        assert_true(rows_folder_create(path, temporary, sizeof temporary, &error));
        snprintf(file, sizeof file, "%s/index", temporary);
        put(file, round ? "new" : "old", 3);
        snprintf(file, sizeof file, "%s/other", temporary);
        put(file, "x", 1);
        assert_true(rows_folder_commit(temporary, path, "index", &error));
        assert_int_not_equal(access(temporary, F_OK), 0);
        snprintf(file, sizeof file, "%s/mine", path);
        put(file, "kept", 4);
    }
    snprintf(file, sizeof file, "grep -q new %s/index && grep -q kept %s/mine", path, path);
    assert_int_equal(system(file), 0);
    assert_true(rows_folder_create(path, temporary, sizeof temporary, &error));
    snprintf(file, sizeof file, "%s/half", temporary);
    put(file, "x", 1);
    rows_remove_temporaries(); /* as the signal handler does */
    assert_int_not_equal(access(temporary, F_OK), 0);
    rows_folder_abandon(temporary);
    snprintf(file, sizeof file, "%s/mine", path);
    assert_false(rows_folder_create(file, temporary, sizeof temporary, &error)); /* a file */
    assert_false(rows_folder_create("/proc/no/such", temporary, sizeof temporary, &error));
    assert_non_null(strstr(error.text, "cannot make the folder /proc/no for /proc/no/such: "));
    snprintf(file, sizeof file, "%s/file", path);
    put(file, "x", 1);
    snprintf(file, sizeof file, "%s/file/in/it", path);
    assert_false(rows_folder_create(file, temporary, sizeof temporary, &error));
    assert_non_null(strstr(error.text, "Not a directory"));
    snprintf(file, sizeof file, "%s/new/deep/folder/", path); /* parents are made */
    assert_true(rows_folder_create(file, temporary, sizeof temporary, &error));
    assert_true(rows_folder_commit(temporary, file, "index", &error));
    snprintf(file, sizeof file, "test -d %s/new/deep/folder", path);
    assert_int_equal(system(file), 0);
}

static void survives_any_bytes(void **state)
{
    (void)state;
    rope_error error;
    rows_table table;
    uint64_t seed = 1;
    static const char alphabet[] = "a1,,\"\"\n\n\r\xff.";
    for (int trial = 0; trial < 2000; trial++) {
        char bytes[64];
        size_t length = 0;
        for (; length < sizeof bytes; length++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            if (seed >> 58 == 0)
                break;
            bytes[length] = alphabet[(seed >> 33) % sizeof alphabet];
        }
        const char *path = in_folder("any.csv");
        put(path, bytes, length);
        if (!rows_read(path, &table, &error))
            continue;
        for (size_t r = 0; r < table.rows; r++)
            for (size_t c = 0; c < table.columns; c++)
                assert_non_null(rows_field(&table, r, (int)c));
        rows_free(&table);
    }
}

static void refuses_a_folder_at_once(void **state)
{
    (void)state;
    rope_error error;
    char temporary[4200];
    assert_null(rows_create(folder, "a,b", &error));
    assert_non_null(strstr(error.text, "names a folder"));
    assert_null(rows_file_create(folder, temporary, sizeof temporary, &error));
    assert_null(rows_create(in_folder("none/"), "a,b", &error));
    assert_non_null(strstr(error.text, "names a folder"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_a_folder_at_once),
        cmocka_unit_test(reads_back_what_it_wrote),
        cmocka_unit_test(leaves_nothing_of_an_unfinished_file),
        cmocka_unit_test(refuses_paths_it_cannot_write),
        cmocka_unit_test(tells_a_full_disk_and_spares_the_device),
        cmocka_unit_test(refuses_what_is_no_table),
        cmocka_unit_test(lines_are_the_files),
        cmocka_unit_test(fills_folders_whole),
        cmocka_unit_test(survives_any_bytes),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
