/* What a kernel takes from the process, and gives back.
 *
 * Footprint. apply allocates nothing, starts no thread, and leaves no file open and no memory
 * mapped (rope.h; an engine calls it in its hot loop, from several threads). plan_bytes is what
 * plan holds: not below what it has got from malloc, less the allocator's rounding, which is at
 * most 1/16 and 128 bytes a block (over-aligned blocks); nor above all that the process has. What
 * plan has got is given back by destroy, and by plan itself when it refuses.
 *
 * A first plan and call go unmeasured: what a process makes once (a lazily bound symbol, a
 * library's thread-local storage) is no fault.
 *
 * Kills kernels with scratch memory or threads in apply, with files left open, plans that leak, and
 * sizes that are made up. */
#include "props/judge.h"
#include "props/resources.h"

enum { MANY_TOKENS = 40, MANY_HEADS = 9 };
enum { TIMES = 2 }; /* a leak shows every time; what a cache keeps shows once */

static int64_t count(const prop_subject *s)
{
    return prop_count_usual(s, 2, 1, prop_long_row(s));
}

/* Scratch memory may be on the stack for a few rows and short ones only. */
static bool generate(const prop_subject *s, int64_t index, prop_case *c)
{
    if (!prop_many_rows(s, index))
        return prop_generate_usual(s, &prop_footprint_property, index, 25, 1, c);
    if (!prop_case_new(c, &prop_footprint_property, s, MANY_TOKENS, MANY_HEADS, 1))
        return false;
    prop_case_arrange(s, c, 0);
    c->seed = prop_hash(s->seed, (uint64_t)index, 25);
    for (int64_t t = 0; t < MANY_TOKENS; t++)
        for (uint32_t a = 0; a < c->axes; a++)
            prop_case_list(c, 0)[t * c->axes + a] = 3 * t + a;
    return true;
}

static void check(const prop_subject *s, const prop_case *c, bool holds, prop_sheet *sheet)
{
    sheet->expected++;
    prop_compare(sheet, 0, s->dtype, holds ? 0 : 1, 0, prop_where_at(prop_case_list(c, 0)[0]));
}

/* One call on packed rows, looked at from outside. */
static void look_at_call(const prop_subject *s, const prop_case *c, const prop_plan *plan,
                         prop_work *w, bool mapped, prop_sheet *sheet)
{
    int64_t dim = c->x.head_dim, heads = c->x.heads;
    rope_view x = {w->x[0], c->x.tokens, heads, heads * dim, dim}, y = x;
    y.data = w->y[0];
    int64_t before = mapped ? prop_mapped_bytes() : 0;
    prop_count_start();
    s->kernel->apply(plan->plan, &x, &y, prop_case_list(c, 0), c->axes);
    prop_count took = prop_count_stop();
    int64_t after = mapped ? prop_mapped_bytes() : 0;
    if (prop_counts()) {
        bool quiet = took.calls == 0 && took.threads == 0;
        check(s, c, quiet, sheet);
        if (!quiet)
            prop_fail(
                sheet,
                "apply calls malloc or free %lld times and starts %lld threads, expected none",
                (long long)took.calls, (long long)took.threads);
        check(s, c, after <= before, sheet);
        if (after > before)
            prop_fail(sheet, "apply leaves %lld bytes mapped", (long long)(after - before));
    }
}

/* Against the child's beginning, so that what any call before has left is seen too: a pool that the
 * first one started, a table of files that is full. */
static void look_at_rest(const prop_subject *s, const prop_case *c, prop_sheet *sheet)
{
    prop_holding first = prop_holding_marked(), now = prop_holding_now();
    bool clean = now.threads <= first.threads && now.files <= first.files;
    check(s, c, clean, sheet);
    if (!clean)
        prop_fail(sheet,
                  "with every plan destroyed, %lld threads that the kernel started run on and %lld "
                  "files are still open",
                  (long long)(now.threads - first.threads), (long long)(now.files - first.files));
}

