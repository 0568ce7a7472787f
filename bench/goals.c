#include "bench/goals.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/buffers.h"
#include "bench/floors.h"
#include "bench/gbench_shim.h"
#include "bench/goal.h"
#include "impl/registry.h"
#include "impl/spec/spec.h"
#include "scripts/front/front.h"
#include "scripts/front/rows.h"

enum { ROUNDS = 30 };

/* ---- one side, set up ---- */

typedef struct work {
    const rope_kernel *kernel;
    bench_act act;
    rope_dtype dtype;
    rope_spec spec;
    rope_frequencies frequencies;
    rope_plan *plan;
    bench_buffers buffers;
    rope_view x, y;
    int64_t *positions;
    double elements; /* that rotate, in one call */
    rope_status status;
} work;

static void run_work(void *context)
{
    work *w = context;
    if (w->act == BENCH_ACT_SCALE)
        bench_scale_in_place(w->dtype, w->buffers.x, w->buffers.bytes);
    else if (w->act == BENCH_ACT_COPY)
        bench_copy(w->buffers.y, w->buffers.x, w->buffers.bytes);
    else
        w->status |= w->kernel->apply(w->plan, &w->x, &w->y, w->positions, 1);
}

static void work_free(work *w)
{
    if (w->plan != NULL)
        w->kernel->destroy(w->plan);
    rope_frequencies_free(&w->frequencies);
    rope_spec_free(&w->spec);
    free(w->positions);
}

static void set_positions(work *w, int64_t tokens, bench_order how)
{
    uint64_t state = 88172645463325252u; /* xorshift64 */
    for (int64_t t = 0; t < tokens; t++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        w->positions[t] = how == BENCH_ORDER_RANDOM ? (int64_t)(state >> 44)
                                                    : 131071 - tokens + 1 + t; /* below 2^20 */
    }
}

/* Bytes of a goal's tensors. Where the sides' head_dims differ, tokens make up for it. */
static size_t goal_bytes(const bench_goal *g)
{
    return (size_t)(g->tokens * g->heads * g->head_dim) * rope_dtype_bytes(g->dtype);
}

/* Works in these buffers. */
static bool work_new(const bench_goal *g, const bench_side *s, bench_buffers buffers, work *w,
                     rope_error *error)
{
    int64_t head_dim = s->head_dim > 0 ? s->head_dim : g->head_dim;
    int64_t tokens = g->tokens * g->head_dim / head_dim;
    char text[96];
    *w = (work){.act = s->act, .dtype = g->dtype, .buffers = buffers};
    snprintf(text, sizeof text, "head_dim=%lld,base=10000,pairing=%s", (long long)head_dim,
             rope_pairing_name(g->pairing));
    size_t elements = (size_t)(tokens * g->heads * head_dim);
    w->positions = malloc((size_t)tokens * sizeof *w->positions);
    if (w->positions == NULL)
        return rope_fail(error, "out of memory");
    set_positions(w, tokens, s->order);
    w->elements = (double)elements;
    if (s->act == BENCH_ACT_SCALE || s->act == BENCH_ACT_COPY)
        return true;
    w->kernel = rope_registry_find(s->kernel);
    if (w->kernel == NULL)
        return rope_fail(error, "internal: no kernel %s", s->kernel);
    if (!rope_spec_parse(text, &w->spec, error) ||
        !rope_spec_resolve(&w->spec, ROPE_TRUTH_EXACT, &w->frequencies, error))
        return false;
    int64_t last = s->order == BENCH_ORDER_RANDOM ? (1 << 20) - 1 : 131071;
    rope_plan_args args =
        rope_spec_plan_args(&w->spec, &w->frequencies, g->dtype,
                            s->order == BENCH_ORDER_RANDOM ? 0 : 131071 - tokens + 1, last);
    if (w->kernel->plan(&args, &w->plan) != ROPE_OK)
        return rope_fail(error, "%s: cannot plan %s", s->kernel, text);
    int64_t heads = s->act == BENCH_ACT_GENERATE ? 0 : g->heads;
    w->x = (rope_view){w->buffers.x, tokens, heads, g->heads * head_dim, head_dim};
    w->y = w->x;
    if (!g->in_place)
        w->y.data = w->buffers.y;
    return true;
}

