/* The oracle object: a spec's exact inverse frequencies, angles, cos and sin, correctly rounded by
 * narrowing enclosures (Ziv, ACM TOMS 17 (1991)): an MPFI interval contains the exact value, and
 * precision is raised until both of its ends round to the same number. */
#include "oracle/oracle.h"

#include <stdlib.h>
#include <string.h>

#include "oracle/enclose.h"
#include "oracle/frequency.h"
#include "oracle/internal.h"

bool oracle_truth_parse(const char *text, rope_truth *truth, rope_error *error)
{
    *truth = strcmp(text, "as-trained") == 0 ? ROPE_TRUTH_AS_TRAINED : ROPE_TRUTH_EXACT;
    return *truth == ROPE_TRUTH_AS_TRAINED || strcmp(text, "exact") == 0 ||
           rope_fail(error, "truth '%s' is unknown, expected exact or as-trained", text);
}

/* ---- making one ---- */

static bool enclose_at(const rope_spec *spec, rope_truth truth, int64_t pair, mpfi_ptr out)
{
    if (truth == ROPE_TRUTH_EXACT)
        return frequency_enclose(spec, pair, out);
    mpfr_t value;
    mpfr_init2(value, 64);
    frequency_as_trained(spec, pair, value);
    mpfi_set_fr(out, value);
    mpfr_clear(value);
    return true;
}

/* Encloses to `trust` bits or better: the definitions lose some bits (a yarn range that is not
 * decided, a cancellation in 1 - ramp), so precision is raised until the width says so. */
static bool enclose_to(const rope_spec *spec, rope_truth truth, int64_t pair, mpfr_prec_t trust,
                       mpfi_ptr out)
{
    bool good = false;
    for (mpfr_prec_t bits = trust + 40; !good && bits <= ENCLOSE_MAX_BITS; bits *= 2) {
        mpfi_t value;
        mpfi_init2(value, bits);
        good = enclose_at(spec, truth, pair, value) && enclose_narrow(value, trust + 2);
        mpfi_set(out, value);
        mpfi_clear(value);
    }
    return good;
}

static bool make_pairs(oracle *o, rope_error *error)
{
    o->pair = calloc((size_t)o->pairs, sizeof *o->pair);
    if (o->pair == NULL)
        return rope_fail(error, "out of memory for %lld pairs", (long long)o->pairs);
    for (int64_t i = 0; i < o->pairs; i++) {
        oracle_pair *pair = &o->pair[i];
        mpfi_init2(pair->enclosure, FREQUENCY_BITS);
        mpfr_init2(pair->middle, FREQUENCY_BITS);
        pair->axis = frequency_axis(&o->spec, i);
    }
    for (int64_t i = 0; i < o->pairs; i++) {
        oracle_pair *pair = &o->pair[i];
        if (!enclose_to(&o->spec, o->truth, i, FREQUENCY_TRUST, pair->enclosure))
            return rope_fail(error,
                             "the inverse frequency of pair %lld does not resolve to %d bits",
                             (long long)i, FREQUENCY_TRUST);
        mpfi_get_fr(pair->middle, pair->enclosure);
    }
    return true;
}

oracle *oracle_new(const rope_spec *spec, rope_truth truth, rope_error *error)
{
    if (!frequency_check(spec, error))
        return NULL;
    oracle *o = calloc(1, sizeof *o);
    if (o == NULL) {
        rope_fail(error, "out of memory");
        return NULL;
    }
    o->truth = truth;
    o->pairs = spec->rotary_dim / 2;
    o->axis_count = frequency_axis_count(spec);
    bool copied = rope_spec_copy(spec, &o->spec);
    o->rows = oracle_rows_new(o->pairs);
    o->table = oracle_table_new(o->pairs);
    if (!copied || o->rows == NULL || o->table == NULL) {
        rope_fail(error, "out of memory for %lld pairs", (long long)o->pairs);
        oracle_free(o);
        return NULL;
    }
    if (!make_pairs(o, error)) {
        oracle_free(o);
        return NULL;
    }
    /* hi + lo of a value to 160 bits: 2^-53 2^-53 / 2 relative, below 2^-104 with all roundings. */
    mpfr_t a;
    mpfr_init2(a, 160);
    oracle_attention_factor(o, a);
    o->attention_factor.hi = mpfr_get_d(a, MPFR_RNDN);
    mpfr_sub_d(a, a, o->attention_factor.hi, MPFR_RNDN);
    o->attention_factor.lo = mpfr_get_d(a, MPFR_RNDN);
    mpfr_clear(a);
    return o;
}

void oracle_free(oracle *o)
{
    if (o == NULL)
        return;
    for (int64_t i = 0; o->pair != NULL && i < o->pairs; i++) {
        mpfi_clear(o->pair[i].enclosure);
        mpfr_clear(o->pair[i].middle);
    }
    free(o->pair);
    oracle_rows_free(o->rows);
    oracle_table_free(o->table, o->pairs);
    rope_spec_free(&o->spec);
    free(o);
}

const rope_spec *oracle_spec(const oracle *o)
{
    return &o->spec;
}

int64_t oracle_pairs(const oracle *o)
{
    return o->pairs;
}

uint32_t oracle_axis_count(const oracle *o)
{
    return o->axis_count;
}

uint32_t oracle_pair_axis(const oracle *o, int64_t pair)
{
    return o->pair[pair].axis;
}

