/* Kernels that use AVX end by VZEROUPPER: SSE code after them, libm's for one, is else many times
 * slower on some CPUs (Intel, Optimization Reference Manual, "Mixing AVX Code with SSE Code").
 * Compilers see to that in builds that optimise, but for a slip (gcc 12 left it out in `step`
 * once). No ABI asks for it, so verify does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "impl/kernels/testing.h"

#if defined(__x86_64__)
#include <cpuid.h>

/* State in use: the upper halves of YMM, and of ZMM, registers 0 to 15, by XGETBV with 1 in ECX
 * (Intel SDM volume 1, 13.6). */
static unsigned in_use(void)
{
    enum { UPPER_YMM = 1 << 2, UPPER_ZMM = 1 << 6 };
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
    return low & (UPPER_YMM | UPPER_ZMM);
}

static void clean(void)
{
    __asm__ volatile("vzeroupper");
}

/* The manual lets a CPU call unused state used: believed where it tells one from the other here. */
static bool told(void)
{
    enum { OSXSAVE = 1 << 27, XGETBV_1 = 1 << 2 };
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & OSXSAVE) || !__builtin_cpu_supports("avx") ||
        !__get_cpuid_count(0xd, 1, &a, &b, &c, &d) || !(a & XGETBV_1))
        return false;
    clean();
    bool before = in_use() == 0;
    __asm__ volatile("vcmptrueps %%ymm0, %%ymm0, %%ymm0" : : : "xmm0");
    bool after = in_use() != 0;
    clean();
    return before && after && in_use() == 0;
}

static bool optimised(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(COVERAGE)
    return false;
#else
    return true;
#endif
}

static void one(const rope_kernel *kernel, uint32_t pairing, uint32_t dtype, shape s,
                int64_t tokens, int64_t heads, bool in_place)
{
    problem p;
    rope_plan *plan;
    size_t bytes = (size_t)(tokens * heads * s.head_dim) * rope_dtype_bytes(dtype);
    void *x = calloc(1, bytes), *y = in_place ? x : calloc(1, bytes);
    int64_t *positions = calloc((size_t)tokens, sizeof *positions);
    problem_init(&p, s, pairing, dtype, 10000, 1, 0, tokens);
    for (int64_t t = 0; t < tokens; t++)
        positions[t] = t;
    rope_view from = {x, tokens, heads, heads * s.head_dim, s.head_dim}, to = from;
    to.data = y;
    clean();
    rope_status status = kernel->plan(&p.args, &plan);
    unsigned planned = in_use();
    clean();
    status |= kernel->apply(plan, &from, &to, positions, 1);
    unsigned applied = in_use();
    clean();
    kernel->destroy(plan);
    unsigned destroyed = in_use();
    clean();
    assert_int_equal(status, ROPE_OK);
    if (planned | applied | destroyed)
        fail_msg(
            "%s, %s, head_dim %lld, rotary_dim %lld, %lld tokens, %lld heads: upper halves in use "
            "after plan %#x, apply %#x, destroy %#x",
            kernel->name, pairing == ROPE_HALF ? "half" : "interleaved", (long long)s.head_dim,
            (long long)s.rotary_dim, (long long)tokens, (long long)heads, planned, applied,
            destroyed);
    problem_free(&p);
    free(positions);
    free(x);
    if (!in_place)
        free(y);
}

static void no_upper_half_is_left_in_use(void **state)
{
    (void)state;
    if (!told() || !optimised()) {
        print_message("# %s\n", told() ? "compilers leave VZEROUPPER out of such a build"
                                           : "this CPU does not tell what is in use");
        skip();
    }
    static const shape shapes[] = {{128, 128, 0}, {64, 64, 0},    {80, 20, 0},
                                   {30, 30, 0},   {192, 64, 128}, {6, 2, 0}};
    static const int64_t sizes[][2] = {
        {1, 1}, {3, 9}, {700, 9}}; /* the last past a core's caches */
    FOR_EACH_KERNEL(kernel, pairing, dtype)
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        for (size_t k = 0; k < 3; k++)
            for (int in_place = 0; in_place < 2; in_place++)
                if (!in_place || (kernel->header.flags & ROPE_IN_PLACE))
                    one(kernel, pairing, dtype, shapes[i], sizes[k][0], sizes[k][1], in_place != 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_upper_half_is_left_in_use)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
    return 0;
}
#endif
