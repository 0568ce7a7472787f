/* A goal of speed: the ratio of two timings of one run, with a limit; and when it is met. */
#ifndef BENCH_GOAL_H
#define BENCH_GOAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/statistics.h"
#include "impl/error.h"
#include "impl/rope.h"

/* What one side of a goal runs. */
typedef enum bench_act {
    BENCH_ACT_APPLY = 0,    /* the kernel, as the shape says */
    BENCH_ACT_GENERATE = 1, /* the kernel over no heads: cos and sin alone */
    BENCH_ACT_SCALE = 2,    /* the floor: an in-place scale of the same bytes */
    BENCH_ACT_COPY = 3,     /* the floor: memcpy of the same bytes */
} bench_act;

typedef enum bench_order {
    BENCH_ORDER_CONSECUTIVE = 0, /* positions that end at 131071 */
    BENCH_ORDER_RANDOM = 1,      /* random positions below 2^20 */
} bench_order;

typedef struct bench_side {
    bench_act act;
    const char *kernel;
    bench_order order;
    int64_t head_dim; /* 0: the goal's own */
} bench_side;

/* figure = time(over) / time(under), per rotated element where head_dims differ. */
typedef struct bench_goal {
    char name[64];
    bench_side over, under;
    rope_pairing pairing;
    rope_dtype dtype;
    int64_t head_dim, heads, tokens;
    bool in_place;
    bool at_least; /* the limit is to be reached from above, else to stay below */
    double limit;
} bench_goal;

/* All goals, malloc'ed; NULL when out of memory. */
bench_goal *bench_goals_list(size_t *count);

/* Moves the goals whose names contain a text to the front, in order; returns how many. */
size_t bench_goals_select(bench_goal *goals, size_t count, const char *text);

/* Whether the 95 % interval reaches the limit. One without ends reaches none. */
bool bench_goal_met(const bench_goal *g, bench_interval ratio);

/* One measurement; *nanoseconds: both sides' medians together. */
typedef bool bench_goal_attempt(void *context, bench_interval *ratio, double *nanoseconds,
                                rope_error *error);

/* A goal that is missed is measured twice more, since neighbours on the machine slow one side more
 * than the other; the attempt that was disturbed least, by the time that both sides took together,
 * counts, whichever way its ratio went. False when an attempt fails. */
bool bench_goal_settle(const bench_goal *g, bench_goal_attempt *attempt, void *context,
                       bench_interval *ratio, rope_error *error);

#endif
