#include "props/explain.h"

#include <stdlib.h>

#include "impl/registry.h"
#include "oracle/measure.h"
#include "props/explain_round.h"

/* One candidate frequency of a pair under one arithmetic. */
typedef struct {
    bool stands;
    double max_error_u;
    int64_t token, head; /* where that is */
} candidate;

/* All candidates of one way to compute the angle. Candidate k of a pair is the number k - steps
 * away from the nearest to theta (or to 1/theta). */
typedef struct {
    prop_angle angle;
    uint32_t format;
    int64_t *first;        /* [pairs + 1]: where a pair's candidates begin */
    double *centre;        /* [pairs]: fl(theta), or fl(1/theta) */
    candidate *candidates; /* [arithmetics][first[pairs]] */
} angle_set;

enum { MAX_SETS = 8, MAX_COMBINATIONS = MAX_SETS * PROP_ARITHMETICS };

struct prop_explanation {
    prop_model model;
    double u, attention_factor;
    int arithmetics; /* how many of: */
    prop_arithmetic arithmetic[PROP_ARITHMETICS];
    angle_set sets[MAX_SETS];
    int set_count;
    prop_combination combinations[MAX_COMBINATIONS]; /* set-major */
    bool *refuted;                                   /* [combinations][pairs] */
    double *pair_data;                               /* [6][heads]: x0, x1, y0, y1, A |x| u, head */
    int64_t heads;
};

double prop_contract(const prop_model *model, prop_angle angle)
{
    if (model->contract > 0)
        return model->contract;
    if (model->dtype == ROPE_F16 || model->dtype == ROPE_BF16)
        return 1.01;
    bool folded = model->attention_factor.hi != 1 || model->attention_factor.lo != 0;
    return (angle == PROP_ANGLE_EXACT ? 2.9432 : 4.9) + (folded ? 2 : 0);
}

double prop_subnormal_allowance(uint32_t dtype)
{
    return rope_dtype_smallest(dtype) *
           (dtype == ROPE_F16 || dtype == ROPE_BF16 ? 0.70711 : 1.41422);
}

/* ---- setting up ---- */

static double nearest(uint32_t format, double x)
{
    return format == ROPE_F32 ? (double)(float)x : x;
}

/* x moved by k numbers of the format; x > 0. */
static double move(uint32_t format, double x, int64_t k)
{
    if (format == ROPE_F32) {
        float narrow = (float)x;
        int32_t bits;
        memcpy(&bits, &narrow, 4);
        bits += (int32_t)k;
        memcpy(&narrow, &bits, 4);
        return (double)narrow;
    }
    int64_t bits;
    memcpy(&bits, &x, 8);
    bits += k;
    memcpy(&x, &bits, 8);
    return x;
}

static bool one_frequency(prop_angle angle)
{
    return angle == PROP_ANGLE_EXACT || angle == PROP_ANGLE_ROUNDED;
}

/* Judged bit for bit. */
static bool bitwise(prop_arithmetic a)
{
    return a == PROP_ARITHMETIC_STEPS ||
           (a >= PROP_ARITHMETIC_TRUNCATED && a <= PROP_ARITHMETIC_ONLY_SIN_PRODUCT);
}

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
        set->centre[i] = nearest(format, angle == PROP_ANGLE_QUOTIENT ? 1 / theta : theta);
        bool fixed = one_frequency(angle) || !(theta > 0x1p-100) || !(theta < 0x1p100);
        set->first[i + 1] = set->first[i] + (fixed ? 1 : 2 * (int64_t)m->steps[i] + 1);
    }
    size_t total = (size_t)set->first[m->pairs] * (size_t)e->arithmetics;
    set->candidates = malloc(total * sizeof *set->candidates);
    if (set->candidates == NULL)
        return false;
    for (size_t i = 0; i < total; i++)
        set->candidates[i] = (candidate){.stands = true, .token = -1, .head = -1};
    for (int s = 0; s < e->arithmetics; s++)
        e->combinations[e->set_count * e->arithmetics + s] =
            (prop_combination){.angle = angle,
                               .arithmetic = e->arithmetic[s],
                               .format = format,
                               .bound_u = bitwise(e->arithmetic[s]) ? 0 : prop_contract(m, angle),
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
    size_t combinations = (size_t)e->set_count * (size_t)e->arithmetics;
    e->refuted = calloc(combinations * (size_t)model->pairs, sizeof *e->refuted);
    if (!good || e->refuted == NULL) {
        prop_explanation_free(e);
        return NULL;
    }
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
    free(e->pair_data);
    free(e);
}

