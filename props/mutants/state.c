/* Faults of state between calls and plans: F25, and frauds. Static state is what they are about. */
#include "props/mutants/common.h"

#include <string.h>

/* A cache keyed by the number of tokens alone: a later call of as many tokens turns from where the
 * first one did. memory: {tokens, first position}. */
static int64_t from_cached_start(const rope_plan *p, int64_t position)
{
    return position + p->memory[2];
}
static rope_status apply_stale(const rope_plan *p, const rope_view *x, const rope_view *y,
                               const int64_t *positions, int64_t position_stride)
{
    rope_plan *m = mutant_mutable(p);
    bool cached = m->calls > 0 && m->memory[0] == x->tokens;
    if (x->tokens > 0 && !cached) {
        m->memory[0] = x->tokens;
        m->memory[1] = positions[0];
    }
    m->memory[2] = cached && x->tokens > 0 ? m->memory[1] - positions[0] : 0;
    m->calls++;
    return mutant_loop(p, x, y, positions, position_stride);
}
static const mutant_hooks stale_offset_hooks = {.position = from_cached_start,
                                                .apply = apply_stale};
MUTATION(stale_offset, "F25", "a second call of as many tokens reuses the first call's offset");

/* A cache of frequencies for the whole process, keyed by the number of pairs. */
static void reuse_frequencies(rope_plan *p)
{
    static double cache[MUTANT_MAX_PAIRS];
    static int64_t cached;
    size_t bytes = (size_t)p->args.pairs * sizeof *cache;
    if (cached != p->args.pairs) {
        memcpy(cache, p->hi, bytes);
        cached = p->args.pairs;
    } else if (memcmp(cache, p->hi, bytes) != 0) {
        memcpy(p->hi, cache, bytes);
        memset(p->lo, 0, bytes);
    }
}
static const mutant_hooks plan_cached_hooks = {.alter = reuse_frequencies};
MUTATION(plan_cached, "F25", "a plan takes the frequencies of an earlier one of as many pairs");

/* Frequencies of the process, set by every plan: right while all plans have the same. */
static double latest_hi[MUTANT_MAX_PAIRS], latest_lo[MUTANT_MAX_PAIRS];
static void set_latest(rope_plan *p)
{
    memcpy(latest_hi, p->hi, (size_t)p->args.pairs * sizeof *latest_hi);
    memcpy(latest_lo, p->lo, (size_t)p->args.pairs * sizeof *latest_lo);
}
static void turn_by_latest(const rope_plan *p, int64_t position, int64_t pair, float *c, float *s)
{
    rope_plan like = *p;
    like.hi = latest_hi;
    like.lo = latest_lo;
    mutant_turn(&like, position, pair, c, s);
}
static const mutant_hooks latest_plan_hooks = {.alter = set_latest, .turn = turn_by_latest};
MUTATION(latest_plan, "F25", "every plan turns by the frequencies of the one made last");

/* The host's spec and arguments, which end with the call of plan. */
static const rope_plan_args *lent;
static rope_status plan_on_loan(const rope_plan_args *args, rope_plan **plan);
static rope_status apply_on_loan(const rope_plan *p, const rope_view *x, const rope_view *y,
                                 const int64_t *positions, int64_t position_stride)
{
    rope_plan like = *p;
    like.args.attention_factor = lent->attention_factor;
    return mutant_loop(&like, x, y, positions, position_stride);
}
static const mutant_hooks arguments_kept_hooks = {.apply = apply_on_loan};
const mutation mutation_arguments_kept = {.name = "arguments_kept",
                                          .fault_class = "FRAUD",
                                          .summary = "apply looks at the arguments of plan again",
                                          .plan = plan_on_loan};
static rope_status plan_on_loan(const rope_plan_args *args, rope_plan **plan)
{
    lent = args;
    return mutant_plan(&mutation_arguments_kept, &arguments_kept_hooks, args, plan);
}

