/* Two-level rows: a table of e^(i step theta) over 0 <= step < 4096 for each pair, and one base
 * e^(i first theta) for each run of 4096 positions.
 *
 * Entries. Each is an MPFI enclosure first: the powers of two among the steps from MPFI's cos and
 * sin of an enclosed angle, the others as products of two earlier ones, entry(j) = entry(j - 2^b)
 * entry(2^b), b the highest bit of j. At most 11 products stand behind an entry, so that at 192
 * bits the widths stay near 2^-180. The double-double nearest to the middle is kept, and only if
 * the enclosure lies within 2^-106 of it: that is the certificate of the row, made when it is
 * built.
 *
 * Product, |value - exact| <= 2^-102: with (c1, s1) and (c2, s2) double-double, |c| <= 1, |lo| <=
 * 2^-54, c = c1 c2 - s1 s2 is computed as
 *     p = fl(c1h c2h), e = c1h c2h - p (exact, |e| <= 2^-54)
 *     e = fma(c1h, c2l, e)   |value| <= 2^-53:      rounding 2^-107
 *     e = fma(c1l, c2h, e)   |value| <= 3 2^-54:    rounding 2^-106
 *     (q, f) the same for s1 s2;  c1l c2l and s1l s2l dropped: 2^-108 each
 *     s + t = p - q exactly  |t| <= 2^-53
 *     g = e - f              |value| <= 6 2^-54:    rounding 2^-105
 *     h = t + g              |value| <= 8 2^-54:    rounding 2^-104
 *     (hi, lo) = s + h exactly: where |s| < |h|, p and q nearly cancel and s is a multiple of
 *                              ulp(p)/2, which |h| <= 8 ulp(p) makes a multiple of ulp(h), as
 *                              Fast2Sum needs.
 * In units of 2^-107: 2 (1 + 2 + 1/2) + 4 + 8 = 19. Entries off by 2^-106 add (|c1| + |s1| + |c2| +
 * |s2|) 2^-106 <= 2 sqrt(2) 2^-106, 5.7 units. Together 24.7 2^-107 < 2^-102. s1 c2 + c1 s2
 * likewise. */
#include "oracle/table.h"

#include <stdlib.h>

#include "oracle/dd.h"
#include "oracle/internal.h"
#include "oracle/table_product.h"

enum {
    STEP_BITS = 12,
    STEPS = 1 << STEP_BITS,
    BASES = 1 << 12, /* remembered for each pair, so that 2^24 positions keep all of theirs */
    ENCLOSURE_BITS = 192,
};

/* What an entry may be from its enclosure's far end. */
#define ENTRY_ERROR 0x1p-106

typedef struct base_entry {
    int64_t block; /* position >> STEP_BITS */
    oracle_cos_sin_dd value;
    bool filled;
} base_entry;

typedef struct pair_table {
    double *steps;     /* [4][STEPS]: cos hi, cos lo, sin hi, sin lo; NULL until built */
    base_entry *bases; /* [BASES], a block's place is its low bits */
} pair_table;

struct oracle_table {
    mpfi_t *cosine, *sine; /* [STEPS], scratch of a build: the second within the first's block; NULL
                              outside of builds */
    pair_table pair[];
};

oracle_table *oracle_table_new(int64_t pairs)
{
    return calloc(1, sizeof(oracle_table) + (size_t)pairs * sizeof(pair_table));
}

static void scratch_clear(oracle_table *t)
{
    for (int j = 0; t->cosine != NULL && j < 2 * STEPS; j++)
        mpfi_clear(t->cosine[j]);
    free(t->cosine);
    t->cosine = t->sine = NULL;
}

static bool scratch_init(oracle_table *t)
{
    if (t->cosine != NULL)
        return true;
    t->cosine = malloc(2 * STEPS * sizeof *t->cosine);
    if (t->cosine == NULL)
        return false;
    t->sine = t->cosine + STEPS;
    for (int j = 0; j < 2 * STEPS; j++)
        mpfi_init2(t->cosine[j], ENCLOSURE_BITS);
    return true;
}

void oracle_table_free(oracle_table *t, int64_t pairs)
{
    if (t == NULL)
        return;
    for (int64_t i = 0; i < pairs; i++) {
        free(t->pair[i].steps);
        free(t->pair[i].bases);
    }
    scratch_clear(t);
    free(t);
}

/* The double-double nearest to the enclosure's middle; false unless the whole enclosure is within
 * ENTRY_ERROR of it. */
static bool certify(mpfi_srcptr enclosure, oracle_dd *out)
{
    mpfr_t rest;
    mpfr_init2(rest, mpfi_get_prec(enclosure) + 64);
    mpfi_get_fr(rest, enclosure);
    out->hi = mpfr_get_d(rest, MPFR_RNDN);
    mpfr_sub_d(rest, rest, out->hi, MPFR_RNDN);
    out->lo = mpfr_get_d(rest, MPFR_RNDN);
    bool good = true;
    mpfr_srcptr ends[] = {&enclosure->left, &enclosure->right};
    for (int i = 0; i < 2; i++) {
        mpfr_sub_d(rest, ends[i], out->hi, MPFR_RNDA);
        mpfr_sub_d(rest, rest, out->lo, MPFR_RNDA);
        mpfr_abs(rest, rest, MPFR_RNDA);
        good &= mpfr_cmp_d(rest, ENTRY_ERROR) <= 0;
    }
    mpfr_clear(rest);
    return good;
}

