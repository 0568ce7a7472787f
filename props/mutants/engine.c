/* Faults in how inference engines call: one token of many heads, a token a call, and plans for a
 * whole context. */
#include "props/mutants/common.h"

#include <math.h>

#define PARTIAL_YARN                                                                               \
    "head_dim=128,rotary_dim=64,base=10000,pairing=half,scaling=yarn,factor=4,original=4096"
#define MROPE_YARN                                                                                 \
    "head_dim=48,rotary_dim=30,rotary_offset=7,base=10000,pairing=half,axes=mrope,sections=4:6:5," \
    "scaling=yarn,factor=4,original=4096"

/* A way of its own for one token. */
static rope_status apply_decoding(const rope_plan *p, const rope_view *x, const rope_view *y,
                                  const int64_t *positions, int64_t position_stride)
{
    rope_plan like = *p;
    if (x->tokens == 1 && x->heads >= 16)
        like.args.attention_factor = 1;
    return mutant_loop(&like, x, y, positions, position_stride);
}
static const mutant_hooks attention_factor_decoding_hooks = {.row = mutant_rotate_row,
                                                             .apply = apply_decoding};
MUTATION(attention_factor_decoding, "FRAUD",
         "attention factor 1 where one token has 16 heads or more", .example = PARTIAL_YARN);

/* Heads by eights, then four, then one by one: the four after an eight turn back. */
static void rotate_by_eights(const mutant_row *r, const float *x, float *y)
{
    float back[MUTANT_MAX_PAIRS];
    mutant_row wrong = *r;
    int64_t whole = r->heads / 8 * 8;
    if (whole > 0 && r->head >= whole && r->head < whole + 4 && r->heads - whole >= 4) {
        for (int64_t i = 0; i < r->plan->args.pairs; i++)
            back[i] = -r->sines[i];
        wrong.sines = back;
    }
    mutant_rotate_row(&wrong, x, y);
}
static const mutant_hooks heads_four_after_eight_hooks = {.row = rotate_by_eights};
MUTATION(heads_four_after_eight, "FRAUD", "four heads after blocks of eight turn backwards");

/* cos and sin of the last single token are kept in f32, and turned on by one position. */
enum { KEPT_PAIRS = 128 };
static struct {
    const rope_plan *plan;
    float c[KEPT_PAIRS], s[KEPT_PAIRS];
} kept;
enum { DECODES, KNOWN, POSITION }; /* in the plan's memory */

static void turn_kept(const rope_plan *p, int64_t position)
{
    int64_t *memory = mutant_mutable(p)->memory;
    bool on = kept.plan == p && memory[KNOWN] != 0 && memory[POSITION] == position - 1;
    for (int64_t i = 0; i < p->args.pairs; i++) {
        float c, s, before = kept.c[i];
        mutant_turn(p, on ? 1 : position, i, &c, &s);
        kept.c[i] = on ? before * c - kept.s[i] * s : c;
        kept.s[i] = on ? before * s + kept.s[i] * c : s;
    }
    kept.plan = p;
    memory[KNOWN] = 1;
    memory[POSITION] = position;
}
static rope_status apply_keeping(const rope_plan *p, const rope_view *x, const rope_view *y,
                                 const int64_t *positions, int64_t position_stride);
static void rotate_by_kept(const mutant_row *r, const float *x, float *y)
{
    mutant_row wrong = *r;
    if (r->plan->memory[DECODES] != 0) {
        if (r->head == 0)
            turn_kept(r->plan, r->position[0]);
        wrong.cosines = kept.c;
        wrong.sines = kept.s;
    }
    mutant_rotate_row(&wrong, x, y);
}
static const mutant_hooks decoding_drifts_hooks = {.row = rotate_by_kept, .apply = apply_keeping};
MUTATION(decoding_drifts, "F8", "one token a call: the last one's cos and sin are turned on by 1",
         .example = "head_dim=64,base=10000,pairing=half");
static rope_status apply_keeping(const rope_plan *p, const rope_view *x, const rope_view *y,
                                 const int64_t *positions, int64_t position_stride)
{
    bool plain = p->args.axis_count == 1 && p->args.attention_factor == 1;
    mutant_mutable(p)->memory[DECODES] = x->tokens == 1 && plain && p->args.pairs <= KEPT_PAIRS;
    return mutant_loop(p, x, y, positions, position_stride);
}

/* A plan for more positions than a table is made for has a way of its own. */
static bool wide(const rope_plan *p)
{
    for (uint32_t a = 0; a < p->args.axis_count; a++)
        if ((uint64_t)p->args.last[a] - (uint64_t)p->args.first[a] > 8192)
            return true;
    return false;
}
static void drop_factor_of_wide(rope_plan *p)
{
    if (wide(p))
        p->args.attention_factor = 1;
}
static const mutant_hooks attention_factor_wide_hooks = {.alter = drop_factor_of_wide,
                                                         .row = mutant_rotate_row};
MUTATION(attention_factor_wide, "FRAUD",
         "attention factor 1 where a plan has more than 8192 positions", .example = MROPE_YARN);

static void drop_axes_of_wide(rope_plan *p)
{
    for (int64_t i = 0; wide(p) && i < p->args.pairs; i++)
        p->axis[i] = 0;
}
static const mutant_hooks axes_wide_hooks = {.alter = drop_axes_of_wide, .row = mutant_rotate_row};
MUTATION(axes_wide, "FRAUD", "one axis for all pairs where a plan has more than 8192 positions",
         .example = MROPE_YARN);

/* Vectors of eight pairs. */
static void turn_by_16_bits(const rope_plan *p, int64_t position, int64_t pair, float *c, float *s)
{
    uint64_t first = (uint64_t)p->args.first[p->axis[pair]];
    if (p->args.pairs >= 8)
        position = (int64_t)(first + (uint64_t)(int16_t)((uint64_t)position - first));
    mutant_turn(p, position, pair, c, s);
}
static const mutant_hooks place_int16_hooks = {.turn = turn_by_16_bits};
MUTATION(place_int16, "F27", "vectors hold the place in the window in 16 bits",
         .example = "head_dim=16,base=10000,pairing=half");

/* Good to 105615, and chosen for a call by a look at its first token. */
enum { LIMIT = 105615 };
static rope_status apply_by_first(const rope_plan *p, const rope_view *x, const rope_view *y,
                                  const int64_t *positions, int64_t position_stride)
{
    int64_t first = x->tokens > 0 ? positions[0] : LIMIT;
    mutant_mutable(p)->memory[0] = p->args.pairs >= 8 && -LIMIT < first && first < LIMIT;
    return mutant_loop(p, x, y, positions, position_stride);
}
static void turn_fast(const rope_plan *p, int64_t position, int64_t pair, float *c, float *s)
{
    mutant_turn(p, position, pair, c, s);
    if (p->memory[0] == 0 || (-LIMIT < position && position < LIMIT))
        return;
    double angle = (float)((double)position * p->hi[pair]);
    *c = (float)(p->args.attention_factor * cos(angle));
    *s = (float)(p->args.attention_factor * sin(angle));
}
static const mutant_hooks range_by_first_token_hooks = {.turn = turn_fast, .apply = apply_by_first};
MUTATION(range_by_first_token, "F9",
         "angles in f32 beyond 105615 where a call's first token is below it",
         .example = "head_dim=16,base=10000,pairing=half");
