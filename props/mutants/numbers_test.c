/* The published figures of the fault classes: what a wrong pair looks like, in its smallest case.
 * Angles are read back from f32 results, hence the tolerances. */
#include "props/mutants/testing.h"

#define D128 "head_dim=128,base=10000,pairing=half"

static turned right_turn(const char *spec, int64_t position, int64_t pair)
{
    return turn_of(rope_registry_find("lookup"), spec, position, pair);
}

/* The inverse frequency by which a mutant turns pair i, from a position where its angle is below
 * pi. */
static double theta(const char *name, const char *spec, int64_t pair, int64_t position)
{
    turned t = mutant_turns(name, spec, position, pair);
    return atan2(t.s, t.c) / (double)position;
}
static double right_theta(const char *spec, int64_t pair, int64_t position)
{
    turned t = right_turn(spec, position, pair);
    return atan2(t.s, t.c) / (double)position;
}

/* Until this build reads its spec. */
static bool waits(const char *name)
{
    return prop_mutant_find(name)->waits_for != NULL;
}

static void low_precision_test(void **state)
{
    (void)state;
    const double theta_1 = pow(10000, -2. / 128);
    double bf16 = fabs(mutant_turns("frequency_bf16", D128, 256, 1).c - cos(256 * theta_1));
    double far = fabs(mutant_turns("frequency_bf16", D128, 2047, 1).c - cos(2047 * theta_1));
    double f16 = fabs(mutant_turns("frequency_f16", D128, 256, 1).c - cos(256 * theta_1));
    assert_near(bf16, .2917, 1e-4);
    assert_near(far, 1.709, 1e-3);
    assert_near(f16, .0609, 1e-4);
    /* base 1e9: the last frequencies are below half of f16's smallest subnormal. */
    assert_near(mutant_turns("frequency_f16", "head_dim=128,base=1e9,pairing=half", 1 << 20, 63).s,
                0, 0);

    assert_near(right_turn(D128, 257, 0).c, .819306, 1e-6);
    assert_near(mutant_turns("position_bf16", D128, 257, 0).c, -.039791, 1e-6);
    assert_true(isnan(mutant_turns("position_f16", D128, 65520, 0).c));
    assert_near(mutant_turns("position_f16", D128, 65519, 0).c, cos(65504), 1e-6);
    assert_near(mutant_turns("position_tf32", D128, 2049, 0).c, cos(2048), 1e-6);

    turned t = mutant_turns("angle_f16", "head_dim=32,base=10000,pairing=half", 1857, 1);
    assert_near(t.c, cos(1045), 1e-6);
    assert_near(fabs(t.c - cos(1044.2678)), .7149, 1e-4);
}

/* The worst pair near the end of a range. */
static double worst(const char *name, int64_t end)
{
    double most = 0;
    for (int64_t position = end - 16; position < end; position++)
        for (int64_t i = 0; i < 64; i++)
            most = fmax(most, distance(mutant_turns(name, D128, position, i),
                                       right_turn(D128, position, i)));
    return most;
}

static void f32_angle_test(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t end;
        double error;
    } rows[] = {
        {"f32_angle", 2048, 1.15e-4},           {"f32_angle", 131072, 7.6e-3},
        {"f32_angle", 1 << 20, 6.2e-2},         {"frequency_recurrence", 2048, 3.1e-4},
        {"frequency_recurrence", 131072, 2e-2}, {"frequency_recurrence", 1 << 20, .16},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double error = worst(rows[i].name, rows[i].end);
        /* The figures are the worst of all positions up to the end; 16 of them come near. */
        if (!(error > .5 * rows[i].error && error < 1.05 * rows[i].error))
            fail_msg("%s below %ld: %.3g, expected about %.3g", rows[i].name, (long)rows[i].end,
                     error, rows[i].error);
    }
}

