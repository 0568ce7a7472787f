/* Dumps whose positions are not given: where the angles say that they are. */
#include <stdlib.h>

#include "props/identify_positions.h"
#include "props/identify_search.h"

/* Inferred positions that a fault of the rotation would show alike. */
static void add_other_reading(prop_inquiry *q, const prop_hypothesis *placed, const prop_sample *s)
{
    bool negative = false, positive = false, same = s->tokens > 1;
    for (int64_t t = 0; t < s->tokens; t++) {
        negative = negative || s->position[t] < 0;
        positive = positive || s->position[t] > 0;
        same = same && s->position[t] == s->position[0];
    }
    prop_hypothesis *h = NULL;
    if (negative && !positive)
        h = prop_hypothesis_derive(placed, "F22 inverse-rotation",
                                   "the same positions without their signs");
    else if (same)
        h = prop_hypothesis_derive(placed, "stale", "every token is rotated by one position");
    else
        return;
    if (h != NULL)
        h->explains = true;
    q->good = h != NULL && prop_hypotheses_add(&q->all, h) && q->good;
    if (q->good && q->fit_count < PROP_MAX_FITS)
        q->fits[q->fit_count++] = h;
}

/* Puts h to positions that the angles themselves tell, one by one. All tokens: h explains, and so
 * does its inverse by the negative positions. All but some: what those are. Nothing is said of the
 * positions themselves, which nobody gave. */
static void try_inferred(prop_inquiry *q, const prop_hypothesis *h, bool outliers)
{
    prop_sample known = *q->sample;
    const prop_sample *unknown = q->sample;
    known.axes = 1;
    known.position = malloc((size_t)known.tokens * sizeof *known.position);
    prop_hypothesis *placed = prop_hypothesis_derive(h, h->fault, h->detail);
    q->good = q->good && known.position != NULL && placed != NULL;
    int64_t found = q->good ? prop_infer_positions(h, &known, known.position) : 0;
    q->sample = &known;
    if (found == known.tokens) {
        prop_told_positions(placed, &known);
        prop_screen(placed, &known);
        prop_search_one(q, placed);
        if (placed->explains && placed->fault[0] == '\0')
            add_other_reading(q, placed, &known);
    } else if (2 * found > known.tokens && outliers) {
        prop_screen(placed, &known);
        prop_search_outliers(q, placed);
    }
    q->sample = unknown;
    if (placed != NULL)
        q->good = prop_hypotheses_add(&q->all, placed) && q->good;
    free(known.position);
}

void prop_search_places(prop_inquiry *q, const prop_hypothesis *right)
{
    int64_t placed = q->all.count;
    q->good = prop_place_tokens(&q->all, right, q->sample) && q->good;
    for (int64_t i = placed; i < q->all.count; i++)
        if (q->all.items[i]->share >= PROP_NEAR)
            prop_search_one(q, q->all.items[i]);
    if (q->fit_count == 0)
        try_inferred(q, right, true);
}

void prop_search_places_of_faults(prop_inquiry *q, int64_t from)
{
    int64_t end = q->all.count;
    for (int64_t i = from; i < end && q->fit_count == 0 && q->good; i++) {
        const prop_hypothesis *h = q->all.items[i];
        bool plain = h->map == PROP_MAP_GIVEN && h->recipe == PROP_RECIPE_NONE &&
                     !h->output_transposed && h->model.arithmetics == 0;
        if (plain)
            try_inferred(q, h, false);
    }
}
