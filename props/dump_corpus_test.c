/* check and identify on several hundred dumps, right and faulty, made by independent slow code: the
 * confusion matrix is asserted. The unit test takes a part of each kind (presets and dtypes in
 * turn, every blunder in some dtype on three specs); TIGHTROPE_FULL three times as many. */
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
#include "impl/spec/presets.h"
#include "oracle/measure.h"
#include "props/dump_check.h"
#include "props/dump_corpus.h"
#include "props/identify.h"

static char directory[] = "/tmp/dump_corpus_XXXXXX";
static char input[64], output[64];

enum { TOKENS = 10, HEADS = 2, ALL_ANGLES = (1 << PROP_ANGLES) - 1 };

static const int64_t near_start[TOKENS] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
static const int64_t scattered[TOKENS] = {0, 1, 2, 7, 100, 513, 1001, 2047, 4095, 4097};
static const int64_t far[TOKENS] = {3,      8191,   20000,  65537,  100003,
                                    104729, 110001, 115249, 125003, 131071};
static const int64_t in_a_row[TOKENS] = {3000, 3001, 3002, 3003, 3004,
                                         3005, 3006, 3007, 3008, 3009};

static bool full(void)
{
    return getenv("TIGHTROPE_FULL") != NULL;
}

static int begin(void **state)
{
    (void)state;
    if (mkdtemp(directory) == NULL)
        return 1;
    snprintf(input, sizeof input, "%s/x.npy", directory);
    snprintf(output, sizeof output, "%s/y.npy", directory);
    return 0;
}

static int end(void **state)
{
    (void)state;
    unlink(input);
    unlink(output);
    return rmdir(directory);
}

static void write_tensor(const char *path, const prop_case *c, const double *values)
{
    static const npy_type types[] = {NPY_F32, NPY_F16, NPY_U16, NPY_F64};
    int64_t shape[3] = {c->tokens, c->heads, c->spec->head_dim};
    int64_t count = shape[0] * shape[1] * shape[2];
    void *data = calloc((size_t)count, rope_dtype_bytes(c->dtype));
    rope_error error;
    assert_non_null(data);
    for (int64_t i = 0; i < count; i++)
        oracle_store(c->dtype, data, i, values[i]);
    assert_true(npy_write(path, types[c->dtype], 3, shape, data, &error));
    free(data);
}

typedef struct {
    bool pass;
    prop_identity *identity;
} outcome;

/* Multiplies the largest element of a row in the middle by factor. */
static void change_one(const prop_case *c, double factor, double *y)
{
    int64_t d = c->spec->head_dim, largest = 0;
    double *row = y + (c->tokens / 2 * c->heads + c->heads - 1) * d;
    for (int64_t i = 0; i < d; i++)
        largest = fabs(row[i]) > fabs(row[largest]) ? i : largest;
    row[largest] *= factor;
}

/* Makes the case, one element times factor, writes it, and asks check and identify. */
static void ask_changed(const prop_case *c, double factor, bool declared, outcome *o)
{
    rope_error error = {""};
    size_t count = (size_t)(c->tokens * c->heads * c->spec->head_dim);
    double *x = malloc(count * sizeof *x), *y = malloc(count * sizeof *y);
    assert_true(x != NULL && y != NULL);
    if (!prop_case_make(c, x, y, &error))
        fail_msg("%s", error.text);
    if (factor != 1)
        change_one(c, factor, y);
    write_tensor(input, c, x);
    write_tensor(output, c, y);
    free(x);
    free(y);
    char positions[256] = "";
    for (int64_t t = 0; t < c->tokens; t++)
        snprintf(positions + strlen(positions), sizeof positions - strlen(positions), "%s%lld",
                 t ? "," : "", (long long)c->position[t]);
    prop_dump dump;
    prop_verdict verdict;
    prop_sample sample;
    if (!prop_dump_open(input, output, positions, PROP_LAYOUT_DEFAULT, &dump, &error))
        fail_msg("%s", error.text);
    if (!prop_dump_check(&dump, c->spec, &(prop_check_options){0}, &verdict, &error))
        fail_msg("%s", error.text);
    o->pass = verdict.pass;
    prop_verdict_free(&verdict);
    assert_true(prop_sample_read(&dump, &sample, &error));
    if (!prop_identify(&sample, declared ? c->spec : NULL, ALL_ANGLES, o->identity, &error))
        fail_msg("%s", error.text);
    prop_sample_free(&sample);
    prop_dump_close(&dump);
}

