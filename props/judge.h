/* What judges share: buffers, and the arithmetic of error bounds that are carried through a chain
 * of calls. Norms and sums are taken in long double, so that their own rounding (2^-64 a step) is
 * below what f64 kernels are measured in; it is added to tolerances where sums are long. */
#ifndef PROPS_JUDGE_H
#define PROPS_JUDGE_H

#include "props/rotate.h"

enum { WORK_RESULTS = 4, WORK_BOUNDS = 4 };

/* Packed tensors and contracts of a case. */
typedef struct prop_work {
    void *x[PROP_STREAMS];       /* filled from the case; stream 1 only when wanted */
    void *y[WORK_RESULTS];       /* results; signalling NaN at first */
    double *bounds[WORK_BOUNDS]; /* [tokens][pairs]; unset */
    int64_t *positions;          /* [tokens][axes], for positions that a judge derives */
    size_t bytes;                /* of a tensor */
} prop_work;

/* False: memory is out, and the sheet says so. */
bool prop_work_new(const prop_subject *s, const prop_case *c, int streams, prop_work *w,
                   prop_sheet *sheet);
void prop_work_free(prop_work *w);

/* A pair of a packed tensor. */
typedef struct prop_vector {
    long double a, b;
} prop_vector;

prop_vector prop_get(const prop_subject *s, const void *packed, int64_t row, int64_t pair);
long double prop_norm(prop_vector v);
prop_vector prop_minus(prop_vector v, prop_vector w);
prop_vector prop_scale(long double k, prop_vector v);

long double prop_attention_factor(const prop_subject *s);

/* The contract in absolute terms: |y - A R x| <= bound u A |x| + 2 sqrt(2) eta. */
long double prop_absolute(const prop_subject *s, double bound, long double norm_x);

/* Whether all of these are contracts. */
bool prop_contracts(const prop_subject *s, double a, double b, double c);

/* Which pair of a row, for reports. */
prop_where prop_where_is(const prop_subject *s, const int64_t *position, int64_t pair,
                         prop_vector x);

/* Compares deviation and tolerance, both absolute, in units of u `scale`. known: there is a
 * contract for all that enters. Fails with "TEXT: position p, pair i, x = ...: deviation D u,
 * tolerance T u", without pair and x where it is not one pair's. */
void prop_judge(const prop_subject *s, prop_sheet *sheet, bool known, long double deviation,
                long double tolerance, long double scale, prop_where where, const char *text);

/* Two results of the same x, stream 0, in the case's positions, each within the contract: y and z
 * differ by at most 2 E(b, |x|), b of [tokens][pairs]. */
void prop_same_results(const prop_subject *s, const prop_case *c, const prop_work *w, const void *y,
                       const void *z, const double *bounds, const char *text, prop_sheet *sheet);

/* The same of one row. */
void prop_same_row(const prop_subject *s, const prop_case *c, const prop_work *w, int64_t row,
                   const void *y, const void *z, const double *bounds, const char *text,
                   prop_sheet *sheet);

/* Two packed results that are to be the same in every bit; positions: [tokens][axes], for reports.
 */
void prop_same_bits(const prop_subject *s, const prop_case *c, const int64_t *positions,
                    const void *y, const void *z, const char *text, prop_sheet *sheet);

/* Cases for properties that all have the same need: positions in narrow windows, lists of them,
 * arrangements in turn. salt keeps properties apart. */
bool prop_generate_usual(const prop_subject *s, const prop_property *property, int64_t index,
                         uint64_t salt, int lists, prop_case *c);

/* Number of cases by the weight of the spec and the level. */
int64_t prop_count_usual(const prop_subject *s, int64_t main, int64_t usual, int64_t light);

/* Where the shape decides, as in kernels with one path for few or short rows and another for the
 * others. Whether a spec of the lightest weight has rows long enough to be worth a case. */
bool prop_long_row(const prop_subject *s);
/* Whether case `index` has many tokens and heads: every other one, the first where rows are short.
 */
bool prop_many_rows(const prop_subject *s, int64_t index);

#endif