static void range_reduction_test(void **state)
{
    (void)state;
    double error = 0;
    for (int64_t position = 131071 - 64; position <= 131071; position++)
        error = fmax(error, distance(mutant_turns("range_reduction", D128, position, 0),
                                     right_turn(D128, position, 0)));
    assert_true(error > 3e-3 && error < 3e-2);
    for (int64_t position = 8129; position <= 8192; position++)
        assert_true(distance(mutant_turns("range_reduction", D128, position, 0),
                             right_turn(D128, position, 0)) == 0);
    turned t = mutant_turns("range_reduction_missing", D128, 500000, 0);
    assert_false(isfinite(t.c) && isfinite(t.s));
}

static void frequency_test(void **state)
{
    (void)state;
    const char *partial = "head_dim=80,rotary_dim=32,base=10000,pairing=half";
    assert_near(right_theta(partial, 8, 100), .01, 1e-8);
    assert_near(theta("partial_exponent", partial, 8, 10), .158489, 1e-6);
    const char *million = "head_dim=128,base=1e6,pairing=half";
    assert_near(right_turn(million, 100, 32).c, .995004, 1e-6);
    assert_near(mutant_turns("wrong_base", million, 100, 32).c, .540302, 1e-6);
    for (int64_t i = 0; i < 3; i++)
        assert_near(theta("integer_exponent", D128, i, 1), 1, 1e-7);
}

static void scaling_test(void **state)
{
    (void)state;
    if (waits("dynamic_constant"))
        return;
    const char *linear = D128 ",scaling=linear,factor=4";
    assert_near(right_turn(linear, 4096, 0).c, .987354, 1e-6);
    assert_near(mutant_turns("linear_inverted", linear, 4096, 0).c, -.828534, 1e-6);

    /* theta_i for base' tells base' = theta_i^(-d/2i); pair 63 at a position near its half turn. */
    const char *ntk = D128 ",scaling=ntk,factor=4";
    assert_near(pow(right_theta(ntk, 63, 50000), -64. / 63), 40889.94, .05);
    assert_near(pow(theta("ntk_base", ntk, 63, 50000), -64. / 63), 47326.95, .05);

    /* Inside the power pair 0 is not scaled at all: ratio 1. */
    const char *linear_16 = D128 ",scaling=linear,factor=16";
    assert_near(theta("scale_inside_power", linear_16, 0, 1), 1, 1e-7);
    assert_near(right_theta(linear_16, 0, 16), 1. / 16, 1e-7);

#define DYNAMIC D128 ",scaling=dynamic,factor=4,original=4096,length="
    static const char *const lengths[] = {DYNAMIC "4096", DYNAMIC "8192", DYNAMIC "16384"};
    static const double bases[] = {1e4, 51293.79, 135401.97};
    for (int i = 0; i < 3; i++) {
        assert_near(pow(right_theta(lengths[i], 63, 20000), -64. / 63) / bases[i], 1, 1e-6);
        assert_near(pow(theta("dynamic_constant", lengths[i], 63, 20000), -64. / 63), 135401.97,
                    .3);
    }
    const char *below = "head_dim=64,base=1000,pairing=half,scaling=dynamic,factor=2,"
                        "original=2048,length=512";
    assert_near(pow(right_theta(below, 31, 2000), -32. / 31), 1000, 1e-3);
    assert_true(isnan(mutant_turns("dynamic_below_length", below, 1, 1).c));
}

static void llama3_test(void **state)
{
    (void)state;
    if (waits("llama3_factors"))
        return;
    const char *spec = "head_dim=128,base=500000,pairing=half,scaling=llama3,factor=8,low=1,"
                       "high=4,original=8192";
    static const double right[] = {1.207484, 1.553415, 2.026313, 2.694530, 3.684253, 5.257327, 8};
    for (int64_t i = 29; i <= 35; i++) {
        double plain = pow(500000, -(double)i / 64);
        assert_near(plain / right_theta(spec, i, 1000) / right[i - 29], 1, 1e-6);
        assert_near(plain / theta("llama3_factors_dropped", spec, i, 1000), 1, 1e-6);
    }
    assert_near(pow(500000, -29. / 64) / theta("llama3_factors", spec, 29, 40000), 41.541, 1e-3);
    assert_near(theta("llama3_factors", spec, 20, 10) / right_theta(spec, 20, 10), 1, 1e-6);
    assert_near(theta("llama3_factors", spec, 63, 4000000) / right_theta(spec, 63, 4000000), 1,
                1e-6);
}

