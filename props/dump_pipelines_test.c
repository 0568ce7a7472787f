/* check and identify on dumps of pipelines that frameworks really have, right and with faults that
 * no list has: each is made by plain libm code, one pair after the other. No right one may fail or
 * be accused, no faulty one may pass. */
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
#include "oracle/measure.h"
#include "props/dump_check.h"
#include "props/dump_pipelines.h"
#include "props/identify.h"

static char directory[] = "/tmp/dump_pipelines_XXXXXX";
static char input[64], output[64], where[64];

static int begin(void **state)
{
    (void)state;
    if (mkdtemp(directory) == NULL)
        return 1;
    snprintf(input, sizeof input, "%s/x.npy", directory);
    snprintf(output, sizeof output, "%s/y.npy", directory);
    snprintf(where, sizeof where, "%s/p.npy", directory);
    return 0;
}

static int end(void **state)
{
    (void)state;
    unlink(input);
    unlink(output);
    unlink(where);
    return rmdir(directory);
}

/* ---- asking ---- */

static void write_tensor(const char *path, uint32_t dtype, int64_t d, const double *values)
{
    static const npy_type types[] = {NPY_F32, NPY_F16, NPY_U16, NPY_F64};
    const int64_t shape[3] = {PIPELINE_TOKENS, PIPELINE_HEADS, d};
    void *data = calloc((size_t)(PIPELINE_TOKENS * PIPELINE_HEADS * d), rope_dtype_bytes(dtype));
    rope_error error;
    assert_non_null(data);
    for (int64_t i = 0; i < PIPELINE_TOKENS * PIPELINE_HEADS * d; i++)
        oracle_store(dtype, data, i, values[i]);
    assert_true(npy_write(path, types[dtype], 3, shape, data, &error));
    free(data);
}

typedef struct {
    bool pass;
    char reason[512];
    prop_identity identity;
} outcome;

static void ask(const rope_spec *spec, uint32_t dtype, const prop_tensors *t, bool positions,
                outcome *o)
{
    const int64_t shape[1] = {PIPELINE_TOKENS};
    rope_error error = {""};
    prop_dump dump;
    prop_verdict verdict;
    prop_sample sample;
    write_tensor(input, dtype, spec->head_dim, t->x);
    write_tensor(output, dtype, spec->head_dim, t->y);
    assert_true(npy_write(where, NPY_I64, 1, shape, t->position, &error));
    if (!prop_dump_open(input, output, where, PROP_LAYOUT_DEFAULT, &dump, &error) ||
        !prop_dump_check(&dump, spec, &(prop_check_options){0}, &verdict, &error))
        fail_msg("%s", error.text);
    o->pass = verdict.pass;
    snprintf(o->reason, sizeof o->reason, "%s", verdict.reason);
    prop_verdict_free(&verdict);
    prop_dump_close(&dump);
    if (!prop_dump_open(input, output, positions ? where : NULL, PROP_LAYOUT_DEFAULT, &dump,
                        &error) ||
        !prop_sample_read(&dump, &sample, &error) ||
        !prop_identify(&sample, spec, (1u << PROP_ANGLES) - 1, &o->identity, &error))
        fail_msg("%s", error.text);
    prop_sample_free(&sample);
    prop_dump_close(&dump);
}

static const char *first_answer(const outcome *o)
{
    return o->identity.count > 0 && o->identity.fitting > 0 ? o->identity.answers[0].fault
                                                            : "(nothing)";
}

/* ---- right ones ---- */

static bool sensible(const prop_pipeline *p, const rope_spec *s, uint32_t dtype)
{
    bool wide = dtype == ROPE_F32 || dtype == ROPE_F64;
    bool blends = s->scaling != ROPE_SCALING_NONE && s->scaling != ROPE_SCALING_LINEAR;
    if ((p->table_in_storage || p->sum == PROP_STEPS) && wide)
        return false;
    if (p->formula == PROP_TIMESCALE && s->scaling != ROPE_SCALING_NONE)
        return false;
    if (p->formula == PROP_IN_F64 && blends)
        return false;
    return dtype != ROPE_F64 || (p->formula == PROP_IN_F64 && p->angle == PROP_F64_ANGLE);
}

