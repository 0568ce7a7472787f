/* Re-verification: what a forger may change in a certificate, its hash renewed, and must be found.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "impl/registry.h"
#include "props/recheck.h"
#include "props/test_certify.h"

/* A forger who also renews the hash: numbers that the kernel and MPFR do not bear out. */
static void recheck_measures_again(void **test)
{
    (void)test;
    rope_spec spec = spec_of("head_dim=16,base=10000,pairing=half");
    certify_options options = options_of(0, 20000);
    certificate c = certify_one(rope_registry_find("lookup"), &spec, &options);
    recheck_options how = {.seed = 3, .jobs = 1, .positions = 8, .segments = 2};
    recheck_work work;
    rope_error error;
    if (recheck_certificate(&c, NULL, NULL, &how, &work, &error) != RECHECK_HOLDS)
        fail_msg("%s", error.text);
    assert_true(work.pairs > 8 * 3 * 8 && work.segments == 2);
    certificate_stage *angle = &c.stage[CERTIFICATE_ANGLE];
    certificate good = c;
    for (int change = 0; change < 22; change++) {
        certificate_segment kept = c.segments[0];
        switch (change) {
        case 0:
            angle->worst[2].error_u *= 1 + 0x1p-30;
            break;
        case 1:
            angle->worst[0].y0 = nextafterf((float)angle->worst[0].y0, 2);
            break;
        case 2:
            angle->worst[0].bound_u *= 1.5;
            break;
        case 3:
            c.segments[0].tally[0].squares_u.limb[0] ^= 1;
            break;
        case 4:
            c.segments[0].tally[1].correctly_rounded -= 1;
            break;
        case 5:
            c.stage[CERTIFICATE_ROTATION].total.max_error_u = 1.5;
            break;
        case 6:
            c.binary_hash[5] ^= 1;
            break;
        case 7:
            angle->misrounded_count = 1;
            angle->misrounded[0] = (certificate_place){17, 3, 0};
            break;
        case 8:
            c.search.worst.error_u *= 1.0001;
            break;
        case 9:
            c.search.worst.x0 = nextafterf((float)c.search.worst.x0, 9);
            break;
        case 10:
            c.bounds.high = -1;
            break;
        case 11:
            c.bounds.high = 0.5;
            break;
        case 12:
            c.bounds.high = 1e300;
            break;
        case 13:
            c.bounds.low = -1;
            break;
        case 14:
            c.bounds.low = 0; /* looser than true, yet not met */
            break;
        case 15:
            c.bounds.low = 1e300;
            break;
        case 16:
            c.bounds.low = c.bounds.high = NAN;
            break;
        case 17: /* another derived bound follows */
            strcpy(c.arithmetic, "f32_fma");
            break;
        case 18:
            strcpy(c.table, "f64");
            break;
        case 19:
            c.attention_factor = 1.25;
            break;
        case 20:
            c.stage[CERTIFICATE_ANGLE].total.without = 2;
            c.stage[CERTIFICATE_ROTATION].total.without = 1;
            break;
        case 21:
            c.bounds.low_pair += 1;
            break;
        }
        if (recheck_certificate(&c, NULL, NULL, &how, &work, &error) != RECHECK_FAILS)
            fail_msg("change %d was not noticed", change);
        c.segments[0] = kept;
        c = good;
    }
    strcpy(c.kernel, "no_such_kernel");
    assert_int_equal(recheck_certificate(&c, NULL, NULL, &how, &work, &error), RECHECK_UNUSABLE);
    certificate_free(&c);
    rope_spec_free(&spec);
}

static void must_fail(const certificate *c, const recheck_options *how, const char *reason)
{
    recheck_work work;
    rope_error error = {""};
    assert_int_equal(recheck_certificate(c, NULL, NULL, how, &work, &error), RECHECK_FAILS);
    if (strstr(error.text, reason) == NULL)
        fail_msg("'%s' does not say '%s'", error.text, reason);
}

/* A kernel with errors everywhere, and a sample that meets every position: lists that leave
 * something out, and sums of a segment that is not computed again. */
