/* The specs of verify, and what the kernels claim on them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "impl/registry.h"
#include "impl/spec/spec.h"
#include "props/resources.h"
#include "props/suite.h"

/* A contract that a kernel derives from a frequency of its own grows with that frequency's error,
 * and would excuse a wrong one. At position 1 the angle's error is a few roundings of at most a
 * radian. */
static const double MOST_AT_ONE = 256;

static void claims_at_one(const rope_kernel *kernel, const prop_entry *entry, uint32_t pairing)
{
    const rope_spec *spec = &entry->spec[pairing];
    rope_plan_args args = rope_spec_plan_args(spec, &entry->frequencies, ROPE_F32, 0, 1);
    for (uint32_t dtype = ROPE_F32; dtype <= ROPE_F64; dtype++) {
        args.dtype = (rope_dtype)dtype;
        for (int64_t i = 0; (kernel->dtypes & 1u << dtype) && i < args.pairs; i++) {
            double bound = kernel->error_bound(&args, 1, i);
            if (!(bound >= 0 && bound <= MOST_AT_ONE))
                fail_msg("%s claims %g u at position 1, pair %lld of %s", kernel->name, bound,
                         (long long)i, entry->full_text[pairing]);
        }
    }
}

static void kernels_claim_little_at_position_1(void **state)
{
    (void)state;
    prop_suite suite;
    rope_error error;
    assert_true(prop_suite_standard(&suite, PROP_QUICK, ROPE_TRUTH_EXACT, &error));
    size_t count;
    const rope_header *const *all = rope_registry(&count);
    for (size_t k = 0; k < count; k++) {
        const rope_kernel *kernel = (const rope_kernel *)all[k];
        for (int e = 0; all[k]->kind == ROPE_ROTATION && e < suite.count; e++)
            for (uint32_t pairing = 0; pairing < 2; pairing++)
                if (kernel->pairings & 1u << pairing)
                    claims_at_one(kernel, &suite.entries[e], pairing);
    }
    prop_suite_free(&suite);
}

/* However many threads compute the rows: the same rows, and no thread is left to fork beside. */
static void warming_leaves_no_thread(void **state)
{
    static const char *const specs[] = {"head_dim=8,base=10000,pairing=half",
                                        "head_dim=12,base=10000,pairing=half",
                                        "head_dim=8,base=500000,pairing=half"};
    enum { COUNT = sizeof specs / sizeof specs[0], PAIRS = 6, POSITIONS = 300 };
    (void)state;
    prop_suite one, many;
    rope_error error;
    assert_true(prop_suite_chosen(&one, specs, COUNT, PROP_QUICK, ROPE_TRUTH_EXACT, &error));
    assert_true(prop_suite_chosen(&many, specs, COUNT, PROP_QUICK, ROPE_TRUTH_EXACT, &error));
    int64_t threads = prop_holding_now().threads;
    prop_suite_warm(&one, 1, 1);
    prop_suite_warm(&many, 1, 4);
    assert_int_equal(prop_holding_now().threads, threads);
    for (int e = 0; e < COUNT; e++)
        for (int64_t position = -POSITIONS; position < POSITIONS; position++) {
            oracle_cos_sin_dd a[PAIRS], b[PAIRS];
            oracle_row(one.entries[e].oracle, &position, a);
            oracle_row(many.entries[e].oracle, &position, b);
            size_t bytes = (size_t)oracle_pairs(one.entries[e].oracle) * sizeof *a;
            assert_memory_equal(a, b, bytes);
        }
    prop_suite_free(&one);
    prop_suite_free(&many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(kernels_claim_little_at_position_1),
                                       cmocka_unit_test(warming_leaves_no_thread)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
