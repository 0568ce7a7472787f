/* check's rules one by one: what passes, what fails and why, what cannot be judged; the reach of
 * frequencies against its definition. The corpus holds the wide net. */
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
#include "props/check_report.h"
#include "props/dump_check.h"
#include "props/dump_corpus.h"
#include "props/dump_options.h"

static char directory[] = "/tmp/dump_check_test_XXXXXX";
static char input[64], output[64];

enum { TOKENS = 6, HEADS = 2, D = 16, COUNT = TOKENS * HEADS * D };
static const int64_t position[TOKENS] = {0, 1, 5, 1000, 4097, 131071};
static const char positions[] = "0,1,5,1000,4097,131071";
static const char plain[] = "head_dim=16,rotary_dim=12,base=10000,pairing=half";

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

static void write_tensor(const char *path, uint32_t dtype, const double *values)
{
    static const npy_type types[] = {NPY_F32, NPY_F16, NPY_BF16, NPY_F64};
    unsigned char data[COUNT * 8] = {0};
    rope_error error;
    for (int64_t i = 0; i < COUNT; i++)
        oracle_store(dtype, data, i, values[i]);
    assert_true(npy_write(path, types[dtype], 3, (int64_t[]){TOKENS, HEADS, D}, data, &error));
}

static void make(const char *spec_text, uint32_t dtype, prop_way way, double *x, double *y)
{
    rope_spec spec;
    rope_error error;
    assert_true(rope_spec_parse(spec_text, &spec, &error));
    prop_case c = {.spec = &spec,
                   .dtype = dtype,
                   .way = way,
                   .tokens = TOKENS,
                   .heads = HEADS,
                   .position = position,
                   .seed = 11};
    assert_true(prop_case_make(&c, x, y, &error));
    rope_spec_free(&spec);
}

/* What `say` prints to stdout. */
static void capture(void (*say)(void *), void *context, char *text, size_t size)
{
    FILE *file = tmpfile();
    fflush(stdout);
    int saved = dup(STDOUT_FILENO);
    dup2(fileno(file), STDOUT_FILENO);
    say(context);
    fflush(stdout);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    rewind(file);
    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
}
static void say_verdict(void *context)
{
    prop_check_print(context, NULL);
}
static char printed[8192]; /* of the last dump that could be judged */

/* 1 PASS, 0 FAIL, -1 cannot be judged; *reason gets the line. */
static int judge(const char *spec_text, const char *where, uint32_t dtype, const double *x,
                 const double *y, uint32_t angles, char reason[512])
{
    rope_spec spec;
    rope_error error = {""};
    prop_dump dump;
    prop_verdict verdict;
    int answer = -1;
    write_tensor(input, dtype, x);
    write_tensor(output, dtype, y);
    assert_true(rope_spec_parse(spec_text, &spec, &error));
    if (prop_dump_open(input, output, where, PROP_LAYOUT_THD, &dump, &error)) {
        if (prop_dump_check(&dump, &spec, &(prop_check_options){.angles = angles, .jobs = 2},
                            &verdict, &error)) {
            answer = verdict.pass;
            snprintf(reason, 512, "%s", verdict.reason);
            capture(say_verdict, &verdict, printed, sizeof printed);
            prop_verdict_free(&verdict);
        }
        prop_dump_close(&dump);
    }
    if (answer < 0)
        snprintf(reason, 512, "%s", error.text);
    rope_spec_free(&spec);
    return answer;
}

enum { ANY = (1 << PROP_ANGLES) - 1, EXACT = 1 };

static void f32_angles_pass_unless_f64_is_asked_for(void **state)
{
    (void)state;
    double x[COUNT], y[COUNT];
    char reason[512];
    make(plain, ROPE_F32, PROP_WAY_F32, x, y);
    assert_int_equal(judge(plain, positions, ROPE_F32, x, y, ANY, reason), 1);
    assert_non_null(strstr(reason, "A3"));
    assert_int_equal(judge(plain, positions, ROPE_F32, x, y, EXACT, reason), 0);
    make(plain, ROPE_F32, PROP_WAY_F64_ANGLE, x, y);
    assert_int_equal(judge(plain, positions, ROPE_F32, x, y, EXACT, reason), 1);
}

/* What an error is measured against, and its share of the limit: the PASS of an f32 angle stands
 * beside an error that would fail an exact one. */
