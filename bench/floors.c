#include "bench/floors.h"

#include <string.h>

#include "impl/rope.h"

/* The loops are written in vectors, one a turn: whether -O2 vectorises a plain loop, and how often
 * it unrolls one, depends on the compiler (on Zen 5, whose cores store twice a cycle, clang's
 * unrolled loop takes .022 ns an element in L1, gcc's .029), and what all figures are divided by
 * must not. One load, one multiplication and one store a cycle is what a core with one store port
 * can do at best.
 */
#define DEFINE_SCALE(name, element, width, attribute)                                              \
    typedef element name##_vector __attribute__((vector_size(width), aligned(sizeof(element))));   \
    attribute static void name(element *data, size_t count, element factor)                        \
    {                                                                                              \
        enum { LANES = (width) / sizeof(element) };                                                \
        size_t i = 0;                                                                              \
        for (; i + LANES <= count; i += LANES) {                                                   \
            *(name##_vector *)(data + i) *= factor;                                                \
            __asm__("" : "+r"(i)); /* no unrolling */                                              \
        }                                                                                          \
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
