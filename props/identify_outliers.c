#include "props/identify_outliers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"
#include "props/identify_survey.h"

static bool look(prop_survey *v)
{
    const prop_sample *s = v->sample;
    const prop_model *m = &v->right->model;
    v->rows = s->tokens * s->heads;
    v->wrong = calloc((size_t)(v->rows * s->head_dim), sizeof *v->wrong);
    v->row_wrong = calloc((size_t)v->rows, sizeof *v->row_wrong);
    if (v->wrong == NULL || v->row_wrong == NULL)
        return false;
    int64_t distance = prop_partner_distance(m);
    for (int64_t row = 0; row < v->rows; row++) {
        bool *wrong = v->wrong + row * s->head_dim;
        const double *x = s->x + row * s->head_dim, *y = s->y + row * s->head_dim;
        for (int64_t e = 0; e < s->head_dim; e++)
            wrong[e] = (e < m->rotary_offset || e >= m->rotary_offset + m->rotary_dim) &&
                       x[e] != y[e] && !isnan(y[e]);
        for (int64_t i = 0; i < m->pairs; i++) {
            double tolerance,
                error = prop_error(v->right, s, row / s->heads, row % s->heads, i, &tolerance);
            int64_t first = prop_first_element(m, i);
            bool infinite = isinf(y[first]) || isinf(y[first + distance]);
            bool zero_wrong = x[first] == 0 && x[first + distance] == 0 &&
                              (y[first] != 0 || y[first + distance] != 0);
            if ((isnan(error) && !infinite && !zero_wrong) || error <= tolerance)
                continue;
            wrong[first] = wrong[first + distance] = true;
            v->pairs_wrong++;
        }
        for (int64_t e = 0; e < s->head_dim; e++)
            v->row_wrong[row] += wrong[e];
        v->wrong_rows += v->row_wrong[row] > 0;
        v->elements += v->row_wrong[row];
    }
    return true;
}

/* Whether `right` explains everything but what was found wrong, wrong rows left out whole or not.
 */
static bool rest_explained(prop_survey *v, bool whole_rows)
{
    prop_sample masked = *v->sample;
    size_t count = (size_t)(v->rows * masked.head_dim);
    masked.y = malloc(count * sizeof *masked.y);
    prop_hypothesis *h = prop_hypothesis_derive(v->right, "", "");
    bool good = masked.y != NULL && h != NULL;
    for (size_t i = 0; good && i < count; i++) {
        bool leave = v->wrong[i] || (whole_rows && v->row_wrong[i / (size_t)masked.head_dim] > 0);
        masked.y[i] = leave ? NAN : v->sample->y[i];
    }
    good = good && prop_try(h, &masked) && h->explains;
    if (good)
        v->rest = h->best;
    prop_hypothesis_free(h);
    free(masked.y);
    return good;
}

static bool same_row(const double *a, const double *b, int64_t d)
{
    return memcmp(a, b, (size_t)d * sizeof *a) == 0;
}

/* ---- rows ---- */

static prop_hypothesis *unrotated_rows(const prop_survey *v)
{
    const prop_sample *s = v->sample;
    int64_t d = s->head_dim, first_token = -1;
    bool later_tokens = true, heads_after_first = true, later_heads = true;
    for (int64_t row = 0; row < v->rows; row++) {
        int64_t token = row / s->heads, head = row % s->heads;
        bool equal = same_row(s->x + row * d, s->y + row * d, d);
        if (v->row_wrong[row] > 0) {
            if (!equal)
                return NULL;
            if (first_token < 0)
                first_token = token;
            heads_after_first = heads_after_first && head > 0;
        } else {
            later_tokens = later_tokens && (first_token < 0 || equal);
            later_heads = later_heads && (head == 0 || equal);
        }
    }
    char detail[256];
    snprintf(detail, sizeof detail, "%lld of %lld rows equal their input, from token %lld on",
             (long long)v->wrong_rows, (long long)v->rows, (long long)first_token);
    if (heads_after_first && later_heads && s->heads > 1)
        return prop_named(v, "F24 wrong-axis", "only the first head of every token is rotated");
    if (later_tokens && first_token == 1 && s->tokens > 2)
        return prop_named(v, "F24 wrong-axis", "only the first token is rotated");
    if (later_tokens && first_token > 0)
        return prop_named(v, "untouched-tail", detail);
    return prop_named(v, "stale", detail);
}