static void errors_say_against_what(void **state)
{
    (void)state;
    double x[COUNT], y[COUNT], error, limit, share;
    char reason[512];
    make(plain, ROPE_F32, PROP_WAY_F32, x, y);
    assert_int_equal(judge(plain, positions, ROPE_F32, x, y, ANY, reason), 1);
    const char *against = strstr(reason, "; largest error against that ");
    assert_non_null(against);
    assert_int_equal(sscanf(against,
                            "; largest error against that %lf u, %lf %% of the limit of "
                            "%lf u",
                            &error, &share, &limit),
                     3);
    assert_true(limit == 4.9 && fabs(share - 100 * error / limit) < 0.01 * share);
    const char *worst =
        strstr(printed, "\nworst pair against the exact rotation (not what the PASS "
                        "rests on): ");
    assert_non_null(worst);
    assert_int_equal(sscanf(strstr(worst, "): token") + 2,
                            " token %*d (position %*d), head %*d, pair %*d: %lf u, %lf times the "
                            "limit of an exact angle with one rounding, %lf u",
                            &error, &share, &limit),
                     3);
    assert_true(limit == 2.9432 && fabs(share - error / limit) < 0.01 * share);
    make(plain, ROPE_F32, PROP_WAY_EXACT, x, y);
    assert_int_equal(judge(plain, positions, ROPE_F32, x, y, ANY, reason), 1);
    assert_non_null(strstr(printed, "\nworst pair against the exact rotation: token"));
    assert_non_null(strstr(printed, " % of the limit of an exact angle with one rounding, "));
    assert_int_equal(judge(plain, positions, ROPE_F32, x, x, ANY, reason), 0);
    assert_non_null(strstr(printed, "\nworst pair against the exact rotation: token"));
}

static void f64_dumps_are_held_to_f64(void **state)
{
    (void)state;
    double x[COUNT], y[COUNT];
    char reason[512];
    make(plain, ROPE_F64, PROP_WAY_EXACT, x, y);
    assert_int_equal(judge(plain, positions, ROPE_F64, x, y, ANY, reason), 1);
    for (int i = 0; i < COUNT; i++)
        y[i] = (double)(float)y[i];
    assert_int_equal(judge(plain, positions, ROPE_F64, x, y, ANY, reason), 0);
}

static void what_is_visibly_wrong_is_said(void **state)
{
    (void)state;
    double x[COUNT], y[COUNT], spoilt[COUNT];
    char reason[512];
    make(plain, ROPE_F32, PROP_WAY_EXACT, x, y);
    assert_int_equal(judge(plain, positions, ROPE_F32, x, x, ANY, reason), 0);
    assert_non_null(strstr(reason, "output equal to input"));
    memcpy(spoilt, y, sizeof y);
    spoilt[COUNT - 1] = -spoilt[COUNT - 1];
    assert_int_equal(judge(plain, positions, ROPE_F32, x, spoilt, ANY, reason), 0);
    assert_non_null(strstr(reason, "outside the rotary range"));
    memcpy(spoilt, y, sizeof y);
    spoilt[3 * HEADS * D + 2] = NAN;
    assert_int_equal(judge(plain, positions, ROPE_F32, x, spoilt, ANY, reason), 0);
    assert_non_null(strstr(reason, "token 3, head 0, element 2"));
    memcpy(spoilt, y, sizeof y);
    memcpy(spoilt + 4 * HEADS * D, y + 3 * HEADS * D, D * sizeof *y);
    assert_int_equal(judge(plain, positions, ROPE_F32, x, spoilt, ANY, reason), 0);
    assert_non_null(strstr(reason, "stale"));
    memcpy(spoilt, y, sizeof y);
    spoilt[5 * HEADS * D] *= 1 + 0x1p-18;
    assert_int_equal(judge(plain, positions, ROPE_F32, x, spoilt, ANY, reason), 0);
    assert_non_null(strstr(reason, "token 5, head 0, pair 0"));
    assert_non_null(strstr(reason, "the nearest (A"));
    assert_non_null(strstr(reason, "; S0, a rotation with one rounding's error) fails"));
}

static void say_arguments(void *context)
{
    prop_dump_arguments_print(stdout, "identify", context);
}

