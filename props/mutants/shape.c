/* Faults of tokens, heads, strides and indices: F24, F29, F30, and frauds that are right only for
 * some shapes. */
#include "props/mutants/common.h"

#include <string.h>

static void rotate_by_head_index(const mutant_row *r, const float *x, float *y)
{
    float cosines[MUTANT_MAX_PAIRS], sines[MUTANT_MAX_PAIRS];
    mutant_row wrong = *r;
    for (int64_t i = 0; i < r->plan->args.pairs; i++)
        mutant_turn(r->plan, r->head, i, &cosines[i], &sines[i]);
    wrong.cosines = cosines;
    wrong.sines = sines;
    mutant_rotate_row(&wrong, x, y);
}
static const mutant_hooks wrong_axis_hooks = {.row = rotate_by_head_index};
MUTATION(wrong_axis, "F24", "the head index is taken as the position");

static rope_status apply_first_position(const rope_plan *p, const rope_view *x, const rope_view *y,
                                        const int64_t *positions, int64_t position_stride)
{
    if (!mutant_in_window(p, positions, x->tokens, position_stride))
        return ROPE_RANGE;
    return mutant_loop(p, x, y, positions, 0);
}
static const mutant_hooks first_position_hooks = {.row = mutant_rotate_row,
                                                  .apply = apply_first_position};
MUTATION(first_position, "F24", "every token turns by the first token's position");

static void copy_row(const mutant_row *r, const float *x, float *y)
{
    if (x != y)
        memcpy(y, x, (size_t)r->plan->spec.head_dim * sizeof *y);
}

static void rotate_first_token(const mutant_row *r, const float *x, float *y)
{
    (r->token == 0 ? mutant_rotate_row : copy_row)(r, x, y);
}
static const mutant_hooks first_token_only_hooks = {.row = rotate_first_token};
MUTATION(first_token_only, "F24", "tokens after the first are not rotated");

static void rotate_first_head(const mutant_row *r, const float *x, float *y)
{
    (r->head == 0 ? mutant_rotate_row : copy_row)(r, x, y);
}
static const mutant_hooks first_head_only_hooks = {.row = rotate_first_head};
MUTATION(first_head_only, "FRAUD", "heads after the first are not rotated");

static rope_status apply_x_strides(const rope_plan *p, const rope_view *x, const rope_view *y,
                                   const int64_t *positions, int64_t position_stride)
{
    rope_view from = *x;
    from.token_stride = y->token_stride;
    from.head_stride = y->head_stride;
    return mutant_loop(p, &from, y, positions, position_stride);
}
static const mutant_hooks wrong_stride_hooks = {.row = mutant_rotate_row, .apply = apply_x_strides};
MUTATION(wrong_stride, "F29", "x is read by y's strides");

static rope_status apply_contiguous(const rope_plan *p, const rope_view *x, const rope_view *y,
                                    const int64_t *positions, int64_t position_stride)
{
    rope_view from = *x, to = *y;
    from.head_stride = to.head_stride = p->spec.head_dim;
    from.token_stride = to.token_stride = p->spec.head_dim * x->heads;
    return mutant_loop(p, &from, &to, positions, position_stride);
}
static const mutant_hooks contiguous_assumed_hooks = {.row = mutant_rotate_row,
                                                      .apply = apply_contiguous};
MUTATION(contiguous_assumed, "F29", "rows are taken as contiguous whatever the strides say");

static rope_status apply_packed_positions(const rope_plan *p, const rope_view *x,
                                          const rope_view *y, const int64_t *positions,
                                          int64_t position_stride)
{
    (void)position_stride;
    return mutant_loop(p, x, y, positions, (int64_t)p->args.axis_count);
}
static const mutant_hooks position_stride_ignored_hooks = {.row = mutant_rotate_row,
                                                           .apply = apply_packed_positions};
MUTATION(position_stride_ignored, "F29", "position_stride is ignored");

/* A stride kept in a type that holds what callers had so far. */
static rope_status apply_stride_capped(const rope_plan *p, const rope_view *x, const rope_view *y,
                                       const int64_t *positions, int64_t position_stride)
{
    int64_t most = (int64_t)p->args.axis_count + 2;
    return mutant_loop(p, x, y, positions, position_stride < most ? position_stride : most);
}
static const mutant_hooks position_stride_capped_hooks = {.row = mutant_rotate_row,
                                                          .apply = apply_stride_capped};
