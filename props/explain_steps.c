/* Arithmetics that are judged bit for bit: where each rounding to storage stands. */
#include <math.h>

#include "props/explain_internal.h"
#include "props/explain_round.h"

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
static bool every_step_matches(const prop_explanation *e, const gathered *g, float c, float s,
                               int64_t *head)
{
    const double *d = g->data;
    int64_t heads = g->heads;
    uint32_t t = e->model.dtype;
    for (int64_t h = 0; h < g->n; h++) {
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
static bool all_match(const prop_explanation *e, gathered *g, prop_arithmetic arithmetic, double c,
                      double s, int64_t *head)
{
    const double *d = g->data;
    int64_t heads = g->heads;
    uint32_t t = e->model.dtype;
    bool cut =
        arithmetic == PROP_ARITHMETIC_TRUNCATED || arithmetic == PROP_ARITHMETIC_TABLE_TRUNCATED;
    for (int64_t h = 0; h < g->n; h++) {
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

/* Several ways to compute an angle mostly yield one 16-bit table: each is asked once for a pair. */
static bool every_step_matched(const prop_explanation *e, gathered *g, float c, float s,
                               int64_t *head)
{
    for (int i = 0; i < g->asked; i++)
        if (g->answers[i].c == c && g->answers[i].s == s) {
            *head = g->answers[i].head;
            return g->answers[i].match;
        }
    bool match = every_step_matches(e, g, c, s, head);
    if (g->asked < STEP_ANSWERS)
        g->answers[g->asked++] = (step_answer){c, s, match, *head};
    return match;
}

bool prop_steps_match(const prop_explanation *e, gathered *g, prop_arithmetic arithmetic, double c,
                      double s, int64_t *head)
{
    if (arithmetic == PROP_ARITHMETIC_STEPS && e->model.input_dtype == e->model.dtype)
        return every_step_matched(e, g, (float)c, (float)s, head);
    return all_match(e, g, arithmetic, c, s, head);
}
