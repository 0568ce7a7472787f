/* The contract on cases that nobody thought of: RapidCheck draws shapes, arrangements, alignments,
 * strides, positions and bit patterns from the seed (props/draw_shim.cc), beside the other
 * properties' cases, which take them in turn so that every one is met. Whatever fails is made small
 * and replayed as the case itself.
 *
 * Kills what acts in some combination of shape, position and data, and has no case of its own. */
#include <stdlib.h>

#include "impl/registry.h"
#include "props/judge.h"
#include "props/shrink.h"

#include "props/draw_shim.h"

static int64_t count(const prop_subject *s)
{
    return prop_count_usual(s, 12, 8, 1);
}

typedef struct {
    const prop_subject *s;
    prop_case *c;
    bool good;
} taking;

static void take(const rapid_case *drawn, void *context)
{
    taking *t = context;
    prop_case like = {.property = &prop_generated_property, .lists = 1};
    t->good = prop_shrink_rebuild(t->s, &like, drawn, t->c);
}

static rapid_wish wish_of(const prop_subject *s)
{
    static const int significands[] = {
        [ROPE_F32] = 23, [ROPE_F16] = 10, [ROPE_BF16] = 7, [ROPE_F64] = 52};
    return (rapid_wish){.head_dim = s->spec->head_dim,
                        .axes = s->frequencies->axis_count,
                        .places = prop_arena_far_fits() ? PROP_PLACES : PROP_PLACE_FAR_TOKENS,
                        .bits = 8 * (int)rope_dtype_bytes((uint32_t)s->dtype),
                        .significand = significands[s->dtype],
                        .in_place = s->kernel != NULL && (s->kernel->header.flags & ROPE_IN_PLACE)};
}

static bool generate(const prop_subject *s, int64_t index, prop_case *c)
{
    rapid_wish wish = wish_of(s);
    /* Sizes draw apart: one seed for all would give them the same shapes. */
    uint64_t seed = prop_hash(prop_hash(s->seed, (uint64_t)index, 28), (uint64_t)s->spec->head_dim,
                              (uint64_t)s->spec->rotary_dim);
    taking t = {s, c, false};
    *c = (prop_case){0};
    return rapid_draw(&wish, seed, take, &t) && t.good;
}

static void judge(const prop_subject *s, const prop_case *c, prop_sheet *sheet)
{
    prop_subject plain = *s;
    plain.weight = PROP_USUAL; /* all in one band */
    prop_contract_property.judge(&plain, c, sheet);
}

const prop_property prop_generated_property = {
    .name = "generated",
    .statement = "the contract holds on shapes, arrangements, positions and bit patterns that "
                 "RapidCheck draws",
    .count = count,
    .generate = generate,
    .judge = judge,
};
