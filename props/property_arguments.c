/* Arguments. Structs grow at their end and flags are added, so a kernel built against this header
 * may be asked for what it does not know: it answers UNSUPPORTED to a size below what it needs, to
 * an unknown flag and to an unknown type, and never plans what it would then get wrong.
 *
 * Kills kernels that look at none of them. */
#include "props/judge.h"

typedef enum { FLAG = 0, SIZE = 1, DTYPE = 2, SPEC_SIZE = 3, QUESTIONS = 4 } question;

static int64_t count(const prop_subject *s)
{
    return prop_count_usual(s, QUESTIONS, QUESTIONS, 0);
}

static bool generate(const prop_subject *s, int64_t index, prop_case *c)
{
    if (!prop_generate_usual(s, &prop_arguments_property, index, 24, 1, c))
        return false;
    c->parameter = index;
    return true;
}

static void judge(const prop_subject *s, const prop_case *c, prop_sheet *sheet)
{
    static const char *const asked[QUESTIONS] = {"an unknown flag", "a size of 0",
                                                 "an unknown dtype", "a spec of size 0"};
    question which = (question)((uint64_t)c->parameter % QUESTIONS);
    prop_plan plan;
    if (!prop_plan_make(s, c->axes, prop_case_list(c, 0), c->x.tokens, &plan, sheet))
        return;
    rope_plan_args args = plan.args;
    rope_spec spec = *args.spec;
    prop_plan_free(s, &plan, sheet);
    args.spec = &spec;
    args.flags = which == FLAG ? 1u << 31 : args.flags;
    args.size = which == SIZE ? 0 : args.size;
    args.dtype = which == DTYPE ? 31 : args.dtype;
    spec.size = which == SPEC_SIZE ? 0 : spec.size;
    rope_plan *made = NULL;
    rope_status status = s->kernel->plan(&args, &made);
    bool holds = status == ROPE_UNSUPPORTED;
    if (status == ROPE_OK)
        s->kernel->destroy(made);
    sheet->expected++;
    prop_compare(sheet, 0, s->dtype, holds ? 0 : 1, 0, prop_where_at(prop_case_list(c, 0)[0]));
    if (!holds)
        prop_fail(sheet, "asked with %s, plan answers %d, expected UNSUPPORTED (%d)", asked[which],
                  (int)status, (int)ROPE_UNSUPPORTED);
}

const prop_property prop_arguments_property = {
    .name = "arguments",
    .statement = "unknown flags and types, and structs too short, are refused as UNSUPPORTED",
    .count = count,
    .generate = generate,
    .judge = judge,
};
