/* The window. A plan is made for the positions [first, last] of every axis. When one token's
 * position lies outside, on any axis, apply answers RANGE and leaves y untouched: nothing is read
 * from beyond a table, and no rotation by another position is passed off as this one.
 *
 * Kills positions that wrap, that are taken as unsigned, that are clamped, checks of the first
 * token or axis only, and checks by blocks. */
#include "props/judge.h"

enum { MANY = 300 }; /* more than any block that a kernel works in */

static int64_t count(const prop_subject *s)
{
    return prop_count_usual(s, 12, 6, 2);
}

/* A call longer than a block, where the last token is the one outside: a kernel that checks block
 * by block has written those before. */
static bool generate_many(const prop_subject *s, prop_case *c)
{
    if (!prop_case_new(c, &prop_window_property, s, MANY, 1, 1))
        return false;
    prop_case_arrange(s, c, 0);
    for (int64_t t = 0; t < MANY; t++)
        for (uint32_t a = 0; a < c->axes; a++)
            prop_case_list(c, 0)[t * c->axes + a] = t + a;
    c->seed = prop_hash(s->seed, 0, 23);
    return true;
}

static bool generate(const prop_subject *s, int64_t index, prop_case *c)
{
    if (!(s->weight != PROP_LIGHT && index == 0
              ? generate_many(s, c)
              : prop_generate_usual(s, &prop_window_property, index, 23, 1, c)))
        return false;
    c->parameter = index;
    return true;
}

/* Moves one token out of the window: next to it, or by what a narrower type would lose. */
static int64_t outside(const prop_case *c, const prop_plan *plan, int64_t *positions)
{
    static const int64_t away[] = {1, (int64_t)1 << 32, 1 << 16, (int64_t)1 << 53};
    uint64_t p = (uint64_t)c->parameter;
    uint64_t tokens = (uint64_t)c->x.tokens;
    uint64_t token = tokens == MANY ? tokens - 1 : prop_hash(c->seed, p, 6) % tokens;
    uint32_t axis = (uint32_t)(p / 2 % c->axes);
    int64_t step = away[p / 2 % 4];
    int64_t moved = p % 2 == 0 ? plan->args.last[axis] + step : plan->args.first[axis] - step;
    for (int64_t i = 0; i < c->x.tokens * c->axes; i++)
        positions[i] = prop_case_list(c, 0)[i];
    positions[token * c->axes + axis] = moved;
    return moved;
}

static void judge(const prop_subject *s, const prop_case *c, prop_sheet *sheet)
{
    prop_work w;
    prop_plan plan;
    if (!prop_work_new(s, c, 1, &w, sheet))
        return;
    if (prop_plan_make(s, c->axes, prop_case_list(c, 0), c->x.tokens, &plan, sheet)) {
        int64_t moved = outside(c, &plan, w.positions);
        bool untouched;
        rope_status status =
            prop_call(s, &plan, c, w.positions, c->x.tokens, w.x[0], w.y[0], &untouched, sheet);
        bool holds = status == ROPE_RANGE && untouched;
        sheet->expected++;
        prop_compare(sheet, 0, s->dtype, holds ? 0 : 1, 0, prop_where_at(moved));
        if (!holds && !sheet->failed)
            prop_fail(sheet, "position %lld lies outside the plan's window: %s", (long long)moved,
                      status != ROPE_RANGE ? "apply does not answer RANGE"
                                           : "apply answers RANGE, but has written y");
        prop_plan_free(s, &plan, sheet);
    }
    prop_work_free(&w);
}

const prop_property prop_window_property = {
    .name = "window",
    .statement = "a position outside the plan's window gives RANGE and leaves y untouched",
    .count = count,
    .generate = generate,
    .judge = judge,
};
