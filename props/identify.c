#include "props/identify.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"
#include "props/identify_faults.h"
#include "props/identify_outliers.h"
#include "props/identify_search.h"
#include "props/identify_specs.h"

/* Where most of a dump is that far from exact, in u, how the rest was computed says little. */
#define ABSURD 1e4

void prop_search_one(prop_inquiry *q, prop_hypothesis *h)
{
    if (!prop_try(h, q->sample))
        q->good = false;
    if (h->explains && q->fit_count < PROP_MAX_FITS)
        q->fits[q->fit_count++] = h;
}

/* Screens, then tries, hypotheses [from, count). Recipes are tried where their base is near. */
static void try_all(prop_inquiry *q, int64_t from)
{
    for (int64_t i = from; i < q->all.count && q->good; i++) {
        prop_hypothesis *h = q->all.items[i];
        prop_screen(h, q->sample);
        bool recipe = h->recipe != PROP_RECIPE_NONE && h->recipe != PROP_RECIPE_MISMATCHED;
        /* A recurrence drifts far from exact angles, but not like a wrong spec: to all sides. */
        double chord = h->median * rope_dtype_unit_roundoff(q->sample->dtype);
        if (recipe ? chord < 0.3 : h->share >= PROP_NEAR)
            prop_search_one(q, h);
    }
}

void prop_search_outliers(prop_inquiry *q, const prop_hypothesis *right)
{
    prop_hypothesis *h = prop_outliers(right, q->sample);
    if (h == NULL)
        return;
    if (!prop_hypotheses_add(&q->all, h)) {
        q->good = false;
        return;
    }
    h->share = right->share;
    h->residual = right->residual;
    h->median = right->median;
    if (h->residual > ABSURD)
        h->best.bound_u = -1;
    if (q->fit_count < PROP_MAX_FITS)
        q->fits[q->fit_count++] = h;
}

/* ---- with a declared spec ---- */

/* What a right RoPE of another spec is called, seen from the declared one. */
static const char *difference(const rope_spec *declared, const rope_spec *found)
{
    if (declared->pairing != found->pairing)
        return "F1 pairing-swapped";
    bool same_shape = declared->rotary_dim == found->rotary_dim &&
                      declared->rotary_offset == found->rotary_offset;
    if (same_shape && declared->scaling == found->scaling && declared->base != found->base)
        return "F20 wrong-base";
    if (same_shape && declared->scaling == ROPE_SCALING_LLAMA3)
        return "F18 llama3-factors";
    return "other-spec";
}

/* An output that shows no rotation. Equal to the input where no positions are given, it may be
 * right.
 */
static void add_unrotated(prop_inquiry *q, const prop_hypothesis *right)
{
    if (!q->zeros && q->sample->position == NULL)
        return;
    prop_hypothesis *h = prop_hypothesis_derive(right, "stale", q->unrotated);
    q->good = h != NULL && prop_hypotheses_add(&q->all, h);
    if (!q->good)
        return;
    h->explains = true;
    h->best.bound_u = -1; /* no pipeline */
    q->fits[q->fit_count++] = h;
}

static void search_declared(prop_inquiry *q, const rope_spec *declared)
{
    prop_hypothesis *right = prop_hypothesis_new(q->sample, declared, q->angles);
    if (right == NULL || !prop_hypotheses_add(&q->all, right)) {
        q->good = false;
        return;
    }
    prop_screen(right, q->sample);
    prop_search_one(q, right);
    if (right->explains)
        return;
    if (q->unrotated != NULL) {
        add_unrotated(q, right);
        return;
    }
    if (q->sample->position == NULL) {
        prop_search_places(q, right);
        if (q->fit_count > 0)
            return;
    }
    if (!(q->angles & 1u << PROP_ANGLE_PRODUCT)) { /* --angle f64: f32 angles are a fault */
        prop_hypothesis *h = prop_hypothesis_derive(right, "F7 f32-angle", "angles in f32");
        if (h != NULL) {
            h->angles = (1u << PROP_ANGLES) - 1;
            h->share = right->share;
            h->residual = right->residual;
            q->good = prop_hypotheses_add(&q->all, h);
            prop_search_one(q, h);
        }
        if (q->fit_count > 0)
            return;
    }
    int64_t from = q->all.count;
    q->good = q->good && prop_faults_of_code(&q->all, right, q->sample) &&
              prop_faults_of_spec(&q->all, right, q->sample);
    try_all(q, from);
    if (q->fit_count == 0 && q->sample->position == NULL)
        prop_search_places_of_faults(q, from);
    else if (q->fit_count == 0)
        prop_search_outliers(q, right);
    if (q->fit_count > 0)
        return;
    from = q->all.count;
    q->good = q->good && prop_candidate_specs(&q->all, q->sample, q->angles);
    for (int64_t i = from; i < q->all.count; i++) {
        prop_hypothesis *h = q->all.items[i];
        snprintf(h->fault, sizeof h->fault, "%s", difference(declared, &h->spec));
        h->follows = true;
        if (h->share >= PROP_NEAR)
            prop_search_one(q, h);
    }
}