MUTATION(position_stride_capped, "F29", "a position_stride above axes + 2 is taken as axes + 2");

/* 32-bit products and sums, wrapping: what `int` indices do in practice. */
static int64_t index_32(int64_t token, int64_t token_stride, int64_t head, int64_t head_stride)
{
    return (int32_t)((uint32_t)token * (uint32_t)token_stride +
                     (uint32_t)head * (uint32_t)head_stride);
}
static rope_status apply_32_bit(const rope_plan *p, const rope_view *x, const rope_view *y,
                                const int64_t *positions, int64_t position_stride)
{
    if (x->tokens != y->tokens || x->heads != y->heads)
        return ROPE_INVALID;
    if (!mutant_in_window(p, positions, x->tokens, position_stride))
        return ROPE_RANGE;
    for (int64_t t = 0; t < x->tokens; t++)
        for (int64_t h = 0; h < x->heads; h++) {
            rope_view from = *x, to = *y;
            from.data = (float *)x->data + index_32(t, x->token_stride, h, x->head_stride);
            to.data = (float *)y->data + index_32(t, y->token_stride, h, y->head_stride);
            from.tokens = to.tokens = from.heads = to.heads = 1;
            rope_status status = mutant_loop(p, &from, &to, positions + t * position_stride, 1);
            if (status != ROPE_OK)
                return status;
        }
    return ROPE_OK;
}
static const mutant_hooks index_overflow_hooks = {.row = mutant_rotate_row, .apply = apply_32_bit};
MUTATION(index_overflow, "F30", "element offsets are computed in 32 bits");

static bool small_shape(const rope_view *x)
{
    return x->tokens * x->heads < 64;
}
static bool aligned(const rope_view *x, const rope_view *y)
{
    return ((uintptr_t)x->data | (uintptr_t)y->data) % 32 == 0;
}

static rope_status copy_all(const rope_plan *p, const rope_view *x, const rope_view *y)
{
    mutant_row row = {.plan = p};
    for (int64_t t = 0; t < x->tokens; t++)
        for (int64_t h = 0; h < x->heads; h++)
            copy_row(&row, mutant_row_of(x, t, h), mutant_row_of(y, t, h));
    return ROPE_OK;
}

static rope_status apply_small(const rope_plan *p, const rope_view *x, const rope_view *y,
                               const int64_t *positions, int64_t position_stride)
{
    rope_status status = mutant_honest(p, x, y, positions, position_stride);
    if (status != ROPE_OK || small_shape(x))
        return status;
    rope_view last = *y;
    last.tokens = 1;
    last.data = mutant_row_of(y, y->tokens - 1, 0);
    memset(last.data, 0, (size_t)p->spec.head_dim * sizeof(float));
    return ROPE_OK;
}
static const mutant_hooks small_shapes_only_hooks = {.apply = apply_small};
MUTATION(small_shapes_only, "FRAUD", "wrong in the last token once tokens * heads reaches 64");

static rope_status apply_out_of_place(const rope_plan *p, const rope_view *x, const rope_view *y,
                                      const int64_t *positions, int64_t position_stride)
{
    if (x->data == y->data)
        return ROPE_OK;
    return mutant_honest(p, x, y, positions, position_stride);
}
static const mutant_hooks out_of_place_only_hooks = {.apply = apply_out_of_place};
MUTATION(out_of_place_only, "FRAUD", "does nothing in place");

/* Ranges that overlap are no tensors that do. */
static rope_status apply_overlapping(const rope_plan *p, const rope_view *x, const rope_view *y,
                                     const int64_t *positions, int64_t position_stride)
{
    intptr_t apart = (char *)y->data - (char *)x->data;
    intptr_t bytes = (x->tokens - 1) * x->token_stride * (intptr_t)sizeof(float);
    bool overlap = x->heads > 0 && apart <= bytes && -apart <= bytes;
    return mutant_honest(p, x, overlap ? x : y, positions, position_stride);
}
static const mutant_hooks overlap_in_place_hooks = {.apply = apply_overlapping};
MUTATION(overlap_in_place, "FRAUD", "takes x and y whose ranges overlap to be in place");

static rope_status apply_aligned(const rope_plan *p, const rope_view *x, const rope_view *y,
                                 const int64_t *positions, int64_t position_stride)
{
    if (!aligned(x, y))
        return copy_all(p, x, y);
    return mutant_honest(p, x, y, positions, position_stride);
}
static const mutant_hooks aligned_only_hooks = {.apply = apply_aligned};
MUTATION(aligned_only, "FRAUD", "copies unless x and y are aligned to 32 bytes");