static void right_pipelines_pass_and_have_no_fault(void **state)
{
    (void)state;
    bool full = getenv("TIGHTROPE_FULL") != NULL;
    static prop_tensors t;
    static outcome o;
    int cases = 0, wrong = 0;
    static const uint32_t dtypes[] = {ROPE_F32, ROPE_F16, ROPE_BF16, ROPE_F64};
    for (int i = 0; i < PIPELINE_SPECS; i++)
        for (int w = 0; w < PIPELINE_WAYS; w++)
            for (int k = 0; k < 4; k++) {
                rope_spec spec;
                assert_true(rope_spec_parse(prop_pipeline_specs[i], &spec, NULL));
                bool wanted = full || (i + w + 3 * k) % 19 == 0;
                if (wanted && sensible(&prop_pipelines[w], &spec, dtypes[k])) {
                    prop_pipeline_place(&t, (i + w + k) % 3);
                    prop_pipeline_make(&spec, dtypes[k], &prop_pipelines[w], NULL,
                                       (uint64_t)(i * 100 + w), &t);
                    ask(&spec, dtypes[k], &t, true, &o);
                    cases++;
                    if (!o.pass || !o.identity.told || strcmp(first_answer(&o), "none") != 0) {
                        wrong++;
                        print_message("# %s, %s, way %d: %s %s; identify %s\n",
                                      prop_pipeline_specs[i], rope_dtype_name(dtypes[k]), w,
                                      o.pass ? "PASS" : "FAIL", o.reason, first_answer(&o));
                    }
                }
                rope_spec_free(&spec);
            }
    print_message("# %d right dumps, %d misjudged\n", cases, wrong);
    assert_true(cases >= 12);
    assert_int_equal(wrong, 0);
}

static void faulty_pipelines_fail_and_are_not_called_right(void **state)
{
    (void)state;
    bool full = getenv("TIGHTROPE_FULL") != NULL;
    static prop_tensors t;
    static outcome o;
    int cases = 0, wrong = 0, count;
    const prop_pipeline_fault *faults = prop_pipeline_faults_all(&count);
    for (int i = 0; i < count; i++)
        for (uint32_t dtype = ROPE_F32, made = 0; dtype <= ROPE_F64; dtype++) {
            if (!(faults[i].dtypes & 1u << dtype))
                continue;
            /* What cannot be told is tried by all means, and so takes longest. */
            if (!full &&
                (made++ > 0 || (faults[i].named == NULL && i % 4 != 0 && dtype != ROPE_F64)))
                continue;
            rope_spec spec;
            assert_true(rope_spec_parse(prop_pipeline_specs[faults[i].spec], &spec, NULL));
            prop_pipeline p = prop_pipelines[dtype == ROPE_F64 ? 7 : i % 2 ? 0 : 10];
            prop_pipeline_place(&t, faults[i].positions);
            prop_pipeline_make(&spec, dtype, &p, faults[i].spoil, 77 + (uint64_t)i, &t);
            ask(&spec, dtype, &t, true, &o);
            cases++;
            const char *said = o.identity.told ? first_answer(&o) : "(cannot tell)";
            bool right = !o.pass && strcmp(said, "none") != 0 &&
                         (faults[i].named == NULL || strcmp(said, faults[i].named) == 0);
            wrong += !right;
            if (!right || full)
                print_message("# %s%s, %s: %s; identify %s: %s\n", right ? "" : "WRONG ",
                              faults[i].label, rope_dtype_name(dtype), o.pass ? "PASS" : "FAIL",
                              said, o.identity.fitting > 0 ? o.identity.answers[0].detail : "");
            rope_spec_free(&spec);
        }
    print_message("# %d faulty dumps, %d misjudged\n", cases, wrong);
    assert_true(cases >= (full ? count : 20));
    assert_int_equal(wrong, 0);
}

/* F7 is a fault where f64 angles are asked for. */
static void f32_angles_are_a_fault_on_request(void **state)
{
    (void)state;
    static prop_tensors t;
    static prop_identity identity;
    rope_error error = {""};
    rope_spec spec;
    prop_dump dump;
    prop_sample sample;
    for (int exact = 0; exact < 2; exact++) {
        assert_true(rope_spec_parse(prop_pipeline_specs[0], &spec, NULL));
        prop_pipeline_place(&t, 2);
        prop_pipeline_make(&spec, ROPE_F32, &prop_pipelines[exact ? 7 : 0], NULL, 3, &t);
        static outcome o;
        ask(&spec, ROPE_F32, &t, true, &o); /* writes the files */
        assert_true(o.pass);
        if (!prop_dump_open(input, output, where, PROP_LAYOUT_DEFAULT, &dump, &error) ||
            !prop_sample_read(&dump, &sample, &error) ||
            !prop_identify(&sample, &spec, 1u << PROP_ANGLE_EXACT, &identity, &error))
            fail_msg("%s", error.text);
        prop_sample_free(&sample);
        prop_dump_close(&dump);
        assert_true(identity.told);
        assert_string_equal(identity.answers[0].fault, exact ? "none" : "F7 f32-angle");
        rope_spec_free(&spec);
    }
}

