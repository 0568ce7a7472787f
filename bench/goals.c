#include "bench/goals.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/buffers.h"
#include "bench/floors.h"
#include "bench/gbench_shim.h"
#include "bench/statistics.h"
#include "impl/registry.h"
#include "impl/spec/spec.h"
#include "scripts/front/front.h"
#include "scripts/front/rows.h"

/* What one side of a goal runs. */
typedef enum act {
    APPLY = 0,    /* the kernel, as the shape says */
    GENERATE = 1, /* the kernel over no heads: cos and sin alone */
    SCALE = 2,    /* the floor: an in-place scale of the same bytes */
    COPY = 3,     /* the floor: memcpy of the same bytes */
} act;

typedef enum order {
    CONSECUTIVE = 0, /* positions that end at 131071 */
    RANDOM = 1,      /* random positions below 2^20 */
} order;

typedef struct side {
    act act;
    const char *kernel;
    order order;
    int64_t head_dim; /* 0: the goal's own */
} side;

/* figure = time(over) / time(under), per rotated element where head_dims differ. */
typedef struct goal {
    char name[64];
    side over, under;
    rope_pairing pairing;
    rope_dtype dtype;
    int64_t head_dim, heads, tokens;
    bool in_place;
    bool at_least; /* the limit is to be reached from above, else to stay below */
    double limit;
} goal;

enum { ROUNDS = 30 };

/* ---- one side, set up ---- */

