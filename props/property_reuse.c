/* One result, whatever was asked for before: two properties.
 *
 * Reuse. A plan gives the same whatever was asked of it, or of another plan, before: bit for bit
 * when the same call is repeated, since plans are immutable; and what a fresh plan gives, within
 * both contracts (see property_calls.c). Repeat. A run repeated, plan included, gives the same
 * bits, on memory that held other values before.
 *
 * Kills plans that count their calls, caches that go stale, state shared by plans, memory that is
 * not initialised. */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "props/judge.h"

static int64_t count(const prop_subject *s)
{
    return prop_count_usual(s, 8, 4, 1);
}

/* ---- reuse ---- */

/* More than a call counter of 8 bits lasts. */
enum { OTHER_ALL, OTHER_FREQUENCIES, OTHER_FACTOR, OTHERS };
enum { MANY_CALLS = 321 }; /* a multiple of OTHERS */

static bool generate_reuse(const prop_subject *s, int64_t index, prop_case *c)
{
    if (!prop_generate_usual(s, &prop_reuse_property, index, 21, 2, c))
        return false;
    /* A remainder by OTHERS says what stands beside it: in turn, by size where there is one case.
     */
    int64_t which = (index + s->spec->rotary_dim / 2) % OTHERS;
    c->parameter = which + (index == 0 && s->weight != PROP_LIGHT ? MANY_CALLS : 0);
    return true;
}

/* Calls of one token and head each: a plan that counts its calls shows what comes of it. */
static bool use_often(const prop_subject *s, const prop_case *c, prop_work *w, const prop_plan *a,
                      prop_sheet *sheet)
{
    prop_case single = *c;
    single.x.heads = single.y.heads = 1;
    bool good = true;
    for (int64_t i = 0; good && c->parameter >= MANY_CALLS && i < MANY_CALLS; i++)
        good = prop_apply(s, a, &single, prop_case_list(c, 0), 1, w->x[0], w->y[1], sheet);
    return good;
}

/* What is planned beside A. Some differ from it in one thing alone, which a cache may not look at.
 */
typedef struct {
    rope_frequencies frequencies;
    rope_spec spec;
    prop_subject subject;
    double *halves;
} other_subject;

static bool other_new(const prop_subject *s, int which, other_subject *o)
{
    size_t pairs = (size_t)s->frequencies->pairs;
    *o = (other_subject){.frequencies = *s->frequencies, .spec = *s->spec, .subject = *s};
    o->halves = malloc(2 * pairs * sizeof *o->halves);
    if (o->halves == NULL)
        return false;
    double part = which == OTHER_FACTOR ? 1 : 0.5;
    for (size_t i = 0; i < pairs; i++) {
        o->halves[i] = part * s->frequencies->hi[i];
        o->halves[pairs + i] = part * s->frequencies->lo[i];
    }
    o->frequencies.hi = o->halves;
    o->frequencies.lo = o->halves + pairs;
    if (which == OTHER_ALL)
        o->spec.base *= 4;
    if (which != OTHER_FREQUENCIES)
        o->frequencies.attention_factor *= 2;
    o->subject.frequencies = &o->frequencies;
    o->subject.spec = &o->spec;
    return true;
}

/* Plans, uses and destroys another, alone: y into `alone`. Its last call is of one token, so that A
 * begins where this ended: same position, and often the same address. */
static bool use_alone(const prop_subject *s, const prop_case *c, prop_work *w, int which,
                      void *alone)
{
    static prop_sheet unjudged;
    const int64_t *positions = prop_case_list(c, 0);
    prop_plan plan;
    other_subject o;
    unjudged = (prop_sheet){0};
    bool good = other_new(s, which, &o) &&
                prop_plan_make(&o.subject, c->axes, positions, c->x.tokens, &plan, &unjudged);
    if (good) {
        good =
            prop_apply(&o.subject, &plan, c, positions, c->x.tokens, w->x[0], alone, &unjudged) &&
            prop_apply(&o.subject, &plan, c, positions, 1, w->x[0], w->y[2], &unjudged);
        prop_plan_free(&o.subject, &plan, &unjudged);
    }
    free(o.halves);
    return good;
}

/* What a model with two bases does (local and global layers): another plan is made, used and
 * destroyed beside A. A's results do not change, and the other's are those that it has alone. */
static void use_beside_other(const prop_subject *s, const prop_case *c, prop_work *w,
                             const prop_plan *a, const void *alone, prop_sheet *sheet)
{
    static prop_sheet unjudged;
    const int64_t *positions = prop_case_list(c, 0);
    prop_plan plan;
    other_subject o;
    unjudged = (prop_sheet){0};
    if (other_new(s, (int)c->parameter % OTHERS, &o) &&
        prop_plan_make(&o.subject, c->axes, positions, c->x.tokens, &plan, &unjudged)) {
        bool good =
            prop_apply(&o.subject, &plan, c, positions, c->x.tokens, w->x[0], w->y[2], &unjudged) &&
            prop_apply(s, a, c, positions, c->x.tokens, w->x[0], w->y[1], sheet);
        if (good) {
            prop_same_bits(s, c, positions, w->y[0], w->y[1], "beside a plan of other frequencies",
                           sheet);
            prop_same_bits(s, c, positions, alone, w->y[2], "another plan beside this one", sheet);
        }
        prop_plan_free(&o.subject, &plan, &unjudged);
    }
    free(o.halves);
}