static void ask(const prop_case *c, bool declared, outcome *o)
{
    ask_changed(c, 1, declared, o);
}

static void describe(const char *what, const char *spec, const prop_case *c, const outcome *o)
{
    print_message("# %s: %s, %s, way %d, %s: check %s, identify %s%s\n", what, spec,
                  rope_dtype_name(c->dtype), (int)c->way, prop_blunder_name(c->blunder),
                  o->pass ? "PASS" : "FAIL", o->identity->told ? "" : "cannot tell, first ",
                  o->identity->count > 0 ? o->identity->answers[0].fault : "(nothing)");
}

/* Every preset; dtypes, ways and positions take turns. */
static void right_dumps_pass_and_have_no_fault(void **state)
{
    (void)state;
    size_t presets;
    const rope_preset *preset = rope_presets(&presets);
    prop_identity identity;
    outcome result = {.identity = &identity};
    int cases = 0, wrong = 0;
    for (size_t i = 0; i < presets; i++) {
        rope_spec spec;
        rope_error error;
        if (!rope_spec_parse(preset[i].name, &spec, NULL) || spec.rotary_dim < 2)
            continue;
        oracle *o = oracle_new(&spec, ROPE_TRUTH_EXACT, &error);
        if (o == NULL) { /* named, not silent: no truth, nothing to compare with */
            print_message("# no dump of preset %s: %s\n", preset[i].name, error.text);
            rope_spec_free(&spec);
            continue;
        }
        oracle_free(o);
        for (uint32_t t = ROPE_F32; t <= ROPE_BF16; t++) {
            if ((i + t) % (full() ? 2 : 5) != 0) /* a half or a fifth of all, in turn */
                continue;
            prop_case c = {.spec = &spec,
                           .dtype = t,
                           .way = (prop_way)((i + t) / 2 % PROP_WAYS),
                           .tokens = TOKENS,
                           .heads = HEADS,
                           .position = (i + t) % 3 == 0   ? near_start
                                       : (i + t) % 3 == 1 ? scattered
                                                          : far,
                           .seed = 1000 * i + t};
            if (!prop_case_possible(&c))
                c.way = PROP_WAY_F32;
            ask(&c, true, &result);
            cases++;
            if (result.pass && identity.told && strcmp(identity.answers[0].fault, "none") == 0)
                continue;
            wrong++;
            describe("right dump", preset[i].name, &c, &result);
        }
        rope_spec_free(&spec);
    }
    print_message("# %d right dumps, %d misjudged\n", cases, wrong);
    assert_true(cases >= (full() ? 100 : 38));
    assert_int_equal(wrong, 0);
}

static const int64_t *positions_for(prop_blunder blunder)
{
    switch (blunder) {
    case PROP_BLUNDER_ANGLE_RECURRENCE:
    case PROP_BLUNDER_FREQUENCY_RECURRENCE:
        return far;
    case PROP_BLUNDER_ACCUMULATION:
    case PROP_BLUNDER_ROTOR:
        return in_a_row;
    case PROP_BLUNDER_INVERSE:
    case PROP_BLUNDER_ONE_MORE:
    case PROP_BLUNDER_TWICE:
        return near_start;
    default:
        return scattered;
    }
}

static const char *const specs[] = {
    "head_dim=128,base=10000,pairing=half",
    "head_dim=64,base=500000,pairing=interleaved",
    "head_dim=80,rotary_dim=32,base=10000,pairing=half",
    "head_dim=96,rotary_dim=24,base=1000000,pairing=interleaved",
    "head_dim=128,base=500000,pairing=half,scaling=llama3,factor=8,low=1,high=4,original=8192",
    "head_dim=64,base=10000,pairing=half,scaling=linear,factor=4",
    "head_dim=128,base=1000000,pairing=half,scaling=yarn,factor=4,original=32768",
};