/* ---- one token ---- */

/* How far the set's angle for candidate k lies from position * theta. Both products are exact as
 * hi + lo: 53 + 53 bits through fma; positions below 2^53. */
static double angle_change(const angle_set *set, const prop_model *m, int64_t pair, int64_t k,
                           double position)
{
    double theta = m->theta[pair], theta_lo = m->theta_lo[pair];
    if (set->angle == PROP_ANGLE_EXACT || position == 0 || !(theta > 0))
        return 0;
    double exact = position * theta;
    double exact_lo = fma(position, theta, -exact) + position * theta_lo;
    double angle, f = set->centre[pair];
    if (!one_frequency(set->angle) && set->first[pair + 1] - set->first[pair] > 1)
        f = move(set->format, f, k - m->steps[pair]);
    double narrow = nearest(set->format, position);
    switch (set->angle) {
    case PROP_ANGLE_UNROUNDED:
        return position * ((f - theta) - theta_lo);
    case PROP_ANGLE_ROUNDED:
        angle = nearest(set->format, exact);
        if (set->format == ROPE_F32) { /* a tie in exact is decided by what exact leaves */
            float other = nextafterf((float)angle, exact_lo > 0 ? INFINITY : -INFINITY);
            if (fabs((exact - (double)other) + exact_lo) < fabs((exact - angle) + exact_lo))
                angle = (double)other;
        } else {
            angle = exact + exact_lo;
        }
        break;
    case PROP_ANGLE_PRODUCT:
        angle = nearest(set->format, narrow * f); /* 24 + 24 bits: one rounding */
        break;
    default:
        angle = nearest(set->format, narrow / f); /* 53 >= 2 * 24 + 2: rounds as f32 would */
        break;
    }
    if (m->angle_rounded)
        angle = prop_round(m->angle_dtype, angle);
    return (angle - exact) - exact_lo;
}

/* cos and sin of an angle that lies `change` from the exact one. */
static oracle_cos_sin_dd turned(oracle_cos_sin_dd exact, double change)
{
    if (change == 0)
        return exact;
    double half_sin, half_cos;
    sincos(change / 2, &half_sin, &half_cos);
    double sin_change = 2 * half_sin * half_cos, cos_less_1 = -2 * half_sin * half_sin;
    double by_cos = exact.cos.hi * cos_less_1 - exact.sin.hi * sin_change;
    double by_sin = exact.sin.hi * cos_less_1 + exact.cos.hi * sin_change;
    oracle_cos_sin_dd r;
    /* Two-sums: what the leading double cannot hold stays in lo. */
    r.cos.hi = exact.cos.hi + by_cos;
    double t = r.cos.hi - exact.cos.hi;
    r.cos.lo = ((exact.cos.hi - (r.cos.hi - t)) + (by_cos - t)) + exact.cos.lo;
    r.sin.hi = exact.sin.hi + by_sin;
    t = r.sin.hi - exact.sin.hi;
    r.sin.lo = ((exact.sin.hi - (r.sin.hi - t)) + (by_sin - t)) + exact.sin.lo;
    return r;
}

/* The pair's data of every head whose numbers are all finite. */
static int64_t gather(prop_explanation *e, const prop_row *row, int64_t pair)
{
    const prop_model *m = &e->model;
    int64_t first = prop_first_element(m, pair), distance = prop_partner_distance(m), n = 0;
    double *data = e->pair_data;
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
    return n;
}

/* The verdict of one candidate on one token's pair, kept so that candidates which yield the same
 * angle need one evaluation. */
typedef struct {
    bool stands;
    double error_u;
    int64_t head;
} judgement;