/* NaN and infinity in the input reach both elements of their pairs: no fault. */
static void what_is_not_finite_passes_through(void **state)
{
    (void)state;
    static prop_tensors t;
    static outcome o;
    rope_spec spec;
    for (int unexpected = 0; unexpected < 2; unexpected++) {
        assert_true(rope_spec_parse(prop_pipeline_specs[0], &spec, NULL));
        prop_pipeline_place(&t, 1);
        prop_pipeline_make(&spec, ROPE_F32, &prop_pipelines[0], NULL, 6, &t);
        int64_t d = spec.head_dim, row = 9 * d, other = 17 * d;
        t.x[row + 5] = NAN; /* its partner, 37, is finite */
        t.y[row + 5] = t.y[row + 5 + d / 2] = NAN;
        t.x[other + 40] = INFINITY;
        t.y[other + 8] = -INFINITY;
        t.y[other + 40] = NAN; /* infinity times a cosine of 0, say */
        if (unexpected)
            t.y[row + 6] = NAN;
        ask(&spec, ROPE_F32, &t, true, &o);
        assert_int_equal(o.pass, !unexpected);
        assert_true(o.identity.told);
        assert_string_equal(first_answer(&o), unexpected ? "unexpected-nan" : "none");
        rope_spec_free(&spec);
    }
}

/* Positions that nobody gave are no fault. */
static void unknown_positions_accuse_nobody(void **state)
{
    (void)state;
    static prop_tensors t;
    static outcome o;
    static const struct {
        const char *made, *declared, *fault; /* NULL: cannot tell */
        int positions;
        int64_t times, plus;
    } cases[] = {
        {"head_dim=64,base=10000,pairing=half", "head_dim=64,base=10000,pairing=half", "none", 1, 1,
         0},
        {"head_dim=64,base=10000,pairing=half", "head_dim=64,base=10000,pairing=half", "none", 2, 1,
         0},
        {"head_dim=64,base=10000,pairing=half", "head_dim=64,base=10000,pairing=half", "none", 0, 2,
         7},
        {"head_dim=128,base=500000,pairing=half", "head_dim=128,base=500000,pairing=interleaved",
         "F1 pairing-swapped", 1, 1, 0},
        {"head_dim=64,base=10000,pairing=half", "head_dim=64,base=10000,pairing=half", NULL, 1, -1,
         0}, /* or an inverse rotation */
        {"head_dim=64,base=10000,pairing=half", "head_dim=64,base=10000,pairing=half", NULL, 1, 0,
         77}, /* or one position for all */
        {"head_dim=2,base=10000,pairing=half", "head_dim=2,base=10000,pairing=half", NULL, 2, 1,
         0}, /* one angle alone tells no position */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int narrow = 0; narrow < 2; narrow++) {
            rope_spec made, declared;
            assert_true(rope_spec_parse(cases[i].made, &made, NULL));
            assert_true(rope_spec_parse(cases[i].declared, &declared, NULL));
            prop_pipeline_place(&t, cases[i].positions);
            for (int k = 0; k < PIPELINE_TOKENS; k++)
                t.position[k] = cases[i].times * t.position[k] + cases[i].plus;
            prop_pipeline_make(&made, narrow ? ROPE_BF16 : ROPE_F32,
                               &prop_pipelines[narrow ? 13 : 0], NULL, 9, &t);
            ask(&declared, narrow ? ROPE_BF16 : ROPE_F32, &t, false, &o);
            if (o.identity.told != (cases[i].fault != NULL) ||
                (cases[i].fault != NULL && strcmp(first_answer(&o), cases[i].fault) != 0))
                fail_msg("case %zu, %s: told %d, %s", i, narrow ? "bf16" : "f32", o.identity.told,
                         first_answer(&o));
            rope_spec_free(&made);
            rope_spec_free(&declared);
        }
}

