/* Inside of identify's outliers: which elements a hypothesis does not explain. */
#ifndef PROPS_IDENTIFY_SURVEY_H
#define PROPS_IDENTIFY_SURVEY_H

#include "props/identify_try.h"

typedef struct {
    const prop_hypothesis *right;
    const prop_sample *sample;
    bool *wrong; /* [rows][head_dim]: elements of pairs outside tolerance, or changed outside */
    int64_t *row_wrong;    /* [rows]: how many of these */
    prop_combination rest; /* how what is not wrong was computed; bound_u < 0: not known */
    int64_t rows, elements, wrong_rows, pairs_wrong;
} prop_survey;

/* A fault that, with `right` for the rest, explains. NULL: out of memory. */
static inline prop_hypothesis *prop_named(const prop_survey *v, const char *fault,
                                          const char *detail)
{
    prop_hypothesis *h = prop_hypothesis_derive(v->right, fault, detail);
    if (h != NULL) {
        h->explains = true;
        h->best = v->rest;
    }
    return h;
}

/* Angles are right, norms are not; all but one row is right. NULL: no such thing. */
prop_hypothesis *prop_norm_drift(const prop_survey *v);
prop_hypothesis *prop_one_row(const prop_survey *v);

/* One fault explains all rows that are wrong, and no other row has it: one head, later tokens. */
prop_hypothesis *prop_fault_of_rows(const prop_survey *v);

#endif
