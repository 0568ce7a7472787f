#include "props/identify_try.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"
#include "props/explain_round.h"
#include "props/identify_recipe.h"

/* ---- building ---- */

static void *copy_of(const void *data, size_t bytes)
{
    void *copy = malloc(bytes);
    if (copy != NULL)
        memcpy(copy, data, bytes);
    return copy;
}

static prop_hypothesis *complete(prop_hypothesis *h)
{
    if (h->theta == NULL || h->theta_lo == NULL || h->steps == NULL || h->axis == NULL) {
        prop_hypothesis_free(h);
        return NULL;
    }
    h->model.theta = h->theta;
    h->model.theta_lo = h->theta_lo;
    h->model.steps = h->steps;
    return h;
}

prop_hypothesis *prop_hypothesis_new(const prop_sample *sample, const rope_spec *spec,
                                     uint32_t angles)
{
    rope_error error;
    prop_hypothesis *h = calloc(1, sizeof *h);
    if (h == NULL || !rope_spec_copy(spec, &h->spec)) {
        free(h);
        return NULL;
    }
    rope_frequencies f;
    if (!rope_spec_resolve(spec, ROPE_TRUTH_EXACT, &f, &error)) {
        prop_hypothesis_free(h);
        return NULL;
    }
    size_t pairs = (size_t)f.pairs;
    h->theta = copy_of(f.hi, pairs * sizeof *h->theta);
    h->theta_lo = copy_of(f.lo, pairs * sizeof *h->theta_lo);
    h->axis = copy_of(f.axis, pairs);
    h->steps = malloc(pairs * sizeof *h->steps);
    h->angles = angles;
    h->model = (prop_model){.pairing = spec->pairing,
                            .head_dim = spec->head_dim,
                            .rotary_dim = spec->rotary_dim,
                            .rotary_offset = spec->rotary_offset,
                            .pairs = f.pairs,
                            .attention_factor = {f.attention_factor, 0},
                            .input_dtype = sample->input_dtype,
                            .dtype = sample->dtype};
    if (h->theta != NULL && h->steps != NULL)
        prop_frequency_steps(spec, h->theta, f.pairs, h->steps);
    rope_frequencies_free(&f);
    return complete(h);
}

prop_hypothesis *prop_hypothesis_derive(const prop_hypothesis *from, const char *fault,
                                        const char *detail)
{
    prop_hypothesis *h = malloc(sizeof *h);
    if (h == NULL)
        return NULL;
    *h = *from;
    size_t pairs = (size_t)from->model.pairs;
    h->theta = copy_of(from->theta, pairs * sizeof *h->theta);
    h->theta_lo = copy_of(from->theta_lo, pairs * sizeof *h->theta_lo);
    h->steps = copy_of(from->steps, pairs * sizeof *h->steps);
    h->axis = copy_of(from->axis, pairs);
    if (!rope_spec_copy(&from->spec, &h->spec)) {
        rope_spec_init(&h->spec);
        prop_hypothesis_free(h);
        return NULL;
    }
    snprintf(h->fault, sizeof h->fault, "%s", fault);
    snprintf(h->detail, sizeof h->detail, "%s", detail);
    h->explains = false;
    return complete(h);
}

void prop_hypothesis_free(prop_hypothesis *h)
{
    if (h == NULL)
        return;
    rope_spec_free(&h->spec);
    free(h->theta);
    free(h->theta_lo);
    free(h->steps);
    free(h->axis);
    free(h);
}

bool prop_hypotheses_add(prop_hypotheses *list, prop_hypothesis *h)
{
    if (h == NULL)
        return true;
    if (list->count == list->capacity) {
        int64_t capacity = list->capacity ? 2 * list->capacity : 64;
        prop_hypothesis **items = realloc(list->items, (size_t)capacity * sizeof *items);
        if (items == NULL) {
            prop_hypothesis_free(h);
            return false;
        }
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->count++] = h;
    return true;
}

void prop_hypotheses_free(prop_hypotheses *list)
{
    for (int64_t i = 0; i < list->count; i++)
        prop_hypothesis_free(list->items[i]);
    free(list->items);
    *list = (prop_hypotheses){0};
}

/* ---- positions and angles ---- */

bool prop_map_by_head(prop_map map)
{
    return map == PROP_MAP_HEAD || map == PROP_MAP_HEAD_POSITION || map == PROP_MAP_SWAPPED;
}

