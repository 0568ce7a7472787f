#include "props/dump_stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"
#include "oracle/measure.h"
#include "props/explain_round.h"

struct prop_judge {
    prop_model model;
    prop_bin *by_pair; /* [pairs] */
    prop_stats *group; /* [groups]; all have by_pair in common */
    int groups;
    double u, bound, allowance, attention_factor;
};

prop_stats prop_stats_none(prop_bin *by_pair)
{
    prop_place none = {-1, -1, -1};
    return (prop_stats){.by_pair = by_pair,
                        .worst.place = none,
                        .first_wrong_class = none,
                        .first_stale = none,
                        .stale_source = none};
}

prop_judge *prop_judge_new(const prop_model *model)
{
    prop_judge *j = calloc(1, sizeof *j);
    if (j == NULL)
        return NULL;
    j->model = *model;
    j->u = rope_dtype_unit_roundoff(model->dtype);
    j->bound = prop_contract(model, PROP_ANGLE_EXACT);
    j->allowance = prop_subnormal_allowance(model->dtype);
    j->attention_factor = model->attention_factor.hi;
    j->groups = prop_groups(model);
    j->group = malloc((size_t)j->groups * sizeof *j->group);
    j->by_pair = calloc((size_t)model->pairs, sizeof *j->by_pair);
    if (j->by_pair == NULL || j->group == NULL) {
        prop_judge_free(j);
        return NULL;
    }
    for (int g = 0; g < j->groups; g++)
        j->group[g] = prop_stats_none(j->by_pair);
    return j;
}

void prop_judge_free(prop_judge *j)
{
    if (j == NULL)
        return;
    free(j->group);
    free(j->by_pair);
    free(j);
}

double prop_bin_rms(const prop_bin *bin)
{
    return bin->pairs > 0 ? sqrt(bin->sum_squares / (double)bin->pairs) : 0;
}

static int band(double position)
{
    int exponent;
    frexp(position, &exponent);
    return position == 0 ? 0 : exponent > 64 ? 64 : exponent;
}

/* A pair with NaN or infinity in x or y: by class, never through arithmetic. True = right. NaN in y
 * of finite x is counted apart. */
static bool right_class(const prop_judge *j, oracle_cos_sin_dd r, const double x[2],
                        const double y[2])
{
    double a = j->attention_factor;
    if (isnan(x[0]) || isnan(x[1])) /* a NaN reaches both results, but for a multiple of a turn */
        return (isnan(y[0]) && isnan(y[1])) || (r.sin.hi == 0 && !isfinite(y[isnan(x[1])]));
    if (isinf(x[0]) || isinf(x[1])) { /* infinity, or NaN of infinity times 0 or less infinity */
        bool first = !isfinite(y[0]) || (r.sin.hi == 0 && y[0] == a * x[0] * r.cos.hi);
        bool second = !isfinite(y[1]) || (r.sin.hi == 0 && y[1] == a * x[1] * r.cos.hi);
        return first && second;
    }
    /* Finite x: an infinity is right where the exact value is within the bound of overflow. */
    double exact[2] = {a * (x[0] * r.cos.hi - x[1] * r.sin.hi),
                       a * (x[0] * r.sin.hi + x[1] * r.cos.hi)};
    double slack = j->bound * j->u * a * hypot(x[0], x[1]);
    for (int k = 0; k < 2; k++)
        if (isnan(y[k]) ||
            (isinf(y[k]) && (signbit(y[k]) != signbit(exact[k]) ||
                             !(fabs(exact[k]) + slack > prop_largest(j->model.dtype)))))
            return false;
    return true;
}

static bool before(prop_place a, prop_place b)
{
    return a.token != b.token ? a.token < b.token
           : a.head != b.head ? a.head < b.head
                              : a.pair < b.pair;
}

void prop_stats_nan(prop_stats *s, int64_t token, int64_t head, int64_t element, int64_t count)
{
    prop_place at = {token, head, element};
    if (s->unexpected_nan == 0 ||
        before(at, (prop_place){s->nan_token, s->nan_head, s->nan_element})) {
        s->nan_token = token;
        s->nan_head = head;
        s->nan_element = element;
    }
    s->unexpected_nan += count;
}

static void judge_class(const prop_judge *j, prop_stats *s, const prop_row *row, int64_t head,
                        int64_t pair, const double x[2], const double y[2], uint8_t *above)
{
    s->not_zero += isfinite(x[0]) && isfinite(x[1]) && (x[0] != 0 || x[1] != 0);
    if (right_class(j, row->exact[pair], x, y))
        return;
    above[head] = 1;
    int64_t element = prop_first_element(&j->model, pair);
    bool finite = isfinite(x[0]) && isfinite(x[1]);
    bool counted = false;
    for (int k = 0; k < 2; k++)
        if (finite && isnan(y[k])) {
            prop_stats_nan(s, row->token, head,
                           element + (k ? prop_partner_distance(&j->model) : 0), 1);
            counted = true;
        }
    if (!counted && s->wrong_class++ == 0)
        s->first_wrong_class = (prop_place){row->token, head, pair};
}

