#include "props/explain.h"

#include <math.h>
#include <stdlib.h>

#include "impl/registry.h"
#include "props/explain_internal.h"

/* ---- setting up ---- */

static bool add_set(prop_explanation *e, prop_angle angle, uint32_t format)
{
    const prop_model *m = &e->model;
    angle_set *set = &e->sets[e->set_count];
    set->angle = angle;
    set->format = format;
    set->first = malloc(((size_t)m->pairs + 1) * sizeof *set->first);
    set->centre = malloc((size_t)m->pairs * sizeof *set->centre);
    if (set->first == NULL || set->centre == NULL)
        return false;
    set->first[0] = 0;
    for (int64_t i = 0; i < m->pairs; i++) {
        double theta = m->theta[i];
        set->centre[i] = prop_nearest(format, angle == PROP_ANGLE_QUOTIENT ? 1 / theta : theta);
        bool fixed = prop_one_frequency(angle) || !(theta > 0x1p-100) || !(theta < 0x1p100);
        set->first[i + 1] = set->first[i] + (fixed ? 1 : 2 * (int64_t)m->steps[i] + 1);
    }
    size_t total = (size_t)set->first[m->pairs] * (size_t)e->arithmetics;
    set->candidates = malloc(total * sizeof *set->candidates);
    if (set->candidates == NULL)
        return false;
    for (size_t i = 0; i < total; i++)
        set->candidates[i] = (candidate){.stands = true, .token = -1, .head = -1};
    for (int s = 0; s < e->arithmetics; s++)
        e->combinations[e->set_count * e->arithmetics + s] = (prop_combination){
            .angle = angle,
            .arithmetic = e->arithmetic[s],
            .format = format,
            .bound_u = prop_bitwise(e->arithmetic[s]) ? 0 : prop_contract(m, angle),
            .first = {-1, -1, -1},
            .worst = {-1, -1, -1}};
    e->set_count++;
    return true;
}

prop_explanation *prop_explanation_new(const prop_model *model, uint32_t angles)
{
    prop_explanation *e = calloc(1, sizeof *e);
    if (e == NULL)
        return NULL;
    e->model = *model;
    e->u = rope_dtype_unit_roundoff(model->dtype);
    e->attention_factor = model->attention_factor.hi;
    bool narrow = model->dtype == ROPE_F16 || model->dtype == ROPE_BF16;
    uint32_t arithmetics = model->arithmetics;
    if (arithmetics == 0)
        arithmetics = narrow ? (1u << PROP_ARITHMETICS_RIGHT) - 1 : 1;
    for (prop_arithmetic a = 0; a < PROP_ARITHMETICS; a++)
        if (arithmetics & 1u << a)
            e->arithmetic[e->arithmetics++] = a;
    bool good = true;
    for (prop_angle a = 0; good && a < PROP_ANGLES; a++) {
        if (!(angles & 1u << a))
            continue;
        if (model->dtype == ROPE_F64 && a != PROP_ANGLE_UNROUNDED)
            good = add_set(e, a, ROPE_F64); /* an unrounded product of an f64 f is A0 */
        if (good &&
            (model->dtype != ROPE_F64 || a == PROP_ANGLE_UNROUNDED || a == PROP_ANGLE_PRODUCT))
            good = add_set(e, a, ROPE_F32);
    }
    size_t pairs = (size_t)e->set_count * (size_t)e->arithmetics * (size_t)model->pairs;
    e->refuted = malloc(pairs * sizeof *e->refuted);
    if (!good || e->refuted == NULL) {
        prop_explanation_free(e);
        return NULL;
    }
    for (size_t i = 0; i < pairs; i++)
        e->refuted[i] = (prop_place){-1, -1, -1};
    return e;
}

void prop_explanation_free(prop_explanation *e)
{
    if (e == NULL)
        return;
    for (int i = 0; i < MAX_SETS; i++) {
        free(e->sets[i].first);
        free(e->sets[i].centre);
        free(e->sets[i].candidates);
    }
    free(e->refuted);
    free(e->row_data);
    free(e);
}

