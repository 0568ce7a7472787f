/* Faults that only some rows have: what is wrong in one head or from some token on is looked at by
 * itself. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "props/identify_faults.h"
#include "props/identify_survey.h"

enum { FEWEST = 3 }; /* rows: fewer have one fault in common by chance */

static void free_rows(prop_sample *rows)
{
    free(rows->x);
    free(rows->y);
    free(rows->index);
    free(rows->position);
}

/* The wrong rows as tokens of one head. */
static bool take_rows(const prop_survey *v, prop_sample *rows)
{
    const prop_sample *s = v->sample;
    size_t d = (size_t)s->head_dim, count = (size_t)v->wrong_rows;
    *rows = *s;
    rows->tokens = rows->dump_tokens = v->wrong_rows;
    rows->heads = 1;
    rows->x = malloc(count * d * sizeof *rows->x);
    rows->y = malloc(count * d * sizeof *rows->y);
    rows->index = malloc(count * sizeof *rows->index);
    rows->position = s->position != NULL ? malloc(count * s->axes * sizeof *rows->position) : NULL;
    if (!rows->x || !rows->y || !rows->index || (s->position != NULL && !rows->position))
        return false;
    size_t n = 0;
    for (int64_t row = 0; row < v->rows; row++) {
        if (v->row_wrong[row] == 0)
            continue;
        int64_t token = row / s->heads;
        memcpy(rows->x + n * d, s->x + (size_t)row * d, d * sizeof *rows->x);
        memcpy(rows->y + n * d, s->y + (size_t)row * d, d * sizeof *rows->y);
        rows->index[n] = s->index[token];
        if (rows->position != NULL)
            memcpy(rows->position + n * s->axes, s->position + token * s->axes,
                   s->axes * sizeof *rows->position);
        n++;
    }
    return true;
}

/* "head 2 of 4", "tokens from 6 on", "9 of 48 rows". */
static void describe(const prop_survey *v, char *text, size_t size)
{
    const prop_sample *s = v->sample;
    int64_t head = -1, first = -1;
    bool one_head = true, all_later = true;
    for (int64_t row = 0; row < v->rows; row++) {
        bool wrong = v->row_wrong[row] > 0;
        if (wrong && first < 0) {
            first = row / s->heads;
            head = row % s->heads;
        }
        one_head = one_head && (!wrong || row % s->heads == head);
        all_later = all_later && (wrong || first < 0 || row / s->heads < first);
    }
    if (s->heads > 1 && one_head)
        snprintf(text, size, "in head %lld of %lld alone", (long long)head, (long long)s->heads);
    else if (all_later && first > 0)
        snprintf(text, size, "in tokens from %lld on alone", (long long)first);
    else
        snprintf(text, size, "in %lld of %lld rows alone", (long long)v->wrong_rows,
                 (long long)v->rows);
}

/* Whether an answer is of a kind that rows out of their order can have. */
static bool concerns_rows(const prop_hypothesis *h)
{
    return h->map != PROP_MAP_PREVIOUS && h->map != PROP_MAP_CONSTANT &&
           h->recipe == PROP_RECIPE_NONE;
}

prop_hypothesis *prop_fault_of_rows(const prop_survey *v)
{
    prop_sample rows;
    prop_hypotheses list = {0};
    prop_hypothesis *found = NULL;
    if (v->wrong_rows < FEWEST || v->wrong_rows == v->rows)
        return NULL;
    bool good = take_rows(v, &rows) && prop_faults_of_code(&list, v->right, &rows) &&
                prop_faults_of_spec(&list, v->right, &rows);
    for (int64_t i = 0; good && found == NULL && i < list.count; i++) {
        prop_hypothesis *h = list.items[i];
        if (!concerns_rows(h))
            continue;
        prop_screen(h, &rows);
        if (h->share < 0.995 || !prop_try(h, &rows) || !h->explains)
            continue;
        char where[64], detail[sizeof h->detail];
        describe(v, where, sizeof where);
        snprintf(detail, sizeof detail, "%.180s, %s", h->detail, where);
        found = prop_named(v, h->fault, detail);
    }
    prop_hypotheses_free(&list);
    free_rows(&rows);
    return found;
}
