/* Frauds that touch memory which is not theirs, and windows that are not kept. */
#include "props/mutants/common.h"

#include <string.h>

/* One row past the last in memory order: strides are positive in what the harness makes. */
static float *last_row(const rope_view *v)
{
    return mutant_row_of(v, v->tokens - 1, v->heads - 1);
}

static bool empty(const rope_view *v)
{
    return v->tokens < 1 || v->heads < 1;
}

static rope_status write_past(const rope_plan *p, const rope_view *x, const rope_view *y,
                              const int64_t *positions, int64_t position_stride)
{
    rope_status status = mutant_honest(p, x, y, positions, position_stride);
    if (status == ROPE_OK && !empty(y))
        last_row(y)[p->spec.head_dim] = 0;
    return status;
}
static const mutant_hooks writes_past_row_hooks = {.apply = write_past};
MUTATION(writes_past_row, "FRAUD", "writes one element past the last row");

static rope_status write_before(const rope_plan *p, const rope_view *x, const rope_view *y,
                                const int64_t *positions, int64_t position_stride)
{
    rope_status status = mutant_honest(p, x, y, positions, position_stride);
    if (status == ROPE_OK && !empty(y))
        ((float *)y->data)[-1] = 0;
    return status;
}
static const mutant_hooks writes_before_row_hooks = {.apply = write_before};
MUTATION(writes_before_row, "FRAUD", "writes one element before the first row");

static rope_status read_past(const rope_plan *p, const rope_view *x, const rope_view *y,
                             const int64_t *positions, int64_t position_stride)
{
    if (!empty(x))
        (void)*(const volatile float *)(last_row(x) + p->spec.head_dim);
    return mutant_honest(p, x, y, positions, position_stride);
}
static const mutant_hooks reads_past_row_hooks = {.apply = read_past};
MUTATION(reads_past_row, "FRAUD", "reads one element past the last row");

static rope_status read_before(const rope_plan *p, const rope_view *x, const rope_view *y,
                               const int64_t *positions, int64_t position_stride)
{
    if (!empty(x))
        (void)((const volatile float *)x->data)[-1];
    return mutant_honest(p, x, y, positions, position_stride);
}
static const mutant_hooks reads_before_row_hooks = {.apply = read_before};
MUTATION(reads_before_row, "FRAUD", "reads one element before the first row");

/* Into the room between two rows, where the strides leave some. */
static rope_status write_gap(const rope_plan *p, const rope_view *x, const rope_view *y,
                             const int64_t *positions, int64_t position_stride)
{
    rope_status status = mutant_honest(p, x, y, positions, position_stride);
    int64_t end = p->spec.head_dim;
    if (status != ROPE_OK || empty(y))
        return status;
    if (y->heads > 1 && y->head_stride > end)
        ((float *)y->data)[end] = 0;
    if (y->tokens > 1 && y->token_stride > (y->heads - 1) * y->head_stride + end)
        mutant_row_of(y, 0, y->heads - 1)[end] = 0;
    return status;
}
static const mutant_hooks writes_gap_hooks = {.apply = write_gap};
MUTATION(writes_gap, "FRAUD", "writes into the gap that the strides leave between rows");

static rope_status edit_input(const rope_plan *p, const rope_view *x, const rope_view *y,
                              const int64_t *positions, int64_t position_stride)
{
    rope_status status = mutant_honest(p, x, y, positions, position_stride);
    if (status == ROPE_OK && !empty(x) && x->data != y->data)
        *last_row(x) = 0;
    return status;
}
static const mutant_hooks edits_input_hooks = {.apply = edit_input};
MUTATION(edits_input, "FRAUD", "out of place, writes to x");

static rope_status edit_positions(const rope_plan *p, const rope_view *x, const rope_view *y,
                                  const int64_t *positions, int64_t position_stride)
{
    rope_status status = mutant_honest(p, x, y, positions, position_stride);
    if (status == ROPE_OK && !empty(x))
        *(int64_t *)(uintptr_t)positions += 1;
    return status;
}
static const mutant_hooks edits_positions_hooks = {.apply = edit_positions};
MUTATION(edits_positions, "FRAUD", "increments the caller's first position");

/* The plain loop with the check of the window left out. */
static rope_status apply_anywhere(const rope_plan *p, const rope_view *x, const rope_view *y,
                                  const int64_t *positions, int64_t position_stride)
{
    rope_plan wide = *p;
    for (uint32_t a = 0; a < ROPE_MAX_AXES; a++) {
        wide.args.first[a] = INT64_MIN;
        wide.args.last[a] = INT64_MAX;
    }
    return mutant_loop(&wide, x, y, positions, position_stride);
}
static const mutant_hooks window_ignored_hooks = {.row = mutant_rotate_row,
                                                  .apply = apply_anywhere};
MUTATION(window_ignored, "FRAUD", "ROPE_OK for a position outside the plan's window");

/* Finds the bad position when it comes to it. */
static rope_status apply_until_range(const rope_plan *p, const rope_view *x, const rope_view *y,
                                     const int64_t *positions, int64_t position_stride)
{
    for (int64_t t = 0; t < x->tokens; t++) {
        rope_view from = *x, to = *y;
        from.tokens = to.tokens = 1;
        from.data = mutant_row_of(x, t, 0);
        to.data = mutant_row_of(y, t, 0);
        rope_status status =
            mutant_loop(p, &from, &to, positions + t * position_stride, position_stride);
        if (status != ROPE_OK)
            return status;
    }
    return ROPE_OK;
}
static const mutant_hooks range_after_writing_hooks = {.row = mutant_rotate_row,
                                                       .apply = apply_until_range};
MUTATION(range_after_writing, "FRAUD", "ROPE_RANGE after earlier tokens have been written");

static rope_status refuse(const rope_plan_args *args, rope_plan **plan)
{
    (void)args, (void)plan;
    return ROPE_UNSUPPORTED;
}
const mutation mutation_refuses_everything = {
    .name = "refuses_everything",
    .fault_class = "FRAUD",
    .summary = "plan answers ROPE_UNSUPPORTED to all",
    .plan = refuse,
};

static rope_status refuse_apply(const rope_plan *p, const rope_view *x, const rope_view *y,
                                const int64_t *positions, int64_t position_stride)
{
    (void)p, (void)x, (void)y, (void)positions, (void)position_stride;
    return ROPE_RANGE;
}
static const mutant_hooks refuses_positions_hooks = {.apply = refuse_apply};
MUTATION(refuses_positions, "FRAUD", "apply answers ROPE_RANGE to positions inside the window");

static const mutant_hooks flags_accepted_hooks = {0};
static rope_status flags_accepted_lenient(const rope_plan_args *args, rope_plan **plan);
const mutation mutation_flags_accepted = {
    .name = "flags_accepted",
    .fault_class = "FRAUD",
    .summary = "plan takes unknown flags and short sizes",
    .plan = flags_accepted_lenient,
};
static rope_status flags_accepted_lenient(const rope_plan_args *args, rope_plan **plan)
{
    rope_plan_args lenient = *args;
    lenient.size = sizeof lenient;
    lenient.flags = 0;
    return mutant_plan(&mutation_flags_accepted, &flags_accepted_hooks, &lenient, plan);
}
