/* Certification's measuring loop against the oracle's own measure, and the sums of what it
 * measures. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "impl/registry.h"
#include "oracle/measure.h"
#include "props/certificate_sum.h"
#include "props/certify_exact.h"
#include "props/certify_measure.h"
#include "props/test_certify.h"

enum { PAIRS = 23 };

typedef struct bench {
    double x0[PAIRS], x1[PAIRS], y0[PAIRS], y1[PAIRS], limit[PAIRS];
    double error_u[PAIRS], ulp[PAIRS], correct[PAIRS], undecided[PAIRS], above[PAIRS];
} bench;

static uint64_t state = 1;
static uint64_t draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void fill(bench *b, uint32_t dtype)
{
    for (int i = 0; i < PAIRS; i++) {
        double scale = ldexp(1, (int)(draw() % 9) - 4);
        double u = scale * ((double)(draw() >> 11) * 0x1p-52 - 1);
        double v = (double)(draw() >> 11) * 0x1p-52 - 1;
        b->x0[i] = oracle_round_dd(dtype, (oracle_dd){u, 0});
        b->x1[i] = oracle_round_dd(dtype, (oracle_dd){v, 0});
        b->limit[i] = i % 3 == 0 ? 0.7 : i % 3 == 1 ? 3 : INFINITY;
    }
}

/* The correctly rounded result, or some ulps off, or NaN. */
static void answer(bench *b, uint32_t dtype, const oracle_cos_sin_dd *r, oracle_dd a)
{
    double u = rope_dtype_unit_roundoff(dtype);
    for (int i = 0; i < PAIRS; i++) {
        oracle_dd v[2];
        oracle_rotate(r[i], a, b->x0[i], b->x1[i], &v[0], &v[1]);
        for (int k = 0; k < 2; k++) {
            double off = draw() % 4 == 0 ? (double)(draw() % 7) * u : 0;
            oracle_dd moved = {v[k].hi * (1 + off), off == 0 ? v[k].lo : 0};
            *(k == 0 ? &b->y0[i] : &b->y1[i]) = oracle_round_dd(dtype, moved);
        }
        if (draw() % 64 == 0)
            b->y1[i] = NAN;
    }
}

typedef struct place {
    const oracle *o;
    uint32_t dtype;
    int64_t position;
    oracle_dd attention_factor;
} place;

/* One pair of the loop's results against oracle_measure_pair, MPFR, and the portable loop. */
static bool agrees(const place *p, const bench *b, const bench *portable, oracle_cos_sin_dd r,
                   int i)
{
    double x0 = b->x0[i], x1 = b->x1[i], y0 = b->y0[i], y1 = b->y1[i], mpfr_u, mpfr_ulp;
    oracle_pair_error e =
        oracle_measure_pair(p->dtype, r, p->attention_factor, x0, x1, y0, y1, b->limit[i]);
    assert_true((b->above[i] != 0) == (e.outcome != ORACLE_WITHIN));
    assert_true(b->above[i] == portable->above[i]);
    if (!e.has_error)
        return false;
    assert_memory_equal(&b->error_u[i], &portable->error_u[i], sizeof(double));
    assert_memory_equal(&b->ulp[i], &portable->ulp[i], sizeof(double));
    assert_true(fabs(b->error_u[i] - e.normwise_u) <= 0x1p-40 * (1 + e.normwise_u));
    int nearest = certify_nearest(p->o, p->dtype, p->position, i, x0, x1, y0, y1);
    assert_int_equal(nearest, e.correctly_rounded);
    if (b->undecided[i] == 0)
        assert_int_equal((int)b->correct[i], nearest);
    certify_measure_mpfr(p->o, p->dtype, p->position, i, x0, x1, y0, y1, &mpfr_u, &mpfr_ulp);
    assert_true(b->error_u[i] >= mpfr_u * (1 - 0x1p-50) - 0x1p-40 * (p->dtype == ROPE_F16));
    assert_true(b->error_u[i] <= mpfr_u * (1 + 0x1p-48) + 0x1p-40 * (p->dtype == ROPE_F16) +
                                     0x1p-95 / rope_dtype_unit_roundoff(p->dtype));
    assert_true(fabs(b->ulp[i] - mpfr_ulp) <= 0x1p-40 * (1 + mpfr_ulp));
    return true;
}