/* Every wrong row holds another row's output. */
static prop_hypothesis *copied_rows(const prop_survey *v)
{
    const prop_sample *s = v->sample;
    int64_t d = s->head_dim, from = -1, to = -1;
    if (v->wrong_rows > 4096)
        return NULL;
    for (int64_t row = 0; row < v->rows; row++) {
        if (v->row_wrong[row] == 0)
            continue;
        int64_t source = -1;
        for (int64_t other = 0; other < v->rows && source < 0; other++)
            if (other != row && same_row(s->y + row * d, s->y + other * d, d))
                source = other;
        if (source < 0)
            return NULL;
        from = source;
        to = row;
    }
    char detail[256];
    snprintf(detail, sizeof detail,
             "%lld rows hold another row's output, as token %lld, head %lld that of token %lld, "
             "head %lld",
             (long long)v->wrong_rows, (long long)(to / s->heads), (long long)(to % s->heads),
             (long long)(from / s->heads), (long long)(from % s->heads));
    return prop_named(v, "stale", detail);
}

/* Every wrong row is right at another token's position. */
static prop_hypothesis *other_position(const prop_survey *v)
{
    const prop_sample *s = v->sample;
    prop_hypothesis *h = prop_hypothesis_derive(v->right, "stale", "");
    int64_t last_row = -1, last_source = -1;
    bool found = h != NULL && v->wrong_rows <= 4096;
    for (int64_t row = 0; found && row < v->rows; row++) {
        if (v->row_wrong[row] == 0)
            continue;
        found = false;
        int64_t token = row / s->heads;
        for (int64_t k = 1; k < s->tokens && !found; k++) { /* the nearest before, then others */
            int64_t other = (token - k + s->tokens) % s->tokens;
            h->map = PROP_MAP_CONSTANT;
            h->map_value = prop_mapped_position(v->right, s, other, row % s->heads, 0);
            found = true;
            for (int64_t i = 0; found && i < h->model.pairs; i++) {
                double tolerance, error = prop_error(h, s, token, row % s->heads, i, &tolerance);
                found = isnan(error) || error <= tolerance;
            }
            last_row = row;
            last_source = other;
        }
    }
    prop_hypothesis_free(h);
    if (!found || last_row < 0)
        return NULL;
    char detail[256];
    snprintf(
        detail, sizeof detail,
        "%lld rows are rotated by another token's position, as token %lld by that of token %lld",
        (long long)v->wrong_rows, (long long)(last_row / s->heads), (long long)last_source);
    return prop_named(v, "stale", detail);
}

/* ---- elements ---- */

/* From some pair on, both elements of the pairs, or the second ones (a tail in memory under half
 * pairing), equal the input, in every row; no other pair is wrong. */
static prop_hypothesis *untouched_tail(prop_survey *v)
{
    const prop_sample *s = v->sample;
    const prop_model *m = &v->right->model;
    int64_t d = s->head_dim, distance = prop_partner_distance(m), from = m->pairs;
    bool both = true;
    for (int64_t row = 0; row < v->rows; row++)
        for (int64_t i = 0; i < m->pairs; i++) {
            int64_t a = row * d + prop_first_element(m, i), b = a + distance;
            if (!v->wrong[a])
                continue;
            if (s->x[b] != s->y[b])
                return NULL;
            both = both && s->x[a] == s->y[a];
            from = i < from ? i : from;
        }
    if (from == m->pairs)
        return NULL;
    for (int64_t row = 0; row < v->rows; row++)
        for (int64_t i = from; i < m->pairs; i++) {
            int64_t a = row * d + prop_first_element(m, i), b = a + distance;
            if (s->x[b] != s->y[b] || (both && s->x[a] != s->y[a]))
                return NULL;
            v->wrong[a] = v->wrong[b] = true; /* slow pairs are within tolerance, but untouched */
        }
    if (!rest_explained(v, false))
        return NULL;
    char detail[256];
    snprintf(detail, sizeof detail, "%s of pairs %lld to %lld equal the input",
             both ? "both elements" : "the second elements", (long long)from,
             (long long)m->pairs - 1);
    return prop_named(v, "untouched-tail", detail);
}

