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
enum { OTHER_ALL, OTHER_FREQUENCIES, OTHER_FACTOR, OTHER_GEOMETRY, OTHERS };
enum { MANY_CALLS = 324 }; /* a multiple of OTHERS */

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
    prop_case c; /* owns nothing */
    prop_work w; /* y[ALONE]: the other's results before there was an A */
    double *halves;
    bool used; /* ALONE is there */
} other_subject;
enum { ALONE = 0, BESIDE = 1, SINGLE = 2 };

/* The same pairs at another place of a longer row; a multiple of any vector's width. */
static void other_geometry(other_subject *o)
{
    enum { MORE = 32 };
    o->spec.rotary_offset += MORE;
    o->spec.head_dim += 3 * MORE;
    o->c.x.head_dim = o->c.y.head_dim = o->spec.head_dim;
    for (int i = 0; i < PROP_STREAMS; i++)
        o->c.bits[i] = NULL; /* are of the shorter row */
}

static bool other_new(const prop_subject *s, const prop_case *c, other_subject *o)
{
    static prop_sheet unjudged;
    size_t pairs = (size_t)s->frequencies->pairs;
    int which = (int)((uint64_t)c->parameter % OTHERS);
    *o = (other_subject){.frequencies = *s->frequencies, .spec = *s->spec, .subject = *s, .c = *c};
    o->halves = malloc(2 * pairs * sizeof *o->halves);
    if (o->halves == NULL)
        return false;
    double part = which == OTHER_ALL || which == OTHER_FREQUENCIES ? 0.5 : 1;
    for (size_t i = 0; i < pairs; i++) {
        o->halves[i] = part * s->frequencies->hi[i];
        o->halves[pairs + i] = part * s->frequencies->lo[i];
    }
    o->frequencies.hi = o->halves;
    o->frequencies.lo = o->halves + pairs;
    if (which == OTHER_ALL)
        o->spec.base *= 4;
    if (which == OTHER_ALL || which == OTHER_FACTOR)
        o->frequencies.attention_factor *= 2;
    if (which == OTHER_GEOMETRY)
        other_geometry(o);
    o->subject.frequencies = &o->frequencies;
    o->subject.spec = &o->spec;
    unjudged = (prop_sheet){0};
    return prop_work_new(&o->subject, &o->c, 1, &o->w, &unjudged);
}

static void other_free(other_subject *o)
{
    free(o->halves);
    prop_work_free(&o->w);
}

static bool other_apply(other_subject *o, const prop_plan *plan, int64_t tokens, int result,
                        prop_sheet *sheet)
{
    return prop_apply(&o->subject, plan, &o->c, prop_case_list(&o->c, 0), tokens, o->w.x[0],
                      o->w.y[result], sheet);
}

/* Plans, uses and destroys another, alone. Its last call is of one token, so that A begins where
 * this ended: same position, and often the same address. */
static void use_alone(other_subject *o)
{
    static prop_sheet unjudged;
    const prop_case *c = &o->c;
    prop_plan plan;
    unjudged = (prop_sheet){0};
    if (!prop_plan_make(&o->subject, c->axes, prop_case_list(c, 0), c->x.tokens, &plan, &unjudged))
        return;
    o->used = other_apply(o, &plan, c->x.tokens, ALONE, &unjudged) &&
              other_apply(o, &plan, 1, SINGLE, &unjudged);
    prop_plan_free(&o->subject, &plan, &unjudged);
}

/* What a model with two bases does (local and global layers): another plan is made, used and
 * destroyed beside A. A's results do not change, and the other's are those that it has alone. */
static void use_beside_other(const prop_subject *s, const prop_case *c, prop_work *w,
                             const prop_plan *a, other_subject *o, prop_sheet *sheet)
{
    static prop_sheet unjudged;
    const int64_t *positions = prop_case_list(c, 0);
    prop_plan plan;
    unjudged = (prop_sheet){0};
    if (!prop_plan_make(&o->subject, c->axes, positions, c->x.tokens, &plan, &unjudged))
        return;
    bool good = other_apply(o, &plan, c->x.tokens, BESIDE, &unjudged) &&
                prop_apply(s, a, c, positions, c->x.tokens, w->x[0], w->y[1], sheet);
    if (good) {
        prop_same_bits(s, c, positions, w->y[0], w->y[1],
                       (uint64_t)c->parameter % OTHERS == OTHER_GEOMETRY
                           ? "beside a plan of other rows"
                           : "beside a plan of other frequencies",
                       sheet);
        prop_same_bits(&o->subject, &o->c, positions, o->w.y[ALONE], o->w.y[BESIDE],
                       "another plan beside this one", sheet);
    }
    prop_plan_free(&o->subject, &plan, &unjudged);
}

/* Plan A for list 0 is used, then plan B for list 1 is made and used, tokens in reverse, then A. */
static void use_two(const prop_subject *s, const prop_case *c, prop_work *w, const prop_plan *a,
                    const prop_plan *b, other_subject *o, prop_sheet *sheet)
{
    const int64_t *positions = prop_case_list(c, 0);
    int64_t tokens = c->x.tokens;
    for (int64_t t = 0; t < tokens; t++)
        memcpy(w->positions + t * c->axes, positions + (tokens - 1 - t) * c->axes,
               c->axes * sizeof *positions);
    if (!prop_apply(s, a, c, positions, tokens, w->x[0], w->y[0], sheet))
        return;
    if (o->used)
        use_beside_other(s, c, w, a, o, sheet);
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
    other_subject o;
    if (other_new(s, c, &o))
        use_alone(&o);
    if (prop_plan_make(s, c->axes, prop_case_list(c, 0), c->x.tokens, &a, sheet)) {
        if (prop_plan_make(s, c->axes, prop_case_list(c, 1), c->x.tokens, &b, sheet)) {
            use_two(s, c, &w, &a, &b, &o, sheet);
            prop_plan_free(s, &b, sheet);
        }
        prop_plan_free(s, &a, sheet);
    }
    other_free(&o);
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