static void faulty_dumps_fail_and_are_named(void **state)
{
    (void)state;
    prop_identity identity;
    outcome o = {.identity = &identity};
    int cases = 0, passed = 0, named = 0;
    for (prop_blunder b = PROP_BLUNDER_NONE + 1; b < PROP_BLUNDERS; b++) {
        int of_blunder = 0, named_right = 0, made = 0;
        for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
            rope_spec spec;
            assert_true(rope_spec_parse(specs[i], &spec, NULL));
            for (uint32_t t = ROPE_F32; t <= ROPE_BF16; t++) {
                prop_case c = {.spec = &spec,
                               .dtype = t,
                               .way = (prop_way)((i + t) % 3),
                               .blunder = b,
                               .tokens = TOKENS,
                               .heads = HEADS,
                               .position = positions_for(b),
                               .seed = 100 * i + (uint64_t)b};
                if (!prop_case_possible(&c))
                    c.way = PROP_WAY_F32;
                /* The first of each blunder, and of the others a third or an eleventh in turn. */
                if (!prop_case_possible(&c) || (made++ % (full() ? 3 : 11) != 0 && of_blunder > 0))
                    continue;
                ask(&c, true, &o);
                of_blunder++;
                passed += o.pass;
                bool right =
                    identity.told && strcmp(identity.answers[0].fault, prop_blunder_name(b)) == 0;
                named_right += right;
                if (o.pass || !right)
                    describe("faulty dump", specs[i], &c, &o);
            }
            rope_spec_free(&spec);
        }
        print_message("# %-28s %d of %d named\n", prop_blunder_name(b), named_right, of_blunder);
        assert_true(of_blunder > 0);
        cases += of_blunder;
        named += named_right;
    }
    print_message("# %d faulty dumps, %d passed, %d named right\n", cases, passed, named);
    assert_true(cases >= (full() ? 100 : 38));
    assert_int_equal(passed, 0);
    assert_true(named * 100 >= cases * 95);
}

/* No spec given: found among all, with the frequencies of the one that was used. */
static void open_specs_are_found(void **state)
{
    (void)state;
    prop_identity identity;
    outcome o = {.identity = &identity};
    static const char *const open[] = {
        "llama-3.1-8b", "gpt-j-6b", "head_dim=64,base=10000,pairing=half,scaling=linear,factor=4",
        "head_dim=64,base=123000,pairing=interleaved"};
    for (size_t i = 0; i < sizeof open / sizeof open[0]; i++) {
        rope_spec spec, found;
        assert_true(rope_spec_parse(open[i], &spec, NULL));
        prop_case c = {.spec = &spec,
                       .dtype = ROPE_F32,
                       .way = i % 2 ? PROP_WAY_F32 : PROP_WAY_EXACT,
                       .tokens = TOKENS,
                       .heads = HEADS,
                       .position = i == 3 ? near_start : scattered,
                       .seed = i};
        ask(&c, false, &o);
        if (!identity.told || strcmp(identity.answers[0].fault, "none") != 0)
            describe("open dump", open[i], &c, &o);
        assert_true(identity.told);
        assert_string_equal(identity.answers[0].fault, "none");
        assert_true(rope_spec_parse(identity.answers[0].spec, &found, NULL));
        assert_true(found.pairing == spec.pairing && found.rotary_dim == spec.rotary_dim);
        rope_frequencies f, g;
        assert_true(rope_spec_resolve(&spec, ROPE_TRUTH_EXACT, &f, NULL));
        assert_true(rope_spec_resolve(&found, ROPE_TRUTH_EXACT, &g, NULL));
        for (int64_t k = 0; k < f.pairs; k++)
            assert_true(f.hi[k] == g.hi[k]);
        rope_frequencies_free(&f);
        rope_frequencies_free(&g);
        rope_spec_free(&spec);
        rope_spec_free(&found);
    }
}

/* In f64 the exact angles that identify compares with need more bits than a long double has. */
static void right_f64_dumps_have_no_fault(void **state)
{
    (void)state;
    static const int64_t *const positions[] = {near_start, scattered, far};
    prop_identity identity;
    outcome o = {.identity = &identity};
    int wrong = 0;
    for (int i = 0; i < 12; i += full() ? 1 : 5) { /* each way, list and spec either way */
        rope_spec spec;
        assert_true(rope_spec_parse(specs[i / 3 % 2], &spec, NULL));
        prop_case c = {.spec = &spec,
                       .dtype = ROPE_F64,
                       .way = i < 6 ? PROP_WAY_F64 : PROP_WAY_EXACT,
                       .tokens = TOKENS,
                       .heads = HEADS,
                       .position = positions[i % 3],
                       .seed = 300 + (uint64_t)i};
        for (int declared = 0; declared < 2; declared++) {
            ask(&c, declared == 1, &o);
            if (o.pass && identity.told && strcmp(identity.answers[0].fault, "none") == 0)
                continue;
            wrong++;
            describe("right f64 dump", specs[i / 3 % 2], &c, &o);
        }
        rope_spec_free(&spec);
    }
    assert_int_equal(wrong, 0);
}

