/* Rotations are a group of orthogonal matrices: two properties.
 *
 * Orthogonality. Per pair: |y| = A |x|; R(-m) R(m) x = A^2 x; R(m)^T R(n) = R(n - m), R(m)^T =
 * R(-m). Additivity. R(a) R(b) x = A R(a + b) x.
 *
 * Tolerances. y = A R x + e, |e| <= E(b, |x|) = b u A |x| + 2 sqrt(2) eta. So ||y| - A |x|| <= E.
 * z, the rotation of y by another position: z = A R' y + e', |e'| <= E(b', |y|), with |y| as
 * measured; so z differs from A^2 R' R x by at most A E(b, |x|) + E(b', |y|). A times the single
 * rotation by the sum is off by A E(b'', |x|). Everything is exact in long double but for 2^-62 of
 * A^2 |x|. Unit: u A^2 |x| (u A |x| for the norm).
 *
 * Kills: mismatched cos and sin (which are no rotation), partners overwritten in place, magnitudes
 * applied twice, negative positions treated as others, f32 angles under an f64 contract. */
#include <float.h>
#include <math.h>

#include "props/judge.h"

static long double roundings(const prop_subject *s, long double norm)
{
    long double factor = prop_attention_factor(s);
    return 4 * LDBL_EPSILON * factor * factor * norm;
}

static void judge_norm(const prop_subject *s, const prop_work *w, int64_t row, int64_t token,
                       int64_t pair, prop_where where, prop_sheet *sheet)
{
    double bound = w->bounds[0][token * s->frequencies->pairs + pair];
    long double norm = prop_norm(prop_get(s, w->x[0], row, pair)),
                factor = prop_attention_factor(s);
    long double got = prop_norm(prop_get(s, w->y[0], row, pair));
    prop_judge(s, sheet, prop_has_contract(s->dtype, bound), fabsl(got - factor * norm),
               prop_absolute(s, bound, norm) + roundings(s, norm), factor * norm, where,
               "|y| = A |x|");
}

static void judge_inverse(const prop_subject *s, const prop_work *w, int64_t row, int64_t token,
                          int64_t pair, prop_where where, prop_sheet *sheet)
{
    int64_t at = token * s->frequencies->pairs + pair;
    double there = w->bounds[0][at], back = w->bounds[1][at];
    prop_vector x = prop_get(s, w->x[0], row, pair), y = prop_get(s, w->y[0], row, pair);
    prop_vector z = prop_get(s, w->y[1], row, pair);
    long double factor = prop_attention_factor(s), norm = prop_norm(x);
    long double tolerance = factor * prop_absolute(s, there, norm) +
                            prop_absolute(s, back, prop_norm(y)) + roundings(s, norm);
    prop_judge(s, sheet, prop_contracts(s, there, back, 0),
               prop_norm(prop_minus(z, prop_scale(factor * factor, x))), tolerance,
               factor * factor * norm, where, "R(-m) R(m) x = A^2 x");
}

/* y[2] = by b, y[1] = that by a, y[3] = by a + b in one. */
static void judge_sum(const prop_subject *s, const prop_work *w, int64_t row, int64_t token,
                      int64_t pair, prop_where where, const char *text, prop_sheet *sheet)
{
    int64_t at = token * s->frequencies->pairs + pair;
    double b = w->bounds[2][at], a = w->bounds[1][at], sum = w->bounds[3][at];
    prop_vector y = prop_get(s, w->y[2], row, pair), z = prop_get(s, w->y[1], row, pair);
    prop_vector once = prop_get(s, w->y[3], row, pair);
    long double factor = prop_attention_factor(s);
    long double norm = prop_norm(prop_get(s, w->x[0], row, pair));
    long double tolerance = factor * prop_absolute(s, b, norm) + prop_absolute(s, a, prop_norm(y)) +
                            factor * prop_absolute(s, sum, norm) + roundings(s, norm);
    prop_judge(s, sheet, prop_contracts(s, a, b, sum),
               prop_norm(prop_minus(z, prop_scale(factor, once))), tolerance,
               factor * factor * norm, where, text);
}

