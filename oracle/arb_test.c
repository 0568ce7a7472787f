/* A third opinion: Arb's ball arithmetic (FLINT), which shares no code with MPFR's functions, on
 * frequencies, cos and sin. Every ball must lie within the oracle's stated error. The ordinary run
 * takes a sample; TIGHTROPE_FULL over a million points. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <arb.h>
#include <cmocka.h>

#include "oracle/table.h"

enum { BITS = 256, BLOCK = 4096 };

static const char *const specs[] = {
    "head_dim=128,base=10000,pairing=half",
    "head_dim=128,base=500000,pairing=half",
    "head_dim=128,base=1000000,pairing=half,scaling=linear,factor=8",
    "head_dim=128,base=10000,pairing=half,scaling=ntk,factor=4",
    "head_dim=128,base=500000,pairing=half,scaling=llama3,factor=8,low=1,high=4,original=8192",
    "head_dim=64,base=150000,pairing=half,scaling=yarn,factor=32,original=4096,truncate=false",
};
enum { SPECS = sizeof specs / sizeof specs[0] };

static uint64_t seed = 20240917;
static long points;
static double worst;

static uint64_t next(void)
{
    seed += 0x9e3779b97f4a7c15u;
    uint64_t z = seed;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* ---- frequencies, written once more ---- */

/* base^(-2i/d) */
static void plain(arb_t out, double base, int64_t i, int64_t d)
{
    fmpq_t e;
    fmpq_init(e);
    fmpq_set_si(e, -2 * i, (ulong)d);
    arb_set_d(out, base);
    arb_pow_fmpq(out, out, e, BITS);
    fmpq_clear(e);
}

/* theta (m + (1 - m) / s), m cut to [0, 1]. */
static void keep_share(arb_t theta, arb_t m, double s)
{
    arb_t one, inverse;
    arb_init(one);
    arb_init(inverse);
    arb_one(one);
    arb_nonnegative_part(m, m);
    arb_min(m, m, one, BITS);
    arb_set_d(inverse, s);
    arb_inv(inverse, inverse, BITS);
    arb_sub(one, one, m, BITS);
    arb_addmul(m, one, inverse, BITS);
    arb_mul(theta, theta, m, BITS);
    arb_clear(one);
    arb_clear(inverse);
}

/* d log_base(L / (2 pi beta)) / 2 */
static void yarn_end(arb_t out, const rope_spec *s, double beta)
{
    arb_t t;
    arb_init(t);
    arb_const_pi(t, BITS);
    arb_set_d(out, s->original / (2 * beta)); /* exact: beta is 1 or 32 */
    arb_div(out, out, t, BITS);
    arb_log(out, out, BITS);
    arb_set_d(t, s->base);
    arb_log(t, t, BITS);
    arb_div(out, out, t, BITS);
    arb_mul_si(out, out, (slong)s->rotary_dim, BITS);
    arb_mul_2exp_si(out, out, -1);
    arb_clear(t);
}

static void frequency(arb_t theta, const rope_spec *s, int64_t i)
{
    arb_t t, u;
    arb_init(t);
    arb_init(u);
    plain(theta, s->base, i, s->rotary_dim);
    switch (s->scaling) {
    case ROPE_SCALING_LINEAR:
        arb_set_d(t, s->factor);
        arb_div(theta, theta, t, BITS);
        break;
    case ROPE_SCALING_NTK:
        plain(t, s->factor, i, s->rotary_dim - 2);
        arb_mul(theta, theta, t, BITS);
        break;
    case ROPE_SCALING_LLAMA3: /* turns over L positions, from low (scaled) to high (kept) */
        arb_const_pi(t, BITS);
        arb_set_d(u, s->original / 2);
        arb_mul(u, u, theta, BITS);
        arb_div(t, u, t, BITS);
        arb_set_d(u, s->low);
        arb_sub(t, t, u, BITS);
        arb_set_d(u, s->high - s->low);
        arb_div(t, t, u, BITS);
        keep_share(theta, t, s->factor);
        break;
    case ROPE_SCALING_YARN: /* untruncated, ends inside 0..d-1: kept below low, scaled above high */
        yarn_end(t, s, 1);
        yarn_end(u, s, 32);
        arb_sub(u, t, u, BITS);
        arb_sub_si(t, t, (slong)i, BITS);
        arb_div(t, t, u, BITS);
        keep_share(theta, t, s->factor);
        break;
    default:
        break;
    }
    arb_clear(t);
    arb_clear(u);
}

/* ---- comparisons ---- */

