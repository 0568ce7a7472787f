/* Buffers and floors: distances, data, and what the floors compute. */
#include "bench/buffers.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bench/floors.h"
#include "impl/rope.h"

static void buffers_do_not_alias(void **state)
{
    (void)state;
    const size_t period = (size_t)1 << 27, gap = (size_t)8 << 20;
    for (size_t bytes = 256; bytes <= (size_t)1 << 31; bytes += bytes / 7 + 64) {
        size_t distance = bench_stagger(bytes), offset = distance % period;
        assert_true(distance >= bytes);
        assert_int_equal(distance % 4096, 2048);
        if (distance >= gap)
            assert_true(offset >= gap && offset <= period - gap);
    }
    for (int shift = 20; shift <= 31; shift++) { /* where a plain allocation would alias */
        size_t offset = bench_stagger((size_t)1 << shift) % period;
        assert_true(shift < 23 || (offset >= gap && offset <= period - gap));
    }
    rope_error error;
    bench_buffers buffers;
    assert_true(bench_buffers_new(1000, &buffers, &error));
    memset(buffers.x, 2, 1000);
    memset(buffers.y, 3, 1000);
    assert_int_equal(((unsigned char *)buffers.x)[999], 2);
    bench_buffers_free(&buffers);
    assert_false(bench_buffers_new((size_t)1 << 60, &buffers, &error));
}

static void data_are_signed_and_normal(void **state)
{
    (void)state;
    enum { COUNT = 4096 };
    static float data[COUNT];
    bench_fill(ROPE_F32, data, COUNT, 1);
    int negative = 0, small = 0, large = 0;
    for (int i = 0; i < COUNT; i++) {
        assert_true(fabsf(data[i]) >= 0x1p-8f && fabsf(data[i]) < 0x1p8f);
        negative += data[i] < 0;
        small += fabsf(data[i]) < 0x1p-7f;
        large += fabsf(data[i]) >= 0x1p7f;
    }
    assert_true(negative > COUNT / 3 && negative < 2 * COUNT / 3);
    assert_true(small > 0 && large > 0);
    static double wide[COUNT];
    bench_fill(ROPE_F64, wide, COUNT, 1);
    for (int i = 0; i < COUNT; i++)
        assert_true(fabs(wide[i]) >= 0x1p-8 && fabs(wide[i]) < 0x1p8);
    /* Read as f32, as the scale loop does, 16-bit data are normal too. */
    static uint16_t halves[2 * COUNT];
    for (uint32_t dtype = ROPE_F16; dtype <= ROPE_BF16; dtype++) {
        bench_fill(dtype, halves, 2 * COUNT, 5);
        memcpy(data, halves, sizeof data);
        for (int i = 0; i < COUNT; i++)
            assert_true(isnormal(data[i]));
    }
}

static void scale_negates_every_element(void **state)
{
    (void)state;
    float data[300], was[300];
    for (size_t count = 0; count <= 300; count++) {
        bench_fill(ROPE_F32, data, 300, count);
        memcpy(was, data, sizeof data);
        bench_scale_in_place(ROPE_F32, data, count * sizeof *data);
        for (size_t i = 0; i < 300; i++)
            assert_true(data[i] == (i < count ? -was[i] : was[i]));
    }
    double wide[67], before[67];
    bench_fill(ROPE_F64, wide, 67, 3);
    memcpy(before, wide, sizeof wide);
    bench_scale_in_place(ROPE_F64, wide, sizeof wide);
    for (size_t i = 0; i < 67; i++)
        assert_true(wide[i] == -before[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buffers_do_not_alias),
        cmocka_unit_test(data_are_signed_and_normal),
        cmocka_unit_test(scale_negates_every_element),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
