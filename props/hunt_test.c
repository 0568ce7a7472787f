/* The search finds more than sampling, and what certification found; the stage model reproduces
 * every kernel, and not one that declares a pipeline that it does not have; scores drift where
 * angles are rounded and nowhere else. The unit test hunts in a table and in rounded angles only;
 * TIGHTROPE_FULL in every kind of kernel. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "impl/registry.h"
#include "props/drift.h"
#include "props/hunt_report.h"

typedef struct fixture {
    rope_spec spec;
    rope_frequencies frequencies;
    oracle *o;
} fixture;

static fixture open_fixture(const char *text, rope_truth truth)
{
    fixture f;
    rope_error error;
    if (!rope_spec_parse(text, &f.spec, &error) ||
        !rope_spec_resolve(&f.spec, truth, &f.frequencies, &error) ||
        (f.o = oracle_new(&f.spec, truth, &error)) == NULL)
        fail_msg("%s", error.text);
    return f;
}

static void close_fixture(fixture *f)
{
    oracle_free(f->o);
    rope_frequencies_free(&f->frequencies);
    rope_spec_free(&f->spec);
}

/* Every other of a list of kernels, or all. */
static int step(void)
{
    return getenv("TIGHTROPE_FULL") != NULL ? 1 : 2;
}

static int64_t evaluations(void)
{
    return (INT64_C(1) << 19) / step();
}

static hunt_result search(const fixture *f, const rope_kernel *kernel, const int64_t *starts,
                          int count)
{
    certify_subject subject = {kernel, NULL, &f->spec, ROPE_F32};
    hunt_options options = {.seed = 5,
                            .end = 16384,
                            .evaluations = (uint64_t)evaluations(),
                            .sample = true,
                            .starts = starts,
                            .start_count = count};
    hunt_result result;
    rope_error error;
    if (!hunt_search(&subject, f->o, &f->frequencies, &options, &result, &error))
        fail_msg("%s", error.text);
    if (result.reason[0] != '\0')
        fail_msg("%s", result.reason);
    return result;
}

static void climbing_beats_sampling_and_repeats_itself(void **state)
{
    (void)state;
    static const char *const names[] = {"lookup", "exact", "scalar"};
    fixture f = open_fixture("head_dim=32,base=10000,pairing=half", ROPE_TRUTH_EXACT);
    for (int k = 0; k < 3; k += step()) {
        const rope_kernel *kernel = rope_registry_find(names[k]);
        hunt_result a = search(&f, kernel, NULL, 0), b = search(&f, kernel, NULL, 0);
        assert_memory_equal(&a.worst, &b.worst, sizeof a.worst);
        assert_true((int64_t)a.evaluations >= evaluations() && (int64_t)a.sampled >= evaluations());
        assert_true(a.worst.error_u > a.random.error_u);
        assert_true(a.worst.error_u <= a.worst.bound_u);
    }
    close_fixture(&f);
}

/* From the worst positions of certification the search goes on upwards. */
static void finds_at_least_what_certification_found(void **state)
{
    (void)state;
    static const char *const names[] = {"lookup", "exact", "recurrence", "scalar"};
    fixture f = open_fixture("head_dim=32,base=10000,pairing=half", ROPE_TRUTH_EXACT);
    for (int k = 0; k < 4; k += step()) {
        certify_subject subject = {rope_registry_find(names[k]), NULL, &f.spec, ROPE_F32};
        certify_options options = {.seed = 1, .end = 16384, .shard = 1, .shards = 1, .jobs = 1};
        certify_result result;
        rope_error error;
        assert_true(certify_run(&subject, 1, &options, &result, &error));
        const certificate_stage *angle = &result.certificate.stage[CERTIFICATE_ANGLE];
        int64_t starts[CERTIFICATE_WORST];
        for (int i = 0; i < angle->worst_count; i++)
            starts[i] = angle->worst[i].position;
        hunt_result found = search(&f, subject.kernel, starts, angle->worst_count);
        if (!(found.worst.error_u >= angle->total.max_error_u))
            fail_msg("%s: hunted %.17g u, certification found %.17g u", names[k],
                     found.worst.error_u, angle->total.max_error_u);
        certificate_free(&result.certificate);
    }
    close_fixture(&f);
}

/* lookup with an error that grows as x nears one direction: 40 u at most, and 1 u for most x. */
static rope_status apply_pitfall(const rope_plan *plan, const rope_view *x, const rope_view *y,
                                 const int64_t *positions, int64_t stride)
{
    rope_status status = rope_registry_find("lookup")->apply(plan, x, y, positions, stride);
    for (int64_t t = 0; status == ROPE_OK && t < x->tokens; t++) {
        const float *from = (const float *)x->data + t * x->token_stride;
        float *to = (float *)y->data + t * y->token_stride;
        float norm = hypotf(from[0], from[16]), off = hypotf(from[0] - 3 * from[16], 0) / norm;
        if (off < 0.05f)
            to[0] += norm * 0x1p-24f * 40 * (1 - off * 20);
    }
    return status;
}

static void climbs_to_a_pitfall(void **state)
{
    (void)state;
    fixture f = open_fixture("head_dim=32,base=10000,pairing=half", ROPE_TRUTH_EXACT);
    rope_kernel pitfall = *rope_registry_find("lookup");
    pitfall.apply = apply_pitfall;
    hunt_result found = search(&f, &pitfall, NULL, 0);
    assert_int_equal(found.worst.pair, 0);
    assert_true(found.worst.error_u > 38 && found.worst.error_u > found.worst.bound_u);
    close_fixture(&f);
}