/* The 100th call on a plan leaves a zero; or a later one. */
static rope_status apply_until(int64_t calls, const rope_plan *p, const rope_view *x,
                               const rope_view *y, const int64_t *positions,
                               int64_t position_stride)
{
    rope_status status = mutant_honest(p, x, y, positions, position_stride);
    if (++mutant_mutable(p)->calls >= calls && status == ROPE_OK && x->tokens > 0 && x->heads > 0)
        *mutant_row_of(y, 0, 0) = 0;
    return status;
}
static rope_status apply_hundred(const rope_plan *p, const rope_view *x, const rope_view *y,
                                 const int64_t *positions, int64_t position_stride)
{
    return apply_until(100, p, x, y, positions, position_stride);
}
static const mutant_hooks hundredth_call_hooks = {.apply = apply_hundred};
MUTATION(hundredth_call, "FRAUD", "from the 100th call on a plan, the first element is 0");

static rope_status apply_three_hundred(const rope_plan *p, const rope_view *x, const rope_view *y,
                                       const int64_t *positions, int64_t position_stride)
{
    return apply_until(300, p, x, y, positions, position_stride);
}
static const mutant_hooks late_call_hooks = {.apply = apply_three_hundred};
MUTATION(late_call, "FRAUD", "from the 300th call on a plan, the first element is 0");

/* What calls share that run at once. cos and sin of a token in static memory, to save the stack. */
static void rotate_by_static(const mutant_row *r, const float *x, float *y)
{
    static float cosines[MUTANT_MAX_PAIRS], sines[MUTANT_MAX_PAIRS];
    size_t bytes = (size_t)r->plan->args.pairs * sizeof *cosines;
    if (r->head == 0) {
        memcpy(cosines, r->cosines, bytes);
        memcpy(sines, r->sines, bytes);
    }
    mutant_row row = *r;
    row.cosines = cosines;
    row.sines = sines;
    mutant_rotate_row(&row, x, y);
}
static const mutant_hooks scratch_static_hooks = {.row = rotate_by_static};
MUTATION(scratch_static, "FRAUD", "keeps a token's cos and sin in static memory: not reentrant");

/* The same where the stack is thought too small, or heads to be worth it. */
static void rotate_long_by_static(const mutant_row *r, const float *x, float *y)
{
    (r->plan->args.pairs > 64 ? rotate_by_static : mutant_rotate_row)(r, x, y);
}
static const mutant_hooks scratch_static_long_hooks = {.row = rotate_long_by_static};
MUTATION(scratch_static_long, "FRAUD", "not reentrant for more than 64 pairs: static cos and sin",
         .example = "head_dim=520,base=10000,pairing=half");

static void rotate_many_by_static(const mutant_row *r, const float *x, float *y)
{
    (r->heads >= 4 ? rotate_by_static : mutant_rotate_row)(r, x, y);
}
static const mutant_hooks scratch_static_many_hooks = {.row = rotate_many_by_static};
MUTATION(scratch_static_many, "FRAUD", "not reentrant for 4 heads and more: static cos and sin");

/* The token's position in the plan. */
static void rotate_by_plan(const mutant_row *r, const float *x, float *y)
{
    rope_plan *m = mutant_mutable(r->plan);
    float cosines[MUTANT_MAX_PAIRS], sines[MUTANT_MAX_PAIRS];
    if (r->head == 0)
        memcpy(m->memory, r->position, sizeof *m->memory);
    for (int64_t i = 0; i < m->args.pairs; i++)
        if (r->plan->args.axis_count == 1)
            mutant_turn(r->plan, m->memory[0], i, &cosines[i], &sines[i]);
    mutant_row row = *r;
    if (r->plan->args.axis_count == 1) {
        row.cosines = cosines;
        row.sines = sines;
    }
    mutant_rotate_row(&row, x, y);
}
static const mutant_hooks scratch_in_plan_hooks = {.row = rotate_by_plan};
MUTATION(scratch_in_plan, "FRAUD", "keeps the token's position in the plan: not reentrant");