typedef struct work {
    const rope_kernel *kernel;
    act act;
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
    if (w->act == SCALE)
        bench_scale_in_place(w->dtype, w->buffers.x, w->buffers.bytes);
    else if (w->act == COPY)
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

static void set_positions(work *w, int64_t tokens, order how)
{
    uint64_t state = 88172645463325252u; /* xorshift64 */
    for (int64_t t = 0; t < tokens; t++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        w->positions[t] =
            how == RANDOM ? (int64_t)(state >> 44) : 131071 - tokens + 1 + t; /* below 2^20 */
    }
}

/* Bytes of a goal's tensors. Where the sides' head_dims differ, tokens make up for it. */
static size_t goal_bytes(const goal *g)
{
    return (size_t)(g->tokens * g->heads * g->head_dim) * rope_dtype_bytes(g->dtype);
}

/* Works in these buffers. */
static bool work_new(const goal *g, const side *s, bench_buffers buffers, work *w,
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
    if (s->act == SCALE || s->act == COPY)
        return true;
    w->kernel = rope_registry_find(s->kernel);
    if (w->kernel == NULL)
        return rope_fail(error, "internal: no kernel %s", s->kernel);
    if (!rope_spec_parse(text, &w->spec, error) ||
        !rope_spec_resolve(&w->spec, ROPE_TRUTH_EXACT, &w->frequencies, error))
        return false;
    int64_t last = s->order == RANDOM ? (1 << 20) - 1 : 131071;
    rope_plan_args args = rope_spec_plan_args(&w->spec, &w->frequencies, g->dtype,
                                              s->order == RANDOM ? 0 : 131071 - tokens + 1, last);
    if (w->kernel->plan(&args, &w->plan) != ROPE_OK)
        return rope_fail(error, "%s: cannot plan %s", s->kernel, text);
    int64_t heads = s->act == GENERATE ? 0 : g->heads;
    w->x = (rope_view){w->buffers.x, tokens, heads, g->heads * head_dim, head_dim};
    w->y = w->x;
    if (!g->in_place)
        w->y.data = w->buffers.y;
    return true;
}

/* ---- the list ---- */

typedef struct list {
    goal *goals;
    size_t count;
} list;

static goal *add(list *l, const char *name, goal g)
{
    goal *grown = realloc(l->goals, (l->count + 1) * sizeof *grown);
    if (grown == NULL)
        return NULL;
    l->goals = grown;
    grown += l->count++;
    *grown = g;
    snprintf(grown->name, sizeof grown->name, "%s", name);
    return grown;
}

/* cos and sin against the recurrence's, at random positions below 2^20; heads 0. */
static void add_generators(list *l)
{
    static const struct {
        const char *kernel;
        order order;
        double limit;
    } rows[] = {{"dd", RANDOM, 10}, {"phase", RANDOM, 20}, {"step", CONSECUTIVE, 20}};
    for (size_t i = 0; i < 3; i++) {
        char name[64];
        snprintf(name, sizeof name, "generator_%s_%s", rows[i].kernel,
                 rows[i].order == RANDOM ? "random" : "consecutive");
        add(l, name,
            (goal){.over = {GENERATE, "recurrence", RANDOM, 0},
                   .under = {GENERATE, rows[i].kernel, rows[i].order, 0},
                   .pairing = ROPE_HALF,
                   .head_dim = 128,
                   .heads = 1,
                   .tokens = 2048,
                   .in_place = true,
                   .at_least = true,
                   .limit = rows[i].limit});
    }
}

/* Tokens of so many bytes that three quarters of the L1 data cache hold, at least 1: 2 tokens of 32
 * heads and head_dim 128 in 48 KiB. */
static int64_t tokens_in_l1(int64_t token_bytes)
{
    long l1 = sysconf(_SC_LEVEL1_DCACHE_SIZE);
    int64_t tokens = (l1 > 0 ? l1 : 32768) * 3 / 4 / token_bytes;
    return tokens > 1 ? tokens : 1;
}

/* In place against an in-place scale of the same bytes, tokens by cache level. */
static void add_in_place(list *l)
{
    static const char *const levels[] = {"l1", "l2", "dram"};
    static const int64_t tokens[] = {0, 16, 4096}; /* of 32 heads; in L1 what it holds */
    static const double half[] = {.85, .80, .90};
    static const double interleaved[2][3] = {{.65, .75, .88}, {.58, .65, .78}};
    for (int pairing = 1; pairing >= 0; pairing--)
        for (int64_t head_dim = 64; head_dim <= 256; head_dim *= 2)
            for (int few = 0; few < 2; few++)
                for (int level = 0; level < 3; level++) {
                    int64_t heads = few ? 8 : 32, at = tokens[level];
                    if (level == 0 && head_dim == 256 && !few)
                        continue; /* 32 heads do not fit in L1 */
                    double limit = pairing == ROPE_HALF ? half[level] : interleaved[few][level];
                    if (pairing == ROPE_HALF && level == 2 && head_dim == 256)
                        limit = .83;
                    char name[64];
                    snprintf(name, sizeof name, "apply_%s_d%lld_h%lld_%s",
                             rope_pairing_name((uint32_t)pairing), (long long)head_dim,
                             (long long)heads, levels[level]);
                    add(l, name,
                        (goal){.over = {SCALE, NULL, CONSECUTIVE, 0},
                               .under = {APPLY, "avx2", CONSECUTIVE, 0},
                               .pairing = (rope_pairing)pairing,
                               .head_dim = head_dim,
                               .heads = heads,
                               .tokens = level == 0 ? tokens_in_l1(heads * head_dim * 4)
                                         : few      ? 4 * at
                                                    : at,
                               .in_place = true,
                               .at_least = true,
                               .limit = limit});
                }
}

/* Out of place against memcpy. */
static void add_out_of_place(list *l)
{
    for (uint32_t pairing = 0; pairing < 2; pairing++)
        for (int64_t tokens = 512; tokens <= 4096; tokens *= 8) {
            char name[64];
            snprintf(name, sizeof name, "copy_%s_t%lld", rope_pairing_name(pairing),
                     (long long)tokens);
            add(l, name,
                (goal){.over = {APPLY, "avx2", CONSECUTIVE, 0},
                       .under = {COPY, NULL, CONSECUTIVE, 0},
                       .pairing = (rope_pairing)pairing,
                       .head_dim = 128,
                       .heads = 32,
                       .tokens = tokens,
                       .limit = 1});
        }
}

/* Generator and apply in one, against the table kernel. */
static void add_fused(list *l)
{
    static const struct {
        const char *kernel;
        double in_cache;
    } rows[] = {{"phase", 1.2}, {"dd", 1.45}};
    for (size_t i = 0; i < 2; i++)
        for (uint32_t pairing = 0; pairing < 2; pairing++)
            for (int dram = 0; dram < 2; dram++) {
                char name[64];
                snprintf(name, sizeof name, "fused_%s_%s_%s", rows[i].kernel,
                         rope_pairing_name(pairing), dram ? "dram" : "l1");
                add(l, name,
                    (goal){.over = {APPLY, rows[i].kernel, CONSECUTIVE, 0},
                           .under = {APPLY, "avx2", CONSECUTIVE, 0},
                           .pairing = (rope_pairing)pairing,
                           .head_dim = 128,
                           .heads = 32,
                           .tokens = dram ? 4096 : tokens_in_l1(32 * 128 * 4),
                           .in_place = true,
                           .limit = dram ? 1.1 : rows[i].in_cache});
            }
}

/* 16-bit storage against software conversion in cache, and against memcpy from memory. */
static void add_narrow(list *l)
{
    static const struct {
        const char *kernel;
        rope_dtype dtype;
        double limit;
    } rows[] = {{"f16", ROPE_F16, 30}, {"bf16", ROPE_BF16, 8}};
    for (size_t i = 0; i < 2; i++)
        for (uint32_t pairing = 0; pairing < 2; pairing++)
            for (int dram = 0; dram < 2; dram++) {
                char name[64];
                side kernel = {APPLY, rows[i].kernel, CONSECUTIVE, 0};
                side software = {APPLY, "software16", CONSECUTIVE, 0};
                side copy = {COPY, NULL, CONSECUTIVE, 0};
                snprintf(name, sizeof name, "%s_%s_%s", rows[i].kernel, rope_pairing_name(pairing),
                         dram ? "copy_t4096" : "software");
                add(l, name,
                    (goal){.over = dram ? kernel : software,
                           .under = dram ? copy : kernel,
                           .pairing = (rope_pairing)pairing,
                           .dtype = rows[i].dtype,
                           .head_dim = 128,
                           .heads = 32,
                           .tokens = dram ? 4096 : 16,
                           .at_least = !dram,
                           .limit = dram ? 1.3 : rows[i].limit});
            }
}

/* Odd tails, from memory: time per rotated element against head_dim 128, as many bytes. */
static void add_partial(list *l)
{
    static const int64_t dims[] = {20, 24, 32, 40, 80, 96};
    for (uint32_t pairing = 0; pairing < 2; pairing++)
        for (size_t i = 0; i < sizeof dims / sizeof dims[0]; i++) {
            char name[64];
            snprintf(name, sizeof name, "tail_%s_d%lld_dram", rope_pairing_name(pairing),
                     (long long)dims[i]);
            add(l, name,
                (goal){.over = {APPLY, "avx2", CONSECUTIVE, dims[i]},
                       .under = {APPLY, "avx2", CONSECUTIVE, 0},
                       .pairing = (rope_pairing)pairing,
                       .head_dim = 128,
                       .heads = 32,
                       .tokens = 4096,
                       .in_place = true,
                       .limit = 1.1});
        }
}

/* Portable C, which the compiler vectorises, against AVX2. */
static void add_portable(list *l)
{
    for (uint32_t pairing = 0; pairing < 2; pairing++) {
        char name[64];
        snprintf(name, sizeof name, "portable_%s", rope_pairing_name(pairing));
        add(l, name,
            (goal){.over = {APPLY, "lookup", CONSECUTIVE, 0},
                   .under = {APPLY, "avx2", CONSECUTIVE, 0},
                   .pairing = (rope_pairing)pairing,
                   .head_dim = 128,
                   .heads = 32,
                   .tokens = 16,
                   .in_place = true,
                   .limit = 3});
    }
}

/* ---- measuring ---- */

static bool lacks(const side *s)
{
    const rope_kernel *kernel = s->kernel != NULL ? rope_registry_find(s->kernel) : NULL;
    return kernel != NULL && (kernel->cpu_features & ~rope_cpu_features()) != 0;
}

/* One attempt; *nanoseconds: both sides' medians together. */
static bool attempt(const goal *g, work *over, work *under, bench_interval *ratio,
                    double *nanoseconds, rope_error *error)
{
    double times[2 * ROUNDS], a[ROUNDS], b[ROUNDS];
    const bench_subject subjects[2] = {{"over", run_work, over}, {"under", run_work, under}};
    if (!bench_gbench_rounds(subjects, 2, ROUNDS, 0.003, times))
        return rope_fail(error, "Google Benchmark failed on %s", g->name);
    if (over->status != ROPE_OK || under->status != ROPE_OK)
        return rope_fail(error, "%s: a kernel refused", g->name);
    for (int r = 0; r < ROUNDS; r++) {
        a[r] = times[2 * r] / over->elements;
        b[r] = times[2 * r + 1] / under->elements;
    }
    *ratio = bench_paired_ratio(a, b, ROUNDS);
    *nanoseconds = bench_median(a, ROUNDS).median + bench_median(b, ROUNDS).median;
    return true;
}

static bool is_met(const goal *g, bench_interval ratio)
{
    return g->at_least ? ratio.high >= g->limit : ratio.low <= g->limit;
}

/* Both sides work in the same buffers: in two pairs of them, what pages of memory each was given
 * shifts the ratio of tensors past the caches by a fifth and more.
 *
 * A goal that is missed is measured twice more, since neighbours on the machine slow one side more
 * than the other; the attempt that was disturbed least, by the time that both sides took together,
 * counts, whichever way its ratio went. */
static bool measure(const goal *g, bench_interval *ratio, rope_error *error)
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
    double least = INFINITY;
    for (int n = 0; n < 3 && good && (n == 0 || !is_met(g, *ratio)); n++) {
        bench_interval now;
        double nanoseconds = INFINITY;
        good = attempt(g, &over, &under, &now, &nanoseconds, error);
        if (good && nanoseconds < least) {
            least = nanoseconds;
            *ratio = now;
        }
    }
    work_free(&over);
    work_free(&under);
    bench_buffers_free(&buffers);
    return good;
}