/* ---- the table of steps ---- */

static void enclose_power_of_two(const oracle *o, int64_t pair, int step, mpfi_ptr c, mpfi_ptr s)
{
    mpfi_t angle;
    mpfi_init2(angle, FREQUENCY_BITS);
    oracle_enclose_angle(o, step, pair, angle);
    mpfi_cos(c, angle);
    mpfi_sin(s, angle);
    mpfi_clear(angle);
}

static void enclose_steps(const oracle *o, int64_t pair, oracle_table *t)
{
    mpfi_t other;
    mpfi_init2(other, ENCLOSURE_BITS);
    mpfi_set_ui(t->cosine[0], 1);
    mpfi_set_ui(t->sine[0], 0);
    for (int power = 1; power < STEPS; power *= 2) {
        mpfi_ptr c1 = t->cosine[power], s1 = t->sine[power];
        enclose_power_of_two(o, pair, power, c1, s1);
        for (int j = 1; j < power; j++) {
            mpfi_ptr c2 = t->cosine[j], s2 = t->sine[j];
            mpfi_mul(t->cosine[power + j], c1, c2);
            mpfi_mul(other, s1, s2);
            mpfi_sub(t->cosine[power + j], t->cosine[power + j], other);
            mpfi_mul(t->sine[power + j], s1, c2);
            mpfi_mul(other, c1, s2);
            mpfi_add(t->sine[power + j], t->sine[power + j], other);
        }
    }
    mpfi_clear(other);
}

static bool build_steps(const oracle *o, int64_t pair, oracle_table *t, rope_error *error)
{
    double *steps = malloc(4 * STEPS * sizeof *steps);
    base_entry *bases = calloc(BASES, sizeof *bases);
    bool good = steps != NULL && bases != NULL && scratch_init(t);
    if (!good)
        rope_fail(error, "out of memory for the table of pair %lld", (long long)pair);
    if (good)
        enclose_steps(o, pair, t);
    for (int j = 0; good && j < STEPS; j++) {
        oracle_dd c = {0, 0}, s = {0, 0};
        good = certify(t->cosine[j], &c) && certify(t->sine[j], &s);
        steps[j] = c.hi;
        steps[STEPS + j] = c.lo;
        steps[2 * STEPS + j] = s.hi;
        steps[3 * STEPS + j] = s.lo;
        if (!good)
            rope_fail(error, "internal: the table of pair %lld is not certified at step %d",
                      (long long)pair, j);
    }
    if (!good) {
        free(steps);
        free(bases);
        return false;
    }
    t->pair[pair] = (pair_table){steps, bases};
    return true;
}

bool oracle_table_build(oracle *o, int64_t pair, rope_error *error)
{
    return o->table->pair[pair].steps != NULL || build_steps(o, pair, o->table, error);
}

bool oracle_table_build_all(oracle *o, rope_error *error)
{
    bool good = true;
    for (int64_t i = 0; good && i < o->pairs; i++)
        good = oracle_table_build(o, i, error);
    scratch_clear(o->table); /* a few MiB that forked children need not inherit */
    return good;
}

/* ---- bases ---- */

static bool find_base(oracle *o, int64_t pair, int64_t block, oracle_cos_sin_dd *out,
                      rope_error *error)
{
    base_entry *entry = &o->table->pair[pair].bases[(uint64_t)block & (BASES - 1)];
    if (!entry->filled || entry->block != block) {
        mpfi_t c, s;
        mpfi_init2(c, ENCLOSURE_BITS);
        mpfi_init2(s, ENCLOSURE_BITS);
        oracle_enclose_cos_sin(o, block * STEPS, pair, c, s);
        entry->filled = certify(c, &entry->value.cos) && certify(s, &entry->value.sin);
        entry->block = block;
        mpfi_clear(c);
        mpfi_clear(s);
    }
    *out = entry->value;
    return entry->filled ||
           rope_fail(error, "internal: the base of block %lld of pair %lld is not certified",
                     (long long)block, (long long)pair);
}

/* ---- blocks ---- */

bool oracle_block(oracle *o, int64_t pair, int64_t first, int64_t count, double *cos_hi,
                  double *cos_lo, double *sin_hi, double *sin_lo, rope_error *error)
{
    if (!oracle_table_build(o, pair, error))
        return false;
    const double *steps = o->table->pair[pair].steps;
    for (int64_t done = 0; done < count;) {
        int64_t block = (first + done) >> STEP_BITS; /* floor, for negative positions too */
        int64_t step = first + done - block * STEPS;
        int64_t run = STEPS - step < count - done ? STEPS - step : count - done;
        oracle_cos_sin_dd base;
        if (!find_base(o, pair, block, &base, error))
            return false;
        const double *from[4] = {steps + step, steps + STEPS + step, steps + 2 * STEPS + step,
                                 steps + 3 * STEPS + step};
        double *to[4] = {cos_hi + done, cos_lo + done, sin_hi + done, sin_lo + done};
        table_product(base, from, run, to);
        done += run;
    }
    return true;
}
