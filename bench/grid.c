#include "bench/grid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"
#include "scripts/front/front.h"

const bench_shape bench_usual_shapes[] = {{1, 32}, {16, 32}, {512, 32}, {4096, 32}};

const char bench_thinning[] =
    "quick: head_dim 128 and base 500000 only (full: head_dim 64, 128, 256 and base 10000, 500000, "
    "1000000); plan+apply at 1 and 512 tokens only, out of place for apply at 512 tokens only; 12 "
    "samples of 0.2 to 5 ms, 6 samples for what is left after a minute (full: 24 of 10 ms); 16 "
    "tokens checked (full: 64)";

int bench_usual_specs(bool full, char texts[BENCH_MOST_SPECS][64])
{
    static const int head_dims[] = {128, 64, 256}, bases[] = {500000, 10000, 1000000};
    int limit = full ? 3 : 1, count = 0;
    for (int d = 0; d < limit; d++)
        for (int b = 0; b < limit; b++)
            for (uint32_t pairing = 0; pairing < 2; pairing++)
                snprintf(texts[count++], sizeof texts[0], "head_dim=%d,base=%d,pairing=%s",
                         head_dims[d], bases[b], rope_pairing_name(pairing));
    return count;
}

typedef struct {
    bench_shape *shapes;
    size_t count;
} shape_list;

static bool add_shape(const char *item, void *context, rope_error *error)
{
    shape_list *list = context;
    char tokens[32];
    bench_shape shape;
    const char *x = strchr(item, 'x');
    if (x == NULL || (size_t)(x - item) >= sizeof tokens)
        return rope_fail(error, "shape '%s' is not TOKENSxHEADS, as in 512x32", item);
    memcpy(tokens, item, (size_t)(x - item));
    tokens[x - item] = '\0';
    if (!front_int64(tokens, "tokens of a shape", 1, 131072, &shape.tokens, error) ||
        !front_int64(x + 1, "heads of a shape", 1, 4096, &shape.heads, error))
        return false;
    bench_shape *shapes = realloc(list->shapes, (list->count + 1) * sizeof *shapes);
    if (shapes == NULL)
        return rope_fail(error, "out of memory");
    list->shapes = shapes;
    list->shapes[list->count++] = shape;
    return true;
}

bool bench_shapes_parse(const char *text, bench_shape **shapes, size_t *count, rope_error *error)
{
    shape_list list = {0};
    if (!front_split(text, add_shape, &list, error)) {
        free(list.shapes);
        return false;
    }
    *shapes = list.shapes;
    *count = list.count;
    return true;
}

static bool wanted(const bench_request *request, const bench_point *point)
{
    if (!request->thin)
        return true;
    if (point->mode == BENCH_PLAN_APPLY)
        return (point->tokens == 1 || point->tokens == 512) &&
               point->in_place == !!(point->kernel->header.flags & ROPE_IN_PLACE);
    return point->in_place || !(point->kernel->header.flags & ROPE_IN_PLACE) ||
           point->tokens == 512;
}

static bool takes(const rope_kernel *kernel, uint32_t pairing, uint32_t dtype)
{
    return (kernel->pairings & 1u << pairing) && (kernel->dtypes & 1u << dtype);
}

static bool runs_here(const rope_kernel *kernel)
{
    return (kernel->cpu_features & ~rope_cpu_features()) == 0;
}

/* The points of one problem, shape and dtype. */
static size_t add_points(const bench_request *request, const bench_problem *problem,
                         bench_shape shape, rope_dtype dtype, bench_point *points)
{
    size_t count = 0;
    for (int mode = BENCH_APPLY; mode <= BENCH_PLAN_APPLY; mode++)
        for (int out_of_place = 0; out_of_place < 2; out_of_place++)
            for (size_t k = 0; k < request->kernel_count; k++) {
                bench_point point = {.kernel = request->kernels[k],
                                     .problem = problem,
                                     .dtype = dtype,
                                     .tokens = shape.tokens,
                                     .heads = shape.heads,
                                     .last_position = BENCH_LAST_POSITION,
                                     .mode = (bench_mode)mode,
                                     .in_place = !out_of_place};
                bool able = takes(point.kernel, problem->spec.pairing, dtype) &&
                            runs_here(point.kernel) &&
                            (out_of_place || (point.kernel->header.flags & ROPE_IN_PLACE));
                if (able && wanted(request, &point))
                    points[count++] = point;
            }
    return count;
}

/* Kernels of which no point can run: one point each, whose measuring says why. */
static size_t add_skipped(const bench_request *request, bench_point *points, size_t count)
{
    size_t added = 0;
    for (size_t k = 0; k < request->kernel_count; k++) {
        const rope_kernel *kernel = request->kernels[k];
        bool present = false;
        for (size_t i = 0; i < count; i++)
            present |= points[i].kernel == kernel;
        if (present)
            continue;
        bench_point point = {.kernel = kernel,
                             .problem = &request->problems[0],
                             .tokens = request->shapes[0].tokens,
                             .heads = request->shapes[0].heads,
                             .last_position = BENCH_LAST_POSITION};
        for (size_t p = request->problem_count; p-- > 0;)
            if (kernel->pairings & 1u << request->problems[p].spec.pairing)
                point.problem = &request->problems[p];
        while (!(request->dtypes & 1u << point.dtype))
            point.dtype++;
        for (rope_dtype d = ROPE_F64;; d--) { /* the first dtype that both have, if any */
            if (request->dtypes & kernel->dtypes & 1u << d)
                point.dtype = d;
            if (d == ROPE_F32)
                break;
        }
        points[count + added++] = point;
    }
    return added;
}

bench_point *bench_grid(const bench_request *request, size_t *count)
{
    size_t most = request->problem_count * request->shape_count * 4 * 4 * request->kernel_count +
                  request->kernel_count;
    bench_point *points = calloc(most + 1, sizeof *points); /* most is 0 without rotations */
    *count = 0;
    if (points == NULL)
        return NULL;
    for (size_t p = 0; p < request->problem_count; p++)
        for (size_t s = 0; s < request->shape_count; s++)
            for (rope_dtype d = ROPE_F32; d <= ROPE_F64; d++)
                if (request->dtypes & 1u << d)
                    *count += add_points(request, &request->problems[p], request->shapes[s], d,
                                         points + *count);
    *count += add_skipped(request, points, *count);
    return points;
}
