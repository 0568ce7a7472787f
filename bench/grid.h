/* Which figures a run measures. */
#ifndef BENCH_GRID_H
#define BENCH_GRID_H

#include <stddef.h>

#include "bench/measure.h"

typedef struct bench_shape {
    int64_t tokens, heads;
} bench_shape;

typedef struct bench_request {
    const rope_kernel *const *kernels;
    size_t kernel_count;
    const bench_problem *problems;
    size_t problem_count;
    const bench_shape *shapes;
    size_t shape_count;
    uint32_t dtypes; /* bits 1 << rope_dtype */
    bool thin;       /* the quick level with the usual shapes: see bench_grid */
} bench_request;

/* Shapes and specs of the levels: tokens 1, 16, 512, 4096 with 32 heads; head_dim 64, 128, 256
 * times base 1e4, 5e5, 1e6 (full) or head_dim 128, base 5e5 (quick), either pairing. */
extern const bench_shape bench_usual_shapes[];
enum { BENCH_USUAL_SHAPES = 4, BENCH_MOST_SPECS = 18 };
/* Writes the spec texts of a level, and returns how many. */
int bench_usual_specs(bool full, char texts[BENCH_MOST_SPECS][64]);

/* Parses "TOKENSxHEADS,..." into shapes[*count]; malloc'ed. */
bool bench_shapes_parse(const char *text, bench_shape **shapes, size_t *count, rope_error *error);

/* All points of a request, in an order that puts those of one size beside each other; malloc'ed,
 * *count set; NULL when memory is out. Every kernel is measured with both modes, in place (where it
 * can) and out of place. thin leaves out: plan+apply but at 1 and 512 tokens, and out of place but
 * for apply at 512. A kernel that this CPU cannot run, or that takes none of the pairings
 * or dtypes, gets one point, so that its skip is named. */
bench_point *bench_grid(const bench_request *request, size_t *count);

/* How the thinned grid differs, for the record of the run. */
extern const char bench_thinning[];

#endif