/* The row, so that y may be x. */
static void rotate_copy(const mutant_row *r, const float *x, float *y)
{
    static float copy[4096];
    size_t bytes = (size_t)r->plan->spec.head_dim * sizeof *copy;
    if (bytes > sizeof copy) {
        mutant_rotate_row(r, x, y);
        return;
    }
    memcpy(copy, x, bytes);
    mutant_rotate_row(r, copy, y);
}
static const mutant_hooks row_copied_to_static_hooks = {.row = rotate_copy};
MUTATION(row_copied_to_static, "FRAUD", "copies each row into static memory: not reentrant");

/* Writes what it computed the time before; the first time, the right thing. */
static rope_status apply_late(const rope_plan *p, const rope_view *x, const rope_view *y,
                              const int64_t *positions, int64_t position_stride)
{
    static float before[256];
    static bool known;
    float now[256];
    rope_status status = mutant_honest(p, x, y, positions, position_stride);
    if (status != ROPE_OK || x->tokens < 1 || x->heads < 1)
        return status;
    size_t bytes = (size_t)p->spec.head_dim * sizeof *now;
    bytes = bytes < sizeof now ? bytes : sizeof now;
    memcpy(now, mutant_row_of(y, 0, 0), bytes);
    if (known)
        memcpy(mutant_row_of(y, 0, 0), before, bytes);
    memcpy(before, now, bytes);
    known = true;
    return status;
}
static const mutant_hooks previous_output_hooks = {.apply = apply_late};
MUTATION(previous_output, "FRAUD", "the first row is the previous call's");

/* Products and sum inside an fma: as good as the original, and not the same bits. */
static void rotate_fma(const mutant_row *r, const float *x, float *y);
static void rotate_by_parity(const mutant_row *r, const float *x, float *y)
{
    (r->plan->calls % 2 == 0 ? mutant_rotate_row : rotate_fma)(r, x, y);
}
static rope_status apply_counting(const rope_plan *p, const rope_view *x, const rope_view *y,
                                  const int64_t *positions, int64_t position_stride)
{
    static int64_t calls;
    mutant_mutable(p)->calls = calls++;
    return mutant_loop(p, x, y, positions, position_stride);
}
static const mutant_hooks non_deterministic_hooks = {.row = rotate_by_parity,
                                                     .apply = apply_counting};
MUTATION(non_deterministic, "FRAUD", "every second call rounds otherwise, within the contract");

/* A fast path for what a prompt looks like: more than 4 tokens are taken as consecutive. */
static rope_status apply_batch(const rope_plan *p, const rope_view *x, const rope_view *y,
                               const int64_t *positions, int64_t position_stride)
{
    int64_t axes = (int64_t)p->args.axis_count, consecutive[256 * ROPE_MAX_AXES];
    if (x->tokens <= 4 || x->tokens > 256)
        return mutant_loop(p, x, y, positions, position_stride);
    if (!mutant_in_window(p, positions, x->tokens, position_stride))
        return ROPE_RANGE;
    for (int64_t t = 0; t < x->tokens; t++)
        for (int64_t a = 0; a < axes; a++) {
            int64_t last = p->args.last[a], next = positions[a] + t;
            consecutive[t * axes + a] = next < last ? next : last;
        }
    return mutant_loop(p, x, y, consecutive, axes);
}
static const mutant_hooks batch_dependent_hooks = {.row = mutant_rotate_row, .apply = apply_batch};
MUTATION(batch_dependent, "FRAUD", "more than 4 tokens are taken to have consecutive positions");

static void rotate_fma(const mutant_row *r, const float *x, float *y)
{
    for (int64_t i = 0; i < r->plan->args.pairs; i++) {
        int64_t a, b;
        mutant_elements(r->plan, i, &a, &b);
        float c = r->cosines[i], s = r->sines[i], u = x[a], v = x[b];
        y[a] = __builtin_fmaf(u, c, -(v * s));
        y[b] = __builtin_fmaf(u, s, v * c);
    }
    mutant_copy_rest(r, x, y);
}
