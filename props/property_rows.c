/* What must not reach from one place to another: two properties, judged bit for bit, since the same
 * operations on the same data give the same bits.
 *
 * Independence. When one row (token, head) of x changes, no other row of y does.
 * NaN. When one element of a pair is NaN or infinite, no other element of y changes but those of
 * the pair; and both of the pair are NaN or infinite afterwards, unless sin or cos is exactly 0.
 *
 * Kills rows that are mixed up (heads taken as tokens, a stride ignored, state between rows) and
 * operations across lanes. */
#include <math.h>
#include <string.h>

#include "impl/registry.h"
#include "props/judge.h"

static size_t row_bytes(const prop_subject *s)
{
    return (size_t)s->spec->head_dim * rope_dtype_bytes((uint32_t)s->dtype);
}

/* One comparison: same bits or not. */
static void demand(const prop_subject *s, prop_sheet *sheet, bool holds, prop_where where,
                   const char *text)
{
    sheet->expected++;
    prop_compare(sheet, 0, s->dtype, holds ? 0 : 1, 0, where);
    if (!holds && where.pair == PROP_NO_PAIR)
        prop_fail(sheet, "position %lld: %s", (long long)where.position, text);
    else if (!holds)
        prop_fail(sheet, "position %lld, pair %lld: %s", (long long)where.position,
                  (long long)where.pair, text);
}

static void judge_independence(const prop_subject *s, const prop_case *c, prop_sheet *sheet)
{
    prop_work w;
    if (!prop_work_new(s, c, 2, &w, sheet))
        return;
    int64_t rows = c->x.tokens * c->x.heads;
    int64_t chosen = (int64_t)((uint64_t)c->parameter % (uint64_t)rows);
    size_t bytes = row_bytes(s);
    if (prop_rotate(s, c, prop_case_list(c, 0), w.x[0], w.y[0], sheet)) {
        memcpy((char *)w.x[0] + (size_t)chosen * bytes, (char *)w.x[1] + (size_t)chosen * bytes,
               bytes);
        if (prop_rotate(s, c, prop_case_list(c, 0), w.x[0], w.y[1], sheet))
            for (int64_t row = 0; row < rows; row++) {
                size_t at = (size_t)row * bytes;
                bool same = memcmp((char *)w.y[0] + at, (char *)w.y[1] + at, bytes) == 0;
                prop_where where = prop_where_at(prop_case_list(c, 0)[row / c->x.heads * c->axes]);
                demand(s, sheet, row == chosen || same, where,
                       "a row of y changed when another row of x did");
            }
    }
    prop_work_free(&w);
}

static int64_t count(const prop_subject *s)
{
    return prop_count_usual(s, 8, 3, 1);
}

static bool generate_independence(const prop_subject *s, int64_t index, prop_case *c)
{
    if (!prop_generate_usual(s, &prop_independence_property, index, 17, 1, c))
        return false;
    c->parameter = (int64_t)(prop_hash(c->seed, 3, 3) >> 33);
    return true;
}

const prop_property prop_independence_property = {
    .name = "independence",
    .statement = "changing one row of x changes no other row of y",
    .count = count,
    .generate = generate_independence,
    .judge = judge_independence,
};

/* ---- NaN ---- */

/* The element that is spoilt: the parameter chooses row, pair, component and what. */
typedef struct {
    int64_t row, pair, element;
    double value;
} spoil;

static spoil choose(const prop_subject *s, const prop_case *c)
{
    static const double values[] = {NAN, INFINITY, -INFINITY};
    uint64_t p = (uint64_t)c->parameter;
    spoil k = {.row = (int64_t)(p % (uint64_t)(c->x.tokens * c->x.heads)),
               .pair = (int64_t)(p / 7 % (uint64_t)s->frequencies->pairs),
               .value = values[p / 3 % 3]};
    int64_t first, second;
    prop_pair(s->spec, k.pair, &first, &second);
    k.element = k.row * s->spec->head_dim + (p / 5 % 2 ? second : first);
    return k;
}

static void judge_nan(const prop_subject *s, const prop_case *c, prop_sheet *sheet)
{
    prop_work w;
    if (!prop_work_new(s, c, 1, &w, sheet))
        return;
    spoil k = choose(s, c);
    size_t bytes = rope_dtype_bytes((uint32_t)s->dtype);
    int64_t first, second;
    prop_pair(s->spec, k.pair, &first, &second);
    first += k.row * s->spec->head_dim;
    second += k.row * s->spec->head_dim;
    if (prop_rotate(s, c, prop_case_list(c, 0), w.x[0], w.y[0], sheet)) {
        oracle_store((uint32_t)s->dtype, w.x[0], k.element, k.value);
        if (prop_rotate(s, c, prop_case_list(c, 0), w.x[0], w.y[1], sheet)) {
            prop_where where = {
                prop_case_list(c, 0)[k.row / c->x.heads * c->axes + s->frequencies->axis[k.pair]],
                k.pair, k.value, NAN};
            bool same = true;
            for (int64_t e = 0; e < prop_case_elements(c); e++)
                same &= e == first || e == second ||
                        memcmp((char *)w.y[0] + (size_t)e * bytes,
                               (char *)w.y[1] + (size_t)e * bytes, bytes) == 0;
            demand(s, sheet, same, where, "NaN or infinity in one pair of x changed another of y");
            bool held = !isfinite(oracle_load((uint32_t)s->dtype, w.y[1], first)) ||
                        !isfinite(oracle_load((uint32_t)s->dtype, w.y[1], second));
            demand(s, sheet, held, where,
                   "NaN or infinity in a pair of x gives a finite pair of y");
        }
    }
    prop_work_free(&w);
}

static bool generate_nan(const prop_subject *s, int64_t index, prop_case *c)
{
    if (!prop_generate_usual(s, &prop_nan_property, index, 18, 1, c))
        return false;
    c->kind = PROP_DATA_USUAL;
    c->parameter = (int64_t)(prop_hash(c->seed, 4, 4) >> 33);
    return true;
}

const prop_property prop_nan_property = {
    .name = "nan",
    .statement = "NaN and infinity in a pair of x stay in that pair of y, and do not vanish",
    .count = count,
    .generate = generate_nan,
    .judge = judge_nan,
};
