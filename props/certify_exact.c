#include "props/certify_exact.h"

#include <math.h>
#include <stdlib.h>

#include "oracle/table.h"
#include "props/isolate.h"

enum { BLOCK = 64, PARTS = 4 };

struct certify_exact_rows {
    oracle *o;
    int64_t pairs, most, first, count;
    oracle_dd attention_factor;
    double *span[PARTS]; /* [pairs][most]: cos hi, cos lo, sin hi, sin lo */
    double *row[PARTS];  /* [BLOCK][pairs] */
};

certify_exact_rows *certify_exact_new(oracle *o, int64_t most)
{
    certify_exact_rows *r = calloc(1, sizeof *r);
    if (r == NULL)
        return NULL;
    r->o = o;
    r->pairs = oracle_pairs(o);
    r->most = most;
    r->attention_factor = oracle_attention_factor_dd(o);
    for (int k = 0; k < PARTS; k++) {
        r->span[k] = malloc((size_t)(most * r->pairs) * sizeof(double));
        r->row[k] = malloc((size_t)(BLOCK * r->pairs) * sizeof(double));
        if (r->span[k] == NULL || r->row[k] == NULL) {
            certify_exact_free(r);
            return NULL;
        }
    }
    return r;
}

void certify_exact_free(certify_exact_rows *r)
{
    if (r == NULL)
        return;
    for (int k = 0; k < PARTS; k++) {
        free(r->span[k]);
        free(r->row[k]);
    }
    free(r);
}

/* hi + lo times A in double-double, relative error below 2^-102 (Joldes, Muller, Popescu, ACM TOMS
 * 44 (2017), algorithm 12: 5 u^2). */
static void scale(double *hi, double *lo, int64_t count, oracle_dd a)
{
    for (int64_t j = 0; j < count; j++) {
        double p = hi[j] * a.hi, e = fma(hi[j], a.hi, -p);
        e += fma(hi[j], a.lo, lo[j] * a.hi);
        hi[j] = p + e;
        lo[j] = e - (hi[j] - p);
    }
}

bool certify_exact_span(certify_exact_rows *r, int64_t first, int64_t count, rope_error *error)
{
    r->first = first;
    r->count = count;
    bool one = r->attention_factor.hi == 1 && r->attention_factor.lo == 0;
    for (int64_t i = 0; i < r->pairs; i++) {
        double *part[PARTS];
        for (int k = 0; k < PARTS; k++)
            part[k] = r->span[k] + i * r->most;
        if (!oracle_block(r->o, i, first, count, part[0], part[1], part[2], part[3], error))
            return false;
        if (!one) {
            scale(part[0], part[1], count, r->attention_factor);
            scale(part[2], part[3], count, r->attention_factor);
        }
        prop_beat();
    }
    return true;
}

void certify_exact_block(certify_exact_rows *r, int64_t first, int64_t count)
{
    for (int k = 0; k < PARTS; k++)
        for (int64_t i = 0; i < r->pairs; i++) {
            const double *from = r->span[k] + i * r->most + (first - r->first);
            double *to = r->row[k] + i;
            for (int64_t j = 0; j < count; j++)
                to[j * r->pairs] = from[j];
        }
}

bool certify_exact_gather(certify_exact_rows *r, const int64_t *positions, int count,
                          rope_error *error)
{
    oracle_cos_sin_dd *row = malloc((size_t)r->pairs * sizeof *row);
    if (row == NULL)
        return rope_fail(error, "out of memory");
    bool one = r->attention_factor.hi == 1 && r->attention_factor.lo == 0;
    for (int j = 0; j < count; j++) {
        int64_t axes[ROPE_MAX_AXES], at = j * r->pairs;
        for (int axis = 0; axis < ROPE_MAX_AXES; axis++)
            axes[axis] = positions[j];
        oracle_row(r->o, axes, row);
        for (int64_t i = 0; i < r->pairs; i++) {
            r->row[0][at + i] = row[i].cos.hi;
            r->row[1][at + i] = row[i].cos.lo;
            r->row[2][at + i] = row[i].sin.hi;
            r->row[3][at + i] = row[i].sin.lo;
        }
        if (!one) {
            scale(r->row[0] + at, r->row[1] + at, r->pairs, r->attention_factor);
            scale(r->row[2] + at, r->row[3] + at, r->pairs, r->attention_factor);
        }
    }
    free(row);
    return true;
}

certify_exact certify_exact_row(const certify_exact_rows *r, int64_t j)
{
    int64_t at = j * r->pairs;
    return (certify_exact){r->row[0] + at, r->row[1] + at, r->row[2] + at, r->row[3] + at};
}
