/* Every reader refuses a fifo instead of waiting for its writer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "impl/file.h"
#include "impl/plugin.h"
#include "impl/spec/gguf.h"
#include "impl/spec/npy.h"
#include "impl/spec/sources.h"

static char folder[] = "/tmp/file_test.XXXXXX";
static char fifo[64];

static void only_regular_files_open(void **state)
{
    (void)state;
    FILE *file;
    rope_error error = {""};
    assert_true(rope_open_regular("/proc/self/exe", &file, &error));
    assert_int_equal(getc(file), 0x7f);
    fclose(file);
    const char *const others[] = {fifo, folder, "/dev/null", "/no/such"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        error.text[0] = '\0';
        assert_false(rope_open_regular(others[i], &file, &error));
        assert_null(file);
        assert_non_null(strstr(error.text, others[i]));
    }
    assert_false(rope_check_regular(fifo, &error));
    assert_true(rope_check_regular("/proc/self/exe", &error));
}

static void every_reader_refuses_a_fifo(void **state)
{
    (void)state;
    rope_error error = {""};
    rope_plugin plugin;
    npy_array array;
    rope_spec spec;
    rope_spec_init(&spec);
    assert_false(npy_open(fifo, &array, &error));
    assert_non_null(strstr(error.text, "fifo"));
    assert_false(rope_gguf_read(fifo, NULL, 0, &spec, &error));
    assert_non_null(strstr(error.text, "fifo"));
    assert_false(rope_spec_from_path(fifo, 0, &spec, &error));
    assert_non_null(strstr(error.text, "fifo"));
    error.text[0] = '\0';
    assert_false(rope_plugin_load(fifo, &plugin, &error));
    assert_non_null(strstr(error.text, "fifo"));
    rope_spec_free(&spec);
}

static int make_fifo(void **state)
{
    (void)state;
    alarm(60); /* a reader that waits is ended */
    if (mkdtemp(folder) == NULL)
        return 1;
    snprintf(fifo, sizeof fifo, "%s/fifo", folder);
    return mkfifo(fifo, 0600);
}

static int remove_fifo(void **state)
{
    (void)state;
    return unlink(fifo) != 0 || rmdir(folder) != 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(only_regular_files_open),
                                       cmocka_unit_test(every_reader_refuses_a_fifo)};
    return cmocka_run_group_tests_name("file", tests, make_fifo, remove_fifo);
}