static void tables_and_commands_are_ready_to_use(void **state)
{
    (void)state;
    char text[4096];
    prop_bin bins[2] = {{.pairs = 4, .max_u = 2, .sum_squares = 4}, {.pairs = 4}};
    prop_verdict v = {.dtype = ROPE_BF16, .pairs = 2, .stats.by_pair = bins};
    v.stats.worst.place.token = -1;
    v.stats.by_position[1] = bins[0];
    capture(say_verdict, &v, text, sizeof text);
    assert_non_null(strstr(text, "in u of bf16 (0.00391 of the pair's norm):\n  pair "));
    assert_non_null(strstr(text, "\n  |position| "));
    for (const char *at = text, *header; (header = strstr(at, "largest")) != NULL; at = header + 1)
        assert_int_equal(strncmp(header, "largest          rms    outside\n  ", 34), 0);
    assert_non_null(strstr(text, "           2            1          0  #"));
    prop_dump_arguments a = {.input = "x.npy",
                             .output = "it's y.npy",
                             .spec = "a=1,b=2",
                             .positions = "0:128",
                             .csv = "-"};
    capture(say_arguments, &a, text, sizeof text);
    assert_string_equal(text, "tightrope identify --input x.npy --output 'it'\\''s y.npy' "
                              "--positions 0:128 --spec a=1,b=2");
}

static void nan_and_infinity_are_judged_by_class(void **state)
{
    (void)state;
    double x[COUNT], y[COUNT];
    char reason[512];
    make(plain, ROPE_F16, PROP_WAY_EXACT, x, y);
    int64_t row = 4 * HEADS * D;
    x[row] = NAN;
    y[row] = y[row + 6] = NAN; /* the partner lies rotary_dim / 2 away */
    x[row + 1] = INFINITY;
    y[row + 1] = INFINITY;
    y[row + 7] = -INFINITY;
    assert_int_equal(judge(plain, positions, ROPE_F16, x, y, ANY, reason), 1);
    y[row + 1] = 1; /* finite where infinity is due */
    assert_int_equal(judge(plain, positions, ROPE_F16, x, y, ANY, reason), 0);
}

static void what_cannot_be_judged_is_refused(void **state)
{
    (void)state;
    double x[COUNT], y[COUNT], zero[COUNT] = {0};
    char reason[512];
    make(plain, ROPE_F32, PROP_WAY_EXACT, x, y);
    assert_int_equal(judge(plain, positions, ROPE_F32, zero, zero, ANY, reason), -1);
    assert_non_null(strstr(reason, "nothing to see"));
    assert_int_equal(judge(plain, "0:5", ROPE_F32, x, y, ANY, reason), -1);
    assert_int_equal(
        judge("head_dim=32,base=10000,pairing=half", positions, ROPE_F32, x, y, ANY, reason), -1);
    assert_non_null(strstr(reason, "head_dim is 32"));
}

/* W_i = 0 for pair 0, else floor(4 + 1.5 ln(1/theta_i)); more in the bands that amplify. */
static void the_reach_of_frequencies_is_as_defined(void **state)
{
    (void)state;
    int32_t steps[64];
    double theta[64];
    rope_spec spec;
    rope_frequencies f;
    rope_error error;
    assert_true(rope_spec_parse("head_dim=128,base=10000,pairing=half", &spec, &error));
    for (int i = 0; i < 64; i++)
        theta[i] = pow(10000, -i / 64.0);
    prop_frequency_steps(&spec, theta, 64, steps);
    assert_int_equal(steps[0], 0);
    for (int i = 1; i < 64; i++)
        assert_int_equal(steps[i], (int)floor(4 + 1.5 * log(1 / theta[i])));
    rope_spec_free(&spec);
    assert_true(rope_spec_parse("head_dim=128,base=500000,pairing=half,scaling=llama3,factor=32,"
                                "low=1,high=4,original=8192",
                                &spec, &error));
    assert_true(rope_spec_resolve(&spec, ROPE_TRUTH_EXACT, &f, &error));
    prop_frequency_steps(&spec, f.hi, 64, steps);
    int32_t most = 0;
    for (int i = 0; i < 64; i++)
        most = steps[i] > most ? steps[i] : most;
    assert_true(most >= 38 && most < 400);         /* 38: the farthest of public formulas */
    assert_true(steps[20] < 12 && steps[63] < 30); /* bands that are only divided, or kept */
    rope_frequencies_free(&f);
    rope_spec_free(&spec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(f32_angles_pass_unless_f64_is_asked_for),
        cmocka_unit_test(errors_say_against_what),
        cmocka_unit_test(f64_dumps_are_held_to_f64),
        cmocka_unit_test(what_is_visibly_wrong_is_said),
        cmocka_unit_test(tables_and_commands_are_ready_to_use),
        cmocka_unit_test(nan_and_infinity_are_judged_by_class),
        cmocka_unit_test(what_cannot_be_judged_is_refused),
        cmocka_unit_test(the_reach_of_frequencies_is_as_defined),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
