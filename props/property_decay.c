/* Long-term decay (Su et al., RoFormer, section 3.4.3). S_j(m) = sum_{i<j} exp(i m theta_i), and
 * for a given q and k, h_i = q_i conj(k_i) as complex numbers, h_{d/2} = 0. Abel summation: |sum_i
 * h_i exp(i m theta_i)| <= max_i |h_{i+1} - h_i| sum_j |S_{j+1}(m)|. Judged for every m of a case:
 *   curve       the kernel's own mean_j |S_j(m)| (rotations of (1, 0), divided by A) is the
 * oracle's: S_j differs by at most sum_{i<j} (b_i u + 2 sqrt(2) eta / A). Unit: u d/2. inequality
 * with the kernel's rotation of q on the left, and the exact S_j on the right: the left is off by
 * at most sum_i E(b_i, |q_i|) |k_i|. Unit: u A sum |q| |k|. octaves     for plain RoPE the mean of
 * the curve over [2^k, 2^(k+1)) falls with k up to m = base / (2 pi); judged where the exact curve
 * does, with the curve's tolerances. (The curve itself is not monotone.)
 *
 * The curve is what kills mutants: any fault of frequency, angle or position that the contract does
 * not allow. The inequality alone passes most faults, since it holds for any angles. */
#include <complex.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "props/bands.h"
#include "props/judge.h"

typedef struct {
    long double kernel, exact, tolerance; /* of mean_j |S_j| */
    long double sum_exact;                /* sum_j |S_j| */
    bool known;
} curve_point;

/* |z|, as prop_norm says why. */
static long double absolute(long double complex z)
{
    return prop_norm((prop_vector){creall(z), cimagl(z)});
}

static curve_point curve_at(const prop_subject *s, const prop_work *w, int64_t token, int64_t row,
                            const oracle_cos_sin_dd *r)
{
    int64_t pairs = s->frequencies->pairs;
    long double factor = prop_attention_factor(s), reach = 0;
    long double complex kernel = 0, exact = 0;
    curve_point p = {.known = true};
    for (int64_t i = 0; i < pairs; i++) {
        prop_vector y = prop_get(s, w->y[0], row, i);
        double bound = w->bounds[0][token * pairs + i];
        p.known &= prop_has_contract(s->dtype, bound);
        kernel += (y.a + I * y.b) / factor;
        exact +=
            (long double)r[i].cos.hi + r[i].cos.lo + I * ((long double)r[i].sin.hi + r[i].sin.lo);
        reach += prop_absolute(s, bound, 1) / factor;
        p.kernel += absolute(kernel);
        p.exact += absolute(exact);
        p.tolerance += reach + 8 * LDBL_EPSILON * (long double)(i + 1);
    }
    p.sum_exact = p.exact;
    p.kernel /= (long double)pairs;
    p.exact /= (long double)pairs;
    p.tolerance /= (long double)pairs;
    return p;
}

static void judge_inequality(const prop_subject *s, const prop_work *w, int64_t token, int64_t row,
                             const curve_point *p, prop_where where, prop_sheet *sheet)
{
    int64_t pairs = s->frequencies->pairs;
    long double complex left = 0, last = 0;
    long double largest = 0, error = 0, scale = 0, factor = prop_attention_factor(s);
    for (int64_t i = 0; i < pairs; i++) {
        prop_vector q = prop_get(s, w->x[0], row, i), k = prop_get(s, w->x[1], row, i);
        prop_vector y = prop_get(s, w->y[1], row, i);
        long double complex conjugate = k.a - I * k.b, h = (q.a + I * q.b) * conjugate;
        if (i > 0)
            largest = fmaxl(largest, absolute(h - last));
        last = h;
        left += (y.a + I * y.b) * conjugate;
        error += prop_absolute(s, w->bounds[0][token * pairs + i], prop_norm(q)) * prop_norm(k);
        scale += factor * prop_norm(q) * prop_norm(k);
    }
    largest = fmaxl(largest, absolute(last)); /* h_{d/2} = 0 */
    long double right = factor * largest * p->sum_exact;
    error += 8 * LDBL_EPSILON * (long double)pairs * (scale + right);
    sheet->expected++;
    prop_judge(s, sheet, p->known, fmaxl(0, absolute(left) - right), error, scale, where,
               "|sum h_i exp(i m theta_i)| <= max |h_{i+1} - h_i| sum |S_j|");
}

/* Tokens 0.. are the positions 1, 2, ... 2^n - 1. */
static void judge_octaves(const prop_subject *s, const prop_case *c, const curve_point *points,
                          prop_sheet *sheet)
{
    curve_point before = {0};
    for (int64_t first = 1; 2 * first - 1 <= c->x.tokens; first *= 2) {
        curve_point mean = {.known = true};
        for (int64_t m = first; m < 2 * first; m++) {
            mean.kernel += points[m - 1].kernel / (long double)first;
            mean.exact += points[m - 1].exact / (long double)first;
            mean.tolerance += points[m - 1].tolerance / (long double)first;
            mean.known &= points[m - 1].known;
        }
        if (first > 1 && mean.exact <= before.exact) {
            prop_where where = prop_where_at(first);
            sheet->expected++;
            prop_judge(s, sheet, mean.known && before.known, fmaxl(0, mean.kernel - before.kernel),
                       mean.tolerance + before.tolerance, (long double)s->frequencies->pairs, where,
                       "the mean of the decay curve over an octave falls");
        }
        before = mean;
    }
}

