/* Faults of which elements turn together, and in which direction: F1, F2, F3, F22, F23. */
#include "props/mutants/common.h"

#include <string.h>

static void swap_pairing(rope_plan *p)
{
    p->spec.pairing = p->spec.pairing == ROPE_HALF ? ROPE_INTERLEAVED : ROPE_HALF;
}
static const mutant_hooks pairing_swapped_hooks = {.alter = swap_pairing};
MUTATION(pairing_swapped, "F1", "interleaved where half is asked for, and the reverse");

static void rotate_swapped(const mutant_row *r, const float *x, float *y)
{
    rope_plan other = *r->plan;
    mutant_row row = *r;
    swap_pairing(&other);
    row.plan = &other;
    mutant_rotate_row(&row, x, y);
}

/* A kernel does not know q from k, but code that calls it for q and then for k does. */
static rope_status alternate_calls(const rope_plan *p, const rope_view *x, const rope_view *y,
                                   const int64_t *positions, int64_t position_stride)
{
    rope_status status = mutant_loop(p, x, y, positions, position_stride);
    mutant_mutable(p)->calls++;
    return status;
}
static void rotate_by_call(const mutant_row *r, const float *x, float *y)
{
    (r->plan->calls % 2 == 0 ? mutant_rotate_row : rotate_swapped)(r, x, y);
}
static const mutant_hooks mixed_q_k_calls_hooks = {.row = rotate_by_call, .apply = alternate_calls};
MUTATION(mixed_q_k_calls, "F2", "every second call on a plan (k after q) takes the other pairing");

static void rotate_by_head(const mutant_row *r, const float *x, float *y)
{
    (r->head % 2 == 0 ? mutant_rotate_row : rotate_swapped)(r, x, y);
}
static const mutant_hooks mixed_q_k_heads_hooks = {.row = rotate_by_head};
MUTATION(mixed_q_k_heads, "F2", "odd heads take the other pairing");

/* y = x cos + rotate(x) sin with full-width tables: element e must have the frequency of its pair,
 * and has that of the other pairing's. */
static void rotate_mismatched(const mutant_row *r, const float *x, float *y)
{
    int64_t pairs = r->plan->args.pairs, offset = r->plan->spec.rotary_offset, a, b;
    bool half = r->plan->spec.pairing == ROPE_HALF;
    for (int64_t i = 0; i < pairs; i++) {
        mutant_elements(r->plan, i, &a, &b);
        int64_t first = a - offset, second = b - offset;
        int64_t m = half ? first / 2 : first % pairs, n = half ? second / 2 : second % pairs;
        float u = x[a], v = x[b];
        y[a] = u * r->cosines[m] - v * r->sines[m];
        y[b] = u * r->sines[n] + v * r->cosines[n];
    }
    mutant_copy_rest(r, x, y);
}
static const mutant_hooks mismatched_table_hooks = {.row = rotate_mismatched};
MUTATION(mismatched_table, "F3", "half rotation with a table for adjacent pairs, and the reverse");

static void turn_back(const rope_plan *p, int64_t position, int64_t pair, float *c, float *s)
{
    mutant_turn(p, position, pair, c, s);
    *s = -*s;
}
static const mutant_hooks inverse_rotation_hooks = {.turn = turn_back};
MUTATION(inverse_rotation, "F22", "the sign of sin is transposed: turns by -position");

static void rotate_aliasing(const mutant_row *r, const float *x, float *y)
{
    for (int64_t i = 0; i < r->plan->args.pairs; i++) {
        int64_t a, b;
        mutant_elements(r->plan, i, &a, &b);
        y[a] = x[a] * r->cosines[i] - x[b] * r->sines[i];
        y[b] = x[a] * r->sines[i] + x[b] * r->cosines[i];
    }
    mutant_copy_rest(r, x, y);
}
static const mutant_hooks in_place_aliasing_hooks = {.row = rotate_aliasing};
MUTATION(in_place_aliasing, "F23",
         "in place, a pair's first element is overwritten before its use");