static void write_goal(rows_writer *w, const goal *g, bench_interval ratio, const char *met)
{
    rows_text(w, g->name);
    rows_number(w, ratio.median);
    rows_number(w, ratio.low);
    rows_number(w, ratio.high);
    rows_number(w, g->limit);
    rows_text(w, met);
    rows_end(w);
}

bool bench_goals(const char *path, bool *all_met, rope_error *error)
{
    list l = {0};
    add_generators(&l);
    add_in_place(&l);
    add_out_of_place(&l);
    add_fused(&l);
    add_narrow(&l);
    add_partial(&l);
    add_portable(&l);
    rows_writer *w = rows_create(path, "goal,figure,low,high,limit,met", error);
    if (w == NULL) {
        free(l.goals);
        return false;
    }
    front_progress progress;
    front_progress_begin(&progress, "bench-goals", (double)l.count);
    bool good = true;
    *all_met = true;
    for (size_t i = 0; i < l.count && good; i++) {
        const goal *g = &l.goals[i];
        bench_interval ratio = {NAN, NAN, NAN};
        if (lacks(&g->over) || lacks(&g->under)) {
            write_goal(w, g, ratio, "skip");
            continue;
        }
        good = measure(g, &ratio, error);
        bool met = is_met(g, ratio);
        if (good)
            write_goal(w, g, ratio, met ? "yes" : "no");
        *all_met &= met;
        front_progress_update(&progress, (double)(i + 1));
    }
    front_progress_end(&progress);
    free(l.goals);
    if (!good) {
        rows_abandon(w);
        return false;
    }
    return rows_commit(w, error);
}