/* ---- one token ---- */

/* The pair's data of every head whose numbers are all finite. */
static void gather(const prop_explanation *e, const prop_row *row, int64_t pair, gathered *g)
{
    const prop_model *m = &e->model;
    int64_t first = prop_first_element(m, pair), distance = prop_partner_distance(m), n = 0;
    double *data = g->data;
    for (int64_t h = 0; h < row->heads; h++) {
        const double *x = row->x + h * m->head_dim + first, *y = row->y + (x - row->x);
        double x0 = x[0], x1 = x[distance], y0 = y[0], y1 = y[distance];
        if (!isfinite(x0) || !isfinite(x1) || !isfinite(y0) || !isfinite(y1))
            continue;
        data[n] = x0;
        data[n + row->heads] = x1;
        data[n + 2 * row->heads] = y0;
        data[n + 3 * row->heads] = y1;
        double norm = m->dtype == ROPE_F64 ? hypot(x0, x1) : sqrt(x0 * x0 + x1 * x1);
        data[n + 4 * row->heads] = e->attention_factor * norm * e->u;
        data[n + 5 * row->heads] = (double)h;
        n++;
    }
    g->n = n;
    g->heads = row->heads;
    g->asked = 0;
}

static void feed_pair(prop_explanation *e, const prop_row *row, int64_t pair, gathered *g,
                      int index)
{
    angle_set *set = &e->sets[index / e->arithmetics];
    int arithmetic = index % e->arithmetics;
    const prop_combination *combination = &e->combinations[index];
    candidate *all = set->candidates + arithmetic * set->first[e->model.pairs];
    double last_change = NAN;
    judgement last = {0};
    bool any = false;
    int64_t head = -1, low = set->first[pair], high = set->first[pair + 1] - 1;
    while (low < high && !all[low].stands)
        low++;
    while (high > low && !all[high].stands)
        high--;
    bool together = false;
    if (high > low && e->u > 0x1p-20) {
        const double change[2] = {
            prop_angle_change(set, &e->model, pair, low - set->first[pair], row->position[pair]),
            prop_angle_change(set, &e->model, pair, high - set->first[pair], row->position[pair])};
        together = prop_judge_range(e, row, pair, g, combination, change, &last);
    }
    for (int64_t i = low; i <= high; i++) {
        if (!all[i].stands)
            continue;
        double change = together ? 0
                                 : prop_angle_change(set, &e->model, pair, i - set->first[pair],
                                                     row->position[pair]);
        if (!together && !(change == last_change))
            last = prop_judge_angle(e, g, combination, prop_turned(row->exact[pair], change));
        last_change = change;
        all[i].stands = last.stands;
        any = any || last.stands;
        head = last.head;
        if (last.stands && last.error_u > all[i].max_error_u) {
            all[i].max_error_u = last.error_u;
            all[i].token = row->token;
            all[i].head = last.head;
        }
    }
    if (!any)
        e->refuted[index * e->model.pairs + pair] = (prop_place){row->token, head, pair};
}

void prop_explanation_feed_pairs(prop_explanation *e, const prop_row *row, int64_t first,
                                 int64_t end, double *data)
{
    int combinations = e->set_count * e->arithmetics;
    gathered g = {.data = data};
    for (int64_t pair = first; pair < end; pair++) {
        bool ready = false;
        for (int k = 0; k < combinations; k++) {
            if (e->skip[k] || e->refuted[k * e->model.pairs + pair].token >= 0)
                continue;
            if (!ready)
                gather(e, row, pair, &g);
            ready = true;
            if (g.n > 0)
                feed_pair(e, row, pair, &g, k);
        }
    }
}

/* Once refuted, a combination matters only for the report of a failure, and there is none while
 * another stands. */
