/* The goals, one by one. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench/goal.h"
#include "impl/registry.h"
#include "impl/spec/spec.h"

typedef struct list {
    bench_goal *goals;
    size_t count;
    bool lost; /* out of memory: a goal is missing */
} list;

static void add(list *l, const char *name, bench_goal g)
{
    bench_goal *grown = realloc(l->goals, (l->count + 1) * sizeof *grown);
    l->lost |= grown == NULL;
    if (grown == NULL)
        return;
    l->goals = grown;
    grown += l->count++;
    *grown = g;
    snprintf(grown->name, sizeof grown->name, "%s", name);
}

/* cos and sin against the recurrence's, at random positions below 2^20; heads 0. */
static void add_generators(list *l)
{
    static const struct {
        const char *kernel;
        bench_order order;
        double limit;
    } rows[] = {{"dd", BENCH_ORDER_RANDOM, 10},
                {"phase", BENCH_ORDER_RANDOM, 20},
                {"step", BENCH_ORDER_CONSECUTIVE, 20}};
    for (size_t i = 0; i < 3; i++) {
        char name[64];
        snprintf(name, sizeof name, "generator_%s_%s", rows[i].kernel,
                 rows[i].order == BENCH_ORDER_RANDOM ? "random" : "consecutive");
        add(l, name,
            (bench_goal){.over = {BENCH_ACT_GENERATE, "recurrence", BENCH_ORDER_RANDOM, 0},
                         .under = {BENCH_ACT_GENERATE, rows[i].kernel, rows[i].order, 0},
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
                        (bench_goal){.over = {BENCH_ACT_SCALE, NULL, BENCH_ORDER_CONSECUTIVE, 0},
                                     .under = {BENCH_ACT_APPLY, "avx2", BENCH_ORDER_CONSECUTIVE, 0},
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
                (bench_goal){.over = {BENCH_ACT_APPLY, "avx2", BENCH_ORDER_CONSECUTIVE, 0},
                             .under = {BENCH_ACT_COPY, NULL, BENCH_ORDER_CONSECUTIVE, 0},
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
                    (bench_goal){
                        .over = {BENCH_ACT_APPLY, rows[i].kernel, BENCH_ORDER_CONSECUTIVE, 0},
                        .under = {BENCH_ACT_APPLY, "avx2", BENCH_ORDER_CONSECUTIVE, 0},
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
                bench_side kernel = {BENCH_ACT_APPLY, rows[i].kernel, BENCH_ORDER_CONSECUTIVE, 0};
                bench_side software = {BENCH_ACT_APPLY, "software16", BENCH_ORDER_CONSECUTIVE, 0};
                bench_side copy = {BENCH_ACT_COPY, NULL, BENCH_ORDER_CONSECUTIVE, 0};
                snprintf(name, sizeof name, "%s_%s_%s", rows[i].kernel, rope_pairing_name(pairing),
                         dram ? "copy_t4096" : "software");
                add(l, name,
                    (bench_goal){.over = dram ? kernel : software,
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
                (bench_goal){.over = {BENCH_ACT_APPLY, "avx2", BENCH_ORDER_CONSECUTIVE, dims[i]},
                             .under = {BENCH_ACT_APPLY, "avx2", BENCH_ORDER_CONSECUTIVE, 0},
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
            (bench_goal){.over = {BENCH_ACT_APPLY, "lookup", BENCH_ORDER_CONSECUTIVE, 0},
                         .under = {BENCH_ACT_APPLY, "avx2", BENCH_ORDER_CONSECUTIVE, 0},
                         .pairing = (rope_pairing)pairing,
                         .head_dim = 128,
                         .heads = 32,
                         .tokens = 16,
                         .in_place = true,
                         .limit = 3});
    }
}

bench_goal *bench_goals_list(size_t *count)
{
    list l = {0};
    add_generators(&l);
    add_in_place(&l);
    add_out_of_place(&l);
    add_fused(&l);
    add_narrow(&l);
    add_partial(&l);
    add_portable(&l);
    *count = l.count;
    if (!l.lost)
        return l.goals;
    free(l.goals);
    return NULL;
}
