/* The kernel ABI: tails, strides, copying, in place, ranges, axes, NaN, and not one element read or
 * written beyond the rows (tensors end, and then start, at unreadable pages). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "impl/kernels/testing.h"

enum { PAGE = 4096, TOKENS = 5, HEADS = 3 };

/* bytes between unreadable pages, at the end or at the start of what is readable. */
typedef struct guarded {
    char *map, *data;
    size_t mapped;
} guarded;

static guarded guarded_new(size_t bytes, bool at_end)
{
    size_t inner = (bytes + PAGE - 1) / PAGE * PAGE;
    guarded g = {.mapped = inner + 2 * PAGE};
    g.map = mmap(NULL, g.mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(g.map, MAP_FAILED);
    assert_int_equal(mprotect(g.map + PAGE, inner, PROT_READ | PROT_WRITE), 0);
    g.data = g.map + PAGE + (at_end ? inner - bytes : 0);
    return g;
}

static void guarded_free(guarded *g)
{
    munmap(g->map, g->mapped);
}

static const shape shapes[] = {
    {2, 2, 0},     {4, 4, 0},      {6, 6, 0},     {10, 10, 0},   {14, 14, 0},   {16, 16, 0},
    {20, 20, 0},   {24, 24, 0},    {30, 30, 0},   {32, 32, 0},   {40, 40, 0},   {46, 46, 0},
    {48, 48, 0},   {64, 64, 0},    {72, 72, 0},   {80, 80, 0},   {96, 96, 0},   {112, 112, 0},
    {126, 126, 0}, {128, 128, 0},  {192, 192, 0}, {256, 256, 0}, {512, 512, 0}, {1100, 1100, 0},
    {80, 32, 0},   {96, 24, 0},    {64, 20, 7},   {65, 34, 31},  {128, 126, 1}, {257, 256, 1},
    {128, 2, 63},  {1101, 546, 3},
};

typedef struct strides {
    int64_t token, head;
} strides;

static size_t tensor_elements(strides s, int64_t head_dim)
{
    return (size_t)((TOKENS - 1) * s.token + (HEADS - 1) * s.head + head_dim);
}

/* Judges every element of y: rotated within contract, or copied by bits. */
static void judge(const rope_kernel *kernel, const problem *p, const int64_t *positions,
                  const char *x, strides sx, const char *y, strides sy)
{
    const rope_spec *spec = &p->spec;
    size_t size = rope_dtype_bytes(p->args.dtype);
    for (int64_t t = 0; t < TOKENS; t++) {
        exact_cos_sin rotors[550];
        for (int64_t i = 0; i < p->args.pairs; i++)
            rotors[i] = exact_rotor(&p->args, positions[t * p->args.axis_count + p->axis[i]], i);
        for (int64_t h = 0; h < HEADS; h++) {
            const char *from = x + (size_t)(t * sx.token + h * sx.head) * size;
            const char *to = y + (size_t)(t * sy.token + h * sy.head) * size;
            int64_t end = spec->rotary_offset + spec->rotary_dim;
            assert_memory_equal(from, to, (size_t)spec->rotary_offset * size);
            assert_memory_equal(from + (size_t)end * size, to + (size_t)end * size,
                                (size_t)(spec->head_dim - end) * size);
            for (int64_t i = 0; i < p->args.pairs; i++) {
                int64_t e0 = element(spec, i, 0), e1 = element(spec, i, 1);
                int64_t position = positions[t * p->args.axis_count + p->axis[i]];
                double error = pair_error(&p->args, rotors[i], load(p->args.dtype, from, e0),
                                          load(p->args.dtype, from, e1),
                                          load(p->args.dtype, to, e0), load(p->args.dtype, to, e1));
                /* f16 data reach 2^-5, where subnormal outputs add up to 2^-24 / 2^-16 u */
                double bound = kernel->error_bound(&p->args, position, i) + 0.01;
                if (!(error <= bound))
                    fail_msg("%s %s %s rotary_dim %lld offset %lld: token %lld head %lld pair %lld "
                             "is off by %g u, contract %g",
                             kernel->name, rope_pairing_name(spec->pairing),
                             rope_dtype_name(p->args.dtype), (long long)spec->rotary_dim,
                             (long long)spec->rotary_offset, (long long)t, (long long)h,
                             (long long)i, error, bound);
            }
        }
    }
}

/* Elements of y between the rows keep their poison. */
static void gaps_are_untouched(const char *y, strides s, int64_t head_dim, size_t size)
{
    size_t elements = tensor_elements(s, head_dim);
    char *written = calloc(elements, 1);
    for (int64_t t = 0; t < TOKENS; t++)
        for (int64_t h = 0; h < HEADS; h++)
            memset(written + t * s.token + h * s.head, 1, (size_t)head_dim);
    for (size_t i = 0; i < elements; i++)
        for (size_t b = 0; b < size && !written[i]; b++)
            assert_int_equal((unsigned char)y[i * size + b], 0xa5);
    free(written);
}

static void one_shape(const rope_kernel *kernel, shape s, uint32_t pairing, uint32_t dtype,
                      uint32_t axes, bool at_end)
{
    problem p;
    uint64_t seed = 11;
    problem_init(&p, s, pairing, dtype, 10000, axes, -9, 60);
    /* any order, repeated, negative; another one on every axis */
    const int64_t some[] = {57, -9, 0, 57, 60, 12, -1, 33, 5, 29, 3, 8, 7, 7, 1};
    int64_t positions[TOKENS * ROPE_MAX_AXES];
    for (uint32_t i = 0; i < TOKENS * axes; i++)
        positions[i] = some[i % 15];
    strides sx = {HEADS * (s.head_dim + 1) + 3, s.head_dim + 1}, sy = {s.head_dim, 0};
    sy.head = TOKENS * s.head_dim; /* heads outside, tokens inside */
    size_t size = rope_dtype_bytes(dtype), nx = tensor_elements(sx, s.head_dim),
           ny = tensor_elements(sy, s.head_dim);
    guarded x = guarded_new(nx * size, at_end), y = guarded_new(ny * size, at_end),
            z = guarded_new(nx * size, at_end);
    memset(x.data, 0xa5, nx * size);
    for (int64_t t = 0; t < TOKENS; t++)
        for (int64_t h = 0; h < HEADS; h++)
            for (int64_t e = 0; e < s.head_dim; e++)
                store_random(dtype, x.data, t * sx.token + h * sx.head + e, &seed);
    memset(y.data, 0xa5, ny * size);
    memcpy(z.data, x.data, nx * size);
    rope_view vx = {x.data, TOKENS, HEADS, sx.token, sx.head};
    rope_view vy = {y.data, TOKENS, HEADS, sy.token, sy.head};
    rope_view vz = {z.data, TOKENS, HEADS, sx.token, sx.head};
    rope_plan *plan = NULL;
    assert_int_equal(kernel->plan(&p.args, &plan), ROPE_OK);
    assert_true(kernel->plan_bytes(plan) > 0);

    assert_int_equal(kernel->apply(plan, &vx, &vy, positions, axes), ROPE_OK);
    assert_memory_equal(x.data, z.data, nx * size); /* x is not written */
    static char *judged; /* at_end is run first; alignment must not change a bit */
    if (at_end) {
        judge(kernel, &p, positions, x.data, sx, y.data, sy);
        judged = realloc(judged, ny * size);
        memcpy(judged, y.data, ny * size);
    }
    assert_memory_equal(judged, y.data, ny * size);
    gaps_are_untouched(y.data, sy, s.head_dim, size);
    if (kernel->header.flags & ROPE_IN_PLACE) {
        assert_int_equal(kernel->apply(plan, &vz, &vz, positions, axes), ROPE_OK);
        gaps_are_untouched(z.data, sx, s.head_dim, size);
        for (int64_t t = 0; t < TOKENS; t++) /* the same bits as out of place */
            for (int64_t h = 0; h < HEADS; h++)
                assert_memory_equal(z.data + (size_t)(t * sx.token + h * sx.head) * size,
                                    y.data + (size_t)(t * sy.token + h * sy.head) * size,
                                    (size_t)s.head_dim * size);
    }
    kernel->destroy(plan);
    guarded_free(&x);
    guarded_free(&y);
    guarded_free(&z);
    problem_free(&p);
}

static void rotates_and_copies_every_shape(void **state)
{
    (void)state;
    FOR_EACH_KERNEL(kernel, pairing, dtype)
    for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++)
        for (uint32_t axes = 1; axes <= 3; axes += 2) {
            /* One axis or three, in turn; TIGHTROPE_FULL both. */
            if (getenv("TIGHTROPE_FULL") == NULL && (k + pairing + axes / 2) % 2 == 0)
                continue;
            one_shape(kernel, shapes[k], pairing, dtype, axes, true);
            one_shape(kernel, shapes[k], pairing, dtype, axes, false);
        }
}