/* ---- measuring ---- */

static bool lacks(const bench_side *s)
{
    const rope_kernel *kernel = s->kernel != NULL ? rope_registry_find(s->kernel) : NULL;
    return kernel != NULL && (kernel->cpu_features & ~rope_cpu_features()) != 0;
}

typedef struct contest {
    const bench_goal *g;
    work *over, *under;
} contest;

static bool attempt(void *context, bench_interval *ratio, double *nanoseconds, rope_error *error)
{
    const contest *c = context;
    double times[2 * ROUNDS], a[ROUNDS], b[ROUNDS];
    const bench_subject subjects[2] = {{"over", run_work, c->over}, {"under", run_work, c->under}};
    if (!bench_gbench_rounds(subjects, 2, ROUNDS, 0.003, times))
        return rope_fail(error, "Google Benchmark failed on %s", c->g->name);
    if (c->over->status != ROPE_OK || c->under->status != ROPE_OK)
        return rope_fail(error, "%s: a kernel refused", c->g->name);
    for (int r = 0; r < ROUNDS; r++) {
        a[r] = times[2 * r] / c->over->elements;
        b[r] = times[2 * r + 1] / c->under->elements;
    }
    *ratio = bench_paired_ratio(a, b, ROUNDS);
    *nanoseconds = bench_median(a, ROUNDS).median + bench_median(b, ROUNDS).median;
    return true;
}

/* Both sides work in the same buffers: in two pairs of them, what pages of memory each was given
 * shifts the ratio of tensors past the caches by a fifth and more. */
static bool measure(const bench_goal *g, bench_interval *ratio, rope_error *error)
{
    work over = {0}, under = {0};
    bench_buffers buffers;
    if (!bench_buffers_new(goal_bytes(g), &buffers, error))
        return false;
    size_t elements = goal_bytes(g) / rope_dtype_bytes(g->dtype);
    bench_fill(g->dtype, buffers.x, elements, 1);
    bench_fill(g->dtype, buffers.y, elements, 2);
    bool good = work_new(g, &g->over, buffers, &over, error) &&
                work_new(g, &g->under, buffers, &under, error);
    contest c = {g, &over, &under};
    good = good && bench_goal_settle(g, attempt, &c, ratio, error);
    work_free(&over);
    work_free(&under);
    bench_buffers_free(&buffers);
    return good;
}

static void write_goal(rows_writer *w, const bench_goal *g, bench_interval ratio, const char *met)
{
    rows_text(w, g->name);
    rows_number(w, ratio.median);
    rows_number(w, ratio.low);
    rows_number(w, ratio.high);
    rows_number(w, g->limit);
    rows_text(w, met);
    rows_end(w);
}

bool bench_goals(const char *path, const char *text, bool *all_met, rope_error *error)
{
    size_t count;
    bench_goal *goals = bench_goals_list(&count);
    if (goals == NULL)
        return rope_fail(error, "out of memory");
    count = bench_goals_select(goals, count, text);
    rows_writer *w = NULL;
    if (count == 0)
        rope_fail(error,
                  "no goal's name contains '%.100s', expected a part of one, such as apply_half "
                  "(docs/kernels.md)",
                  text);
    else
        w = rows_create(path, "goal,figure,low,high,limit,met", error);
    if (w == NULL) {
        free(goals);
        return false;
    }
    bool good = true;
    front_progress progress;
    front_progress_begin(&progress, "bench-goals", (double)count);
    *all_met = true;
    for (size_t i = 0; good && i < count; i++) {
        const bench_goal *g = &goals[i];
        bench_interval ratio = {NAN, NAN, NAN};
        if (lacks(&g->over) || lacks(&g->under)) {
            write_goal(w, g, ratio, "skip");
            continue;
        }
        good = measure(g, &ratio, error);
        bool met = bench_goal_met(g, ratio);
        if (good)
            write_goal(w, g, ratio, met ? "yes" : "no");
        *all_met &= met;
        front_progress_update(&progress, (double)(i + 1));
    }
    front_progress_end(&progress);
    free(goals);
    if (!good) {
        rows_abandon(w);
        return false;
    }
    return rows_commit(w, error);
}