void prop_explanation_sync(prop_explanation *e)
{
    int combinations = e->set_count * e->arithmetics;
    for (int k = 0; k < combinations; k++) {
        prop_combination *c = &e->combinations[k];
        c->pairs_refuted = 0;
        for (int64_t pair = 0; pair < e->model.pairs; pair++) {
            prop_place at = e->refuted[k * e->model.pairs + pair];
            if (at.token < 0)
                continue;
            if (c->pairs_refuted++ == 0 || at.token < c->first.token)
                c->first = at;
        }
    }
    bool all = prop_explanation_refuted(e);
    for (int k = 0; k < combinations; k++)
        e->skip[k] = !all && e->combinations[k].pairs_refuted > 0;
}

void prop_explanation_feed(prop_explanation *e, const prop_row *row)
{
    if (row->heads > e->row_heads) {
        double *data = realloc(e->row_data, 6 * (size_t)row->heads * sizeof *data);
        if (data == NULL)
            abort(); /* 6 numbers a head: less than the row that the caller holds */
        e->row_data = data;
        e->row_heads = row->heads;
    }
    prop_explanation_feed_pairs(e, row, 0, e->model.pairs, e->row_data);
    prop_explanation_sync(e);
}

/* ---- results ---- */

bool prop_explanation_refuted(const prop_explanation *e)
{
    for (int k = 0; k < e->set_count * e->arithmetics; k++)
        if (e->combinations[k].pairs_refuted == 0)
            return false;
    return true;
}

/* Of the candidates that stand, the one nearest to theta; -1 = none. */
static int64_t chosen(const prop_explanation *e, int combination, int64_t pair)
{
    const angle_set *set = &e->sets[combination / e->arithmetics];
    const candidate *all =
        set->candidates + combination % e->arithmetics * set->first[e->model.pairs];
    int64_t middle = (set->first[pair] + set->first[pair + 1] - 1) / 2, best = -1;
    for (int64_t i = set->first[pair]; i < set->first[pair + 1]; i++)
        if (all[i].stands && (best < 0 || llabs(i - middle) < llabs(best - middle)))
            best = i;
    return best;
}

const prop_combination *prop_explanation_results(prop_explanation *e, int *count)
{
    *count = e->set_count * e->arithmetics;
    for (int k = 0; k < *count; k++) {
        prop_combination *c = &e->combinations[k];
        const angle_set *set = &e->sets[k / e->arithmetics];
        const candidate *all = set->candidates + k % e->arithmetics * set->first[e->model.pairs];
        c->explains = c->pairs_refuted == 0;
        c->max_error_u = 0;
        c->max_drift = 0;
        for (int64_t pair = 0; pair < e->model.pairs; pair++) {
            int64_t best = chosen(e, k, pair);
            if (best < 0)
                continue;
            int64_t middle = (set->first[pair] + set->first[pair + 1] - 1) / 2;
            if (llabs(best - middle) > c->max_drift) {
                c->max_drift = (int32_t)llabs(best - middle);
                c->drift_pair = pair;
            }
            if (all[best].max_error_u > c->max_error_u) {
                c->max_error_u = all[best].max_error_u;
                c->worst = (prop_place){all[best].token, all[best].head, pair};
            }
        }
    }
    return e->combinations;
}

bool prop_explanation_stands(const prop_explanation *e, int combination, int64_t pair)
{
    return e->refuted[combination * e->model.pairs + pair].token < 0;
}

double prop_explanation_frequency(const prop_explanation *e, int combination, int64_t pair)
{
    const angle_set *set = &e->sets[combination / e->arithmetics];
    int64_t best = chosen(e, combination, pair);
    if (best < 0)
        return NAN;
    if (prop_one_frequency(set->angle) || set->first[pair + 1] - set->first[pair] == 1)
        return e->model.theta[pair];
    double f =
        prop_move(set->format, set->centre[pair], best - set->first[pair] - e->model.steps[pair]);
    return set->angle == PROP_ANGLE_QUOTIENT ? 1 / f : f;
}
