/* What the oracle proves about itself before it judges anything: that the compiler kept f64
 * arithmetic as written, that the processor rounds to nearest and keeps subnormals, and that known
 * values come out to every digit. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "oracle/measure.h"
#include "oracle/oracle.h"

#if FLT_EVAL_METHOD != 0
#error "the oracle needs f64 arithmetic without excess precision (FLT_EVAL_METHOD 0)"
#endif

/* ---- compiler and processor ---- */

/* Operands come through volatile, so that nothing is folded at compile time. Each probe is an
 * expression that a value-changing rewrite turns into another number. */
typedef struct probe_operands {
    volatile double one, half_ulp, almost, big, tiny, negative_zero, nan, divisor;
} probe_operands;

static const char *arithmetic(const probe_operands *p)
{
    double one = p->one, half_ulp = p->half_ulp, big = p->big;
    if ((big + one) - big != 0) /* 1e17 + 1 = 1e17 */
        return "sums are reassociated (-fassociative-math)";
    if ((one + half_ulp) - one != 0 || (one + half_ulp * 3) - one != 4 * half_ulp)
        return "rounding is not to nearest even";
    double divisor = p->divisor; /* 49 (1/49) rounds to 1 - 2^-53 */
    volatile double first = p->divisor / divisor, second = one / divisor, third = big / divisor;
    if (first != 1 || second != 1.0 / 49.0 || third != 1e17 / 49.0)
        return "divisions become products (-freciprocal-math)";
    double negative_zero = p->negative_zero, zero = -negative_zero;
    if (signbit(negative_zero + 0.0) || signbit(0.0 - zero))
        return "the sign of zero is dropped (-fno-signed-zeros)";
    double nan = p->nan;
    if (!isnan(nan) || nan <= one || !(nan != nan))
        return "NaN is assumed away (-ffinite-math-only)";
    double tiny = p->tiny;
    if (tiny * 0.5 == 0 || tiny * 0.5 + tiny * 0.5 != tiny)
        return "subnormals are flushed to zero";
    return NULL;
}