/* Some ten u off in one element: outside the contract, but no drift of a norm. */
static void one_changed_element_is_no_drift(void **state)
{
    (void)state;
    static const double factors[] = {1 + 6e-7, 1 + 1e-6, 1 + 3e-6, 1 - 1e-6};
    prop_identity identity;
    outcome o = {.identity = &identity};
    int wrong = 0;
    for (int i = 0; i < 16; i += full() ? 1 : 3) { /* every factor either way */
        rope_spec spec;
        assert_true(rope_spec_parse(specs[i % 2], &spec, NULL));
        prop_case c = {.spec = &spec,
                       .dtype = ROPE_F32,
                       .way = i < 8 ? PROP_WAY_EXACT : PROP_WAY_F64_ANGLE,
                       .tokens = TOKENS,
                       .heads = 1 + i / 2 % 2 * 2,
                       .position = i % 3 ? scattered : near_start,
                       .seed = 400 + (uint64_t)i};
        ask_changed(&c, factors[i / 4], true, &o);
        if (o.pass || !identity.told ||
            strcmp(identity.answers[0].fault, "corrupted-element") != 0) {
            wrong++;
            describe("one element changed", specs[i % 2], &c, &o);
        }
        rope_spec_free(&spec);
    }
    assert_int_equal(wrong, 0);
}

/* At rotary_dim 2 both pairings are one operation. */
static void what_cannot_be_told_is_not(void **state)
{
    (void)state;
    prop_identity identity;
    outcome o = {.identity = &identity};
    rope_spec spec;
    assert_true(rope_spec_parse("head_dim=2,base=10000,pairing=half", &spec, NULL));
    prop_case c = {.spec = &spec,
                   .dtype = ROPE_F32,
                   .tokens = TOKENS,
                   .heads = HEADS,
                   .position = near_start,
                   .seed = 7};
    ask(&c, false, &o);
    assert_false(identity.told);
    assert_true(identity.fitting >= 2);
    rope_spec_free(&spec);
}

static void q_and_k_are_compared(void **state)
{
    (void)state;
    prop_identity *two = calloc(2, sizeof *two);
    assert_non_null(two);
    rope_spec half, other;
    assert_true(rope_spec_parse(specs[0], &half, NULL));
    assert_true(rope_spec_parse("head_dim=128,base=10000,pairing=interleaved", &other, NULL));
    prop_case c = {.spec = &half,
                   .dtype = ROPE_F32,
                   .tokens = TOKENS,
                   .heads = HEADS,
                   .position = scattered,
                   .seed = 3};
    outcome q = {.identity = &two[0]}, k = {.identity = &two[1]};
    ask(&c, true, &q);
    ask(&c, true, &k);
    assert_null(prop_joint_fault(q.identity, k.identity));
    c.blunder = PROP_BLUNDER_PAIRING;
    ask(&c, true, &k);
    assert_string_equal(prop_joint_fault(q.identity, k.identity), "F2 mixed-q-k-pairing");
    c.blunder = PROP_BLUNDER_ONE_MORE;
    ask(&c, true, &k);
    assert_string_equal(prop_joint_fault(q.identity, k.identity), "F26 position-off-by-one");
    rope_spec_free(&half);
    rope_spec_free(&other);
    free(two);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_dumps_pass_and_have_no_fault),
        cmocka_unit_test(faulty_dumps_fail_and_are_named),
        cmocka_unit_test(open_specs_are_found),
        cmocka_unit_test(right_f64_dumps_have_no_fault),
        cmocka_unit_test(one_changed_element_is_no_drift),
        cmocka_unit_test(what_cannot_be_told_is_not),
        cmocka_unit_test(q_and_k_are_compared),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
