/* One rounding too many or in the wrong place shows as 1 to 2 units in the last place of 16 bits.
 */
#include "props/mutants/testing.h"

#include "oracle/measure.h"

#define SPEC "head_dim=64,base=10000,pairing=half"
enum { DIM = 64, HEADS = 8, TOKENS = 64, COUNT = TOKENS * HEADS * DIM };

static void rotate(const rope_kernel *kernel, rope_dtype dtype, const uint16_t *x, uint16_t *y)
{
    problem p;
    rope_plan *plan = NULL;
    int64_t positions[TOKENS];
    problem_open(&p, SPEC);
    rope_plan_args args = rope_spec_plan_args(&p.spec, &p.frequencies, dtype, 0, TOKENS);
    assert_int_equal(kernel->plan(&args, &plan), ROPE_OK);
    for (int t = 0; t < TOKENS; t++)
        positions[t] = t;
    rope_view from = {(void *)(uintptr_t)x, TOKENS, HEADS, HEADS * DIM, DIM};
    rope_view to = {y, TOKENS, HEADS, HEADS * DIM, DIM};
    assert_int_equal(kernel->apply(plan, &from, &to, positions, 1), ROPE_OK);
    kernel->destroy(plan);
    problem_close(&p);
}

/* The largest normwise distance of a pair between two kernels, in u. */
static double largest(const rope_kernel *a, const rope_kernel *b, rope_dtype dtype)
{
    static uint16_t x[COUNT], y[COUNT], z[COUNT];
    double most = 0, u = rope_dtype_unit_roundoff(dtype);
    uint64_t seed = 1;
    for (int i = 0; i < COUNT; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        oracle_store(dtype, x, i, ldexp((double)(int64_t)seed, -62));
    }
    rotate(a, dtype, x, y);
    rotate(b, dtype, x, z);
    for (int row = 0; row < TOKENS * HEADS; row++)
        for (int i = 0; i < DIM / 2; i++) {
            int64_t e = row * DIM + i, f = e + DIM / 2;
            double dx = oracle_load(dtype, y, e) - oracle_load(dtype, z, e);
            double dy = oracle_load(dtype, y, f) - oracle_load(dtype, z, f);
            double norm = hypot(oracle_load(dtype, x, e), oracle_load(dtype, x, f));
            most = fmax(most, hypot(dx, dy) / norm / u);
        }
    return most;
}

static void rounding_test(void **state)
{
    (void)state;
    static const char *const names[] = {"rounding_doubled", "rounding_table", "rounding_truncated"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const prop_mutant *m = mutant_of(names[i]);
        for (uint32_t dtype = ROPE_F16; dtype <= ROPE_BF16; dtype++) {
            if (!(m->kernel->dtypes & 1u << dtype))
                continue;
            double most = largest(m->kernel, m->original, (rope_dtype)dtype);
            if (!(most > 1 && most < 4))
                fail_msg("%s in %s: %.3g u from its original, expected 1 to 4", names[i],
                         rope_dtype_name(dtype), most);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rounding_test)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