/* (1 + 2^-30)^2 rounds to 1 + 2^-29; contracted, 2^-60 is left. */
static inline __attribute__((always_inline)) bool contracted(const probe_operands *p)
{
    double a = p->almost, product = p->one + 0x1p-29;
    return a * a - product != 0;
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"), noinline)) static bool contracted_fma(const probe_operands *p)
{
    return contracted(p);
}
#endif

typedef struct neighbours {
    double first, second;
} neighbours;

/* GCC 12 at -O2 compiles this to nothing, without any flag that allows it. */
__attribute__((noinline)) static void narrow(neighbours *n)
{
    n->first = (double)(float)n->first;
    n->second = (double)(float)n->second;
}

static bool keeps_roundings_to_f32(const probe_operands *p)
{
    neighbours n = {p->almost, -p->almost};
    narrow(&n);
    return n.first == 1 && n.second == -1;
}

static const char *compiled_strictly(void)
{
    const probe_operands p = {.one = 1,
                              .half_ulp = 0x1p-53,
                              .almost = 1 + 0x1p-30,
                              .big = 1e17,
                              .tiny = DBL_MIN,
                              .negative_zero = -0.0,
                              .nan = NAN,
                              .divisor = 49};
    if (contracted(&p))
        return "products are contracted into fma (-ffp-contract=fast)";
#if defined(__x86_64__)
    if (__builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2") && contracted_fma(&p))
        return "products are contracted into fma (-ffp-contract=fast)";
#endif
    if (!keeps_roundings_to_f32(&p))
        return "roundings to f32 are dropped (GCC's -ftree-slp-vectorize)";
    return arithmetic(&p);
}

/* ---- known values ---- */

static rope_spec plain(int64_t dim, double base)
{
    rope_spec s = {.size = sizeof s, .head_dim = dim, .rotary_dim = dim, .base = base};
    double *absent[] = {&s.factor,           &s.low,       &s.high,         &s.original,
                        &s.beta_fast,        &s.beta_slow, &s.mscale,       &s.mscale_all_dim,
                        &s.attention_factor, &s.length,    &s.max_position, &s.share};
    for (size_t i = 0; i < sizeof absent / sizeof absent[0]; i++)
        *absent[i] = NAN;
    s.truncate = 1;
    return s;
}

static bool digits_are(const char *what, mpfr_srcptr value, const char *expected, rope_error *error)
{
    char text[64];
    int digits = (int)(strchr(expected, 'e') - expected) - 1 - (expected[0] == '-');
    mpfr_snprintf(text, sizeof text, "%.*Re", digits - 1, value);
    return strcmp(text, expected) == 0 ||
           rope_fail(error, "oracle self-test: %s is %s, expected %s", what, text, expected);
}

/* theta_1 = 500000^(-1/64); the angle of position 2^24 - 1, its cos and sin. Computed with Python's
 * mpmath at 60 digits (docs/reference-values.md). */
static bool known_values(rope_error *error)
{
    rope_spec spec = plain(8, 10000), llama = plain(128, 500000);
    llama.rotary_dim = 4; /* two pairs: exponent by head_dim keeps theta_1 of 128 */
    llama.exponent_by_head = 1;
    oracle *o = oracle_new(&spec, ROPE_TRUTH_EXACT, error);
    oracle *l = o == NULL ? NULL : oracle_new(&llama, ROPE_TRUTH_EXACT, error);
    bool good = l != NULL;
    mpfr_t value, sine;
    mpfr_inits2(120, value, sine, (mpfr_ptr)0);
    if (good) {
        oracle_inverse_frequency(l, 1, value);
        good = digits_are("theta_1 of base 5e5", value, "8.1461723385654470410e-01", error);
    }
    if (good) {
        oracle_cos_sin(o, 16777215, 3, value, sine);
        good = digits_are("cos(16777.215)", value, "4.4445564611909294658e-01", error) &&
               digits_are("sin(16777.215)", sine, "8.9580085880337244683e-01", error);
    }
    oracle_free(o);
    oracle_free(l);
    mpfr_clears(value, sine, (mpfr_ptr)0);
    return good;
}

/* ---- rounding and measuring ---- */

static bool known_errors(rope_error *error)
{
    /* The f32 next above 1 is 2 u away from it; (1, 0) rotated by nothing. */
    oracle_cos_sin_dd identity = {{1, 0}, {0, 0}};
    oracle_pair_error e =
        oracle_measure_pair(ROPE_F32, identity, (oracle_dd){1, 0}, 1, 0, 1 + 0x1p-23, 0, 1.5);
    if (e.outcome != ORACLE_ABOVE || !(fabs(e.normwise_u - 2) < 1e-9))
        return rope_fail(error, "oracle self-test: an error of 2 u measures as %g u", e.normwise_u);
    e = oracle_measure_pair(ROPE_F32, identity, (oracle_dd){1, 0}, 1, 0, NAN, 0, 1e3);
    if (e.outcome != ORACLE_CLASS)
        return rope_fail(error, "oracle self-test: a NaN for a finite pair passes");
    struct {
        uint32_t dtype;
        oracle_dd x;
        double expected;
    } roundings[] = {
        {ROPE_F32, {1 + 0x1p-24, 0}, 1},          {ROPE_F32, {1 + 0x1p-24, 0x1p-90}, 1 + 0x1p-23},
        {ROPE_F16, {65519.99, 0}, 65504},         {ROPE_F16, {65520, 0}, INFINITY},
        {ROPE_BF16, {1 + 0x3p-8, 0}, 1 + 0x1p-6}, {ROPE_F16, {0x1.8p-24, 0}, 0x1p-23},
    };
    for (size_t i = 0; i < sizeof roundings / sizeof roundings[0]; i++)
        if (oracle_round_dd(roundings[i].dtype, roundings[i].x) != roundings[i].expected)
            return rope_fail(error, "oracle self-test: %a rounds to %a, expected %a",
                             roundings[i].x.hi, oracle_round_dd(roundings[i].dtype, roundings[i].x),
                             roundings[i].expected);
    return true;
}

bool oracle_self_test(rope_error *error)
{
    const char *broken = compiled_strictly();
    if (broken != NULL)
        return rope_fail(error, "the oracle refuses to judge: this build changes values: %s",
                         broken);
    return known_values(error) && known_errors(error);
}
