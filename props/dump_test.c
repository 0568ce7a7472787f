/* Readers of dumps: layouts, orders and dtypes give the same rows; what is malformed is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "props/dump.h"
#include "props/safetensors.h"

static char directory[] = "/tmp/dump_test_XXXXXX";
static char path[64];

enum { B = 2, T = 5, H = 3, D = 4 };

static int begin(void **state)
{
    (void)state;
    if (mkdtemp(directory) == NULL)
        return 1;
    snprintf(path, sizeof path, "%s/a.npy", directory);
    return 0;
}

static int end(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(directory);
}

/* What stands at (batch, token, head, element). */
static double at(int64_t b, int64_t t, int64_t h, int64_t e)
{
    return (double)(1000 * b + 100 * t + 10 * h + e + 1);
}

/* Writes an f32 array whose axes come as in `axes`, in C or Fortran order, header by hand. */
static void write_array(const char *axes, bool fortran)
{
    static const int64_t extents[] = {['b'] = B, ['t'] = T, ['h'] = H, ['d'] = D};
    size_t n = strlen(axes);
    char shape[64] = "", header[160];
    int64_t count = 1;
    for (size_t i = 0; i < n; i++) {
        snprintf(shape + strlen(shape), sizeof shape - strlen(shape), "%lld,",
                 (long long)extents[(int)axes[i]]);
        count *= extents[(int)axes[i]];
    }
    snprintf(header, sizeof header, "{'descr': '<f4', 'fortran_order': %s, 'shape': (%s), }",
             fortran ? "True" : "False", shape);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    unsigned char length[2] = {(unsigned char)strlen(header), 0};
    fwrite("\x93NUMPY\x01\x00", 1, 8, file);
    fwrite(length, 1, 2, file);
    fwrite(header, 1, strlen(header), file);
    for (int64_t i = 0; i < count; i++) {
        int64_t index[128] = {0}, rest = i;
        for (size_t k = 0; k < n; k++) {
            int axis = axes[fortran ? k : n - 1 - k];
            index[axis] = rest % extents[axis];
            rest /= extents[axis];
        }
        float value = (float)at(index['b'], index['t'], index['h'], index['d']);
        fwrite(&value, 4, 1, file);
    }
    fclose(file);
}

static void rows_are_the_same_in_every_layout(void **state)
{
    (void)state;
    static const char *const layouts[] = {"td", "thd", "htd", "bhtd", "bthd"};
    rope_error error = {""};
    for (size_t k = 0; k < 5; k++)
        for (int fortran = 0; fortran < 2; fortran++) {
            prop_layout layout;
            prop_dump dump;
            write_array(layouts[k], fortran == 1);
            assert_true(prop_layout_parse(layouts[k], &layout, &error));
            if (!prop_dump_open(path, path, "0:5", layout, &dump, &error))
                fail_msg("%s", error.text);
            bool batch = strchr(layouts[k], 'b') != NULL, heads = strchr(layouts[k], 'h') != NULL;
            assert_int_equal(dump.tokens, (batch ? B : 1) * T);
            assert_int_equal(dump.heads, heads ? H : 1);
            assert_int_equal(dump.head_dim, D);
            double *x = malloc((size_t)(dump.tokens * dump.heads * D) * sizeof *x);
            for (int64_t first = 0; first < dump.tokens; first++)
                for (int64_t count = 1; first + count <= dump.tokens; count++) {
                    assert_true(prop_dump_read(&dump, first, count, x, NULL, &error));
                    for (int64_t i = 0; i < count * dump.heads * D; i++) {
                        int64_t token = first + i / (dump.heads * D);
                        assert_true(x[i] == at(token / T, token % T, i / D % dump.heads, i % D));
                    }
                }
            for (int64_t t = 0; t < dump.tokens; t++)
                assert_int_equal(prop_dump_position(&dump, t, 0), t % T);
            free(x);
            prop_dump_close(&dump);
        }
}

static void shapes_and_positions_must_fit(void **state)
{
    (void)state;
    rope_error error;
    prop_dump dump;
    write_array("thd", false);
    assert_false(prop_dump_open(path, path, "0:6", PROP_LAYOUT_DEFAULT, &dump, &error));
    assert_non_null(strstr(error.text, "6 positions"));
    assert_false(prop_dump_open(path, path, "0:5", PROP_LAYOUT_BHTD, &dump, &error));
    assert_false(prop_dump_open(path, "/nonexistent.npy", "0:5", PROP_LAYOUT_THD, &dump, &error));
    prop_layout layout;
    assert_true(prop_layout_parse("[Batch, Heads, Tokens, d]", &layout, &error));
    assert_int_equal(layout, PROP_LAYOUT_BHTD);
    assert_false(prop_layout_parse("dht", &layout, &error));
}

/* ---- .safetensors ---- */

static void write_safetensors(const char *header, uint64_t length, size_t data_bytes)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fwrite(&length, 8, 1, file);
    fwrite(header, 1, strlen(header), file);
    for (size_t i = 0; i < data_bytes; i++)
        fputc((int)i, file);
    fclose(file);
}

static void a_tensor_is_found_by_name(void **state)
{
    (void)state;
    static const char header[] =
        "{\"__metadata__\":{\"format\":\"pt\"},"
        "\"q.in\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[0,8]},"
        "\"q.out\":{\"dtype\":\"BF16\",\"shape\":[2,2],\"data_offsets\":[8,16]}}  ";
    rope_error error = {""};
    npy_array a;
    write_safetensors(header, strlen(header), 16);
    assert_true(safetensors_open(path, "q.out", &a, &error));
    assert_true(a.type == NPY_BF16 && a.dimensions == 2 && a.count == 4);
    uint16_t value;
    assert_true(npy_read(&a, 1, 1, &value, &error));
    assert_int_equal(value, 0x0b0a);
    npy_close(&a);
    assert_false(safetensors_open(path, "q", &a, &error));
    assert_non_null(strstr(error.text, "q.in, q.out"));
    assert_false(safetensors_open(path, NULL, &a, &error));
}

static void malformed_safetensors_are_refused(void **state)
{
    (void)state;
    static const char *const headers[] = {
        "",
        "{",
        "[]",
        "{} x",
        "{}",
        "{\"x\":1}",
        "{\"x\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}",
        "{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}}",
        "{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}",
        "{\"x\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}",
        "{\"x\":{\"dtype\":\"F32\",\"shape\":[1.5],\"data_offsets\":[0,6]}}",
        "{\"x\":{\"dtype\":\"I7\",\"shape\":[1],\"data_offsets\":[0,4]}}",
        "{\"x\":{\"dtype\":\"F32\",\"shape\":1,\"data_offsets\":[0,4]}}",
        "{\"x\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}",
        "{\"x\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,1600]}}",
        "{\"x\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,4]}}",
        ("{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
         "\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}"),
    };
    npy_array a;
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        rope_error error = {""};
        write_safetensors(headers[i], strlen(headers[i]), 16);
        assert_false(safetensors_open(path, "x", &a, &error));
        assert_true(error.text[0] != '\0' && strchr(error.text, '\n') == NULL);
    }
    rope_error error;
    write_safetensors("{}", UINT64_MAX, 0);
    assert_false(safetensors_open(path, "x", &a, &error));
    write_safetensors("{}", 100, 0);
    assert_false(safetensors_open(path, "x", &a, &error));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_the_same_in_every_layout),
        cmocka_unit_test(shapes_and_positions_must_fit),
        cmocka_unit_test(a_tensor_is_found_by_name),
        cmocka_unit_test(malformed_safetensors_are_refused),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