static void nothing_is_left_out(void **test)
{
    (void)test;
    rope_spec spec = spec_of("head_dim=8,base=10000,pairing=half");
    certify_options options = options_of(1000, 1064);
    certificate good = certify_one(rope_registry_find("rotate_half"), &spec, &options);
    recheck_options how = {.seed = 5, .jobs = 1, .positions = 1000, .segments = 1};
    recheck_work work;
    rope_error error;
    if (recheck_certificate(&good, NULL, NULL, &how, &work, &error) != RECHECK_HOLDS)
        fail_msg("%s", error.text);
    assert_int_equal(work.positions, 64);

    certificate c = good;
    certificate_stage *angle = &c.stage[CERTIFICATE_ANGLE];
    assert_int_equal(angle->worst_count, CERTIFICATE_WORST);
    memmove(angle->worst, angle->worst + 1, 7 * sizeof angle->worst[0]);
    must_fail(&c, &how, "missing from the worst cases");

    c = good;
    assert_true(certificate_consistent(&c, &error));
    angle->worst[3].bound_u = angle->worst[3].error_u / 2;
    assert_false(certificate_consistent(&c, &error));
    assert_non_null(strstr(error.text, "worst case 4 is above its contract"));

    c = good;
    assert_int_equal(angle->misrounded_count, CERTIFICATE_MISROUNDED);
    memmove(angle->misrounded, angle->misrounded + 1, 31 * sizeof angle->misrounded[0]);
    must_fail(&c, &how, "misrounded pair that is not listed");

    for (int change = 0; change < 4; change++) {
        c = good;
        certificate_tally *total = &c.stage[CERTIFICATE_ROTATION].total;
        static const char *const reasons[] = {"above the stated maximum",
                                              "in ulp above the stated maximum",
                                              "number of nearest components", "above the stated"};
        if (change == 0)
            total->max_error_u /= 2;
        else if (change == 1)
            total->max_ulp /= 2;
        else if (change == 2)
            total->misrounded = 0;
        else {
            certificate_segment *segment = &c.segments[0];
            double kept = segment->tally[1].max_error_u;
            segment->tally[1].max_error_u = kept / 2;
            must_fail(&c, &how, reasons[change]);
            segment->tally[1].max_error_u = kept;
            continue;
        }
        must_fail(&c, &how, reasons[change]);
    }
    certificate_free(&good);
    rope_spec_free(&spec);
}

/* A true case of a shorter search. */
static void a_lesser_search_is_noticed(void **test)
{
    (void)test;
    rope_spec spec = spec_of("head_dim=8,base=10000,pairing=half");
    certify_options options = options_of(0, 600);
    options.search = 1 << 16;
    certificate c = certify_one(rope_registry_find("lookup"), &spec, &options);
    options.search = 1 << 8;
    certificate less = certify_one(rope_registry_find("lookup"), &spec, &options);
    recheck_options how = {.seed = 5, .jobs = 1, .positions = 4, .segments = 1};
    assert_true(less.search.worst.error_u < c.search.worst.error_u);
    c.search.worst = less.search.worst;
    must_fail(&c, &how, "search: ");
    certificate_free(&c);
    certificate_free(&less);
    rope_spec_free(&spec);
}

/* Too many pairs to ask for every contract again: each must still be met where it is said to be.
 * exact's grows with the angle. */
static void loose_bounds_of_long_ranges_are_noticed(void **test)
{
    (void)test;
    enum { PAIRS = 64 };
    const rope_kernel *kernel = rope_registry_find("exact");
    rope_spec spec = spec_of("head_dim=128,base=10000,pairing=half");
    const int64_t end = INT64_C(1) << 40;
    rope_frequencies frequencies;
    rope_error error;
    assert_true(rope_spec_resolve(&spec, ROPE_TRUTH_EXACT, &frequencies, &error));
    certify_subject subject = {kernel, NULL, &spec, ROPE_F32};
    certify_options options = options_of(0, end);
    rope_plan_args args = rope_spec_plan_args(&spec, &frequencies, ROPE_F32, end - 8192, end - 1);
    certificate c = {.pairs = PAIRS, .end = end, .shard_end = end};
    c.bounds = (certificate_bounds){.low = kernel->error_bound(&args, 0, PAIRS - 1),
                                    .high = kernel->error_bound(&args, end - 1, 0),
                                    .low_pair = PAIRS - 1,
                                    .high_position = end - 1};
    if (!recheck_bounds(&c, &subject, &options, &frequencies, &error))
        fail_msg("%s", error.text);
    certificate_bounds good = c.bounds;
    c.bounds.high *= 1 + 0x1p-50;
    assert_false(recheck_bounds(&c, &subject, &options, &frequencies, &error));
    assert_non_null(strstr(error.text, "largest contract, at position 1099511627775"));
    c.bounds = good;
    c.bounds.low *= 1 - 0x1p-50;
    assert_false(recheck_bounds(&c, &subject, &options, &frequencies, &error));
    assert_non_null(strstr(error.text, "smallest contract"));
    rope_frequencies_free(&frequencies);
    rope_spec_free(&spec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recheck_measures_again),
        cmocka_unit_test(nothing_is_left_out),
        cmocka_unit_test(a_lesser_search_is_noticed),
        cmocka_unit_test(loose_bounds_of_long_ranges_are_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