static int64_t compare_row(const place *p, const certify_exact *exact)
{
    bench b, portable;
    oracle_cos_sin_dd r[PAIRS];
    oracle_row((oracle *)p->o, &p->position, r);
    fill(&b, p->dtype);
    answer(&b, p->dtype, r, p->attention_factor);
    certify_unit unit = certify_unit_of(p->dtype, p->attention_factor.hi);
    certify_row row = {*exact, b.x0, b.x1, b.y0, b.y1, b.limit, PAIRS};
    certify_errors out = {b.error_u, b.ulp, b.correct, b.undecided, b.above};
    certify_errors other = {portable.error_u, portable.ulp, portable.correct, portable.undecided,
                            portable.above};
    certify_measure_choose();
    certify_summary sum = certify_measure(&unit, &row, &out);
    certify_measure_vector = false;
    certify_summary sum2 = certify_measure(&unit, &row, &other);
    certify_measure_choose();
    int64_t compared = 0;
    for (int i = 0; i < PAIRS; i++)
        compared += agrees(p, &b, &portable, r[i], i);
    if (sum.max_error_u < 0x1p100 && sum.above == 0)
        assert_memory_equal(&sum, &sum2, sizeof sum);
    return compared;
}

static void measures_as_the_oracle_does(void **test)
{
    (void)test;
    static const char *const specs[] = {
        "head_dim=46,base=10000,pairing=half",
        "head_dim=46,base=10000,pairing=half,scaling=yarn,factor=4,original=4096"};
    enum { POSITIONS = 64 };
    int64_t compared = 0;
    for (unsigned n = 0; n < 2; n++) {
        rope_spec spec = spec_of(specs[n]);
        rope_error error;
        oracle *o = oracle_new(&spec, ROPE_TRUTH_EXACT, &error);
        certify_exact_rows *rows = certify_exact_new(o, POSITIONS);
        assert_true(certify_exact_span(rows, -31, POSITIONS, &error));
        certify_exact_block(rows, -31, POSITIONS);
        for (uint32_t dtype = 0; dtype < 4; dtype++)
            for (int64_t j = 0; j < POSITIONS; j++) {
                place p = {o, dtype, j - 31, oracle_attention_factor_dd(o)};
                certify_exact exact = certify_exact_row(rows, j);
                compared += compare_row(&p, &exact);
            }
        certify_exact_free(rows);
        oracle_free(o);
        rope_spec_free(&spec);
    }
    assert_true(compared > 10000);
}

static void decodes_every_half(void **test)
{
    (void)test;
    for (uint32_t bits = 0; bits < 1 << 16; bits++) {
        uint16_t half = (uint16_t)bits;
        for (uint32_t dtype = ROPE_F16; dtype <= ROPE_BF16; dtype++) {
            double ours, theirs = oracle_load(dtype, &half, 0);
            certify_decode(dtype, &half, 0, 1, 1, &ours);
            assert_true(ours == theirs || (isnan(ours) && isnan(theirs)));
            uint16_t back;
            certify_encode(dtype, &back, 0, 1, 1, &ours);
            assert_true(back == half || isnan(ours));
        }
    }
}

static void sums_do_not_depend_on_order(void **test)
{
    (void)test;
    certificate_sum forward = {{0}}, backward = {{0}}, half = {{0}}, read;
    double values[200];
    for (int i = 0; i < 200; i++)
        values[i] = ldexp((double)(draw() >> 11), (int)(draw() % 200) - 100);
    for (int i = 0; i < 200; i++) {
        certificate_sum_add(&forward, values[i]);
        certificate_sum_add(i < 100 ? &backward : &half, values[199 - i]);
    }
    certificate_sum_join(&backward, &half);
    assert_true(certificate_sum_equal(&forward, &backward));
    char text[97];
    certificate_sum_format(&forward, text);
    assert_true(certificate_sum_parse(text, &read) && certificate_sum_equal(&forward, &read));
    assert_false(certificate_sum_parse("0x1", &read) || certificate_sum_parse("", &read) ||
                 certificate_sum_parse("01", &read));
    certificate_sum_add(&forward, NAN);
    certificate_sum_add(&forward, INFINITY);
    assert_true(certificate_sum_equal(&forward, &backward));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measures_as_the_oracle_does),
        cmocka_unit_test(decodes_every_half),
        cmocka_unit_test(sums_do_not_depend_on_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