static stage_result stages_of(const fixture *f, const rope_kernel *kernel, uint32_t dtype)
{
    certify_subject subject = {kernel, NULL, &f->spec, dtype};
    stage_result result;
    rope_error error;
    if (!stages_run(&subject, f->o, &f->frequencies, 1 << 20, 3, &result, &error))
        fail_msg("%s", error.text);
    return result;
}

static void models_reproduce_kernels(void **state)
{
    (void)state;
    size_t count;
    const rope_header *const *all = rope_registry(&count);
    int modelled = 0, turn = 0;
    for (int pairing = 0; pairing < 2; pairing++) {
        fixture f =
            open_fixture(pairing == ROPE_HALF ? "head_dim=64,base=10000,pairing=half"
                                              : "head_dim=64,base=10000,pairing=interleaved",
                         ROPE_TRUTH_EXACT);
        oracle_prepare(f.o, 0, 1 << 20);
        for (size_t k = 0; k < count; k++) {
            const rope_kernel *kernel = (const rope_kernel *)all[k];
            if (all[k]->kind != ROPE_ROTATION || !(kernel->pairings & 1u << pairing) ||
                (pairing == ROPE_HALF && kernel->pairings & 1u << ROPE_INTERLEAVED))
                continue; /* in one pairing each */
            for (uint32_t dtype = 0; dtype < 4; dtype++) {
                certify_subject subject = {kernel, NULL, &f.spec, dtype};
                rope_error error;
                if (!certify_takes(&subject, ROPE_TRUTH_EXACT, 0, 0, &error) ||
                    kernel->pipeline.arithmetic == 0 || turn++ % (2 * step() - 1) != 0)
                    continue;
                stage_result r = stages_of(&f, kernel, dtype);
                if (r.reason[0] != '\0' || r.count != 21 || stages_misfit(&r) > 0.2)
                    fail_msg("%s %s: %s, %d bands, model off by %.3g", kernel->name,
                             rope_dtype_name(dtype), r.reason, r.count, stages_misfit(&r));
                modelled++;
            }
        }
        close_fixture(&f);
    }
    assert_true(modelled * (2 * step() - 1) >= 16);
}

static void a_false_pipeline_does_not_fit(void **state)
{
    (void)state;
    fixture f = open_fixture("head_dim=64,base=10000,pairing=half", ROPE_TRUTH_EXACT);
    rope_kernel false_claim = *rope_registry_find("scalar");
    false_claim.pipeline = rope_registry_find("lookup")->pipeline;
    stage_result r = stages_of(&f, &false_claim, ROPE_F32);
    assert_true(stages_misfit(&r) > 0.2);
    false_claim.pipeline = (rope_pipeline){0};
    r = stages_of(&f, &false_claim, ROPE_F32);
    assert_non_null(strstr(r.reason, "declares no pipeline"));
    close_fixture(&f);
}

static drift_result drift_of(const fixture *f, const char *kernel)
{
    certify_subject subject = {rope_registry_find(kernel), NULL, &f->spec, ROPE_F32};
    drift_result r;
    rope_error error;
    if (!drift_run(&subject, &f->frequencies, 64, 1, &r, &error))
        fail_msg("%s", error.text);
    assert_string_equal(r.reason, "");
    return r;
}

static void rounded_angles_drift_and_rounded_frequencies_do_not(void **state)
{
    (void)state;
    const char *spec = "head_dim=128,base=10000,pairing=half";
    fixture exact = open_fixture(spec, ROPE_TRUTH_EXACT);
    fixture trained = open_fixture(spec, ROPE_TRUTH_AS_TRAINED);
    drift_result f32_angle = drift_of(&exact, "scalar");
    drift_result f64_angle = drift_of(&exact, "lookup");
    drift_result f32_frequency = drift_of(&trained, "lookup");
    /* By k = 10^6 and 10^8 all-f32 rotation has moved scores by about 2e-3 and 1e-1. */
    assert_true(f32_angle.largest[6] > 5e-4 && f32_angle.largest[8] > 2e-2);
    for (int j = 0; j < DRIFT_MAGNITUDES; j++) {
        assert_true(f64_angle.largest[j] < 1e-7);
        assert_true(f32_frequency.largest[j] < 1e-7);
    }
    close_fixture(&exact);
    close_fixture(&trained);
}

static void a_replay_line_names_the_elements(void **state)
{
    (void)state;
    fixture f = open_fixture("head_dim=8,base=10000,pairing=interleaved", ROPE_TRUTH_EXACT);
    hunt_label label = {"scalar", "f32", "x", "exact", " --plugin 'a.so'"};
    certificate_case c = {.position = -3, .pair = 2, .x0 = 1, .x1 = -2};
    char *line = hunt_replay(&label, &f.spec, &c);
    assert_string_equal(line, "tightrope verify --plugin 'a.so' --kernel scalar --replay "
                              "'contract;spec=head_dim=8,base=10000,pairing=interleaved;dtype=f32;"
                              "truth=exact;at=-3;bits=4:3f800000,5:c0000000'");
    free(line);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(climbing_beats_sampling_and_repeats_itself),
        cmocka_unit_test(finds_at_least_what_certification_found),
        cmocka_unit_test(climbs_to_a_pitfall),
        cmocka_unit_test(models_reproduce_kernels),
        cmocka_unit_test(a_false_pipeline_does_not_fit),
        cmocka_unit_test(rounded_angles_drift_and_rounded_frequencies_do_not),
        cmocka_unit_test(a_replay_line_names_the_elements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
