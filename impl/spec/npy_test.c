#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "impl/spec/npy.h"

static char path[64];

static int make_path(void **state)
{
    (void)state;
    strcpy(path, "/tmp/npy_XXXXXX");
    int descriptor = mkstemp(path);
    return descriptor < 0 || close(descriptor) != 0;
}

static int remove_path(void **state)
{
    (void)state;
    return unlink(path);
}

static void write_bytes(const void *bytes, size_t count)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    fclose(file);
}

static void write_version_1(const char *dictionary, size_t data_bytes)
{
    char bytes[512] = "\x93NUMPY\x01";
    size_t length = strlen(dictionary);
    bytes[8] = (char)(length & 0xff);
    bytes[9] = (char)(length >> 8);
    memcpy(bytes + 10, dictionary, length);
    write_bytes(bytes, 10 + length + data_bytes);
}

static void arrays_round_trip(void **state)
{
    (void)state;
    rope_error error = {""};
    const float data[] = {1, 2, 3, 4, 5, 6};
    assert_true(npy_write(path, NPY_F32, 2, (int64_t[]){2, 3}, data, &error));
    npy_array a;
    assert_true(npy_open(path, &a, &error));
    assert_true(a.type == NPY_F32 && a.element_bytes == 4 && !a.fortran_order);
    assert_true(a.dimensions == 2 && a.shape[0] == 2 && a.shape[1] == 3 && a.count == 6);
    assert_int_equal(a.data_offset % 64, 0);
    float back[2];
    assert_true(npy_read(&a, 3, 2, back, &error));
    assert_true(back[0] == 4 && back[1] == 5);
    assert_false(npy_read(&a, 5, 2, back, &error));
    assert_false(npy_read(&a, -1, 1, back, &error));
    assert_false(npy_read(&a, INT64_MAX, INT64_MAX, back, &error));
    double *values;
    assert_true(npy_read_f64(&a, &values, &error));
    assert_true(values[5] == 6);
    free(values);
    npy_close(&a);
}

static void every_truncation_is_refused(void **state)
{
    (void)state;
    rope_error error = {""};
    const double data[] = {1, 2, 3};
    unsigned char bytes[512];
    assert_true(npy_write(path, NPY_F64, 1, (int64_t[]){3}, data, &error));
    FILE *file = fopen(path, "rb");
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    npy_array a;
    for (size_t cut = 0; cut < size; cut++) {
        write_bytes(bytes, cut);
        assert_false(npy_open(path, &a, &error));
        assert_non_null(strstr(error.text, path));
    }
    write_bytes(bytes, size + 1);
    assert_false(npy_open(path, &a, &error));
    write_bytes(bytes, size);
    assert_true(npy_open(path, &a, &error));
    npy_close(&a);
}

static void headers_are_checked(void **state)
{
    (void)state;
    static const struct {
        const char *dictionary;
        size_t bytes;
        bool good;
    } cases[] = {
        {"{'shape': (2,), \"descr\": '<f4', 'fortran_order': True}\n", 8, true},
        {"{'descr': '|V2', 'fortran_order': False, 'shape': (), }", 2, true},
        {"{'descr': 'bfloat16', 'fortran_order': False, 'shape': (0, 7), }", 0, true},
        {"{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }", 8, false},
        {"{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }", 8, false},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", 8, false},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", 4, false},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2), ", 8, false},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }", 8, false},
        {"{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2,), }", 8, false},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), } x", 8, false},
        {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 8, false},
        {"{'descr': '<f4', 'shape': (2,), }", 8, false},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'more': 1}", 8, false},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1), }", 4, false},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904,4), }", 8, false},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904,), }", 8, false},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", 8, false},
        {"", 8, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        npy_array a;
        rope_error error = {""};
        write_version_1(cases[i].dictionary, cases[i].bytes);
        if (npy_open(path, &a, &error) != cases[i].good)
            fail_msg("%s: %s", cases[i].dictionary, error.text);
        if (cases[i].good)
            npy_close(&a);
    }
}

static void other_files_are_refused(void **state)
{
    (void)state;
    npy_array a;
    rope_error error = {""};
    write_bytes("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12);
    assert_false(npy_open(path, &a, &error));
    write_bytes("\x93NUMPY\x09\x00\x02\x00{}", 12);
    assert_false(npy_open(path, &a, &error));
    assert_false(npy_open("/tmp", &a, &error));
    assert_false(npy_open("/dev/null", &a, &error));
    assert_false(npy_open("/no/such.npy", &a, &error));
    const double x = 1;
    assert_false(npy_write("/proc/no/such.npy", NPY_F64, 0, NULL, &x, &error));
    assert_non_null(strstr(error.text, "/proc/no/such.npy"));
    assert_false(npy_write("/dev/full", NPY_F64, 0, NULL, &x, &error));
    assert_true(npy_write("/dev/null", NPY_F64, 0, NULL, &x, &error));
}

/* Whoever writes to a fifo that nobody reads waits, and can be ended. */
static void a_waiting_writer_can_be_ended(void **state)
{
    (void)state;
    const double x = 1;
    rope_error error;
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    pid_t writer = fork();
    if (writer == 0) {
        signal(SIGTERM, SIG_DFL);
        alarm(60);
        npy_write(path, NPY_F64, 0, NULL, &x, &error);
        _exit(1);
    }
    int status = 0;
    usleep(200000); /* it waits by now */
    while (waitpid(writer, &status, WNOHANG) == 0) {
        kill(writer, SIGTERM);
        usleep(1000);
    }
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_round_trip),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(headers_are_checked),
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(a_waiting_writer_can_be_ended),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