/* The far end of the ball from hi + lo. */
static double far_end(arb_t ball, double hi, double lo)
{
    arb_t d;
    mag_t far;
    arb_init(d);
    mag_init(far);
    arb_set_d(d, hi);
    arb_sub(ball, ball, d, BITS);
    arb_set_d(d, lo);
    arb_sub(ball, ball, d, BITS);
    arb_get_mag(far, ball);
    double distance = mag_get_d(far);
    mag_clear(far);
    arb_clear(d);
    return distance;
}

static void check_point(const arb_t theta, int64_t position, oracle_cos_sin_dd r)
{
    arb_t angle, c, s;
    arb_init(angle);
    arb_init(c);
    arb_init(s);
    arb_mul_si(angle, theta, (slong)position, BITS);
    arb_sin_cos(s, c, angle, BITS);
    double of_cos = far_end(c, r.cos.hi, r.cos.lo), of_sin = far_end(s, r.sin.hi, r.sin.lo);
    worst = fmax(worst, fmax(of_cos, of_sin));
    if (!(of_cos <= ORACLE_ROW_ERROR && of_sin <= ORACLE_ROW_ERROR))
        fail_msg("position %lld: cos is 2^%.1f off, sin 2^%.1f", (long long)position, log2(of_cos),
                 log2(of_sin));
    points++;
    arb_clear(angle);
    arb_clear(c);
    arb_clear(s);
}

static void check_blocks(oracle *o, const arb_t theta, int64_t pair, int blocks, int64_t stride)
{
    static double out[4][BLOCK];
    rope_error error;
    for (int k = 0; k < blocks; k++) {
        int64_t first = (int64_t)(next() >> 40) - (k % 4 == 0 ? 1 << 23 : 0);
        if (k % 8 == 7)
            first = (int64_t)(next() >> 1) - BLOCK;
        if (!oracle_block(o, pair, first, BLOCK, out[0], out[1], out[2], out[3], &error))
            fail_msg("%s", error.text);
        for (int64_t j = (int64_t)(next() % (uint64_t)stride); j < BLOCK; j += stride)
            check_point(theta, first + j,
                        (oracle_cos_sin_dd){{out[0][j], out[1][j]}, {out[2][j], out[3][j]}});
    }
}

static void check_frequency(const oracle *o, const arb_t theta, int64_t pair)
{
    mpfr_t ours;
    arb_t ball;
    arf_t mid;
    mpfr_init2(ours, 200);
    arb_init(ball);
    arf_init(mid);
    oracle_inverse_frequency(o, pair, ours);
    arf_set_mpfr(mid, ours);
    arb_set_arf(ball, mid);
    arb_sub(ball, ball, theta, BITS);
    arb_div(ball, ball, theta, BITS);
    mag_t far;
    mag_init(far);
    arb_get_mag(far, ball);
    assert_true(mag_get_d(far) <= 0x1p-199);
    mag_clear(far);
    mpfr_clear(ours);
    arb_clear(ball);
    arf_clear(mid);
}

static void test_rows(void **state)
{
    (void)state;
    bool full = getenv("TIGHTROPE_FULL") != NULL;
    for (int k = 0; k < SPECS; k++) {
        rope_error error;
        rope_spec spec;
        if (!rope_spec_parse(specs[k], &spec, &error))
            fail_msg("%s", error.text);
        oracle *o = oracle_new(&spec, ROPE_TRUTH_EXACT, &error);
        if (o == NULL)
            fail_msg("%s", error.text);
        assert_true(oracle_pairs(o) <= 64);
        int64_t pairs = oracle_pairs(o), random = full ? 512 : 8;
        arb_struct *theta = _arb_vec_init((slong)pairs);
        for (int64_t i = 0; i < pairs; i++) {
            frequency(theta + i, &spec, i);
            check_frequency(o, theta + i, i);
            if (full || i % 8 == 0)
                check_blocks(o, theta + i, i, full ? 10 : 2, full ? 16 : 128);
        }
        oracle_cos_sin_dd row[64];
        for (int64_t n = 0; n < random; n++) {
            int64_t position = (int64_t)next() >> (next() % 60);
            oracle_row(o, &position, row);
            for (int64_t i = 0; i < pairs; i++)
                check_point(theta + i, position, row[i]);
        }
        _arb_vec_clear(theta, (slong)pairs);
        oracle_free(o);
        rope_spec_free(&spec);
    }
    print_message("# %ld points agree with Arb, the farthest within 2^%.1f\n", points, log2(worst));
    assert_true(points > (full ? 1000000 : 5000));
    flint_cleanup();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows)};
    return cmocka_run_group_tests_name("arb", tests, NULL, NULL);
}