/* A position outside the window, on any axis and token, gives RANGE before anything is written. */
static void positions_outside_are_refused(void **state)
{
    (void)state;
    FOR_EACH_KERNEL(kernel, pairing, dtype)
    for (uint32_t axes = 1; axes <= 3; axes += 2) {
        problem p;
        problem_init(&p, (shape){64, 64, 0}, pairing, dtype, 10000, axes, -5, 70);
        rope_plan *plan = NULL;
        assert_int_equal(kernel->plan(&p.args, &plan), ROPE_OK);
        char x[2 * 64 * 8], y[sizeof x], poison[sizeof x];
        memset(x, 0, sizeof x);
        memset(poison, 0xa5, sizeof poison);
        rope_view vx = {x, 2, 1, 64, 64}, vy = {y, 2, 1, 64, 64};
        for (uint32_t at = 0; at < 2 * axes; at++) {
            const int64_t bad[] = {-6, 71, INT64_MIN, INT64_MAX, 1ll << 32};
            for (size_t b = 0; b < sizeof bad / sizeof bad[0]; b++) {
                int64_t positions[6] = {0};
                positions[at] = bad[b];
                memcpy(y, poison, sizeof y);
                assert_int_equal(kernel->apply(plan, &vx, &vy, positions, axes), ROPE_RANGE);
                assert_memory_equal(y, poison, sizeof y);
            }
        }
        vy.tokens = 1;
        assert_int_equal(kernel->apply(plan, &vx, &vy, (int64_t[6]){0}, axes), ROPE_INVALID);
        vx.tokens = vy.tokens = 0;
        assert_int_equal(kernel->apply(plan, &vx, &vy, NULL, axes), ROPE_OK);
        kernel->destroy(plan);
        kernel->destroy(NULL);
        problem_free(&p);
    }
}

