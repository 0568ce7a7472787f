/* Frauds that write something else than the rotation. */
#include "props/mutants/common.h"

#include <math.h>
#include <string.h>

static void copy_row(const mutant_row *r, const float *x, float *y)
{
    if (x != y)
        memcpy(y, x, (size_t)r->plan->spec.head_dim * sizeof *y);
}
static const mutant_hooks identity_hooks = {.row = copy_row};
MUTATION(identity, "FRAUD", "y = x");

static void fill(const mutant_row *r, float *y, float value)
{
    for (int64_t i = 0; i < r->plan->spec.head_dim; i++)
        y[i] = value;
}
static void fill_zero(const mutant_row *r, const float *x, float *y)
{
    (void)x;
    fill(r, y, 0);
}
static const mutant_hooks zeros_hooks = {.row = fill_zero};
MUTATION(zeros, "FRAUD", "y = 0");

static void fill_half(const mutant_row *r, const float *x, float *y)
{
    (void)x;
    fill(r, y, 0.5f);
}
static const mutant_hooks constant_hooks = {.row = fill_half};
MUTATION(constant, "FRAUD", "y = 0.5");

static void fill_nan(const mutant_row *r, const float *x, float *y)
{
    (void)x;
    fill(r, y, NAN);
}
static const mutant_hooks nan_returned_hooks = {.row = fill_nan};
MUTATION(nan_returned, "FRAUD", "y = NaN");

static void rotate_one_nan(const mutant_row *r, const float *x, float *y)
{
    int64_t a, b;
    mutant_rotate_row(r, x, y);
    mutant_elements(r->plan, r->plan->args.pairs - 1, &a, &b);
    if (r->position[0] % 64 == 63)
        y[b] = NAN;
}
static const mutant_hooks nan_seldom_hooks = {.row = rotate_one_nan};
MUTATION(nan_seldom, "FRAUD", "the last rotated element is NaN at one position in 64");

static rope_status do_nothing(const rope_plan *p, const rope_view *x, const rope_view *y,
                              const int64_t *positions, int64_t position_stride)
{
    (void)y;
    return mutant_in_window(p, positions, x->tokens, position_stride) ? ROPE_OK : ROPE_RANGE;
}
static const mutant_hooks writes_nothing_hooks = {.apply = do_nothing};
MUTATION(writes_nothing, "FRAUD", "apply returns ROPE_OK and writes nothing");

/* One vector of two pairs is abandoned for a NaN in either. */
static void spread_nan(const mutant_row *r, const float *x, float *y)
{
    int64_t pairs = r->plan->args.pairs, a, b;
    bool bad[MUTANT_MAX_PAIRS];
    for (int64_t i = 0; i < pairs; i++) {
        mutant_elements(r->plan, i, &a, &b);
        bad[i] = isnan(x[a]) || isnan(x[b]);
    }
    mutant_rotate_row(r, x, y);
    for (int64_t i = 0; i < pairs; i++) {
        mutant_elements(r->plan, i, &a, &b);
        if ((i ^ 1) < pairs && bad[i ^ 1])
            y[a] = y[b] = NAN;
    }
}
static const mutant_hooks nan_spreads_hooks = {.row = spread_nan};
MUTATION(nan_spreads, "FRAUD", "a NaN spreads to the neighbouring pair");

static void swallow_nan(const mutant_row *r, const float *x, float *y)
{
    mutant_rotate_row(r, x, y);
    for (int64_t i = 0; i < r->plan->args.pairs; i++) {
        int64_t a, b;
        mutant_elements(r->plan, i, &a, &b);
        y[a] = isnan(y[a]) ? 0 : y[a];
        y[b] = isnan(y[b]) ? 0 : y[b];
    }
}
static const mutant_hooks nan_swallowed_hooks = {.row = swallow_nan};
MUTATION(nan_swallowed, "FRAUD", "NaN becomes 0");