/* ---- values to any precision ---- */

void oracle_enclose_frequency(const oracle *o, int64_t pair, mpfi_ptr out)
{
    if (mpfi_get_prec(out) <= FREQUENCY_TRUST - 20)
        mpfi_set(out, o->pair[pair].enclosure);
    else
        enclose_to(&o->spec, o->truth, pair, mpfi_get_prec(out), out);
}

void oracle_enclose_attention_factor(const oracle *o, mpfi_ptr out)
{
    frequency_attention_factor(&o->spec, out);
}

void oracle_enclose_angle(const oracle *o, int64_t position, int64_t pair, mpfi_ptr out)
{
    oracle_enclose_frequency(o, pair, out);
    mpfi_mul_si(out, out, (long)position);
}

void oracle_inverse_frequency(const oracle *o, int64_t pair, mpfr_t out)
{
    bool decided = false;
    for (mpfr_prec_t bits = mpfr_get_prec(out) + 40; !decided && bits <= ENCLOSE_MAX_BITS;
         bits *= 2) {
        mpfi_t value;
        mpfi_init2(value, bits);
        oracle_enclose_frequency(o, pair, value);
        decided = enclose_round(out, value);
        mpfi_clear(value);
    }
}

void oracle_attention_factor(const oracle *o, mpfr_t out)
{
    bool decided = false;
    for (mpfr_prec_t bits = mpfr_get_prec(out) + 64; !decided && bits <= ENCLOSE_MAX_BITS;
         bits *= 2) {
        mpfi_t value;
        mpfi_init2(value, bits);
        oracle_enclose_attention_factor(o, value);
        decided = enclose_round(out, value);
        mpfi_clear(value);
    }
}

oracle_dd oracle_attention_factor_dd(const oracle *o)
{
    return o->attention_factor;
}

void oracle_angle(const oracle *o, int64_t position, int64_t pair, mpfr_t out)
{
    bool decided = false;
    for (mpfr_prec_t bits = mpfr_get_prec(out) + 40; !decided && bits <= ENCLOSE_MAX_BITS;
         bits *= 2) {
        mpfi_t value;
        mpfi_init2(value, bits);
        oracle_enclose_angle(o, position, pair, value);
        decided = enclose_round(out, value);
        mpfi_clear(value);
    }
}

/* out = [middle - radius, middle + radius], rounded outwards. */
static void around(mpfi_ptr out, mpfr_srcptr middle, mpfr_srcptr radius)
{
    mpfr_sub(&out->left, middle, radius, MPFR_RNDD);
    mpfr_add(&out->right, middle, radius, MPFR_RNDU);
}

/* cos and sin change by no more than their argument: with x the middle of the angle's enclosure and
 * r its radius, the value lies within r of cos x, and cos x within an ulp (at most 2^-bits) of what
 * MPFR rounds it to. Five times faster than MPFI's own, which a test compares with it. */
void oracle_enclose_cos_sin(const oracle *o, int64_t position, int64_t pair, mpfi_ptr cosine,
                            mpfi_ptr sine)
{
    mpfr_prec_t bits = mpfi_get_prec(cosine);
    if (position == 0 || mpfr_zero_p(o->pair[pair].middle)) {
        mpfi_set_ui(cosine, 1);
        mpfi_set_ui(sine, 0);
        return;
    }
    /* An angle of k bits before the point loses k bits of its fraction. */
    mpfr_exp_t magnitude = 64 + mpfr_get_exp(o->pair[pair].middle);
    mpfi_t angle;
    mpfr_t middle, radius, c, s, rounding;
    mpfi_init2(angle, bits + (magnitude > 0 ? magnitude : 0) + 8);
    mpfr_init2(middle, mpfi_get_prec(angle) + 1);
    mpfr_inits2(bits, c, s, (mpfr_ptr)0);
    mpfr_inits2(64, radius, rounding, (mpfr_ptr)0);
    oracle_enclose_angle(o, position, pair, angle);
    mpfi_get_fr(middle, angle);
    mpfi_diam_abs(radius, angle); /* at least the distance of middle from either end */
    mpfr_sin_cos(s, c, middle, MPFR_RNDN);
    mpfr_set_ui_2exp(rounding, 1, -bits, MPFR_RNDN);
    mpfr_add(radius, radius, rounding, MPFR_RNDU);
    around(cosine, c, radius);
    around(sine, s, radius);
    mpfi_clear(angle);
    mpfr_clears(middle, radius, c, s, rounding, (mpfr_ptr)0);
}

void oracle_cos_sin(const oracle *o, int64_t position, int64_t pair, mpfr_t cosine, mpfr_t sine)
{
    mpfr_prec_t bits =
        mpfr_get_prec(cosine) > mpfr_get_prec(sine) ? mpfr_get_prec(cosine) : mpfr_get_prec(sine);
    bool decided = false;
    for (bits += 40; !decided && bits <= ENCLOSE_MAX_BITS; bits *= 2) {
        mpfi_t c, s;
        mpfi_init2(c, bits);
        mpfi_init2(s, bits);
        oracle_enclose_cos_sin(o, position, pair, c, s);
        bool cosine_decided = enclose_round(cosine, c), sine_decided = enclose_round(sine, s);
        decided = cosine_decided && sine_decided;
        mpfi_clear(c);
        mpfi_clear(s);
    }
}