/* Against a rotation by c, s (attention factor included); all heads must agree. */
static judgement judge_rotation(const prop_explanation *e, int64_t n, double c, double s,
                                double bound, judgement so_far)
{
    const double *d = e->pair_data;
    int64_t heads = e->heads;
    double allowance = prop_subnormal_allowance(e->model.dtype);
    for (int64_t h = 0; h < n; h++) {
        double x0 = d[h], x1 = d[h + heads], unit = d[h + 4 * heads];
        double d0 = d[h + 2 * heads] - (x0 * c - x1 * s);
        double d1 = d[h + 3 * heads] - (x0 * s + x1 * c);
        double error = sqrt(d0 * d0 + d1 * d1);
        so_far.stands = so_far.stands && error <= bound * unit + allowance;
        if (error > so_far.error_u * unit && unit > 0) {
            so_far.error_u = error / unit;
            so_far.head = (int64_t)d[h + 5 * heads];
        }
        if (!so_far.stands)
            break;
    }
    return so_far;
}

/* The same in double-double, for f64 data. */
static judgement judge_rotation_f64(const prop_explanation *e, int64_t n, oracle_cos_sin_dd r,
                                    double bound, judgement so_far)
{
    const double *d = e->pair_data;
    int64_t heads = e->heads;
    double allowance = prop_subnormal_allowance(e->model.dtype);
    for (int64_t h = 0; h < n; h++) {
        oracle_dd e0, e1;
        oracle_rotate(r, e->model.attention_factor, d[h], d[h + heads], &e0, &e1);
        double unit = d[h + 4 * heads];
        double error =
            hypot((d[h + 2 * heads] - e0.hi) - e0.lo, (d[h + 3 * heads] - e1.hi) - e1.lo);
        so_far.stands = so_far.stands && error <= bound * unit + allowance;
        if (error > so_far.error_u * unit && unit > 0) {
            so_far.error_u = error / unit;
            so_far.head = (int64_t)d[h + 5 * heads];
        }
        if (!so_far.stands)
            break;
    }
    return so_far;
}

/* y0 = a - b and y1 = c + d of the arithmetic, where it is judged bit for bit. */
static double combine(uint32_t t, prop_arithmetic arithmetic, double by_cos, double by_sin)
{
    bool round_cos =
        arithmetic == PROP_ARITHMETIC_STEPS || arithmetic == PROP_ARITHMETIC_PRODUCTS ||
        arithmetic == PROP_ARITHMETIC_COS_PRODUCT || arithmetic == PROP_ARITHMETIC_ONLY_COS_PRODUCT;
    bool round_sin =
        arithmetic == PROP_ARITHMETIC_STEPS || arithmetic == PROP_ARITHMETIC_PRODUCTS ||
        arithmetic == PROP_ARITHMETIC_SIN_PRODUCT || arithmetic == PROP_ARITHMETIC_ONLY_SIN_PRODUCT;
    return prop_round(t, (round_cos ? prop_round(t, by_cos) : by_cos) +
                             (round_sin ? prop_round(t, by_sin) : by_sin));
}

/* Whether y is what the format cuts value to, value uncertain by slack. */
static bool cut_off(uint32_t t, double value, double slack, double y)
{
    if (fabs(value) <= slack)
        return fabs(y) <= slack;
    double lower = fabs(value) - slack, spacing = prop_spacing(t, lower);
    return (y == 0 || (signbit(y) != 0) == (signbit(value) != 0)) &&
           fabs(y) >= floor(lower / spacing) * spacing && fabs(y) <= fabs(value) + slack;
}

/* Every step rounded, on 16-bit data and tables: products are exact in f32, and so is the sum but
 * for bits below half a unit of storage, which an f32 rounding keeps on their side (24 >= 2 * 11 +
 * 2 bits). */
static bool every_step_matches(const prop_explanation *e, int64_t n, float c, float s,
                               int64_t *head)
{
    const double *d = e->pair_data;
    int64_t heads = e->heads;
    uint32_t t = e->model.dtype;
    for (int64_t h = 0; h < n; h++) {
        float x0 = (float)d[h], x1 = (float)d[h + heads];
        float y0 = prop_round_f32(t, prop_round_f32(t, x0 * c) - prop_round_f32(t, x1 * s));
        float y1 = prop_round_f32(t, prop_round_f32(t, x1 * c) + prop_round_f32(t, x0 * s));
        if ((double)y0 != d[h + 2 * heads] || (double)y1 != d[h + 3 * heads]) {
            *head = (int64_t)d[h + 5 * heads];
            return false;
        }
    }
    return true;
}