static double given(const prop_sample *s, int64_t token, uint32_t axis)
{
    if (s->position == NULL)
        return (double)s->index[token];
    return (double)s->position[token * s->axes + (axis < s->axes ? axis : 0)];
}

double prop_mapped_position(const prop_hypothesis *h, const prop_sample *s, int64_t token,
                            int64_t head, uint32_t axis)
{
    double p = given(s, token, axis);
    switch (h->map) {
    case PROP_MAP_NEGATED:
        return -p - h->map_value; /* map_value: an offset, where positions are not known */
    case PROP_MAP_OFFSET:
        return p + h->map_value;
    case PROP_MAP_SCALED:
        return p * h->map_value;
    case PROP_MAP_ROUNDED:
        return prop_round(h->map_dtype, p);
    case PROP_MAP_TF32: { /* 11 significant bits at f32's exponents */
        double unit = 8 * prop_spacing(ROPE_F32, p) * 1024;
        return rint(p / unit) * unit;
    }
    case PROP_MAP_HEAD:
        return (double)head;
    case PROP_MAP_HEAD_POSITION:
        return given(s, head % s->tokens, axis);
    case PROP_MAP_SWAPPED:
        return given(s, (token * s->heads + head) % s->tokens, axis);
    case PROP_MAP_INDEX:
        return (double)s->index[token];
    case PROP_MAP_CONSTANT:
        return h->map_value;
    case PROP_MAP_PREVIOUS:
        return given(s, token > 0 ? token - 1 : 0, axis);
    case PROP_MAP_AXES:
        return given(s, token, (uint32_t)h->map_value >> (2 * axis) & 3);
    case PROP_MAP_WRAPPED:
        return p - h->map_value * floor(p / h->map_value);
    case PROP_MAP_CLAMPED:
        return p < h->map_value ? p : h->map_value;
    default:
        return p;
    }
}

oracle_cos_sin_dd prop_turn(const prop_hypothesis *h, int64_t pair, double position)
{
    double theta = h->theta[pair], angle = position * theta;
    double rest = fma(position, theta, -angle) + position * h->theta_lo[pair];
    oracle_cos_sin_dd r;
    if (h->model.dtype == ROPE_F64) {
        /* angle + rest has more bits than a long double: at 31000 radians the sum would be off by
         * 2^-50, some u of f64. cos and sin of angle, turned by rest, leave rest^3 / 6 out: below
         * 2^-64 for angles up to 2^32. */
        long double c0, s0, turn = (long double)rest, bent = 1 - turn * turn / 2;
        sincosl((long double)angle, &s0, &c0);
        long double c = c0 * bent - s0 * turn, s = s0 * bent + c0 * turn;
        r.cos.hi = (double)c;
        r.cos.lo = (double)(c - (long double)r.cos.hi);
        r.sin.hi = (double)s;
        r.sin.lo = (double)(s - (long double)r.sin.hi);
        return r;
    }
    double s, c;
    sincos(angle, &s, &c);
    r.cos.hi = c - s * rest;
    r.sin.hi = s + c * rest;
    r.cos.lo = r.sin.lo = 0;
    return r;
}

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
    double unit = rope_dtype_unit_roundoff(m->dtype) * a * hypot(x0, x1);
    if (!isfinite(x0) || !isfinite(x1) || !isfinite(y0) || !isfinite(y1) || !(unit > 0) ||
        !isfinite(position))
        return NAN;
    oracle_cos_sin_dd r = prop_turn(h, pair, position);
    double c = a * r.cos.hi, n = a * r.sin.hi;
    if (h->recipe == PROP_RECIPE_MISMATCHED) {
        oracle_cos_sin_dd r0 = prop_turn(h, pair / 2, position);
        oracle_cos_sin_dd r1 = prop_turn(h, (pair + m->pairs) / 2, position);
        return hypot(y0 - a * (x0 * r0.cos.hi - x1 * r0.sin.hi),
                     y1 - a * (x1 * r1.cos.hi + x0 * r1.sin.hi)) /
               unit;
    }
    double from0 = x0, from1 = x1; /* what the partner reads */
    if (m->arithmetics == 1u << PROP_ARITHMETIC_FIRST_OVERWRITTEN)
        from0 = y0;
    if (m->arithmetics == 1u << PROP_ARITHMETIC_SECOND_OVERWRITTEN)
        from1 = y1;
    return hypot(y0 - (x0 * c - from1 * n), y1 - (from0 * n + x1 * c)) / unit;
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

bool prop_try(prop_hypothesis *h, const prop_sample *s)
{
    h->explains = false;
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