static void yarn_test(void **state)
{
    (void)state;
    if (waits("yarn_clamp"))
        return;
    const char *deepseek = "head_dim=64,base=10000,pairing=interleaved,scaling=yarn,factor=40,"
                           "original=4096,mscale=1,mscale_all_dim=1";
    assert_near(right_turn(deepseek, 0, 0).c, 1, 0);
    assert_near(mutant_turns("yarn_magnitude", deepseek, 0, 0).c, 1.3689, 1e-4);
    assert_near(mutant_turns("yarn_magnitude_squared", deepseek, 0, 0).c, 1.8739, 1e-4);

    const char *oss = "head_dim=64,base=150000,pairing=half,scaling=yarn,factor=32,original=4096,"
                      "truncate=false";
    double ratio = theta("yarn_range_rounding", oss, 17, 10000) / right_theta(oss, 17, 10000);
    assert_near(fabs(ratio - 1), .76, .01); /* 8..18 for 8.092779..17.398025 */

    /* c(1) = 34.55: the ramp ends at 35, past the last pair; clamped it ends at 31, where the last
     * pair is wholly divided by s. */
    const char *wide = "head_dim=64,base=10000,pairing=half,scaling=yarn,factor=4,original=131072";
    double plain = pow(10000, -31. / 32);
    assert_near(plain / theta("yarn_clamp", wide, 31, 40000), 4, 1e-5);
    assert_true(plain / right_theta(wide, 31, 20000) < 3);
}

static void position_test(void **state)
{
    (void)state;
    assert_near(right_turn(D128, -1, 0).c, .540302, 1e-6);
    assert_near(mutant_turns("position_unsigned", D128, -1, 0).c, -.867935, 1e-6);
    assert_near(mutant_turns("position_off_by_one", D128, 6, 0).c, cos(7), 1e-7);
    assert_near(mutant_turns("position_wrapped", D128, 65536 + 5, 0).c, cos(5), 1e-7);
    assert_near(mutant_turns("position_sign_lost", D128, -3, 0).s, sin(3), 1e-7);
    assert_near(mutant_turns("position_clamped", D128, 700, 0).c, cos(511), 1e-7);
}

#define LONGROPE                                                                                   \
    "head_dim=8,base=10000,pairing=half,scaling=longrope,original=4096,max_position=131072,"       \
    "short_factors=1:1.1:1.2:1.3,long_factors=1:2:8:32,length="

static void longrope_test(void **state)
{
    (void)state;
    if (waits("longrope_threshold"))
        return;
    const char *at = LONGROPE "4096", *past = LONGROPE "4097", *before = LONGROPE "4095";
    assert_near(right_theta(at, 1, 10), .1 / 1.1, 1e-7);
    assert_near(theta("longrope_threshold", at, 1, 10), .1 / 2, 1e-7);
    assert_near(theta("longrope_threshold", before, 1, 10), .1 / 1.1, 1e-7);
    assert_near(theta("longrope_allocated", before, 1, 10), .1 / 2, 1e-7);
    assert_near(theta("longrope_allocated", past, 1, 10), .1 / 2, 1e-7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(low_precision_test),
        cmocka_unit_test(f32_angle_test),
        cmocka_unit_test(range_reduction_test),
        cmocka_unit_test(frequency_test),
        cmocka_unit_test(scaling_test),
        cmocka_unit_test(llama3_test),
        cmocka_unit_test(yarn_test),
        cmocka_unit_test(position_test),
        cmocka_unit_test(longrope_test),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
