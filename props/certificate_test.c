/* Certificates without a run: the bound that is derived, and the bounds that are kept. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "impl/registry.h"
#include "props/test_certify.h"

typedef struct measured {
    const char *dtype, *table, *arithmetic;
    double attention_factor, angle, rotation, search;
} measured;

static double derived(const measured *m)
{
    certificate c = {.attention_factor = m->attention_factor};
    strcpy(c.dtype, m->dtype);
    strcpy(c.table, m->table);
    strcpy(c.arithmetic, m->arithmetic);
    c.stage[CERTIFICATE_ANGLE].total.max_error_u = m->angle;
    c.stage[CERTIFICATE_ROTATION].total.max_error_u = m->rotation;
    c.search.evaluations = m->search > 0;
    c.search.worst.error_u = m->search;
    return certificate_derived_bound(&c);
}

/* The values by hand, in u of the storage: d + e + s, cross terms left to the tolerance. */
static void derives_what_the_pipeline_allows(void **test)
{
    (void)test;
    const double f32 = 0x1p-24, f16 = 0x1p-11, bf16 = 0x1p-8, r = sqrt(0.5), m = 0.7069;
    const struct {
        measured of;
        double bound;
    } cases[] = {
        /* Table in storage's format: the measured angle and the product. */
        {{"f32", "f32", "f32", 1, m, 2.5, 2.5}, m + sqrt(5)},
        {{"f32", "f32", "f32_fma", 1, m, 2.4, 2.4}, m + 2},
        {{"f32", "f32", "f64", 1, m, 1.6, 1.6}, m + 1 / (1 + f32)},
        /* f32 arithmetic takes an f64 table rounded to f32, as the probes return it. */
        {{"f32", "f64", "f32_fma", 1, m, 2.4, 2.4}, m + 2},
        {{"f64", "f64", "f64_fma", 1, m, 2.4, 2.4}, m + 2},
        /* Wider than storage: one rounding, and what the table and the product leave. */
        {{"f32", "f64", "f64", 1, m, 0.9998, 0.9997},
         1 / (1 + f32) + (2 + sqrt(5)) * 0x1p-53 / f32},
        {{"f32", "f64", "f64_fma", 1, m, 0.9998, 0.9997}, 1 / (1 + f32) + 4 * 0x1p-53 / f32},
        {{"f16", "f32", "f32", 1, m, 0.999, 0}, 1 / (1 + f16) + (2 + sqrt(5)) * f32 / f16},
        {{"f16", "f32", "f32_fma", 1, m, 0.999, 0}, 1 / (1 + f16) + 4 * f32 / f16},
        {{"bf16", "f32", "f32_fma", 1, m, 0.99, 0}, 1 / (1 + bf16) + 4 * f32 / bf16},
        {{"f32", "f64", "f64", 1.25, 0.9, 0.99, 0.99},
         1 / (1 + f32) + (2 + sqrt(5)) * 0x1p-53 / f32},
        /* The same, but refuted: by the angle, by a rotation, by the search. */
        {{"f32", "f64", "f64", 1, 0.72, 0.99, 0.99}, 0.72 + r + 1 / (1 + f32)},
        {{"f32", "f64", "f64", 1, 8e5, 8e5, 8e5}, 8e5 + r + 1 / (1 + f32)},
        {{"f32", "f64", "f64", 1, m, 1.5, 0.99}, m + r + 1 / (1 + f32)},
        {{"f32", "f64", "f64", 1, m, 0.99, 1.5}, m + r + 1 / (1 + f32)},
        {{"f32", "", "f64", 1, m, 0.99, 0}, m + r + 1 / (1 + f32)},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double bound = derived(&cases[i].of);
        /* The cross terms, d (e + s) + e s: below 3 (d + 3 u32) u where nothing is wider than f32,
         * below 4 u32 where the table is (d and e are u32, s is near 1 of u). */
        double cross = 4 * f32 * (1 + cases[i].of.angle);
        if (!(fabs(bound - cases[i].bound) <= cross))
            fail_msg("case %u: %.17g, expected %.17g", i, bound, cases[i].bound);
    }
    const measured undeclared = {"f32", "", "", 1, m, 1, 1};
    assert_true(isnan(derived(&undeclared)));
}

/* Every kernel of the registry: what is derived holds for all that is found, and lies at the
 * field's bounds. */
