/* What mutants share: a wrapper plan that owns a copy of the plan's arguments, a plain loop that is
 * right (bit for bit the kernel `lookup`) until a hook makes it wrong, and the original kernel on
 * altered arguments. A mutant is a set of hooks, so that what is wrong stands alone on the page. */
#ifndef PROP_MUTANTS_COMMON_H
#define PROP_MUTANTS_COMMON_H

#include <stdbool.h>
#include <stdint.h>

#include "impl/rope.h"

enum { MUTANT_MAX_PAIRS = 1024 }; /* of the plain loop, whose table of a token is on the stack */

/* One row of the plain loop: one token, one head. */
typedef struct mutant_row {
    const rope_plan *plan;
    int64_t token, head, heads;
    const int64_t *position;      /* [axis_count], of this token */
    const float *cosines, *sines; /* [pairs] A cos, A sin */
} mutant_row;

typedef struct mutant_hooks {
    /* Alters the copied arguments before anything is planned; the arrays of a are writable. */
    void (*alter)(rope_plan *p);
    /* The position that a pair is turned by. */
    int64_t (*position)(const rope_plan *p, int64_t position);
    /* A cos and A sin of a pair at a position. */
    void (*turn)(const rope_plan *p, int64_t position, int64_t pair, float *c, float *s);
    /* Rotates one row of x into y. */
    void (*row)(const mutant_row *row, const float *x, float *y);
    /* The whole apply; unset: the plain loop when position, turn or row is set, else the original's
     * apply. */
    rope_status (*apply)(const rope_plan *p, const rope_view *x, const rope_view *y,
                         const int64_t *positions, int64_t position_stride);
} mutant_hooks;

/* The plan of every mutant that uses these helpers. */
struct rope_plan {
    const mutant_hooks *hooks;
    const rope_kernel *original;
    rope_plan *inner;    /* the original's, from the altered arguments; not for the plain loop */
    rope_plan_args args; /* altered; its pointers lead to what follows */
    rope_spec spec;      /* lists are the caller's, valid while planning only */
    double *hi, *lo;     /* [pairs] */
    uint8_t *axis;       /* [pairs] */
    size_t bytes;
    int64_t calls, memory[3]; /* state that an honest plan must not have */
};

/* A mutant as its file defines it. Unset functions are the helpers' (plan, apply, destroy,
 * plan_bytes) or the original's (error_bound). */
typedef struct mutation {
    const char *name, *fault_class, *summary;
    const char *original;  /* unset: "lookup", or the first kernel of those dtypes */
    uint32_t dtypes;       /* unset: the original's; else the bits that the fault is about */
    const char *waits_for; /* unset: nothing but the original */
    const char *example;   /* unset: MUTANT_PLAIN */
    rope_status (*plan)(const rope_plan_args *args, rope_plan **plan);
    rope_status (*apply)(const rope_plan *plan, const rope_view *x, const rope_view *y,
                         const int64_t *positions, int64_t position_stride);
    void (*destroy)(rope_plan *plan);
    size_t (*plan_bytes)(const rope_plan *plan);
    double (*error_bound)(const rope_plan_args *args, int64_t position, int64_t pair);
} mutation;

#define MUTANT_PLAIN "head_dim=128,base=10000,pairing=half"

/* Defines `const mutation mutation_NAME` with hooks in the variable NAME_hooks; further fields
 * follow. */
#define MUTATION(NAME, CLASS, SUMMARY, ...)                                                        \
    static rope_status NAME##_plan(const rope_plan_args *args, rope_plan **plan)                   \
    {                                                                                              \
        return mutant_plan(&mutation_##NAME, &NAME##_hooks, args, plan);                           \
    }                                                                                              \
    const mutation mutation_##NAME = {                                                             \
        .name = #NAME, .fault_class = CLASS, .summary = SUMMARY, .plan = NAME##_plan, __VA_ARGS__}

#define PROP_MUTANT(name) extern const mutation mutation_##name;
#include "props/mutants.def"
#undef PROP_MUTANT

/* The original of a mutation, NULL when this build lacks it. */
const rope_kernel *mutant_original(const mutation *m);

rope_status mutant_plan(const mutation *m, const mutant_hooks *hooks, const rope_plan_args *args,
                        rope_plan **plan);
rope_status mutant_apply(const rope_plan *plan, const rope_view *x, const rope_view *y,
                         const int64_t *positions, int64_t position_stride);
void mutant_destroy(rope_plan *plan);
size_t mutant_plan_bytes(const rope_plan *plan);

/* The pieces of the plain loop, right as they stand. */
bool mutant_in_window(const rope_plan *p, const int64_t *positions, int64_t tokens,
                      int64_t position_stride);
void mutant_turn(const rope_plan *p, int64_t position, int64_t pair, float *c, float *s);
void mutant_elements(const rope_plan *p, int64_t pair, int64_t *first, int64_t *second);
void mutant_rotate_pair(const mutant_row *row, int64_t pair, const float *x, float *y);
void mutant_copy_rest(const mutant_row *row, const float *x, float *y);
void mutant_rotate_row(const mutant_row *row, const float *x, float *y);
rope_status mutant_loop(const rope_plan *p, const rope_view *x, const rope_view *y,
                        const int64_t *positions, int64_t position_stride);
/* The original's apply on the plan's inner plan. */
rope_status mutant_honest(const rope_plan *p, const rope_view *x, const rope_view *y,
                          const int64_t *positions, int64_t position_stride);

/* Multiplies the inverse frequency of a pair by ratio; by exactly 1: leaves both its parts. */
void mutant_scale_frequency(rope_plan *p, int64_t pair, double ratio);
/* 2 pair / d, d the dimension that the spec's exponent is taken over. */
double mutant_exponent(const rope_plan *p, int64_t pair);
/* x rounded to nearest even to a significand of so many bits (11 f16 and TF32, 8 bf16); no limit on
 * the exponent. */
double mutant_round(double x, int bits);
/* x rounded to binary16: subnormals, and infinity from 65520 on. */
double mutant_round_f16(double x);
/* The state of a plan that a faulty apply writes to. */
rope_plan *mutant_mutable(const rope_plan *p);
/* The first element of a row. */
float *mutant_row_of(const rope_view *view, int64_t token, int64_t head);

#endif
