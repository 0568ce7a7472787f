/* One result, however a call is made: two properties.
 *
 * In place. y == x gives what a separate y does.
 * Batch. Tokens and heads in any split into calls, and x and y row by row in one tensor (as heads
 * lie in a packed one: disjoint, though their ranges overlap), give what one call does.
 *
 * Another path through the code may be taken, and both results are only promised to be within the
 * contract: they differ by at most 2 E(b, |x|), E(b, n) = b u A n + 2 sqrt(2) eta. Unit: u A |x|.
 *
 * Kills partners overwritten in place, rows after the first ignored, state carried from call to
 * call, and views taken for one another by their addresses. */
#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"
#include "props/judge.h"

static int64_t count(const prop_subject *s)
{
    return prop_count_usual(s, 8, 4, 1);
}

/* ---- in place ---- */

static int64_t count_in_place(const prop_subject *s)
{
    return s->kernel->header.flags & ROPE_IN_PLACE ? prop_count_usual(s, 8, 4, 2) : 0;
}

static bool generate_in_place(const prop_subject *s, int64_t index, prop_case *c)
{
    if (!prop_generate_usual(s, &prop_in_place_property, index, 19, 1, c))
        return false;
    c->in_place = false;
    return true;
}

static void judge_in_place(const prop_subject *s, const prop_case *c, prop_sheet *sheet)
{
    prop_work w;
    if (!prop_work_new(s, c, 1, &w, sheet))
        return;
    const int64_t *positions = prop_case_list(c, 0);
    prop_case apart = *c, inside = *c;
    apart.in_place = false;
    inside.in_place = true;
    if (prop_rotate(s, &apart, positions, w.x[0], w.y[0], sheet) &&
        prop_rotate(s, &inside, positions, w.x[0], w.y[1], sheet)) {
        prop_bounds(s, c->axes, positions, c->x.tokens, w.bounds[0], sheet);
        prop_same_results(s, c, &w, w.y[0], w.y[1], w.bounds[0], "in place = out of place", sheet);
    }
    prop_work_free(&w);
}

const prop_property prop_in_place_property = {
    .name = "in-place",
    .statement = "rotating in place gives what rotating into another tensor does",
    .count = count_in_place,
    .generate = generate_in_place,
    .judge = judge_in_place,
};

/* ---- batch ---- */

static bool generate_batch(const prop_subject *s, int64_t index, prop_case *c)
{
    if (!prop_generate_usual(s, &prop_batch_property, index, 20, 1, c))
        return false;
    c->parameter = (int64_t)(prop_hash(c->seed, 5, 5) % (uint64_t)c->x.tokens);
    return true;
}

/* Token by token up to parameter, the rest in one call; and heads one by one. */
static bool rotate_split(const prop_subject *s, const prop_case *c, const prop_plan *plan,
                         prop_work *w, prop_sheet *sheet)
{
    size_t row = w->bytes / (size_t)(c->x.tokens * c->x.heads), token = row * (size_t)c->x.heads;
    bool good = true;
    for (int64_t t = 0, many; good && t < c->x.tokens; t += many) {
        many = t < c->parameter ? 1 : c->x.tokens - t;
        good = prop_apply(s, plan, c, prop_case_list(c, 0) + t * c->axes, many,
                          (char *)w->x[0] + (size_t)t * token, (char *)w->y[1] + (size_t)t * token,
                          sheet);
    }
    prop_case single = *c;
    single.x.heads = single.y.heads = 1;
    for (int64_t r = 0; good && r < c->x.tokens * c->x.heads; r++)
        good =
            prop_apply(s, plan, &single, prop_case_list(c, 0) + r / c->x.heads * c->axes, 1,
                       (char *)w->x[0] + (size_t)r * row, (char *)w->y[2] + (size_t)r * row, sheet);
    return good;
}

/* x in even rows of one tensor, y in odd ones. */
static bool rotate_interlaced(const prop_subject *s, const prop_case *c, const prop_plan *plan,
                              prop_work *w, prop_sheet *sheet)
{
    int64_t rows = c->x.tokens * c->x.heads, dim = c->x.head_dim;
    size_t row = w->bytes / (size_t)rows;
    unsigned char *tensor = malloc(2 * w->bytes);
    if (tensor == NULL) {
        prop_fail(sheet, "internal: out of memory");
        return false;
    }
    memset(tensor, 0xff, 2 * w->bytes); /* NaN in every dtype */
    for (int64_t r = 0; r < rows; r++)
        memcpy(tensor + (size_t)(2 * r) * row, (char *)w->x[0] + (size_t)r * row, row);
    rope_view x = {tensor, c->x.tokens, c->x.heads, 2 * c->x.heads * dim, 2 * dim}, y = x;
    y.data = tensor + row;
    rope_status status = s->kernel->apply(plan->plan, &x, &y, prop_case_list(c, 0), c->axes);
    bool kept = true;
    for (int64_t r = 0; r < rows; r++) {
        const unsigned char *given = tensor + (size_t)(2 * r) * row;
        kept &= memcmp(given, (char *)w->x[0] + (size_t)r * row, row) == 0;
        memcpy((char *)w->y[3] + (size_t)r * row, given + row, row);
    }
    free(tensor);
    if (status != ROPE_OK || !kept)
        prop_fail(sheet, "x and y row by row in one tensor: %s",
                  status != ROPE_OK ? "apply does not answer OK" : "apply has written its input x");
    return status == ROPE_OK && kept;
}

static void judge_batch(const prop_subject *s, const prop_case *c, prop_sheet *sheet)
{
    prop_work w;
    prop_plan plan;
    if (!prop_work_new(s, c, 1, &w, sheet))
        return;
    const int64_t *positions = prop_case_list(c, 0);
    if (prop_plan_make(s, c->axes, positions, c->x.tokens, &plan, sheet)) {
        if (prop_apply(s, &plan, c, positions, c->x.tokens, w.x[0], w.y[0], sheet) &&
            rotate_split(s, c, &plan, &w, sheet) && rotate_interlaced(s, c, &plan, &w, sheet)) {
            prop_bounds(s, c->axes, positions, c->x.tokens, w.bounds[0], sheet);
            prop_same_results(s, c, &w, w.y[0], w.y[1], w.bounds[0], "tokens in several calls",
                              sheet);
            prop_same_results(s, c, &w, w.y[0], w.y[2], w.bounds[0], "rows one by one", sheet);
            prop_same_results(s, c, &w, w.y[0], w.y[3], w.bounds[0],
                              "x and y row by row in one tensor", sheet);
        }
        prop_plan_free(s, &plan, sheet);
    }
    prop_work_free(&w);
}

const prop_property prop_batch_property = {
    .name = "batch",
    .statement = "tokens and heads split into several calls give what one call does",
    .count = count,
    .generate = generate_batch,
    .judge = judge_batch,
};
