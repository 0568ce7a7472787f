/* Errors too small to stand out from what computed angles may be off by. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"
#include "props/identify_survey.h"

/* sum of |y||x| and of |x|^2 of a pair over a token's heads. */
static void norms(const prop_survey *v, int64_t token, int64_t pair, double *across, double *own)
{
    const prop_sample *s = v->sample;
    int64_t first = prop_first_element(&v->right->model, pair);
    int64_t distance = prop_partner_distance(&v->right->model);
    *across = *own = 0;
    for (int64_t head = 0; head < s->heads; head++) {
        const double *x = s->x + (token * s->heads + head) * s->head_dim + first;
        const double *y = s->y + (token * s->heads + head) * s->head_dim + first;
        double from = hypot(x[0], x[distance]), to = hypot(y[0], y[distance]);
        if (isfinite(from) && isfinite(to)) {
            *across += from * to;
            *own += from * from;
        }
    }
}

/* Divides every pair of y by its own drift of the norm: exp(rate) for every token, or exp(rate *
 * position). Returns the largest |rate * position| taken out. */
static double straighten(const prop_survey *v, bool by_position, double *y)
{
    const prop_sample *s = v->sample;
    const prop_model *m = &v->right->model;
    int64_t distance = prop_partner_distance(m);
    double largest = 0;
    for (int64_t i = 0; i < m->pairs; i++) {
        double sum = 0, weight = 0, across, own;
        for (int64_t t = 0; t < s->tokens; t++) {
            double p = by_position ? prop_mapped_position(v->right, s, t, 0, v->right->axis[i]) : 1;
            norms(v, t, i, &across, &own);
            if (!(own > 0) || !(across > 0))
                continue;
            sum += p * own * log(across / own / m->attention_factor.hi);
            weight += p * p * own;
        }
        double rate = weight > 0 ? sum / weight : 0;
        for (int64_t row = 0; row < v->rows; row++) {
            double p = by_position
                           ? prop_mapped_position(v->right, s, row / s->heads, 0, v->right->axis[i])
                           : 1;
            int64_t a = row * s->head_dim + prop_first_element(m, i);
            y[a] *= exp(-rate * p);
            y[a + distance] *= exp(-rate * p);
            largest = fabs(rate * p) > largest ? fabs(rate * p) : largest;
        }
    }
    return largest;
}

/* Angles are right, norms are not: each pair's drifts by a rate of its own, as powers of a rotor
 * that is not of norm 1 do. Roundings that all go one way make up to 2 u of it: a drift below twice
 * that explains nothing. */
prop_hypothesis *prop_norm_drift(const prop_survey *v)
{
    prop_sample straight = *v->sample;
    size_t bytes = (size_t)(v->rows * straight.head_dim) * sizeof *straight.y;
    straight.y = malloc(bytes);
    double least = 4 * rope_dtype_unit_roundoff(straight.dtype);
    prop_hypothesis *h = prop_hypothesis_derive(v->right, "", ""), *found = NULL;
    for (int by_position = 0; straight.y != NULL && h != NULL && found == NULL && by_position < 2;
         by_position++) {
        memcpy(straight.y, v->sample->y, bytes);
        double largest = straighten(v, by_position == 1, straight.y);
        h->model.contract = prop_contract(&v->right->model, PROP_ANGLE_UNROUNDED) + 3;
        if (!(largest >= least && largest < 0.1) || !prop_try(h, &straight) || !h->explains)
            continue;
        char detail[256];
        snprintf(detail, sizeof detail,
                 "the norm of each pair drifts by its own rate, up to %.3g%s", largest,
                 by_position ? ", with the position" : ", alike for all tokens");
        found = prop_named(v, "rotor-recurrence", detail);
    }
    prop_hypothesis_free(h);
    free(straight.y);
    return found;
}

/* Everything is explained but for one row: too small an error to stand out from what computed
 * angles may be off by, so rows are left out in turn. */
prop_hypothesis *prop_one_row(const prop_survey *v)
{
    enum { MOST = 128 };
    prop_sample masked = *v->sample;
    int64_t d = masked.head_dim;
    size_t bytes = (size_t)(v->rows * d) * sizeof *masked.y;
    if (v->rows > MOST || v->rows < 3)
        return NULL;
    masked.y = malloc(bytes);
    prop_hypothesis *h = prop_hypothesis_derive(v->right, "", ""), *found = NULL;
    for (int64_t row = 0; masked.y != NULL && h != NULL && row < v->rows && found == NULL; row++) {
        memcpy(masked.y, v->sample->y, bytes);
        for (int64_t e = 0; e < d; e++)
            masked.y[row * d + e] = NAN;
        char detail[256];
        snprintf(detail, sizeof detail, "all but token %lld, head %lld is right",
                 (long long)(row / masked.heads), (long long)(row % masked.heads));
        if (prop_try(h, &masked) && h->explains)
            found = prop_named(v, "corrupted-element", detail);
        if (found != NULL)
            found->best = h->best;
    }
    prop_hypothesis_free(h);
    free(masked.y);
    return found;
}