/* All heads bit for bit (zeros without sign). */
static bool steps_match(const prop_explanation *e, int64_t n, prop_arithmetic arithmetic, double c,
                        double s, int64_t *head)
{
    const double *d = e->pair_data;
    int64_t heads = e->heads;
    uint32_t t = e->model.dtype;
    bool cut =
        arithmetic == PROP_ARITHMETIC_TRUNCATED || arithmetic == PROP_ARITHMETIC_TABLE_TRUNCATED;
    for (int64_t h = 0; h < n; h++) {
        double x0 = d[h], x1 = d[h + heads], y0 = d[h + 2 * heads], y1 = d[h + 3 * heads];
        bool match;
        if (cut) {
            /* cos, sin and the f32 arithmetic: 3 u of f32, of the pair's norm */
            double slack = 3 * 0x1p-24 * (fabs(x0) + fabs(x1)) * e->attention_factor;
            match =
                cut_off(t, x0 * c - x1 * s, slack, y0) && cut_off(t, x0 * s + x1 * c, slack, y1);
        } else {
            match = combine(t, arithmetic, x0 * c, -x1 * s) == y0 &&
                    combine(t, arithmetic, x1 * c, x0 * s) == y1;
        }
        if (!match) {
            *head = (int64_t)d[h + 5 * heads];
            return false;
        }
    }
    return true;
}

/* In place with one element overwritten before its partner has read it: what was read is y itself.
 * Each component within the contract of what it was made from. */
static judgement judge_overwritten(const prop_explanation *e, int64_t n, bool first, double c,
                                   double s, double bound)
{
    const double *d = e->pair_data;
    int64_t heads = e->heads;
    double allowance = prop_subnormal_allowance(e->model.dtype);
    judgement j = {.stands = true, .head = -1};
    for (int64_t h = 0; h < n && j.stands; h++) {
        double x0 = d[h], x1 = d[h + heads], y0 = d[h + 2 * heads], y1 = d[h + 3 * heads];
        double a = first ? y0 : x0, b = first ? x1 : y1; /* what the later component reads */
        double d0 = y0 - (x0 * c - b * s), d1 = y1 - (a * s + x1 * c);
        double size = e->u * e->attention_factor * (fabs(x0) + fabs(x1) + fabs(a) + fabs(b)) / 2;
        double error = sqrt(d0 * d0 + d1 * d1);
        j.stands = error <= bound * size + allowance;
        if (error > j.error_u * size)
            j = (judgement){j.stands, error / size, (int64_t)d[h + 5 * heads]};
    }
    return j;
}

/* The values that cos or sin may take in the table, when the f32 value before lies within `ulps`
 * f32 ulp of exact. Rounded to dtype: one, or the two beside a boundary. Not rounded: the f32
 * values. */
static int table_values(bool rounded, uint32_t dtype, double exact, int ulps, double value[3])
{
    double ulp = prop_spacing(ROPE_F32, exact);
    if (!rounded) {
        value[0] = (double)(float)exact;
        value[1] = value[0] + ulp;
        value[2] = value[0] - ulp;
        return 3;
    }
    value[0] = prop_round(dtype, exact - ulps * ulp);
    value[1] = prop_round(dtype, exact + ulps * ulp);
    return value[0] == value[1] ? 1 : 2;
}