static void derived_bounds_hold(void **test)
{
    (void)test;
    int tested = 0, once = 0;
    size_t count;
    const rope_header *const *all = rope_registry(&count);
    for (size_t i = 0; i < count; i++) {
        const rope_header *header = all[i];
        const rope_kernel *kernel = (const rope_kernel *)header;
        if (header->kind != ROPE_ROTATION || (kernel->cpu_features & ~rope_cpu_features()) != 0)
            continue;
        bool half = (kernel->pairings & 1u << ROPE_HALF) != 0;
        rope_spec spec = spec_of(half ? "head_dim=16,base=10000,pairing=half"
                                      : "head_dim=16,base=10000,pairing=interleaved");
        certify_options options = options_of(0, 512);
        for (uint32_t dtype = 0; dtype < 4; dtype++) {
            if (!(kernel->dtypes & 1u << dtype))
                continue;
            certificate c = certify_dtype(kernel, &spec, dtype, &options);
            double bound = certificate_derived_bound(&c);
            double found =
                fmax(c.stage[CERTIFICATE_ROTATION].total.max_error_u, c.search.worst.error_u);
            if (!(found <= bound))
                fail_msg("%s: %.17g u found, %.17g derived", kernel->name, found, bound);
            bool wider = dtype == ROPE_F16 || dtype == ROPE_BF16 ||
                         kernel->pipeline.arithmetic == ROPE_ARITHMETIC_F64 ||
                         kernel->pipeline.arithmetic == ROPE_ARITHMETIC_F64_FMA;
            if (wider && !(bound > 0.99 && bound < 1.001))
                fail_msg("%s: %.17g u derived, expected 1", kernel->name, bound);
            once += wider;
            tested++;
            certificate_free(&c);
        }
        rope_spec_free(&spec);
    }
    assert_true(tested >= 10 && once >= 3);
}

static void keeps_the_first_place_of_a_bound(void **test)
{
    (void)test;
    certificate_bounds b = certificate_bounds_none(), other = certificate_bounds_none();
    certificate_bounds_join(&b, &other);
    assert_true(isnan(b.low) && isnan(b.high));
    certificate_bounds_meet(&b, 2, 10, 1);
    certificate_bounds_meet(&b, 2, 10, 2);
    certificate_bounds_meet(&b, 3, 11, 0);
    certificate_bounds_meet(&other, 3, 12, 0);
    certificate_bounds_meet(&other, 1, 12, 1);
    certificate_bounds_join(&b, &other);
    assert_true(b.low == 1 && b.low_position == 12 && b.low_pair == 1);
    assert_true(b.high == 3 && b.high_position == 11 && b.high_pair == 0);
    other = certificate_bounds_none();
    certificate_bounds_join(&b, &other);
    assert_true(b.low == 1 && b.high == 3);
}

/* Two specs of one kernel, one with commas in its text: sums, maxima, the weaker verdict. */
static void tables_sum_over_specs(void **test)
{
    (void)test;
    char path[] = "/tmp/certificate_test.XXXXXX", command[100], line[400] = "";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *file = fdopen(fd, "w");
    fputs("run,kernel,dtype,spec,stage,pairs_compared,max_error_u,rms_error_u,misrounded,"
          "bound_high_u,derived_bound_u,verdict\r\n"
          "\"r\",\"k\",\"f32\",\"one\",\"angle\",100,0.5,0.25,3,2.5,2,\"kept\"\r\n"
          "\"r\",\"k\",\"f32\",\"one\",\"rotation\",50,1.5,1,4,2.5,2,\"kept\"\r\n"
          "\"r\",\"k\",\"f32\",\"one\",\"search\",7,1.75,,,2.5,2,\"kept\"\r\n"
          "\"r\",\"k\",\"f32\",\"a=1,b=2\",\"angle\",300,0.75,0.5,5,3.5,3,\"broken\"\r\n"
          "\"r\",\"k\",\"f32\",\"a=1,b=2\",\"rotation\",50,1.25,1,6,3.5,3,\"broken\"\r\n",
          file);
    fclose(file);
    snprintf(command, sizeof command, "scripts/certificate-table %s", path);
    FILE *out = popen(command, "r");
    while (fgets(line, sizeof line, out) != NULL)
        continue;
    assert_int_equal(pclose(out), 0);
    /* sqrt((100 .25^2 + 300 .5^2) / 400) = .4507 */
    assert_string_equal(
        line, "| `k` | f32 | 2 | 400 | 0.75 | 0.4507 | 8 | 1.5 | 1 | 1.75 | 3.5 | broken |\n");
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(derives_what_the_pipeline_allows),
        cmocka_unit_test(derived_bounds_hold),
        cmocka_unit_test(keeps_the_first_place_of_a_bound),
        cmocka_unit_test(tables_sum_over_specs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