static rope_status try_plan(const rope_kernel *kernel, const rope_plan_args *args)
{
    rope_plan *plan = NULL;
    rope_status status = kernel->plan(args, &plan);
    if (status == ROPE_OK)
        kernel->destroy(plan);
    return status;
}

static void wrong_arguments_are_refused(void **state)
{
    (void)state;
    FOR_EACH_KERNEL(kernel, pairing, dtype)
    {
        problem p;
        problem_init(&p, (shape){64, 32, 16}, pairing, dtype, 10000, 1, 0, 9);
        assert_int_equal(try_plan(kernel, &p.args), ROPE_OK);
        rope_plan_args a = p.args;
        a.size--;
        assert_int_equal(try_plan(kernel, &a), ROPE_UNSUPPORTED);
        a = p.args, a.size += 64; /* a newer host */
        assert_int_equal(try_plan(kernel, &a), ROPE_OK);
        a = p.args, a.flags = 1;
        assert_int_equal(try_plan(kernel, &a), ROPE_UNSUPPORTED);
        a = p.args, a.dtype = 4;
        assert_int_equal(try_plan(kernel, &a), ROPE_UNSUPPORTED);
        a = p.args, a.dtype = 200;
        assert_int_equal(try_plan(kernel, &a), ROPE_UNSUPPORTED);
        for (uint32_t d = 0; d < 4; d++)
            if (a = p.args, a.dtype = d, !(kernel->dtypes & 1u << d))
                assert_int_equal(try_plan(kernel, &a), ROPE_UNSUPPORTED);
        a = p.args, a.axis_count = ROPE_MAX_AXES + 1;
        assert_int_equal(try_plan(kernel, &a), ROPE_INVALID);
        a = p.args, a.last[0] = -1;
        assert_int_equal(try_plan(kernel, &a), ROPE_INVALID);
        a = p.args, a.pairs = 15;
        assert_int_equal(try_plan(kernel, &a), ROPE_INVALID);
        a = p.args, a.attention_factor = NAN;
        assert_int_equal(try_plan(kernel, &a), ROPE_INVALID);
        p.axis[3] = 1;
        assert_int_equal(try_plan(kernel, &p.args), ROPE_INVALID);
        p.axis[3] = 0;
        p.spec.rotary_offset = 33;
        assert_int_equal(try_plan(kernel, &p.args), ROPE_INVALID);
        p.spec.rotary_offset = 16;
        p.spec.pairing = 7;
        assert_int_equal(try_plan(kernel, &p.args), ROPE_UNSUPPORTED);
        p.spec.pairing = pairing;
        /* A window over all of int64: a table refuses it, a generator takes it. */
        a = p.args, a.first[0] = INT64_MIN, a.last[0] = INT64_MAX;
        rope_status status = try_plan(kernel, &a);
        assert_true(status == ROPE_OK || status == ROPE_NO_MEMORY);
        problem_free(&p);
    }
}