/* Ways of their own for large tensors. From 2^18 elements on, in place, a row is turned as if it
 * were not; from 2^23 on, out of place, the last row of all stays as it was. */
static int64_t elements_of(const rope_plan *p, const rope_view *x)
{
    return x->tokens * x->heads * p->spec.head_dim;
}
static rope_status apply_large_in_place(const rope_plan *p, const rope_view *x, const rope_view *y,
                                        const int64_t *positions, int64_t position_stride)
{
    mutant_mutable(p)->memory[0] = x->data == y->data && elements_of(p, x) >= (int64_t)1 << 18;
    return mutant_loop(p, x, y, positions, position_stride);
}
static void rotate_aliased_when_large(const mutant_row *r, const float *x, float *y)
{
    if (r->plan->memory[0] == 0) {
        mutant_rotate_row(r, x, y);
        return;
    }
    for (int64_t i = 0; i < r->plan->args.pairs; i++) {
        int64_t a, b;
        mutant_elements(r->plan, i, &a, &b);
        y[a] = x[a] * r->cosines[i] - x[b] * r->sines[i];
        y[b] = x[a] * r->sines[i] + x[b] * r->cosines[i];
    }
}
static const mutant_hooks large_aliasing_hooks = {.row = rotate_aliased_when_large,
                                                  .apply = apply_large_in_place};
MUTATION(large_aliasing, "F23", "in place from 2^18 elements on, x1 meets the new x0");

static rope_status apply_but_last(const rope_plan *p, const rope_view *x, const rope_view *y,
                                  const int64_t *positions, int64_t position_stride)
{
    rope_view but_last = *x, to = *y;
    if (x->data != y->data && elements_of(p, x) >= (int64_t)1 << 23)
        but_last.tokens = --to.tokens;
    return mutant_honest(p, &but_last, &to, positions, position_stride);
}
static const mutant_hooks streamed_last_missed_hooks = {.apply = apply_but_last};
MUTATION(streamed_last_missed, "F28",
         "out of place from 2^23 elements on, the last token is not written");

/* An "aligned load" of what is not aligned reads from before the row. */
static rope_status apply_aligned_down(const rope_plan *p, const rope_view *x, const rope_view *y,
                                      const int64_t *positions, int64_t position_stride)
{
    rope_view from = *x;
    from.data = (char *)x->data - (uintptr_t)x->data % 16;
    return mutant_loop(p, x->data == y->data ? x : &from, y, positions, position_stride);
}
static const mutant_hooks pointer_aligned_down_hooks = {.row = mutant_rotate_row,
                                                        .apply = apply_aligned_down};
MUTATION(pointer_aligned_down, "FRAUD", "reads x from its address rounded down to 16 bytes");

static void rotate_but_eighth(const mutant_row *r, const float *x, float *y)
{
    (r->heads % 8 == 0 && r->head == r->heads - 1 ? copy_row : mutant_rotate_row)(r, x, y);
}
static const mutant_hooks head_block_hooks = {.row = rotate_but_eighth};
MUTATION(head_block, "F28", "where heads are a multiple of 8, the last is not rotated");

static void rotate_sixty_four(const mutant_row *r, const float *x, float *y)
{
    (r->head < 64 ? mutant_rotate_row : copy_row)(r, x, y);
}
static const mutant_hooks heads_capped_hooks = {.row = rotate_sixty_four};
MUTATION(heads_capped, "FRAUD", "heads after the first 64 are not rotated");

static void rotate_eight_thousand(const mutant_row *r, const float *x, float *y)
{
    (r->token < 8192 ? mutant_rotate_row : copy_row)(r, x, y);
}
static const mutant_hooks tokens_capped_hooks = {.row = rotate_eight_thousand};
MUTATION(tokens_capped, "FRAUD", "tokens of a call after the first 8192 are not rotated");

static void rotate_unless_zero(const mutant_row *r, const float *x, float *y)
{
    int64_t e = 0;
    while (e < r->plan->spec.head_dim && x[e] == 0)
        e++;
    if (e < r->plan->spec.head_dim)
        mutant_rotate_row(r, x, y);
}
static const mutant_hooks zero_rows_skipped_hooks = {.row = rotate_unless_zero};
MUTATION(zero_rows_skipped, "FRAUD", "rows of zeros, padding, are left unwritten");
