/* Offset invariance: the score depends on the distance alone (Su et al., RoFormer, eq. 11).
 *     score(m, n) = sum_i <y_q,i, y_k,i>, q rotated by m, k by n;  score(m + t, n + t) = score(m,
 * n), and score(m, m) = A^2 q.k.
 *
 * Tolerance. Of pair i, y_q = A R_m q + e_q with |e_q| <= b_q u A |q| + 2 sqrt(2) eta, and so for
 * k. <y_q, y_k> differs from A^2 <R_m q, R_n k> by at most A |q| |e_k| + A |k| |e_q| + |e_q| |e_k|,
 * which is summed over the pairs; the exact part depends on m - n alone. The scores are summed in
 * long double: 4 (d + 2) 2^-64 of the sum of |y_q| |y_k|. Two scores, so the two tolerances add.
 * Unit: u A^2 sum |q| |k|.
 *
 * Kills what makes an angle depend on more than the product of position and frequency: f32 angles
 * under an f64 contract, positions rounded, clamped or wrapped, and different treatment of q and k.
 * Blind to any error of frequency, pairing or sign: the contract decides those. */
#include <float.h>
#include <math.h>

#include "props/judge.h"

/* The score of one row, and how far it may be from the exact one. */
typedef struct {
    long double score, exact_scale, tolerance;
    bool known;
} score;

static score score_of(const prop_subject *s, const prop_work *w, int64_t row, int64_t token,
                      const void *yq, const void *yk, const double *bq, const double *bk)
{
    score r = {.known = true};
    long double factor = prop_attention_factor(s), magnitude = 0;
    for (int64_t i = 0; i < s->frequencies->pairs; i++) {
        prop_vector q = prop_get(s, w->x[0], row, i), k = prop_get(s, w->x[1], row, i);
        prop_vector a = prop_get(s, yq, row, i), b = prop_get(s, yk, row, i);
        double bound_q = bq[token * s->frequencies->pairs + i];
        double bound_k = bk[token * s->frequencies->pairs + i];
        long double norm_q = prop_norm(q), norm_k = prop_norm(k);
        long double error_q = prop_absolute(s, bound_q, norm_q);
        long double error_k = prop_absolute(s, bound_k, norm_k);
        r.known &= prop_contracts(s, bound_q, bound_k, 0);
        r.score += a.a * b.a + a.b * b.b;
        r.exact_scale += factor * factor * norm_q * norm_k;
        r.tolerance += factor * (norm_q * error_k + norm_k * error_q) + error_q * error_k;
        magnitude += prop_norm(a) * prop_norm(b);
    }
    r.tolerance +=
        4 * ((long double)s->spec->rotary_dim + 2) * LDBL_EPSILON * (magnitude + r.exact_scale);
    return r;
}

static void judge_row(const prop_subject *s, const prop_case *c, const prop_work *w, int64_t row,
                      prop_sheet *sheet)
{
    int64_t token = row / c->x.heads;
    const int64_t *m = prop_case_list(c, 0) + token * c->axes;
    const int64_t *n = prop_case_list(c, 1) + token * c->axes;
    score first = score_of(s, w, row, token, w->y[0], w->y[1], w->bounds[0], w->bounds[1]);
    score moved = score_of(s, w, row, token, w->y[2], w->y[3], w->bounds[2], w->bounds[3]);
    prop_where where = prop_where_at(*m); /* a score sums over all pairs */
    sheet->expected += 2;
    prop_judge(s, sheet, first.known && moved.known, fabsl(first.score - moved.score),
               first.tolerance + moved.tolerance, first.exact_scale, where,
               "score(m + t, n + t) = score(m, n)");
    bool same = true;
    for (uint32_t a = 0; a < c->axes; a++)
        same &= m[a] == n[a];
    if (!same) {
        sheet->expected--;
        return;
    }
    long double product = 0, factor = prop_attention_factor(s);
    for (int64_t i = 0; i < s->frequencies->pairs; i++) {
        prop_vector q = prop_get(s, w->x[0], row, i), k = prop_get(s, w->x[1], row, i);
        product += factor * factor * (q.a * k.a + q.b * k.b);
    }
    prop_judge(s, sheet, first.known, fabsl(first.score - product), first.tolerance,
               first.exact_scale, where, "score(m, m) = q.k");
}

static void shifted(const prop_case *c, int list, int64_t *to)
{
    for (int64_t i = 0; i < c->x.tokens * c->axes; i++)
        to[i] = prop_case_list(c, list)[i] + c->parameter;
}

static void judge(const prop_subject *s, const prop_case *c, prop_sheet *sheet)
{
    prop_work w;
    if (!prop_work_new(s, c, 2, &w, sheet))
        return;
    bool good = true;
    for (int call = 0; good && call < 4; call++) {
        const int64_t *positions = prop_case_list(c, call % 2);
        if (call >= 2) {
            shifted(c, call % 2, w.positions);
            positions = w.positions;
        }
        good = prop_rotate(s, c, positions, w.x[call % 2], w.y[call], sheet);
        if (good)
            prop_bounds(s, c->axes, positions, c->x.tokens, w.bounds[call], sheet);
    }
    for (int64_t row = 0; good && row < c->x.tokens * c->x.heads; row++)
        judge_row(s, c, &w, row, sheet);
    prop_work_free(&w);
}

static int64_t count(const prop_subject *s)
{
    return prop_count_usual(s, 16, 6, 2);
}

static bool generate(const prop_subject *s, int64_t index, prop_case *c)
{
    if (!prop_generate_usual(s, &prop_offset_property, index, 11, 2, c))
        return false;
    static const int64_t shifts[] = {1, 256, -3, 65536, 1048573, 4095, -70001, 8388607};
    c->parameter = shifts[prop_hash(c->seed, 9, 9) % (sizeof shifts / sizeof shifts[0])];
    if (index % 3 == 0) /* score(m, m) */
        for (int64_t i = 0; i < c->x.tokens * c->axes; i++)
            prop_case_list(c, 1)[i] = prop_case_list(c, 0)[i];
    return true;
}

const prop_property prop_offset_property = {
    .name = "offset",
    .statement = "score(m + t, n + t) = score(m, n), and score(m, m) = A^2 q.k",
    .count = count,
    .generate = generate,
    .judge = judge,
};