/* Position 0 with A = 1 gives x bit for bit; a NaN stays in its pair. */
static void position_zero_and_nan(void **state)
{
    (void)state;
    FOR_EACH_KERNEL(kernel, pairing, dtype)
    for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++) {
        problem p;
        uint64_t seed = 5;
        problem_init(&p, shapes[k], pairing, dtype, 10000, 1, 0, 9);
        int64_t n = shapes[k].head_dim;
        size_t size = rope_dtype_bytes(dtype);
        char x[1101 * 8], y[sizeof x], z[sizeof x];
        for (int64_t e = 0; e < n; e++)
            store_random(dtype, x, e, &seed);
        rope_view vx = {x, 1, 1, n, n}, vy = {y, 1, 1, n, n}, vz = {z, 1, 1, n, n};
        rope_plan *plan;
        assert_int_equal(kernel->plan(&p.args, &plan), ROPE_OK);
        int64_t zero = 0, nine = 9;
        assert_int_equal(kernel->apply(plan, &vx, &vy, &zero, 1), ROPE_OK);
        assert_memory_equal(x, y, (size_t)n * size);
        assert_int_equal(kernel->apply(plan, &vx, &vy, &nine, 1), ROPE_OK);
        for (int64_t i = 0; i < p.args.pairs; i += 1 + p.args.pairs / 7) {
            int64_t e0 = element(&p.spec, i, 0), e1 = element(&p.spec, i, 1);
            char kept[8], nan[8];
            const uint64_t pattern = dtype == ROPE_F64    ? 0x7ff8000000000000u
                                     : dtype == ROPE_F32  ? 0x7fc00000u
                                     : dtype == ROPE_BF16 ? 0x7fc0u
                                                          : 0x7e00u;
            memcpy(nan, &pattern, sizeof nan); /* little-endian: the low bytes first */
            memcpy(kept, x + (size_t)e0 * size, size);
            memcpy(x + (size_t)e0 * size, nan, size);
            assert_int_equal(kernel->apply(plan, &vx, &vz, &nine, 1), ROPE_OK);
            memcpy(x + (size_t)e0 * size, kept, size);
            assert_true(isnan(load(dtype, z, e0)) && isnan(load(dtype, z, e1)));
            for (int64_t e = 0; e < n; e++)
                if (e != e0 && e != e1)
                    assert_memory_equal(y + (size_t)e * size, z + (size_t)e * size, size);
        }
        kernel->destroy(plan);
        problem_free(&p);
    }
}

/* A tensor beyond every cache, in place and out of place, aligned and not, gives the bits that its
 * tokens give one by one. */
static void large_tensors_give_the_same_bits(void **state)
{
    (void)state;
    enum { MANY = 512, ROWS = 65, DIM = 256 }; /* 8.5 million elements: 32.5 MiB in f32 */
    const size_t count = (size_t)MANY * ROWS * DIM;
    float *memory[2];
    for (int k = 0; k < 2; k++)
        assert_int_equal(posix_memalign((void **)&memory[k], 64, (count + 16) * sizeof(float)), 0);
    FOR_EACH_KERNEL(kernel, pairing, dtype)
    for (int odd = 0; odd < 2; odd++) {
        problem p;
        uint64_t seed = 9;
        size_t size = rope_dtype_bytes(dtype), row = (size_t)ROWS * DIM * size;
        char *x = (char *)memory[0], *y = (char *)memory[1] + (odd ? size : 0), *one = malloc(row);
        int64_t positions[MANY];
        problem_init(&p, (shape){DIM, DIM, 0}, pairing, dtype, 10000, 1, 0, MANY);
        for (size_t i = 0; i < 4096; i++)
            store_random(dtype, x, (int64_t)i, &seed);
        for (size_t done = 4096 * size; done < count * size; done *= 2)
            memcpy(x + done, x, done < count * size - done ? done : count * size - done);
        for (int64_t t = 0; t < MANY; t++)
            positions[t] = (t * 37) % (MANY + 1);
        rope_view vx = {x, MANY, ROWS, ROWS * DIM, DIM}, vy = vx;
        vy.data = y;
        rope_plan *plan;
        assert_int_equal(kernel->plan(&p.args, &plan), ROPE_OK);
        assert_int_equal(kernel->apply(plan, &vx, &vy, positions, 1), ROPE_OK);
        if (!odd && (kernel->header.flags & ROPE_IN_PLACE))
            assert_int_equal(kernel->apply(plan, &vx, &vx, positions, 1), ROPE_OK);
        for (int64_t t = 0; t < MANY; t += odd ? 31 : 1) {
            rope_view from = {x + (size_t)t * row, 1, ROWS, 0, DIM}, to = from;
            to.data = one;
            if (!odd && (kernel->header.flags & ROPE_IN_PLACE)) {
                assert_memory_equal(x + (size_t)t * row, y + (size_t)t * row, row);
                continue;
            }
            assert_int_equal(kernel->apply(plan, &from, &to, &positions[t], 1), ROPE_OK);
            assert_memory_equal(one, y + (size_t)t * row, row);
        }
        free(one);
        kernel->destroy(plan);
        problem_free(&p);
    }
    free(memory[0]);
    free(memory[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rotates_and_copies_every_shape),
        cmocka_unit_test(positions_outside_are_refused),
        cmocka_unit_test(wrong_arguments_are_refused),
        cmocka_unit_test(position_zero_and_nan),
        cmocka_unit_test(large_tensors_give_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