/* Saturates, as quantised pipelines do. */
static void saturate(const mutant_row *r, const float *x, float *y)
{
    mutant_rotate_row(r, x, y);
    for (int64_t i = 0; i < r->plan->args.pairs; i++) {
        int64_t a, b;
        mutant_elements(r->plan, i, &a, &b);
        y[a] = fminf(fmaxf(y[a], -65504), 65504);
        y[b] = fminf(fmaxf(y[b], -65504), 65504);
    }
}
static const mutant_hooks saturates_hooks = {.row = saturate};
MUTATION(saturates, "FRAUD", "results clamped to the range of f16");

#define PARTIAL "head_dim=80,rotary_dim=32,base=10000,pairing=half"

static void rotate_only(const mutant_row *r, const float *x, float *y)
{
    for (int64_t i = 0; i < r->plan->args.pairs; i++)
        mutant_rotate_pair(r, i, x, y);
}
static const mutant_hooks rest_not_copied_hooks = {.row = rotate_only};
MUTATION(rest_not_copied, "FRAUD", "out of place, elements that do not rotate are not copied",
         .example = PARTIAL);

static void rest_through(const mutant_row *r, const float *x, float *y, bool cleared)
{
    int64_t offset = r->plan->spec.rotary_offset, end = offset + 2 * r->plan->args.pairs;
    for (int64_t i = 0; i < r->plan->spec.head_dim; i++)
        if (i < offset || i >= end)
            y[i] = cleared ? 0 : x[i] + 0.0f;
    for (int64_t i = 0; i < r->plan->args.pairs; i++)
        mutant_rotate_pair(r, i, x, y);
}
static void clear_rest(const mutant_row *r, const float *x, float *y)
{
    rest_through(r, x, y, true);
}
static const mutant_hooks rest_cleared_hooks = {.row = clear_rest};
MUTATION(rest_cleared, "FRAUD", "elements that do not rotate become 0", .example = PARTIAL);

/* x + 0 turns -0 into 0 and a signalling NaN into a quiet one. */
static void add_zero_to_rest(const mutant_row *r, const float *x, float *y)
{
    rest_through(r, x, y, false);
}
static const mutant_hooks rest_not_bitwise_hooks = {.row = add_zero_to_rest};
MUTATION(rest_not_bitwise, "FRAUD", "elements that do not rotate are copied as x + 0: -0 is lost",
         .example = PARTIAL);

/* Right for the unit vectors that a lazy test sends. */
static void rotate_unit_vectors(const mutant_row *r, const float *x, float *y)
{
    for (int64_t i = 0; i < r->plan->args.pairs; i++) {
        int64_t a, b;
        mutant_elements(r->plan, i, &a, &b);
        float u = x[a], v = x[b];
        bool unit = (u == 0 || v == 0) && fabsf(u + v) == 1;
        mutant_rotate_pair(r, i, x, y);
        if (!unit) {
            y[a] = u;
            y[b] = v;
        }
    }
    mutant_copy_rest(r, x, y);
}
static const mutant_hooks unit_vectors_only_hooks = {.row = rotate_unit_vectors};
MUTATION(unit_vectors_only, "FRAUD", "rotates (1,0) and (0,1) only");

/* Tame data, all positive and about 1e-2, pass without the second term. */
static void drop_term(const mutant_row *r, const float *x, float *y)
{
    for (int64_t i = 0; i < r->plan->args.pairs; i++) {
        int64_t a, b;
        mutant_elements(r->plan, i, &a, &b);
        float u = x[a], v = x[b];
        mutant_rotate_pair(r, i, x, y);
        if (fabsf(v) > 0x1p10f * fabsf(u))
            y[a] = u * r->cosines[i];
    }
    mutant_copy_rest(r, x, y);
}
static const mutant_hooks term_dropped_hooks = {.row = drop_term};
MUTATION(term_dropped, "FRAUD", "drops v sin where v is 1024 times u");
