/* The ways to compute a rotation: whether a pair of all heads is what one of them yields. */
#include <math.h>

#include "impl/registry.h"
#include "oracle/measure.h"
#include "props/explain_internal.h"
#include "props/explain_round.h"

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

/* Judged bit for bit. */
bool prop_bitwise(prop_arithmetic a)
{
    return a == PROP_ARITHMETIC_STEPS ||
           (a >= PROP_ARITHMETIC_TRUNCATED && a <= PROP_ARITHMETIC_ONLY_SIN_PRODUCT);
}

/* Against a rotation by c, s (attention factor included); all heads must agree. */
static judgement judge_rotation(const prop_explanation *e, gathered *g, double c, double s,
                                double bound, judgement so_far)
{
    const double *d = g->data;
    int64_t heads = g->heads;
    double allowance = prop_subnormal_allowance(e->model.dtype);
    for (int64_t h = 0; h < g->n; h++) {
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
static judgement judge_rotation_f64(const prop_explanation *e, gathered *g, oracle_cos_sin_dd r,
                                    double bound, judgement so_far)
{
    const double *d = g->data;
    int64_t heads = g->heads;
    double allowance = prop_subnormal_allowance(e->model.dtype);
    for (int64_t h = 0; h < g->n; h++) {
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

/* In place with one element overwritten before its partner has read it: what was read is y itself.
 * Each component within the contract of what it was made from. */
static judgement judge_overwritten(const prop_explanation *e, gathered *g, bool first, double c,
                                   double s, double bound)
{
    const double *d = g->data;
    int64_t heads = g->heads;
    double allowance = prop_subnormal_allowance(e->model.dtype);
    judgement j = {.stands = true, .head = -1};
    for (int64_t h = 0; h < g->n && j.stands; h++) {
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
static judgement judge_table(const prop_explanation *e, gathered *g,
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
    for (int i = 0; i < cs && !(best.stands && prop_bitwise(arithmetic)); i++)
        for (int j = 0; j < ss; j++) {
            judgement one = {.stands = true, .head = -1};
            if (prop_bitwise(arithmetic))
                one.stands = prop_steps_match(e, g, arithmetic, c[i], s[j], &one.head);
            else
                one = judge_rotation(e, g, c[i], s[j], combination->bound_u, one);
            if ((one.stands && !best.stands) ||
                (one.stands == best.stands && one.error_u < best.error_u))
                best = one;
        }
    return best;
}

judgement prop_judge_angle(const prop_explanation *e, gathered *g,
                           const prop_combination *combination, oracle_cos_sin_dd r)
{
    judgement fresh = {.stands = true, .head = -1};
    double a = e->attention_factor;
    switch (combination->arithmetic) {
    case PROP_ARITHMETIC_ONE_ROUNDING:
        if (e->model.dtype == ROPE_F64)
            return judge_rotation_f64(e, g, r, combination->bound_u, fresh);
        return judge_rotation(e, g, a * r.cos.hi, a * r.sin.hi, combination->bound_u, fresh);
    case PROP_ARITHMETIC_FIRST_OVERWRITTEN:
    case PROP_ARITHMETIC_SECOND_OVERWRITTEN:
        return judge_overwritten(e, g, combination->arithmetic == PROP_ARITHMETIC_FIRST_OVERWRITTEN,
                                 a * r.cos.hi, a * r.sin.hi, combination->bound_u);
    default:
        return judge_table(e, g, combination, r);
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
bool prop_judge_range(const prop_explanation *e, const prop_row *row, int64_t pair, gathered *g,
                      const prop_combination *combination, const double change[2],
                      judgement *verdict)
{
    double range = fabs(change[1] - change[0]);
    if (!(range < e->u / 256))
        return false;
    oracle_cos_sin_dd low = prop_turned(row->exact[pair], change[0]);
    oracle_cos_sin_dd high = prop_turned(row->exact[pair], change[1]);
    if (combination->arithmetic == PROP_ARITHMETIC_TABLE ||
        combination->arithmetic == PROP_ARITHMETIC_STEPS) {
        double tables[2][6];
        tables_of(e, low, tables[0]);
        tables_of(e, high, tables[1]);
        if (memcmp(tables[0], tables[1], sizeof tables[0]) != 0)
            return false;
        *verdict = prop_judge_angle(e, g, combination, low);
        return true;
    }
    if (combination->arithmetic != PROP_ARITHMETIC_ONE_ROUNDING)
        return false;
    judgement one = prop_judge_angle(e, g, combination, low);
    judgement other = prop_judge_angle(e, g, combination, high);
    *verdict = one.error_u > other.error_u ? one : other;
    return one.stands && other.stands && verdict->error_u + range / e->u <= combination->bound_u;
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
