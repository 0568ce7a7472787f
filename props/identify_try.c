#include "props/identify_try.h"

#include <math.h>
#include <stdlib.h>

#include "impl/registry.h"
#include "props/explain_round.h"
#include "props/identify_recipe.h"

/* ---- screening ---- */

static double tolerance_u(const prop_hypothesis *h, int64_t pair, double position)
{
    double u = rope_dtype_unit_roundoff(h->model.dtype);
    double angle = fabs(position) * h->theta[pair];
    /* Six roundings of 16-bit storage, or of the contract twice; f32 angles and frequencies. */
    double tolerance = 10, computed = angle * (h->steps[pair] + 3) * 0x1p-23 + 0x1p-22;
    if (h->model.table_rounded)
        computed += rope_dtype_unit_roundoff(h->model.table_dtype) * 1.5;
    if (h->model.angle_rounded)
        computed += angle * rope_dtype_unit_roundoff(h->model.angle_dtype);
    return tolerance + computed / u;
}

/* sqrt(a^2 + b^2); squares of narrower formats than f64 stay within f64's range. */
static double norm(uint32_t dtype, double a, double b)
{
    return dtype == ROPE_F64 ? hypot(a, b) : sqrt(a * a + b * b);
}

double prop_error(const prop_hypothesis *h, const prop_sample *s, int64_t token, int64_t head,
                  int64_t pair, double *tolerance)
{
    const prop_model *m = &h->model;
    int64_t row = token * s->heads + head, first = prop_first_element(m, pair);
    int64_t second = first + prop_partner_distance(m);
    int64_t out = h->output_transposed ? head * s->tokens + token : row;
    const double *x = s->x + row * s->head_dim, *y = s->y + out * s->head_dim;
    double x0 = x[first], x1 = x[second], y0 = y[first], y1 = y[second];
    double position = prop_mapped_position(h, s, token, head, h->axis[pair]);
    *tolerance = tolerance_u(h, pair, position);
    double a = m->attention_factor.hi;
    double unit = rope_dtype_unit_roundoff(m->dtype) * a * norm(m->dtype, x0, x1);
    if (!isfinite(x0) || !isfinite(x1) || !isfinite(y0) || !isfinite(y1) || !(unit > 0) ||
        !isfinite(position))
        return NAN;
    oracle_cos_sin_dd r = prop_turn(h, pair, position);
    double c = a * r.cos.hi, n = a * r.sin.hi;
    if (h->recipe == PROP_RECIPE_MISMATCHED) {
        oracle_cos_sin_dd r0 = prop_turn(h, pair / 2, position);
        oracle_cos_sin_dd r1 = prop_turn(h, (pair + m->pairs) / 2, position);
        return norm(m->dtype, y0 - a * (x0 * r0.cos.hi - x1 * r0.sin.hi),
                    y1 - a * (x1 * r1.cos.hi + x0 * r1.sin.hi)) /
               unit;
    }
    double from0 = x0, from1 = x1; /* what the partner reads */
    if (m->arithmetics == 1u << PROP_ARITHMETIC_FIRST_OVERWRITTEN)
        from0 = y0;
    if (m->arithmetics == 1u << PROP_ARITHMETIC_SECOND_OVERWRITTEN)
        from1 = y1;
    return norm(m->dtype, y0 - (x0 * c - from1 * n), y1 - (from0 * n + x1 * c)) / unit;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void prop_screen(prop_hypothesis *h, const prop_sample *s)
{
    enum { DRAWS = 768, ENOUGH = 96 };
    double errors[DRAWS], squares = 0;
    int count = 0, good = 0;
    uint64_t state = 0x2545f4914f6cdd1du;
    for (int i = 0; i < DRAWS; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        uint64_t draw = state >> 11;
        int64_t token = (int64_t)(draw % (uint64_t)s->tokens);
        int64_t head = (int64_t)(draw / 65537 % (uint64_t)s->heads);
        int64_t pair = i % h->model.pairs; /* all pairs alike: tails count */
        double tolerance, error = prop_error(h, s, token, head, pair, &tolerance);
        if (isnan(error))
            continue;
        errors[count++] = error;
        squares += error * error;
        good += error <= tolerance;
        if (count == ENOUGH && good < ENOUGH / 4)
            break;
    }
    h->share = count > 0 ? (double)good / count : 0;
    h->residual = count > 0 ? sqrt(squares / count) : INFINITY;
    qsort(errors, (size_t)count, sizeof *errors, by_size);
    h->median = count > 0 ? errors[count / 2] : INFINITY;
}

/* ---- the engine ---- */

static const double *output_row(const prop_hypothesis *h, const prop_sample *s, int64_t token,
                                int64_t head)
{
    int64_t row = h->output_transposed ? head * s->tokens + token : token * s->heads + head;
    return s->y + row * s->head_dim;
}

static void feed_token(const prop_hypothesis *h, const prop_sample *s, prop_explanation *e,
                       int64_t token, double *position, oracle_cos_sin_dd *exact)
{
    bool by_head = prop_map_by_head(h->map) || h->output_transposed;
    for (int64_t head = 0; head < (by_head ? s->heads : 1); head++) {
        bool finite = true;
        for (int64_t i = 0; i < h->model.pairs; i++) {
            position[i] = prop_mapped_position(h, s, token, head, h->axis[i]);
            finite = finite && isfinite(position[i]);
            if (finite)
                exact[i] = prop_turn(h, i, position[i]);
        }
        if (!finite) /* f16 positions past its range: NaN is due, and no number tells anything */
            continue;
        prop_row row = {.token = token,
                        .position = position,
                        .exact = exact,
                        .x = s->x + (token * s->heads + head) * s->head_dim,
                        .y = output_row(h, s, token, head),
                        .heads = by_head ? 1 : s->heads};
        prop_explanation_feed(e, &row);
    }
}

int64_t prop_changed_outside(const prop_hypothesis *h, const prop_sample *s)
{
    const prop_model *m = &h->model;
    bool *rotated = calloc((size_t)m->head_dim, sizeof *rotated);
    if (rotated == NULL)
        return INT64_MAX;
    for (int64_t i = 0; i < m->pairs; i++) {
        rotated[prop_first_element(m, i)] = true;
        rotated[prop_first_element(m, i) + prop_partner_distance(m)] = true;
    }
    int64_t changed = 0;
    for (int64_t t = 0; t < s->tokens; t++)
        for (int64_t head = 0; head < s->heads; head++) {
            const double *x = s->x + (t * s->heads + head) * s->head_dim;
            const double *y = output_row(h, s, t, head);
            for (int64_t i = 0; i < m->head_dim; i++)
                changed += !rotated[i] && x[i] != y[i] && !isnan(y[i]);
        }
    free(rotated);
    return changed;
}

static bool try_mismatched(prop_hypothesis *h, const prop_sample *s)
{
    h->explains = prop_changed_outside(h, s) == 0;
    for (int64_t t = 0; h->explains && t < s->tokens; t++)
        for (int64_t head = 0; h->explains && head < s->heads; head++)
            for (int64_t i = 0; i < h->model.pairs; i++) {
                double tolerance, error = prop_error(h, s, t, head, i, &tolerance);
                if (!isnan(error) && !(error <= tolerance))
                    h->explains = false;
            }
    return true;
}

/* Past the range of the format that positions were rounded to, NaN is due and nothing else. */
static bool nan_where_infinite(const prop_hypothesis *h, const prop_sample *s)
{
    for (int64_t t = 0; h->map == PROP_MAP_ROUNDED && t < s->tokens; t++)
        for (int64_t i = 0; i < h->model.pairs; i++) {
            if (isfinite(prop_mapped_position(h, s, t, 0, h->axis[i])))
                continue;
            for (int64_t head = 0; head < s->heads; head++) {
                const double *y = output_row(h, s, t, head) + prop_first_element(&h->model, i);
                if (!isnan(y[0]) || !isnan(y[prop_partner_distance(&h->model)]))
                    return false;
            }
        }
    return true;
}

bool prop_try(prop_hypothesis *h, const prop_sample *s)
{
    h->explains = false;
    if (!nan_where_infinite(h, s))
        return true;
    if (h->recipe == PROP_RECIPE_MISMATCHED)
        return try_mismatched(h, s);
    if (prop_changed_outside(h, s) > 0)
        return true;
    if (h->recipe != PROP_RECIPE_NONE)
        return prop_try_recipe(h, s);
    prop_explanation *e = prop_explanation_new(&h->model, h->angles);
    double *position = malloc((size_t)h->model.pairs * sizeof *position);
    oracle_cos_sin_dd *exact = malloc((size_t)h->model.pairs * sizeof *exact);
    bool good = e != NULL && position != NULL && exact != NULL;
    for (int64_t t = 0; good && t < s->tokens && !prop_explanation_refuted(e); t++)
        feed_token(h, s, e, t, position, exact);
    if (good) {
        int count;
        const prop_combination *results = prop_explanation_results(e, &count);
        for (int k = 0; k < count && !h->explains; k++)
            if (results[k].explains) {
                h->explains = true;
                h->best = results[k];
            }
    }
    prop_explanation_free(e);
    free(position);
    free(exact);
    return good;
}
