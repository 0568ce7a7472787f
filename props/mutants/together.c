/* Faults of a look at a few tokens, and of features that are right alone and wrong together. */
#include "props/mutants/common.h"

#include <string.h>

/* Blocks of four whose ends are 3 apart are taken as consecutive. */
static rope_status apply_by_ends(const rope_plan *p, const rope_view *x, const rope_view *y,
                                 const int64_t *positions, int64_t position_stride)
{
    enum { MOST = 256 };
    int64_t taken[MOST];
    if (p->args.axis_count != 1 || x->tokens > MOST)
        return mutant_loop(p, x, y, positions, position_stride);
    for (int64_t t = 0; t < x->tokens; t++) {
        int64_t block = t / 4 * 4;
        const int64_t *first = positions + block * position_stride;
        bool whole = block + 4 <= x->tokens && first[3 * position_stride] - first[0] == 3;
        taken[t] = whole ? first[0] + t - block : positions[t * position_stride];
    }
    return mutant_loop(p, x, y, taken, 1);
}
static const mutant_hooks consecutive_by_ends_hooks = {.row = mutant_rotate_row,
                                                       .apply = apply_by_ends};
MUTATION(consecutive_by_ends, "FRAUD", "blocks of 4 tokens are consecutive where their ends are");

/* A call that begins with text is text. */
static rope_status apply_text(const rope_plan *p, const rope_view *x, const rope_view *y,
                              const int64_t *positions, int64_t position_stride)
{
    bool text = x->tokens > 0 && p->args.axis_count > 1;
    for (uint32_t a = 1; text && a < p->args.axis_count; a++)
        text = positions[a] == positions[0];
    rope_plan like = *p;
    uint8_t zero[MUTANT_MAX_PAIRS] = {0};
    if (text)
        like.axis = zero;
    return mutant_loop(&like, x, y, positions, position_stride);
}
static const mutant_hooks text_by_first_token_hooks = {.row = mutant_rotate_row,
                                                       .apply = apply_text};
MUTATION(text_by_first_token, "F31", "a call is text where its first token is",
         .example = "head_dim=32,base=10000,pairing=half,axes=mrope,sections=5:9:2");

/* Contiguous sections by vectors of eight pairs, each by the axis of its first. */
static void group_sections(rope_plan *p)
{
    if (p->spec.axes != ROPE_AXES_MROPE_INTERLEAVED)
        for (int64_t i = 0; i < p->args.pairs; i++)
            p->axis[i] = p->axis[i / 8 * 8];
}
static const mutant_hooks sections_by_eight_hooks = {.alter = group_sections};
MUTATION(sections_by_eight, "F31", "eight pairs turn by the axis of the first of them",
         .example = "head_dim=32,base=10000,pairing=half,axes=mrope,sections=5:9:2");

#define PARTIAL_YARN                                                                               \
    "head_dim=128,rotary_dim=64,base=10000,pairing=half,scaling=yarn,factor=4,original=4096"

static bool partial(const rope_plan *p)
{
    return p->spec.rotary_dim != p->spec.head_dim;
}
static void drop_factor_of_part(rope_plan *p)
{
    if (partial(p))
        p->args.attention_factor = 1;
}
static const mutant_hooks attention_factor_partial_hooks = {.alter = drop_factor_of_part};
MUTATION(attention_factor_partial, "FRAUD", "attention factor 1 where a part of the row rotates",
         .example = PARTIAL_YARN);

static void scale_rest(const mutant_row *r, const float *x, float *y)
{
    const rope_plan *p = r->plan;
    int64_t first = p->spec.rotary_offset, end = first + 2 * p->args.pairs;
    mutant_rotate_row(r, x, y);
    for (int64_t e = 0; e < p->spec.head_dim; e++)
        if (e < first || e >= end)
            y[e] *= (float)p->args.attention_factor;
}
static const mutant_hooks attention_factor_on_rest_hooks = {.row = scale_rest};
MUTATION(attention_factor_on_rest, "FRAUD", "the attention factor scales what does not rotate too",
         .example = PARTIAL_YARN);

