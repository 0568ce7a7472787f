/* Calls on nothing. With 0 tokens or 0 heads there is no row: the answer is OK, nothing is read or
 * written, whatever the strides and however the pointers (rope.h). An engine makes such calls, on
 * an empty batch or a rank that has no heads. Nor does destroy with NULL for a plan do anything.
 *
 * Every pointer here leads to an unreadable page or is NULL, so that an access ends the process.
 *
 * Kills loops that test at their end, the reading of a first position that is not there, and of a
 * plan that is not. */
#include "props/isolate.h"
#include "props/judge.h"

enum { NO_TOKENS = 0, NO_HEADS = 1, NEITHER = 2, NO_TOKENS_NULL = 3, SHAPES = 4 };
enum { NO_PLAN = SHAPES, QUESTIONS, NULL_SLOT = 15 };

static int64_t count(const prop_subject *s)
{
    return prop_count_usual(s, QUESTIONS, QUESTIONS, 1);
}

static bool generate(const prop_subject *s, int64_t index, prop_case *c)
{
    if (!prop_generate_usual(s, &prop_empty_property, index, 26, 1, c))
        return false;
    c->parameter = s->weight == PROP_LIGHT ? s->spec->rotary_dim / 2 % SHAPES : index;
    return true;
}

/* What a caller does whose plan failed. The reason of a crash names where NULL leads to. */
static void destroy_null(const prop_subject *s, const prop_case *c, prop_sheet *sheet)
{
    prop_watch(NULL_SLOT, "what destroy(NULL) has", NULL, NULL);
    s->kernel->destroy(NULL);
    prop_watch(NULL_SLOT, NULL, NULL, NULL);
    sheet->expected++;
    prop_compare(sheet, 0, s->dtype, 0, 0, prop_where_at(prop_case_list(c, 0)[0]));
}

static void judge(const prop_subject *s, const prop_case *c, prop_sheet *sheet)
{
    static const char *const names[SHAPES] = {"0 tokens", "0 heads", "0 tokens and 0 heads",
                                              "0 tokens and NULL for data and positions"};
    enum { COPY = 0 };
    int which = (int)((uint64_t)c->parameter % QUESTIONS);
    rope_error error;
    prop_plan plan;
    if (which == NO_PLAN) {
        destroy_null(s, c, sheet);
        return;
    }
    if (!prop_plan_make(s, c->axes, prop_case_list(c, 0), c->x.tokens, &plan, sheet))
        return;
    bool no_tokens = which != NO_HEADS;
    size_t bytes = (size_t)(c->x.tokens * c->axes) * sizeof *c->positions;
    const int64_t *positions = prop_guarded_copy(COPY, "positions", c->positions, bytes, &error);
    if (positions == NULL) {
        prop_fail(sheet, "internal: %s", error.text);
        prop_plan_free(s, &plan, sheet);
        return;
    }
    /* The end of what can be read is a pointer that C allows and that no access may use. */
    const int64_t *end = positions + c->x.tokens * c->axes;
    if (which == NO_TOKENS_NULL)
        positions = end = NULL;
    rope_view view = {(void *)(uintptr_t)end, no_tokens ? 0 : c->x.tokens,
                      which == NO_TOKENS || which == NO_TOKENS_NULL ? c->x.heads : 0,
                      c->x.heads * c->x.head_dim, c->x.head_dim};
    rope_view target = view;
    if (which != NO_TOKENS_NULL && !(s->kernel->header.flags & ROPE_IN_PLACE))
        target.data = (void *)(uintptr_t)positions; /* read-only */
    rope_status status =
        s->kernel->apply(plan.plan, &view, &target, no_tokens ? end : positions, c->axes);
    sheet->expected++;
    prop_compare(sheet, 0, s->dtype, status == ROPE_OK ? 0 : 1, 0,
                 prop_where_at(prop_case_list(c, 0)[0]));
    if (status != ROPE_OK)
        prop_fail(sheet, "a call with %s is answered by %d, expected OK (%d)", names[which],
                  (int)status, (int)ROPE_OK);
    prop_plan_free(s, &plan, sheet);
}

const prop_property prop_empty_property = {
    .name = "empty",
    .statement = "0 tokens or 0 heads is OK, and neither reads nor writes anything; destroy(NULL) "
                 "does nothing",
    .count = count,
    .generate = generate,
    .judge = judge,
};