static prop_hypothesis *few_elements(const prop_survey *v)
{
    const prop_sample *s = v->sample;
    int64_t most = v->rows * v->right->model.pairs / 100;
    if (v->pairs_wrong > (most > 4 ? most : 4) || v->wrong_rows * 2 > v->rows + 1)
        return NULL;
    int64_t row = 0, element = 0;
    while (row < v->rows && v->row_wrong[row] == 0)
        row++;
    while (element < s->head_dim && !v->wrong[row * s->head_dim + element])
        element++;
    char detail[256];
    snprintf(detail, sizeof detail,
             "%lld of %lld rows hold a wrong element, the first in token %lld, head %lld, about "
             "element %lld",
             (long long)v->wrong_rows, (long long)v->rows, (long long)(row / s->heads),
             (long long)(row % s->heads), (long long)element);
    return prop_named(v, "corrupted-element", detail);
}

/* Whether no more than half of a row's pairs have kept their norm, to a tenth. */
static bool norms_lost(const prop_survey *v, int64_t row)
{
    const prop_sample *s = v->sample;
    const prop_model *m = &v->right->model;
    int64_t distance = prop_partner_distance(m), kept = 0;
    for (int64_t i = 0; i < m->pairs; i++) {
        const double *x = s->x + row * s->head_dim + prop_first_element(m, i);
        const double *y = s->y + row * s->head_dim + prop_first_element(m, i);
        double due = m->attention_factor.hi * hypot(x[0], x[distance]);
        kept += fabs(hypot(y[0], y[distance]) - due) <= 0.1 * due;
    }
    return 2 * kept <= m->pairs;
}

/* Rows of which most pairs are wrong, and no rotation of their input by any angles: not made from
 * it, as what a buffer held before. */
static prop_hypothesis *unrelated_rows(const prop_survey *v)
{
    int64_t elements = v->right->model.rotary_dim;
    for (int64_t row = 0; row < v->rows; row++)
        if (v->row_wrong[row] > 0 && (2 * v->row_wrong[row] < elements || !norms_lost(v, row)))
            return NULL;
    if (2 * v->wrong_rows > v->rows)
        return NULL;
    char detail[256];
    snprintf(detail, sizeof detail, "%lld of %lld rows are not made from their input",
             (long long)v->wrong_rows, (long long)v->rows);
    return prop_named(v, "stale", detail);
}

prop_hypothesis *prop_outliers(const prop_hypothesis *right, const prop_sample *sample)
{
    prop_survey v = {.right = right, .sample = sample, .rest = {.bound_u = -1}};
    prop_hypothesis *found = NULL;
    if (look(&v) && v.elements > 0) {
        if (rest_explained(&v, true)) {
            found = unrotated_rows(&v);
            found = found != NULL ? found : copied_rows(&v);
        }
        if (found == NULL && rest_explained(&v, false))
            found = few_elements(&v);
        if (found == NULL)
            found = untouched_tail(&v);
        if (found == NULL && rest_explained(&v, true)) {
            found = prop_fault_of_rows(&v);
            found = found != NULL ? found : other_position(&v);
            found = found != NULL ? found : unrelated_rows(&v);
        }
    }
    /* One row before a drift, which its error would pass for where it outweighs the others. */
    if (found == NULL && v.wrong != NULL && v.row_wrong != NULL)
        found = prop_one_row(&v);
    if (found == NULL && v.wrong != NULL && v.row_wrong != NULL)
        found = prop_norm_drift(&v);
    free(v.wrong);
    free(v.row_wrong);
    return found;
}
