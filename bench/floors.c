#include "bench/floors.h"

#include <string.h>

#include "impl/rope.h"

/* The loops are written in vectors, since whether -O2 vectorises a plain loop depends on the
 * compiler, and a floor must not. 8 vectors a turn: the stores are the limit, not the loop. */
#define DEFINE_SCALE(name, element, width, attribute)                                              \
    typedef element name##_vector __attribute__((vector_size(width), aligned(sizeof(element))));   \
    attribute static void name(element *data, size_t count, element factor)                        \
    {                                                                                              \
        enum { LANES = (width) / sizeof(element), TURN = 8 * LANES };                              \
        size_t i = 0;                                                                              \
        for (; i + TURN <= count; i += TURN)                                                       \
            for (size_t j = 0; j < TURN; j += LANES)                                               \
                *(name##_vector *)(data + i + j) *= factor;                                        \
        for (; i < count; i++)                                                                     \
            data[i] *= factor;                                                                     \
    }

DEFINE_SCALE(scale_f32, float, 16, )
DEFINE_SCALE(scale_f64, double, 16, )
#if defined(__x86_64__)
DEFINE_SCALE(scale_f32_avx2, float, 32, __attribute__((target("avx2"))))
DEFINE_SCALE(scale_f64_avx2, double, 32, __attribute__((target("avx2"))))
#endif

void bench_scale_in_place(uint32_t dtype, void *data, size_t bytes)
{
    /* Read at run time, so that no compiler turns the multiplication into a change of sign. */
    static const volatile float factor = -1;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        if (dtype == ROPE_F64)
            scale_f64_avx2(data, bytes / sizeof(double), (double)factor);
        else
            scale_f32_avx2(data, bytes / sizeof(float), factor);
        return;
    }
#endif
    if (dtype == ROPE_F64)
        scale_f64(data, bytes / sizeof(double), (double)factor);
    else
        scale_f32(data, bytes / sizeof(float), factor);
}

void bench_copy(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
}