static void drop_offset(rope_plan *p)
{
    if (p->args.axis_count > 1)
        p->spec.rotary_offset = 0;
}
static const mutant_hooks offset_with_axes_hooks = {.alter = drop_offset, .row = mutant_rotate_row};
MUTATION(offset_with_axes, "FRAUD", "rotary_offset is ignored where there are several axes",
         .example = "head_dim=48,rotary_dim=32,rotary_offset=8,base=10000,pairing=half,axes=hw");

static void copy_rest_of_few(const mutant_row *r, const float *x, float *y)
{
    const rope_plan *p = r->plan;
    for (int64_t i = 0; i < p->args.pairs; i++)
        mutant_rotate_pair(r, i, x, y);
    if (r->token < 16)
        mutant_copy_rest(r, x, y);
}
static const mutant_hooks rest_of_few_tokens_hooks = {.row = copy_rest_of_few};
MUTATION(rest_of_few_tokens, "FRAUD", "the rest of the row is copied for the first 16 tokens only",
         .example = PARTIAL_YARN);

static void rotate_256(const mutant_row *r, const float *x, float *y)
{
    for (int64_t i = 0; i < r->plan->args.pairs; i++) {
        int64_t a, b;
        mutant_elements(r->plan, i, &a, &b);
        if (i < 256) {
            mutant_rotate_pair(r, i, x, y);
        } else {
            y[a] = x[a];
            y[b] = x[b];
        }
    }
    mutant_copy_rest(r, x, y);
}
static const mutant_hooks pairs_capped_hooks = {.row = rotate_256};
MUTATION(pairs_capped, "FRAUD", "pairs after the first 256 are not rotated",
         .example = "head_dim=520,base=10000,pairing=half");

static int64_t one_less(const rope_plan *p, int64_t position)
{
    (void)p;
    bool power = position >= 1 << 18 && (position & (position - 1)) == 0;
    return power ? position - 1 : position;
}
static const mutant_hooks position_power_hooks = {.position = one_less};
MUTATION(position_power, "F27", "2^18 and the powers of two after it are turned as one less");

/* What the calls of a thread keep: frequencies, known by where the plan lies (a place that, as
 * memory is, is given out again; malloc's own addresses would differ under a sanitizer) and by
 * where the last call ended. */
static uint64_t places;
static void take_place(rope_plan *p)
{
    int64_t place = 0;
    while (place < 63 && places >> place & 1)
        place++;
    places |= UINT64_C(1) << place;
    p->memory[0] = place;
}
static void free_place(rope_plan *p)
{
    if (p != NULL)
        places &= ~(UINT64_C(1) << p->memory[0]);
    mutant_destroy(p);
}
static rope_status apply_remembered(const rope_plan *p, const rope_view *x, const rope_view *y,
                                    const int64_t *positions, int64_t position_stride)
{
    static _Thread_local int64_t plan = -1, position;
    static _Thread_local double hi[MUTANT_MAX_PAIRS];
    if (x->tokens < 1)
        return mutant_loop(p, x, y, positions, position_stride);
    rope_plan like = *p;
    if (plan != p->memory[0] || position != positions[0])
        memcpy(hi, p->hi, (size_t)p->args.pairs * sizeof *hi);
    plan = p->memory[0];
    position = positions[(x->tokens - 1) * position_stride];
    like.hi = hi;
    return mutant_loop(&like, x, y, positions, position_stride);
}
static const mutant_hooks plan_by_address_hooks = {.alter = take_place, .apply = apply_remembered};
MUTATION(plan_by_address, "F25", "a thread's cache takes a new plan at an old address for the old",
         .destroy = free_place);

/* Plans that live at once share their frequencies by base and size: scalings are not looked at. */
static struct {
    double hi[MUTANT_MAX_PAIRS], base;
    int64_t pairs, plans;
} shared;
static void share(rope_plan *p)
{
    size_t bytes = (size_t)p->args.pairs * sizeof *p->hi;
    if (shared.plans == 0) {
        memcpy(shared.hi, p->hi, bytes);
        shared.base = p->spec.base;
        shared.pairs = p->args.pairs;
    }
    p->memory[0] = shared.base == p->spec.base && shared.pairs == p->args.pairs;
    if (p->memory[0] && memcmp(p->hi, shared.hi, bytes) != 0) {
        memcpy(p->hi, shared.hi, bytes);
        memset(p->lo, 0, bytes);
    }
    shared.plans += p->memory[0];
}
static void unshare(rope_plan *p)
{
    if (p != NULL)
        shared.plans -= p->memory[0];
    mutant_destroy(p);
}
static const mutant_hooks plans_share_hooks = {.alter = share};
MUTATION(plans_share, "F25", "plans that live at once share frequencies by base and size alone",
         .destroy = unshare);