static void check_size(const prop_subject *s, const prop_case *c, size_t claimed, prop_count took,
                       prop_sheet *sheet)
{
    int64_t rounding = took.bytes / 16 + 128 * took.blocks;
    /* All that there could be, also of what is held without malloc; a child may have 1 GiB. */
    size_t most = (size_t)took.bytes + ((size_t)1 << 30);
    bool enough = claimed >= (size_t)took.bytes || (int64_t)claimed >= took.bytes - rounding;
    check(s, c, enough && claimed <= most, sheet);
    if (!enough)
        prop_fail(sheet, "plan_bytes says %zu, but plan has taken %lld bytes in %lld blocks",
                  claimed, (long long)took.bytes, (long long)took.blocks);
    else if (claimed > most)
        prop_fail(sheet, "plan_bytes says %zu, more than the process may have", claimed);
}

/* Plan, look for the looks-th time (0: do not), destroy. kept: what is not given back. False:
 * refused. */
static bool one_plan(const prop_subject *s, const prop_case *c, prop_work *w, int looks,
                     prop_count *kept, prop_sheet *sheet)
{
    prop_plan plan;
    prop_count_start();
    bool made = prop_plan_make(s, c->axes, prop_case_list(c, 0), c->x.tokens, &plan, sheet);
    prop_count took = prop_count_stop();
    if (!made)
        return false;
    if (looks > 0) {
        look_at_call(s, c, &plan, w, looks == TIMES, sheet);
        check_size(s, c, s->kernel->plan_bytes(plan.plan), took, sheet);
    } else {
        prop_apply(s, &plan, c, prop_case_list(c, 0), c->x.tokens, w->x[0], w->y[0], sheet);
    }
    prop_count_start();
    prop_plan_free(s, &plan, sheet);
    prop_count gone = prop_count_stop();
    *kept = (prop_count){.blocks = took.blocks + gone.blocks, .bytes = took.bytes + gone.bytes};
    return true;
}

/* What a refused plan leaves behind. */
static prop_count refused(const prop_subject *s, const prop_case *c)
{
    rope_plan_args args = rope_spec_plan_args(s->spec, s->frequencies, s->dtype,
                                              prop_case_list(c, 0)[0], prop_case_list(c, 0)[0]);
    rope_plan *plan = NULL;
    args.flags = 1u << 31;
    prop_count_start();
    rope_status status = s->kernel->plan(&args, &plan);
    if (status == ROPE_OK)
        s->kernel->destroy(plan); /* the property "arguments" has it */
    return prop_count_stop();
}

static void look_for_leaks(const prop_subject *s, const prop_case *c, int leaks, prop_count kept,
                           prop_sheet *sheet)
{
    check(s, c, leaks < TIMES, sheet);
    if (leaks == TIMES)
        prop_fail(sheet, "every plan that is destroyed leaves %lld bytes in %lld blocks",
                  (long long)kept.bytes, (long long)kept.blocks);
    refused(s, c);
    kept = refused(s, c);
    check(s, c, kept.blocks <= 0, sheet);
    if (kept.blocks > 0)
        prop_fail(sheet, "every plan that is refused leaves %lld bytes in %lld blocks",
                  (long long)kept.bytes, (long long)kept.blocks);
}

static void judge(const prop_subject *s, const prop_case *c, prop_sheet *sheet)
{
    prop_work w;
    prop_count kept = {0};
    if (!prop_work_new(s, c, 1, &w, sheet))
        return;
    if (one_plan(s, c, &w, 0, &kept, sheet)) {
        int leaks = 0;
        for (int i = 1; i <= TIMES && one_plan(s, c, &w, i, &kept, sheet); i++)
            leaks += kept.blocks > 0;
        if (prop_counts())
            look_for_leaks(s, c, leaks, kept, sheet);
        look_at_rest(s, c, sheet);
    }
    prop_work_free(&w);
}

const prop_property prop_footprint_property = {
    .name = "footprint",
    .statement = "apply allocates nothing, starts no thread and leaves nothing open; plan_bytes is "
                 "what a plan holds, and destroy gives it back",
    .count = count,
    .generate = generate,
    .judge = judge,
};