/* Against every table that the exact cos and sin may have been rounded to. */
static judgement judge_table(const prop_explanation *e, int64_t n,
                             const prop_combination *combination, oracle_cos_sin_dd r)
{
    prop_arithmetic arithmetic = combination->arithmetic;
    bool rounded = arithmetic != PROP_ARITHMETIC_TRUNCATED &&
                   arithmetic != PROP_ARITHMETIC_PRODUCTS &&
                   arithmetic != PROP_ARITHMETIC_ONLY_COS_PRODUCT &&
                   arithmetic != PROP_ARITHMETIC_ONLY_SIN_PRODUCT;
    uint32_t dtype = e->model.table_rounded ? e->model.table_dtype : e->model.dtype;
    double a = e->attention_factor, c[3], s[3];
    /* An attention factor: itself in f32 and its product are rounded too. */
    int ulps = a == 1 ? 1 : 3;
    int cs = table_values(rounded, dtype, a * r.cos.hi, ulps, c);
    int ss = table_values(rounded, dtype, a * r.sin.hi, ulps, s);
    judgement best = {.stands = false, .error_u = INFINITY, .head = -1};
    for (int i = 0; i < cs && !(best.stands && bitwise(arithmetic)); i++)
        for (int j = 0; j < ss; j++) {
            judgement one = {.stands = true, .head = -1};
            if (arithmetic == PROP_ARITHMETIC_STEPS && e->model.input_dtype == e->model.dtype)
                one.stands = every_step_matches(e, n, (float)c[i], (float)s[j], &one.head);
            else if (bitwise(arithmetic))
                one.stands = steps_match(e, n, arithmetic, c[i], s[j], &one.head);
            else
                one = judge_rotation(e, n, c[i], s[j], combination->bound_u, one);
            if ((one.stands && !best.stands) ||
                (one.stands == best.stands && one.error_u < best.error_u))
                best = one;
        }
    return best;
}

static judgement judge(const prop_explanation *e, int64_t n, const prop_combination *combination,
                       oracle_cos_sin_dd r)
{
    judgement fresh = {.stands = true, .head = -1};
    double a = e->attention_factor;
    switch (combination->arithmetic) {
    case PROP_ARITHMETIC_ONE_ROUNDING:
        if (e->model.dtype == ROPE_F64)
            return judge_rotation_f64(e, n, r, combination->bound_u, fresh);
        return judge_rotation(e, n, a * r.cos.hi, a * r.sin.hi, combination->bound_u, fresh);
    case PROP_ARITHMETIC_FIRST_OVERWRITTEN:
    case PROP_ARITHMETIC_SECOND_OVERWRITTEN:
        return judge_overwritten(e, n, combination->arithmetic == PROP_ARITHMETIC_FIRST_OVERWRITTEN,
                                 a * r.cos.hi, a * r.sin.hi, combination->bound_u);
    default:
        return judge_table(e, n, combination, r);
    }
}

/* The tables that judge_table would go through, for comparison. */
static void tables_of(const prop_explanation *e, oracle_cos_sin_dd r, double tables[6])
{
    double a = e->attention_factor;
    int ulps = a == 1 ? 1 : 3;
    uint32_t dtype = e->model.table_rounded ? e->model.table_dtype : e->model.dtype;
    if (table_values(true, dtype, a * r.cos.hi, ulps, tables) == 1)
        tables[1] = tables[0];
    if (table_values(true, dtype, a * r.sin.hi, ulps, tables + 3) == 1)
        tables[4] = tables[3];
    tables[2] = tables[5] = 0;
}

/* 16-bit storage: where the candidates that stand, [low, high], differ by a change of angle far
 * below a unit of storage, those at both ends speak for all between: with equal tables alike, since
 * cos and sin move one way between them; by S0 if the whole change fits into what the contract
 * leaves. False: each must be asked. */
static bool judge_range(prop_explanation *e, const prop_row *row, int64_t pair, int64_t n,
                        const prop_combination *combination, const double change[2],
                        judgement *verdict)
{
    double range = fabs(change[1] - change[0]);
    if (!(range < e->u / 256))
        return false;
    oracle_cos_sin_dd low = turned(row->exact[pair], change[0]);
    oracle_cos_sin_dd high = turned(row->exact[pair], change[1]);
    if (combination->arithmetic == PROP_ARITHMETIC_TABLE ||
        combination->arithmetic == PROP_ARITHMETIC_STEPS) {
        double tables[2][6];
        tables_of(e, low, tables[0]);
        tables_of(e, high, tables[1]);
        if (memcmp(tables[0], tables[1], sizeof tables[0]) != 0)
            return false;
        *verdict = judge(e, n, combination, low);
        return true;
    }
    if (combination->arithmetic != PROP_ARITHMETIC_ONE_ROUNDING)
        return false;
    judgement one = judge(e, n, combination, low);
    judgement other = judge(e, n, combination, high);
    *verdict = one.error_u > other.error_u ? one : other;
    return one.stands && other.stands && verdict->error_u + range / e->u <= combination->bound_u;
}