/* Positions are checked for the first 64 tokens; others are put into the window. */
static rope_status apply_checked(const rope_plan *p, const rope_view *x, const rope_view *y,
                                 const int64_t *positions, int64_t position_stride)
{
    for (int64_t t = 0; t < x->tokens; t++) {
        rope_view from = *x, to = *y;
        int64_t at[ROPE_MAX_AXES], axes = (int64_t)p->args.axis_count;
        if (t < 64 &&
            !mutant_in_window(p, positions, x->tokens < 64 ? x->tokens : 64, position_stride))
            return ROPE_RANGE;
        for (int64_t a = 0; a < axes; a++) {
            int64_t wanted = positions[t * position_stride + a];
            at[a] = wanted < p->args.first[a]  ? p->args.first[a]
                    : wanted > p->args.last[a] ? p->args.last[a]
                                               : wanted;
        }
        from.tokens = to.tokens = 1;
        from.data = mutant_row_of(x, t, 0);
        to.data = mutant_row_of(y, t, 0);
        mutant_loop(p, &from, &to, at, axes);
    }
    return ROPE_OK;
}
static const mutant_hooks range_of_few_hooks = {.row = mutant_rotate_row, .apply = apply_checked};
MUTATION(range_of_few, "F27", "positions are checked for the first 64 tokens of a call only");

/* A block of 256 positions is checked when its turn comes. */
static rope_status apply_by_blocks(const rope_plan *p, const rope_view *x, const rope_view *y,
                                   const int64_t *positions, int64_t position_stride)
{
    enum { BLOCK = 256 };
    rope_status status = ROPE_OK;
    for (int64_t t = 0; status == ROPE_OK && t < x->tokens; t += BLOCK) {
        rope_view from = *x, to = *y;
        from.tokens = to.tokens = x->tokens - t < BLOCK ? x->tokens - t : BLOCK;
        from.data = mutant_row_of(x, t, 0);
        to.data = mutant_row_of(y, t, 0);
        status = mutant_loop(p, &from, &to, positions + t * position_stride, position_stride);
    }
    return status;
}
static const mutant_hooks range_by_blocks_hooks = {.row = mutant_rotate_row,
                                                   .apply = apply_by_blocks};
MUTATION(range_by_blocks, "F27", "positions are checked by blocks of 256, after writing the last");

/* Plans that live at once share their geometry: known by frequencies, attention factor and pairing.
 */
static struct {
    double hi[MUTANT_MAX_PAIRS], attention_factor;
    int64_t pairs, plans, head_dim, rotary_offset;
    uint32_t pairing;
} known;
static void share_geometry(rope_plan *p)
{
    size_t bytes = (size_t)p->args.pairs * sizeof *p->hi;
    if (known.plans == 0) {
        memcpy(known.hi, p->hi, bytes);
        known.attention_factor = p->args.attention_factor;
        known.pairs = p->args.pairs;
        known.head_dim = p->spec.head_dim;
        known.rotary_offset = p->spec.rotary_offset;
        known.pairing = p->spec.pairing;
    }
    p->memory[0] = known.pairs == p->args.pairs && known.pairing == p->spec.pairing &&
                   known.attention_factor == p->args.attention_factor &&
                   memcmp(known.hi, p->hi, bytes) == 0;
    if (p->memory[0]) {
        p->spec.head_dim = known.head_dim;
        p->spec.rotary_offset = known.rotary_offset;
    }
    known.plans += p->memory[0];
}
static void unshare_geometry(rope_plan *p)
{
    if (p != NULL)
        known.plans -= p->memory[0];
    mutant_destroy(p);
}
static const mutant_hooks plans_share_geometry_hooks = {.alter = share_geometry};
MUTATION(plans_share_geometry, "F25",
         "plans that live at once share head_dim and rotary_offset by their frequencies",
         .destroy = unshare_geometry);