/* (1, 0) in every pair. */
static void fill_units(const prop_subject *s, int64_t rows, void *packed)
{
    for (int64_t e = 0; e < rows * s->spec->head_dim; e++)
        oracle_store((uint32_t)s->dtype, packed, e, 0);
    for (int64_t row = 0; row < rows; row++)
        for (int64_t i = 0; i < s->frequencies->pairs; i++) {
            int64_t first, second;
            prop_pair(s->spec, i, &first, &second);
            oracle_store((uint32_t)s->dtype, packed, row * s->spec->head_dim + first, 1);
        }
}

static void judge_tokens(const prop_subject *s, const prop_case *c, const prop_work *w,
                         curve_point *points, oracle_cos_sin_dd *r, prop_sheet *sheet)
{
    for (int64_t t = 0; t < c->x.tokens; t++) {
        const int64_t *m = prop_case_list(c, 0) + t;
        oracle_row(s->oracle, m, r);
        points[t] = curve_at(s, w, t, t * c->x.heads, r);
        const curve_point *p = &points[t];
        prop_where where = prop_where_at(*m);
        sheet->expected++;
        prop_judge(s, sheet, p->known, fabsl(p->kernel - p->exact), p->tolerance,
                   (long double)s->frequencies->pairs, where, "mean |S_j(m)| is the oracle's");
        for (int64_t row = t * c->x.heads; row < (t + 1) * c->x.heads; row++)
            judge_inequality(s, w, t, row, p, where, sheet);
        prop_curve_add(sheet, *m, (double)p->kernel, (double)p->exact);
    }
}

/* The units of y[2] into y[0], and stream 0 into y[1]: one plan, two calls. */
static bool rotate_both(const prop_subject *s, const prop_case *c, prop_work *w, prop_sheet *sheet)
{
    const int64_t *positions = prop_case_list(c, 0);
    prop_plan plan;
    if (!prop_plan_make(s, c->axes, positions, c->x.tokens, &plan, sheet))
        return false;
    bool good = prop_apply(s, &plan, c, positions, c->x.tokens, w->y[2], w->y[0], sheet) &&
                prop_apply(s, &plan, c, positions, c->x.tokens, w->x[0], w->y[1], sheet);
    prop_plan_free(s, &plan, sheet);
    return good;
}

static void judge(const prop_subject *s, const prop_case *c, prop_sheet *sheet)
{
    prop_work w;
    if (!prop_work_new(s, c, 2, &w, sheet))
        return;
    const int64_t *positions = prop_case_list(c, 0);
    oracle_cos_sin_dd *r = malloc((size_t)s->frequencies->pairs * sizeof *r);
    curve_point *points = malloc((size_t)c->x.tokens * sizeof *points);
    fill_units(s, c->x.tokens * c->x.heads, w.y[2]);
    if (r == NULL || points == NULL)
        prop_fail(sheet, "internal: out of memory");
    else if (rotate_both(s, c, &w, sheet)) {
        prop_bounds(s, c->axes, positions, c->x.tokens, w.bounds[0], sheet);
        judge_tokens(s, c, &w, points, r, sheet);
        bool octaves = c->parameter != 0;
        for (int64_t t = 0; t < c->x.tokens; t++) /* a case made smaller has others */
            octaves &= positions[t] == t + 1;
        if (octaves)
            judge_octaves(s, c, points, sheet);
    }
    free(r);
    free(points);
    prop_work_free(&w);
}

/* Four positions an octave, for the curve: 0 to 3, then the nearest below 2^(n/4). Each is a case
 * of its own, since a plan from 2^17 to 2^17.75 is a table of 90000 positions for four. */
enum { POINTS_AN_OCTAVE = 4, OCTAVES = 18, USUAL_POINTS = 8 };
_Static_assert(POINTS_AN_OCTAVE *OCTAVES <= PROP_CURVE, "the whole curve is kept");

static int64_t point_of_curve(int64_t n)
{
    return n < POINTS_AN_OCTAVE ? n : (int64_t)exp2((double)n / POINTS_AN_OCTAVE);
}

/* Case 0 of the main spec: all of 1..2^n - 1, 2^n <= base / (2 pi), at most 2^10. */
static bool octaves_apply(const prop_subject *s)
{
    return s->weight == PROP_MAIN && s->spec->scaling == ROPE_SCALING_NONE && s->spec->base >= 64;
}

static int64_t octave_tokens(const prop_subject *s)
{
    int64_t power = 1;
    while (power < 1024 && (double)(4 * power) <= s->spec->base / (2 * M_PI))
        power *= 2;
    return 2 * power - 1;
}

static int64_t count(const prop_subject *s)
{
    if (s->frequencies->axis_count != 1 || s->weight == PROP_LIGHT)
        return 0;
    return s->weight == PROP_MAIN ? octaves_apply(s) + POINTS_AN_OCTAVE * OCTAVES : USUAL_POINTS;
}

static bool generate(const prop_subject *s, int64_t index, prop_case *c)
{
    uint64_t h = prop_hash(s->seed, (uint64_t)index, 15);
    bool octaves = octaves_apply(s) && index == 0;
    if (!prop_case_new(c, &prop_decay_property, s, octaves ? octave_tokens(s) : 1, 1, 1))
        return false;
    prop_case_arrange(s, c, (uint64_t)index);
    int64_t n = s->weight == PROP_MAIN ? index - octaves_apply(s)
                                       : (int64_t)(h % (POINTS_AN_OCTAVE * OCTAVES));
    for (int64_t t = 0; t < c->x.tokens; t++)
        prop_case_list(c, 0)[t] = octaves ? t + 1 : point_of_curve(n);
    c->parameter = octaves;
    c->seed = h;
    return true;
}

const prop_property prop_decay_property = {
    .name = "decay",
    .statement = "|sum h_i exp(i m theta_i)| <= max |h_{i+1} - h_i| sum |S_j|, and the curve mean "
                 "|S_j(m)| is the exact one's",
    .count = count,
    .generate = generate,
    .judge = judge,
};