/* Nothing else is said of an output without a rotation, least of all how it was computed. */
static void outputs_without_rotation_are_called_so(void **state)
{
    (void)state;
    static prop_tensors t;
    static outcome o;
    rope_spec spec;
    assert_true(rope_spec_parse(prop_pipeline_specs[0], &spec, NULL));
    for (int zeros = 0; zeros < 2; zeros++) {
        prop_pipeline_place(&t, 1);
        prop_pipeline_make(&spec, ROPE_F32, &prop_pipelines[0], NULL, 8, &t);
        memcpy(t.y, t.x, sizeof t.y);
        if (zeros)
            memset(t.y, 0, sizeof t.y);
        const char *said =
            zeros ? "the output is all zeros"
                  : "all rows equal their input: nothing was rotated (or all by position 0)";
        ask(&spec, ROPE_F32, &t, true, &o);
        assert_false(o.pass);
        assert_non_null(strstr(o.reason, zeros ? "all zeros" : "equal to input"));
        assert_true(o.identity.told);
        assert_string_equal(first_answer(&o), "stale");
        assert_string_equal(o.identity.answers[0].detail, said);
        assert_string_equal(o.identity.answers[0].pipeline, "");
        ask(&spec, ROPE_F32, &t, false, &o); /* rows at position 0 equal their input */
        assert_int_equal(o.identity.told, zeros);
        assert_string_equal(zeros ? o.identity.answers[0].detail : o.identity.decide, said);
    }
    rope_spec_free(&spec);
}

/* Where a part is wrong, the pipeline is that of the rest; a part that outweighs it leaves none. */
static void the_pipeline_is_that_of_the_rest(void **state)
{
    (void)state;
    static prop_tensors t;
    static outcome o;
    rope_spec spec;
    assert_true(rope_spec_parse(prop_pipeline_specs[0], &spec, NULL));
    for (int much = 0; much < 2; much++) {
        prop_pipeline_place(&t, 1);
        prop_pipeline_make(&spec, ROPE_F32, &prop_pipelines[0], NULL, 8, &t);
        int64_t d = spec.head_dim, row = 9 * PIPELINE_HEADS * d;
        t.y[row] += much ? 0 : 0x1p-12;
        for (int64_t i = 0; much && i < PIPELINE_HEADS * d; i++)
            t.y[row + i] = t.y[row - PIPELINE_HEADS * d + i];
        ask(&spec, ROPE_F32, &t, true, &o);
        assert_true(o.identity.told);
        assert_string_equal(first_answer(&o), much ? "stale" : "corrupted-element");
        if (much)
            assert_string_equal(o.identity.answers[0].pipeline, "");
        else
            assert_int_equal(strncmp(o.identity.answers[0].pipeline, "A3", 2), 0);
    }
    rope_spec_free(&spec);
}

/* What is given already is not asked for. */
static void what_may_help_is_what_was_not_given(void **state)
{
    (void)state;
    static prop_tensors t;
    static outcome o;
    rope_spec spec;
    assert_true(rope_spec_parse(prop_pipeline_specs[0], &spec, NULL));
    for (int i = 0; i < 4; i++) {
        static const char *const said[4] = {
            "nothing that is known explains it",
            "nothing that is known explains it; what may help: a dump in f32",
            "nothing that is known explains it; what may help: consecutive positions from 0",
            "nothing that is known explains it; what may help: a dump in f32, --positions, of "
            "consecutive positions from 0",
        };
        uint32_t dtype = i % 2 ? ROPE_BF16 : ROPE_F32;
        prop_pipeline_place(&t, i == 2 ? 1 : 0);
        for (int k = 0; i != 2 && k < PIPELINE_TOKENS; k++)
            t.position[k] = k;
        prop_pipeline_make(&spec, dtype, &prop_pipelines[0], NULL, 8, &t);
        for (size_t k = 0; k < sizeof t.y / sizeof t.y[0]; k++)
            t.y[k] = t.x[(k * 7919 + 5) % (sizeof t.x / sizeof t.x[0])];
        ask(&spec, dtype, &t, i < 3, &o);
        assert_false(o.identity.told);
        assert_string_equal(o.identity.decide, said[i]);
    }
    rope_spec_free(&spec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_pipelines_pass_and_have_no_fault),
        cmocka_unit_test(faulty_pipelines_fail_and_are_not_called_right),
        cmocka_unit_test(f32_angles_are_a_fault_on_request),
        cmocka_unit_test(what_is_not_finite_passes_through),
        cmocka_unit_test(unknown_positions_accuse_nobody),
        cmocka_unit_test(outputs_without_rotation_are_called_so),
        cmocka_unit_test(the_pipeline_is_that_of_the_rest),
        cmocka_unit_test(what_may_help_is_what_was_not_given),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
