/* What the tests of mutants share: a mutant and its original run side by side on one problem. */
#ifndef PROP_MUTANTS_TESTING_H
#define PROP_MUTANTS_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"
#include "impl/spec/spec.h"
#include "props/mutants.h"

static inline void assert_near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%.9g, expected %.9g", value, expected);
}

/* The mutant of that name, which must not be waiting. */
static inline const prop_mutant *mutant_of(const char *name)
{
    const prop_mutant *m = prop_mutant_find(name);
    if (m == NULL || m->kernel == NULL)
        fail_msg("no mutant %s", name);
    return m;
}

/* A spec with its frequencies. */
typedef struct problem {
    rope_spec spec;
    rope_frequencies frequencies;
} problem;

static inline void problem_open(problem *p, const char *text)
{
    rope_error error;
    if (!rope_spec_parse(text, &p->spec, &error) ||
        !rope_spec_resolve(&p->spec, ROPE_TRUTH_EXACT, &p->frequencies, &error))
        fail_msg("%s: %s", text, error.text);
}

static inline void problem_close(problem *p)
{
    rope_frequencies_free(&p->frequencies);
    rope_spec_free(&p->spec);
}

static inline rope_plan *problem_plan(const problem *p, const rope_kernel *kernel, int64_t first,
                                      int64_t last)
{
    rope_plan *plan = NULL;
    rope_plan_args args = rope_spec_plan_args(&p->spec, &p->frequencies, ROPE_F32, first, last);
    if (kernel->plan(&args, &plan) != ROPE_OK)
        fail_msg("%s refuses its plan", kernel->name);
    return plan;
}

/* cos and sin (with A) that a kernel turns a pair by: the pair (1, 0), all else 0. The window is
 * that position alone. */
typedef struct turned {
    double c, s;
} turned;

static inline turned turn_of(const rope_kernel *kernel, const char *spec, int64_t position,
                             int64_t pair)
{
    /* Tests ask for thousands of turns of one spec, and resolving one takes a millisecond. */
    static problem p;
    static char opened[256];
    if (strcmp(opened, spec) != 0) {
        if (opened[0] != '\0')
            problem_close(&p);
        opened[0] = '\0';
        problem_open(&p, spec);
        assert_true(strlen(spec) < sizeof opened);
        memcpy(opened, spec, strlen(spec) + 1);
    }
    rope_plan *plan = problem_plan(&p, kernel, position, position);
    int64_t dim = p.spec.head_dim, half = p.spec.pairing == ROPE_HALF, positions[ROPE_MAX_AXES];
    int64_t a = p.spec.rotary_offset + (half ? pair : 2 * pair);
    int64_t b = a + (half ? p.frequencies.pairs : 1);
    float *x = calloc((size_t)(2 * dim), sizeof *x), *y = x + dim;
    assert_non_null(x);
    x[a] = 1;
    for (int k = 0; k < ROPE_MAX_AXES; k++)
        positions[k] = position;
    rope_view from = {x, 1, 1, dim, dim}, to = {y, 1, 1, dim, dim};
    assert_int_equal(kernel->apply(plan, &from, &to, positions, 1), ROPE_OK);
    turned t = {(double)y[a], (double)y[b]};
    kernel->destroy(plan);
    free(x);
    return t;
}

static inline turned mutant_turns(const char *name, const char *spec, int64_t position,
                                  int64_t pair)
{
    return turn_of(mutant_of(name)->kernel, spec, position, pair);
}

static inline double distance(turned a, turned b)
{
    return hypot(a.c - b.c, a.s - b.s);
}

#endif