static void feed_pair(prop_explanation *e, const prop_row *row, int64_t pair, int64_t n, int which,
                      int arithmetic)
{
    angle_set *set = &e->sets[which];
    int index = which * e->arithmetics + arithmetic;
    prop_combination *combination = &e->combinations[index];
    bool *refuted = &e->refuted[index * e->model.pairs + pair];
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
            angle_change(set, &e->model, pair, low - set->first[pair], row->position[pair]),
            angle_change(set, &e->model, pair, high - set->first[pair], row->position[pair])};
        together = judge_range(e, row, pair, n, combination, change, &last);
    }
    for (int64_t i = low; i <= high; i++) {
        if (!all[i].stands)
            continue;
        double change = together ? 0
                                 : angle_change(set, &e->model, pair, i - set->first[pair],
                                                row->position[pair]);
        if (!together && !(change == last_change))
            last = judge(e, n, combination, turned(row->exact[pair], change));
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
    if (any)
        return;
    *refuted = true;
    combination->pairs_refuted++;
    if (combination->first.token < 0)
        combination->first = (prop_place){row->token, head, pair};
}

void prop_explanation_feed(prop_explanation *e, const prop_row *row)
{
    if (row->heads > e->heads) {
        double *data = realloc(e->pair_data, 6 * (size_t)row->heads * sizeof *data);
        if (data == NULL)
            abort(); /* 6 numbers a head: less than the row that the caller holds */
        e->pair_data = data;
    }
    e->heads = row->heads;
    int combinations = e->set_count * e->arithmetics;
    /* Once refuted, a combination matters only for the report of a failure, and there is none while
     * another stands. */
    bool report = prop_explanation_refuted(e);
    for (int64_t pair = 0; pair < e->model.pairs; pair++) {
        int64_t n = -1;
        for (int k = 0; k < combinations; k++) {
            if (e->refuted[k * e->model.pairs + pair] ||
                (!report && e->combinations[k].pairs_refuted > 0))
                continue;
            if (n < 0)
                n = gather(e, row, pair);
            if (n > 0)
                feed_pair(e, row, pair, n, k / e->arithmetics, k % e->arithmetics);
        }
    }
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
    return !e->refuted[combination * e->model.pairs + pair];
}

double prop_explanation_frequency(const prop_explanation *e, int combination, int64_t pair)
{
    const angle_set *set = &e->sets[combination / e->arithmetics];
    int64_t best = chosen(e, combination, pair);
    if (best < 0)
        return NAN;
    if (one_frequency(set->angle) || set->first[pair + 1] - set->first[pair] == 1)
        return e->model.theta[pair];
    double f = move(set->format, set->centre[pair], best - set->first[pair] - e->model.steps[pair]);
    return set->angle == PROP_ANGLE_QUOTIENT ? 1 / f : f;
}

const char *prop_angle_text(prop_angle angle)
{
    static const char *const texts[PROP_ANGLES] = {
        "A0, the exact angle",
        "A1, position times one rounded frequency for each pair, not rounded",
        "A2, position times the exact frequency, rounded",
        "A3, position times one rounded frequency for each pair, rounded",
        "A4, position over one rounded timescale for each pair, rounded",
    };
    return angle < PROP_ANGLES ? texts[angle] : "?";
}

const char *prop_arithmetic_text(prop_arithmetic arithmetic)
{
    static const char *const texts[PROP_ARITHMETICS] = {
        "S0, a rotation with one rounding's error",
        "S1, cos and sin rounded to storage, then one rounding",
        "S2, cos, sin, products and sum each rounded to storage, bit for bit",
        "the exact rotation cut off towards zero",
        "cos and sin rounded to storage, the result cut off towards zero",
        "products and sum rounded to storage, cos and sin not",
        "cos, sin, the products with cos and the sum rounded to storage",
        "cos, sin, the products with sin and the sum rounded to storage",
        "the products with cos and the sum rounded to storage",
        "the products with sin and the sum rounded to storage",
        "in place, the first element overwritten before it was read",
        "in place, the second element overwritten before it was read",
    };
    return arithmetic < PROP_ARITHMETICS ? texts[arithmetic] : "?";
}
