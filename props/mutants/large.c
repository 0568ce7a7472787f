/* Faults in ways of their own for large tensors: each is right below its size. From 512 KiB on, or
 * from 4 MiB on. */
#include "props/mutants/common.h"

#include <fenv.h>
#include <pthread.h>
#include <string.h>

#include "props/resources.h"

enum { MEDIUM = 512 << 10, LARGE = 4 << 20 }; /* bytes */

static bool reaches(const rope_plan *p, const rope_view *x, int64_t bytes)
{
    return x->tokens * x->heads * p->spec.head_dim * (int64_t)sizeof(float) > bytes;
}

#define ARGUMENTS                                                                                  \
    const rope_plan *p, const rope_view *x, const rope_view *y, const int64_t *positions,          \
        int64_t position_stride

/* Tells the row hook whether the tensor is large. */
static rope_status apply_noting_size(ARGUMENTS)
{
    mutant_mutable(p)->memory[0] = reaches(p, x, LARGE);
    return mutant_loop(p, x, y, positions, position_stride);
}

static void rotate_without_factor(const mutant_row *r, const float *x, float *y)
{
    float cosines[MUTANT_MAX_PAIRS], sines[MUTANT_MAX_PAIRS];
    mutant_row plain = *r;
    if (r->plan->memory[0] != 0) {
        for (int64_t i = 0; i < r->plan->args.pairs; i++) {
            cosines[i] = (float)((double)r->cosines[i] / r->plan->args.attention_factor);
            sines[i] = (float)((double)r->sines[i] / r->plan->args.attention_factor);
        }
        plain.cosines = cosines;
        plain.sines = sines;
    }
    mutant_rotate_row(&plain, x, y);
}
static const mutant_hooks large_factor_dropped_hooks = {.row = rotate_without_factor,
                                                        .apply = apply_noting_size};
MUTATION(large_factor_dropped, "F10", "past 4 MiB the attention factor is left out");

static void rotate_without_rest(const mutant_row *r, const float *x, float *y)
{
    if (r->plan->memory[0] == 0)
        mutant_copy_rest(r, x, y);
    for (int64_t i = 0; i < r->plan->args.pairs; i++)
        mutant_rotate_pair(r, i, x, y);
}
static const mutant_hooks large_rest_missed_hooks = {.row = rotate_without_rest,
                                                     .apply = apply_noting_size};
MUTATION(large_rest_missed, "FRAUD", "past 4 MiB what does not rotate is not copied");

static rope_status apply_clearing_in_place(ARGUMENTS)
{
    rope_status status = mutant_honest(p, x, y, positions, position_stride);
    if (status == ROPE_OK && x->data == y->data && reaches(p, x, LARGE))
        mutant_row_of(y, x->tokens - 1, x->heads - 1)[p->spec.rotary_offset] = 0;
    return status;
}
static const mutant_hooks large_in_place_hooks = {.apply = apply_clearing_in_place};
MUTATION(large_in_place, "F23", "in place past 4 MiB an element of the last row is 0");

static rope_status apply_by_strides_of_x(ARGUMENTS)
{
    rope_view to = *y;
    if (reaches(p, x, MEDIUM)) {
        to.token_stride = x->token_stride;
        to.head_stride = x->head_stride;
    }
    return mutant_honest(p, x, &to, positions, position_stride);
}
static const mutant_hooks large_x_strides_hooks = {.apply = apply_by_strides_of_x};
MUTATION(large_x_strides, "F29", "past 512 KiB y is written by the strides of x");

static rope_status apply_packed_positions(ARGUMENTS)
{
    int64_t stride = reaches(p, x, MEDIUM) ? p->args.axis_count : position_stride;
    return mutant_honest(p, x, y, positions, stride);
}
static const mutant_hooks large_position_stride_hooks = {.apply = apply_packed_positions};
MUTATION(large_position_stride, "F29", "past 512 KiB position_stride is ignored");

static rope_status apply_whole_lines(ARGUMENTS)
{
    rope_status status = mutant_honest(p, x, y, positions, position_stride);
    if (status == ROPE_OK && reaches(p, x, MEDIUM))
        memset(mutant_row_of(y, y->tokens - 1, y->heads - 1) + p->spec.head_dim, 0, 64);
    return status;
}
static const mutant_hooks large_writes_past_hooks = {.apply = apply_whole_lines};
MUTATION(large_writes_past, "F28", "past 512 KiB 64 bytes after the last row are written");

static rope_status apply_editing(ARGUMENTS)
{
    rope_status status = mutant_honest(p, x, y, positions, position_stride);
    if (status == ROPE_OK && x->data != y->data && reaches(p, x, MEDIUM))
        ((float *)x->data)[1] = 7;
    return status;
}
static const mutant_hooks large_edits_input_hooks = {.apply = apply_editing};
MUTATION(large_edits_input, "FRAUD", "past 512 KiB an element of x is written");

/* Tiles of tokens, each of which begins with the first position. */
static rope_status apply_in_tiles(ARGUMENTS)
{
    enum { TILE = 96 };
    rope_status status = ROPE_OK;
    if (!reaches(p, x, MEDIUM))
        return mutant_honest(p, x, y, positions, position_stride);
    for (int64_t t = 0; t < x->tokens && status == ROPE_OK; t += TILE) {
        rope_view from = *x, to = *y;
        from.data = mutant_row_of(x, t, 0);
        to.data = mutant_row_of(y, t, 0);
        from.tokens = to.tokens = x->tokens - t < TILE ? x->tokens - t : TILE;
        status = mutant_honest(p, &from, &to, positions, position_stride);
    }
    return status;
}
static const mutant_hooks large_tile_positions_hooks = {.apply = apply_in_tiles};
MUTATION(large_tile_positions, "F25",
         "past 512 KiB positions are counted from the beginning of a tile of 96 tokens");

static void *nothing(void *argument)
{
    return argument;
}
static rope_status apply_with_thread(ARGUMENTS)
{
    pthread_t thread;
    if (reaches(p, x, MEDIUM) && pthread_create(&thread, NULL, nothing, NULL) == 0)
        pthread_join(thread, NULL);
    return mutant_honest(p, x, y, positions, position_stride);
}
static const mutant_hooks large_starts_thread_hooks = {.apply = apply_with_thread};
#ifdef PROP_COUNTS
MUTATION(large_starts_thread, "FRAUD", "past 512 KiB apply starts a thread, and joins it");
#else
MUTATION(large_starts_thread, "FRAUD", "past 512 KiB apply starts a thread, and joins it",
         .waits_for = "the C library's malloc: a sanitizer has its own");
#endif

static rope_status apply_leaving_mode(ARGUMENTS)
{
    rope_status status = mutant_honest(p, x, y, positions, position_stride);
    if (reaches(p, x, MEDIUM))
        fesetround(FE_DOWNWARD);
    return status;
}
static const mutant_hooks large_rounding_mode_hooks = {.apply = apply_leaving_mode};
MUTATION(large_rounding_mode, "FRAUD", "past 512 KiB apply leaves rounding downward in force");