/* Rotates x by one of the lists times sign, or y by it. */
static bool turn(const prop_subject *s, const prop_case *c, prop_work *w, int list, int64_t sign,
                 const void *from, int to, prop_sheet *sheet)
{
    for (int64_t i = 0; i < c->x.tokens * c->axes; i++)
        w->positions[i] = list < 2 ? sign * prop_case_list(c, list)[i]
                                   : prop_case_list(c, 1)[i] + sign * prop_case_list(c, 0)[i];
    if (!prop_rotate(s, c, w->positions, from, w->y[to], sheet))
        return false;
    prop_bounds(s, c->axes, w->positions, c->x.tokens, w->bounds[to], sheet);
    return true;
}

typedef void judge_pair(const prop_subject *s, const prop_work *w, int64_t row, int64_t token,
                        int64_t pair, prop_where where, prop_sheet *sheet);

static void every_pair(const prop_subject *s, const prop_case *c, const prop_work *w,
                       judge_pair *judge, prop_sheet *sheet)
{
    for (int64_t row = 0; row < c->x.tokens * c->x.heads; row++)
        for (int64_t i = 0; i < s->frequencies->pairs; i++) {
            int64_t token = row / c->x.heads;
            prop_where where = prop_where_is(s, prop_case_list(c, 0) + token * c->axes, i,
                                             prop_get(s, w->x[0], row, i));
            sheet->expected++;
            judge(s, w, row, token, i, where, sheet);
        }
}

static void judge_transposed(const prop_subject *s, const prop_work *w, int64_t row, int64_t token,
                             int64_t pair, prop_where where, prop_sheet *sheet)
{
    judge_sum(s, w, row, token, pair, where, "R(m)^T R(n) = R(n - m)", sheet);
}

static void judge_added(const prop_subject *s, const prop_work *w, int64_t row, int64_t token,
                        int64_t pair, prop_where where, prop_sheet *sheet)
{
    judge_sum(s, w, row, token, pair, where, "R(a) R(b) = R(a + b)", sheet);
}

static void judge_orthogonality(const prop_subject *s, const prop_case *c, prop_sheet *sheet)
{
    prop_work w;
    if (!prop_work_new(s, c, 1, &w, sheet))
        return;
    if (turn(s, c, &w, 0, 1, w.x[0], 0, sheet) && turn(s, c, &w, 0, -1, w.y[0], 1, sheet)) {
        every_pair(s, c, &w, judge_norm, sheet);
        every_pair(s, c, &w, judge_inverse, sheet);
        if (turn(s, c, &w, 1, 1, w.x[0], 2, sheet) && turn(s, c, &w, 0, -1, w.y[2], 1, sheet) &&
            turn(s, c, &w, 2, -1, w.x[0], 3, sheet))
            every_pair(s, c, &w, judge_transposed, sheet);
    }
    prop_work_free(&w);
}

static int64_t count(const prop_subject *s)
{
    return prop_count_usual(s, 16, 4, 1);
}

static bool generate_orthogonality(const prop_subject *s, int64_t index, prop_case *c)
{
    return prop_generate_usual(s, &prop_orthogonality_property, index, 12, 2, c);
}

const prop_property prop_orthogonality_property = {
    .name = "orthogonality",
    .statement = "|y| = A |x|, R(-m) R(m) x = A^2 x, R(m)^T R(n) = R(n - m)",
    .count = count,
    .generate = generate_orthogonality,
    .judge = judge_orthogonality,
};

static void judge_additivity(const prop_subject *s, const prop_case *c, prop_sheet *sheet)
{
    prop_work w;
    if (!prop_work_new(s, c, 1, &w, sheet))
        return;
    if (turn(s, c, &w, 1, 1, w.x[0], 2, sheet) && turn(s, c, &w, 0, 1, w.y[2], 1, sheet) &&
        turn(s, c, &w, 2, 1, w.x[0], 3, sheet))
        every_pair(s, c, &w, judge_added, sheet);
    prop_work_free(&w);
}

static bool generate_additivity(const prop_subject *s, int64_t index, prop_case *c)
{
    return prop_generate_usual(s, &prop_additivity_property, index, 13, 2, c);
}

const prop_property prop_additivity_property = {
    .name = "additivity",
    .statement = "R(a) R(b) x = A R(a + b) x",
    .count = count,
    .generate = generate_additivity,
    .judge = judge_additivity,
};
