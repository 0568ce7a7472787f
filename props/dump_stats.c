#include "props/dump_stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"
#include "oracle/measure.h"
#include "props/explain_round.h"

/* Rows seen, by the hash of their output: direct-mapped, so memory is bounded and an old row may be
 * forgotten. */
enum { SEEN = 1 << 14 };
typedef struct {
    uint64_t output, input;
    int64_t token, head;
} seen_row;

struct prop_judge {
    prop_model model;
    prop_stats stats;
    double u, bound, allowance, attention_factor;
    seen_row *seen;
    int64_t row_above; /* pairs of the current row outside the contract */
};

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
    j->seen = calloc(SEEN, sizeof *j->seen);
    j->stats.by_pair = calloc((size_t)model->pairs, sizeof *j->stats.by_pair);
    prop_place none = {-1, -1, -1};
    j->stats.worst.place = j->stats.first_wrong_class = j->stats.first_stale = none;
    if (j->seen == NULL || j->stats.by_pair == NULL) {
        prop_judge_free(j);
        return NULL;
    }
    return j;
}

void prop_judge_free(prop_judge *j)
{
    if (j == NULL)
        return;
    free(j->seen);
    free(j->stats.by_pair);
    free(j);
}

const prop_stats *prop_judge_stats(const prop_judge *j)
{
    return &j->stats;
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

static bool same_bits(double a, double b)
{
    return (a == b && signbit(a) == signbit(b)) || (isnan(a) && isnan(b));
}

/* A pair with NaN or infinity in x or y: by class, never through arithmetic. True = right. NaN in y
 * of finite x is counted apart. */
static bool right_class(prop_judge *j, oracle_cos_sin_dd r, const double x[2], const double y[2])
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

static void note_nan(prop_judge *j, const prop_row *row, int64_t head, int64_t element)
{
    prop_stats *s = &j->stats;
    if (s->unexpected_nan++ > 0)
        return;
    s->nan_token = row->token;
    s->nan_head = head;
    s->nan_element = element;
}

static void judge_class(prop_judge *j, const prop_row *row, int64_t head, int64_t pair,
                        const double x[2], const double y[2])
{
    prop_stats *s = &j->stats;
    s->not_zero += isfinite(x[0]) && isfinite(x[1]) && (x[0] != 0 || x[1] != 0);
    if (right_class(j, row->exact[pair], x, y))
        return;
    j->row_above++;
    int64_t element = prop_first_element(&j->model, pair);
    bool finite = isfinite(x[0]) && isfinite(x[1]);
    bool counted = false;
    for (int k = 0; k < 2; k++)
        if (finite && isnan(y[k])) {
            note_nan(j, row, head, element + (k ? prop_partner_distance(&j->model) : 0));
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

static void judge_pair(prop_judge *j, const prop_row *row, int64_t head, int64_t pair,
                       const double x[2], const double y[2])
{
    prop_stats *s = &j->stats;
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
    j->row_above += above;
    add(&s->all, error_u, above);
    add(&s->by_pair[pair], error_u, above);
    add(&s->by_position[band(row->position[pair])], error_u, above);
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

static uint64_t hash(const double *row, int64_t count)
{
    uint64_t h = 0x9e3779b97f4a7c15u;
    for (int64_t i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &row[i], 8);
        h = (h ^ bits) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    return h;
}

static void judge_row(prop_judge *j, const prop_row *row, int64_t head, const double *x,
                      const double *y)
{
    prop_stats *s = &j->stats;
    int64_t d = j->model.head_dim;
    s->rows++;
    s->rows_wrong += j->row_above > 0;
    bool equal = true, zero = true;
    for (int64_t i = 0; i < d; i++) {
        equal = equal && same_bits(x[i], y[i]);
        zero = zero && y[i] == 0;
    }
    s->rows_unrotated += j->row_above > 0 && equal;
    uint64_t output = hash(y, d), input = hash(x, d);
    seen_row *seen = &j->seen[output % SEEN];
    if (j->row_above > 0 && !zero && !equal && seen->output == output && seen->input != input &&
        s->rows_stale++ == 0) {
        s->first_stale = (prop_place){row->token, head, -1};
        s->stale_source = (prop_place){seen->token, seen->head, -1};
    }
    if (seen->output != output)
        *seen = (seen_row){output, input, row->token, head};
}

void prop_judge_feed(prop_judge *j, const prop_row *row)
{
    const prop_model *m = &j->model;
    prop_stats *s = &j->stats;
    int64_t distance = prop_partner_distance(m);
    for (int64_t h = 0; h < row->heads; h++) {
        const double *x = row->x + h * m->head_dim, *y = row->y + h * m->head_dim;
        j->row_above = 0;
        for (int64_t pair = 0; pair < m->pairs; pair++) {
            int64_t first = prop_first_element(m, pair);
            double from[2] = {x[first], x[first + distance]};
            double to[2] = {y[first], y[first + distance]};
            if (isfinite(from[0]) && isfinite(from[1]) && isfinite(to[0]) && isfinite(to[1]))
                judge_pair(j, row, h, pair, from, to);
            else
                judge_class(j, row, h, pair, from, to);
        }
        for (int64_t i = 0; i < m->head_dim; i++) {
            if (i == m->rotary_offset)
                i += m->rotary_dim;
            if (i >= m->head_dim || same_bits(x[i], y[i]))
                continue;
            if (isnan(y[i]))
                note_nan(j, row, h, i);
            else if (s->changed_outside++ == 0) {
                s->changed_token = row->token;
                s->changed_head = h;
                s->changed_element = i;
            }
        }
        judge_row(j, row, h, x, y);
    }
}