/* Plan A for list 0 is used, then plan B for list 1 is made and used, tokens in reverse, then A. */
static void use_two(const prop_subject *s, const prop_case *c, prop_work *w, const prop_plan *a,
                    const prop_plan *b, const void *alone, prop_sheet *sheet)
{
    const int64_t *positions = prop_case_list(c, 0);
    int64_t tokens = c->x.tokens;
    for (int64_t t = 0; t < tokens; t++)
        memcpy(w->positions + t * c->axes, positions + (tokens - 1 - t) * c->axes,
               c->axes * sizeof *positions);
    if (!prop_apply(s, a, c, positions, tokens, w->x[0], w->y[0], sheet))
        return;
    if (alone != NULL)
        use_beside_other(s, c, w, a, alone, sheet);
    if (!prop_apply(s, b, c, prop_case_list(c, 1), tokens, w->x[0], w->y[2], sheet) ||
        !prop_apply(s, a, c, w->positions, tokens, w->x[0], w->y[1], sheet) ||
        !use_often(s, c, w, a, sheet) ||
        !prop_apply(s, a, c, positions, tokens, w->x[0], w->y[1], sheet))
        return;
    prop_same_bits(s, c, positions, w->y[0], w->y[1], "the same call on the same plan", sheet);
    /* y[2] by a fresh plan, after all of that. */
    prop_case second = *c;
    second.positions = prop_case_list(c, 1);
    if (!prop_rotate(s, &second, prop_case_list(c, 1), w->x[0], w->y[3], sheet))
        return;
    prop_bounds(s, c->axes, prop_case_list(c, 1), tokens, w->bounds[1], sheet);
    prop_same_results(s, &second, w, w->y[2], w->y[3], w->bounds[1], "a plan made beside another",
                      sheet);
    prop_bounds(s, c->axes, positions, tokens, w->bounds[0], sheet);
    if (prop_rotate(s, c, positions, w->x[0], w->y[3], sheet))
        prop_same_results(s, c, w, w->y[0], w->y[3], w->bounds[0], "a plan used before", sheet);
}

static void judge_reuse(const prop_subject *s, const prop_case *c, prop_sheet *sheet)
{
    prop_work w;
    prop_plan a, b;
    if (!prop_work_new(s, c, 1, &w, sheet))
        return;
    void *memory = malloc(w.bytes);
    bool used = memory != NULL && use_alone(s, c, &w, (int)c->parameter % OTHERS, memory);
    if (prop_plan_make(s, c->axes, prop_case_list(c, 0), c->x.tokens, &a, sheet)) {
        if (prop_plan_make(s, c->axes, prop_case_list(c, 1), c->x.tokens, &b, sheet)) {
            use_two(s, c, &w, &a, &b, used ? memory : NULL, sheet);
            prop_plan_free(s, &b, sheet);
        }
        prop_plan_free(s, &a, sheet);
    }
    free(memory);
    prop_work_free(&w);
}

const prop_property prop_reuse_property = {
    .name = "reuse",
    .statement = "a plan gives the same whatever it, or another plan, was used for before",
    .count = count,
    .generate = generate_reuse,
    .judge = judge_reuse,
};

/* ---- repeat ---- */

static bool generate_repeat(const prop_subject *s, int64_t index, prop_case *c)
{
    return prop_generate_usual(s, &prop_repeat_property, index, 22, 1, c);
}

static void judge_repeat(const prop_subject *s, const prop_case *c, prop_sheet *sheet)
{
    prop_work w;
    if (!prop_work_new(s, c, 1, &w, sheet))
        return;
    const int64_t *positions = prop_case_list(c, 0);
    mallopt(M_PERTURB, 0x5a); /* what malloc hands out is filled with this, and its complement */
    bool good = prop_rotate(s, c, positions, w.x[0], w.y[0], sheet);
    mallopt(M_PERTURB, 0xc3);
    good = good && prop_rotate(s, c, positions, w.x[0], w.y[1], sheet);
    mallopt(M_PERTURB, 0);
    if (good)
        prop_same_bits(s, c, positions, w.y[0], w.y[1], "the run repeated", sheet);
    prop_work_free(&w);
}

const prop_property prop_repeat_property = {
    .name = "repeat",
    .statement = "a run repeated, plan included, gives the same bits, whatever memory held before",
    .count = count,
    .generate = generate_repeat,
    .judge = judge_repeat,
};