/* ---- without ---- */

static int by_share(const void *a, const void *b)
{
    const prop_hypothesis *x = *(prop_hypothesis *const *)a, *y = *(prop_hypothesis *const *)b;
    if (x->share != y->share)
        return x->share < y->share ? 1 : -1;
    return (x->median > y->median) - (x->median < y->median);
}

static void search_open(prop_inquiry *q)
{
    q->good = prop_candidate_specs(&q->all, q->sample, q->angles);
    int64_t specs = q->all.count;
    for (int64_t i = 0; i < specs; i++)
        if (q->all.items[i]->share >= PROP_NEAR)
            prop_search_one(q, q->all.items[i]);
    if (q->fit_count > 0 || specs == 0)
        return;
    prop_hypothesis **ranked = malloc((size_t)specs * sizeof(prop_hypothesis *));
    if (ranked == NULL) {
        q->good = false;
        return;
    }
    memcpy(ranked, q->all.items, (size_t)specs * sizeof(prop_hypothesis *));
    qsort(ranked, (size_t)specs, sizeof(prop_hypothesis *), by_share);
    for (int64_t i = 0; i < specs && i < 48 && q->good; i++) {
        int64_t from = q->all.count;
        q->good = prop_faults_of_code(&q->all, ranked[i], q->sample);
        try_all(q, from);
    }
    for (int64_t i = 0; i < specs && i < 8 && q->fit_count == 0; i++)
        prop_search_outliers(q, ranked[i]);
    free(ranked);
}

/* An f32 output whose numbers are all of 16 bits: as a dump of that dtype. */
static void search_narrower(prop_inquiry *q, const rope_spec *declared)
{
    int dtype = prop_sample_narrower(q->sample);
    if (dtype < 0 || !q->good || q->fit_count > 0)
        return;
    prop_sample narrow = *q->sample;
    const prop_sample *whole = q->sample;
    narrow.dtype = (uint32_t)dtype;
    q->sample = &narrow;
    if (declared != NULL)
        search_declared(q, declared);
    else
        search_open(q);
    q->sample = whole;
    for (int i = 0; i < q->fit_count; i++) {
        prop_hypothesis *h = q->fits[i];
        if (h->fault[0] == '\0')
            snprintf(h->fault, sizeof h->fault, "other-dtype");
        size_t used = strlen(h->detail);
        snprintf(h->detail + used, sizeof h->detail - used, "%sthe output holds %s numbers as f32",
                 used > 0 ? "; " : "", rope_dtype_name((uint32_t)dtype));
    }
}

bool prop_identify(const prop_sample *sample, const rope_spec *declared, uint32_t angles,
                   prop_identity *identity, rope_error *error)
{
    *identity = (prop_identity){0};
    bool seen = false;
    for (int64_t i = 0; i < sample->tokens * sample->heads * sample->head_dim && !seen; i++)
        seen = isfinite(sample->x[i]) && sample->x[i] != 0;
    if (!seen)
        return rope_fail(error, "no element of the input is finite and non-zero: nothing to see");
    if (declared != NULL && declared->head_dim != sample->head_dim)
        return rope_fail(error, "rows of %lld elements, but the spec's head_dim is %lld",
                         (long long)sample->head_dim, (long long)declared->head_dim);
    prop_inquiry q = {.sample = sample, .angles = angles, .good = true};
    q.unrotated = prop_sample_unrotated(sample, &q.zeros);
    if (declared != NULL)
        search_declared(&q, declared);
    else if (q.unrotated == NULL)
        search_open(&q);
    if (q.unrotated == NULL)
        search_narrower(&q, declared);
    if (q.good)
        prop_report(&q, declared, identity);
    else
        rope_fail(error, "out of memory, or the spec does not resolve");
    prop_hypotheses_free(&q.all);
    return q.good;
}
