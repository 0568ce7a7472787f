/* Linearity: R(2 x - w) = 2 R x - R w.
 *
 * The elements are whole numbers in [-64, 64], so that 2 x - w, within [-192, 192], is exact in
 * every dtype (bf16 holds whole numbers to 256). Tolerance: the three results are each within their
 * contract E(b, n) = b u A n + 2 sqrt(2) eta of the exact ones, which are linear: E(b, |2 x - w|) +
 * 2 E(b, |x|) + E(b, |w|).  Unit: u A (2 |x| + |w|).
 *
 * Kills what depends on the values: constants added, saturation, rounding of the input to fewer
 * bits. */
#include "props/judge.h"

static void combine(const prop_subject *s, int64_t elements, const void *x, const void *w, void *to)
{
    for (int64_t e = 0; e < elements; e++)
        oracle_store((uint32_t)s->dtype, to, e,
                     2 * oracle_load((uint32_t)s->dtype, x, e) -
                         oracle_load((uint32_t)s->dtype, w, e));
}

static void compare(const prop_subject *s, const prop_case *c, const prop_work *w,
                    prop_sheet *sheet)
{
    int64_t pairs = s->frequencies->pairs;
    for (int64_t row = 0; row < c->x.tokens * c->x.heads; row++)
        for (int64_t i = 0; i < pairs; i++) {
            int64_t token = row / c->x.heads;
            double b = w->bounds[0][token * pairs + i];
            prop_vector x0 = prop_get(s, w->x[0], row, i), x1 = prop_get(s, w->x[1], row, i);
            prop_vector expected = prop_minus(prop_scale(2, prop_get(s, w->y[0], row, i)),
                                              prop_get(s, w->y[1], row, i));
            prop_vector got = prop_get(s, w->y[2], row, i);
            long double sum = prop_norm(prop_minus(prop_scale(2, x0), x1));
            long double tolerance = prop_absolute(s, b, sum) +
                                    2 * prop_absolute(s, b, prop_norm(x0)) +
                                    prop_absolute(s, b, prop_norm(x1));
            sheet->expected++;
            prop_judge(s, sheet, prop_has_contract(s->dtype, b),
                       prop_norm(prop_minus(got, expected)), tolerance,
                       prop_attention_factor(s) * (2 * prop_norm(x0) + prop_norm(x1)),
                       prop_where_is(s, prop_case_list(c, 0) + token * c->axes, i, x0),
                       "R(2 x - w) = 2 R x - R w");
        }
}

static void judge(const prop_subject *s, const prop_case *c, prop_sheet *sheet)
{
    prop_work w;
    if (!prop_work_new(s, c, 2, &w, sheet))
        return;
    const int64_t *positions = prop_case_list(c, 0);
    combine(s, prop_case_elements(c), w.x[0], w.x[1], w.y[3]);
    if (prop_rotate(s, c, positions, w.x[0], w.y[0], sheet) &&
        prop_rotate(s, c, positions, w.x[1], w.y[1], sheet) &&
        prop_rotate(s, c, positions, w.y[3], w.y[2], sheet)) {
        prop_bounds(s, c->axes, positions, c->x.tokens, w.bounds[0], sheet);
        compare(s, c, &w, sheet);
    }
    prop_work_free(&w);
}

static int64_t count(const prop_subject *s)
{
    return prop_count_usual(s, 8, 3, 1);
}

static bool generate(const prop_subject *s, int64_t index, prop_case *c)
{
    if (!prop_generate_usual(s, &prop_linearity_property, index, 16, 1, c))
        return false;
    c->kind = PROP_DATA_INTEGER;
    return true;
}

const prop_property prop_linearity_property = {
    .name = "linearity",
    .statement = "R(2 x - w) = 2 R x - R w",
    .count = count,
    .generate = generate,
    .judge = judge,
};