static void add(prop_bin *bin, double error_u, bool above)
{
    bin->pairs++;
    bin->above += above;
    bin->max_u = error_u > bin->max_u ? error_u : bin->max_u;
    bin->sum_squares += error_u * error_u;
}

static void judge_pair(const prop_judge *j, prop_stats *s, const prop_row *row, int64_t head,
                       int64_t pair, int position_band, const double x[2], const double y[2],
                       uint8_t *row_above)
{
    oracle_cos_sin_dd r = row->exact[pair];
    double a = j->attention_factor, exact[2], error, norm;
    if (j->model.dtype == ROPE_F64) {
        oracle_dd e0, e1;
        oracle_rotate(r, j->model.attention_factor, x[0], x[1], &e0, &e1);
        exact[0] = e0.hi;
        exact[1] = e1.hi;
        error = hypot((y[0] - e0.hi) - e0.lo, (y[1] - e1.hi) - e1.lo);
        norm = a * hypot(x[0], x[1]);
    } else {
        double c = a * r.cos.hi, n = a * r.sin.hi;
        exact[0] = x[0] * c - x[1] * n;
        exact[1] = x[0] * n + x[1] * c;
        double d0 = y[0] - exact[0], d1 = y[1] - exact[1];
        error = sqrt(d0 * d0 + d1 * d1); /* f32's squares stay within f64's range */
        norm = a * sqrt(x[0] * x[0] + x[1] * x[1]);
    }
    bool above = !(error <= j->bound * j->u * norm + j->allowance);
    double error_u = norm > 0 ? error / (norm * j->u) : above ? INFINITY : 0;
    if (norm > 0 && !above && error_u > j->bound)
        error_u = j->bound; /* subnormal results: within the allowance */
    s->not_zero += norm > 0;
    row_above[head] |= above;
    add(&s->by_pair[pair], error_u, above);
    add(&s->by_position[position_band], error_u, above);
    if (s->worst.place.token >= 0 && !(error_u > s->worst.error_u))
        return;
    s->worst = (prop_worst){{row->token, head, pair},
                            row->position[pair],
                            error_u,
                            error_u * j->u,
                            x[0],
                            x[1],
                            y[0],
                            y[1],
                            exact[0],
                            exact[1]};
}

void prop_judge_feed_group(prop_judge *j, int group, const prop_row *row, uint8_t *above)
{
    const prop_model *m = &j->model;
    int64_t distance = prop_partner_distance(m), from, end;
    prop_group_range(m, group, &from, &end);
    int bands[PROP_GROUP];
    for (int64_t pair = from; pair < end; pair++)
        bands[pair - from] = band(row->position[pair]);
    for (int64_t h = 0; h < row->heads; h++) {
        const double *x = row->x + h * m->head_dim, *y = row->y + h * m->head_dim;
        for (int64_t pair = from; pair < end; pair++) {
            int64_t first = prop_first_element(m, pair);
            double in[2] = {x[first], x[first + distance]};
            double out[2] = {y[first], y[first + distance]};
            if (isfinite(in[0]) && isfinite(in[1]) && isfinite(out[0]) && isfinite(out[1]))
                judge_pair(j, &j->group[group], row, h, pair, bands[pair - from], in, out, above);
            else
                judge_class(j, &j->group[group], row, h, pair, in, out, above);
        }
    }
}

/* ---- the sum ---- */

static void add_bin(prop_bin *sum, const prop_bin *one)
{
    sum->pairs += one->pairs;
    sum->above += one->above;
    sum->sum_squares += one->sum_squares;
    sum->max_u = one->max_u > sum->max_u ? one->max_u : sum->max_u;
}

/* What a group has, in the order of groups: the sums are the same however many threads there were.
 */
static void add_group(prop_stats *sum, const prop_stats *g)
{
    for (int b = 0; b < PROP_BANDS; b++)
        add_bin(&sum->by_position[b], &g->by_position[b]);
    const prop_worst *w = &g->worst;
    if (w->place.token >= 0 &&
        (sum->worst.place.token < 0 || w->error_u > sum->worst.error_u ||
         (w->error_u == sum->worst.error_u && before(w->place, sum->worst.place))))
        sum->worst = *w;
    if (g->wrong_class > 0 &&
        (sum->wrong_class == 0 || before(g->first_wrong_class, sum->first_wrong_class)))
        sum->first_wrong_class = g->first_wrong_class;
    if (g->unexpected_nan > 0)
        prop_stats_nan(sum, g->nan_token, g->nan_head, g->nan_element, g->unexpected_nan);
    sum->wrong_class += g->wrong_class;
    sum->not_zero += g->not_zero;
}

prop_stats prop_judge_stats(const prop_judge *j, const prop_stats *rows)
{
    prop_stats sum = *rows;
    sum.by_pair = j->by_pair;
    for (int64_t i = 0; i < j->model.pairs; i++)
        add_bin(&sum.all, &j->by_pair[i]);
    for (int g = 0; g < j->groups; g++)
        add_group(&sum, &j->group[g]);
    return sum;
}
