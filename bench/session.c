#include "bench/session.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/process.h"
#include "impl/registry.h"

/* Wall-clock seconds that the in-process part of the quick level may take in all. */
static const double quick_budget = 60;
/* 12 runs: the 95 % interval of the median is the 3rd to the 10th; 6 is the least that has one. */
enum { COLD_RUNS = 12, LEAST_ROUNDS = 6 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool add(bench_session *s, const rope_kernel *kernel, rope_error *error)
{
    const rope_kernel **kernels =
        realloc(s->kernels, (s->request.kernel_count + 1) * sizeof *kernels);
    if (kernels == NULL)
        return rope_fail(error, "out of memory");
    s->kernels = kernels;
    s->kernels[s->request.kernel_count++] = kernel;
    return true;
}

/* A name of --kernel: of the plug-in's kernels first. */
static bool add_kernel(const char *name, void *context, rope_error *error)
{
    bench_session *s = context;
    const rope_header *header = rope_plugins_find(&s->plugin, 1, name, NULL);
    const rope_header *any = header != NULL ? header : rope_registry_find_any(name);
    if (any != NULL && any->kind != ROPE_ROTATION)
        return bench_encodings_add(any, &s->encodings, &s->encoding_count) ||
               rope_fail(error, "out of memory");
    const rope_kernel *kernel = header != NULL && header->kind == ROPE_ROTATION
                                    ? (const rope_kernel *)header
                                    : rope_registry_find(name);
    if (kernel == NULL)
        return rope_fail(error, "unknown kernel '%s', see `tightrope list kernels`", name);
    return add(s, kernel, error);
}

/* Without --kernel: all of the plug-in, or all of the registry. */
static bool add_all_kernels(bench_session *s, rope_error *error)
{
    size_t count = s->plugin.count;
    const rope_header *const *headers = count > 0 ? s->plugin.kernels : rope_registry(&count);
    for (size_t i = 0; i < count; i++)
        if (headers[i]->kind == ROPE_ROTATION && !add(s, (const rope_kernel *)headers[i], error))
            return false;
    return s->request.kernel_count > 0 || rope_fail(error, "the plug-in has no rotation kernel");
}

/* The other encodings belong to the usual grid alone: specs, shapes and dtypes are rotations'. */
static bool add_encodings(bench_session *s, const bench_options *o, rope_error *error)
{
    bool usual = o->kernels == NULL && o->plugin == NULL && o->specs.count == 0 &&
                 o->shapes == NULL && o->dtypes == NULL;
    size_t count;
    const rope_header *const *headers = rope_registry(&count);
    for (size_t i = 0; usual && i < count; i++)
        if (!bench_encodings_add(headers[i], &s->encodings, &s->encoding_count))
            return rope_fail(error, "out of memory");
    return true;
}

static bool add_dtype(const char *name, void *context, rope_error *error)
{
    int dtype = rope_dtype_from_name(name);
    if (dtype < 0)
        return rope_fail(error, "unknown dtype '%s', expected f32, f16, bf16 or f64", name);
    *(uint32_t *)context |= 1u << dtype;
    return true;
}

static bool add_problems(bench_session *s, const bench_options *o, rope_error *error)
{
    char texts[BENCH_MOST_SPECS][64];
    int usual = o->specs.count > 0 ? 0 : bench_usual_specs(o->full, texts);
    size_t count = (size_t)(usual > 0 ? usual : o->specs.count);
    s->problems = calloc(count, sizeof *s->problems);
    if (s->problems == NULL)
        return rope_fail(error, "out of memory");
    for (size_t i = 0; i < count; i++) {
        if (!bench_problem_new(usual > 0 ? texts[i] : o->specs.items[i], !o->once, &s->problems[i],
                               error))
            return false;
        s->request.problem_count++;
    }
    return true;
}

/* Largest tensor: 4 GiB; two of them are allocated. */
static bool check_sizes(const bench_session *s, rope_error *error)
{
    for (size_t p = 0; p < s->request.problem_count; p++)
        for (size_t i = 0; i < s->request.shape_count; i++) {
            const bench_shape *shape = &s->request.shapes[i];
            if (shape->tokens * shape->heads > ((int64_t)1 << 29) / s->problems[p].spec.head_dim)
                return rope_fail(error,
                                 "shape %lldx%lld with head_dim %lld is too large, expected at "
                                 "most 2^29 elements",
                                 (long long)shape->tokens, (long long)shape->heads,
                                 (long long)s->problems[p].spec.head_dim);
        }
    return true;
}

bool bench_session_new(bench_session *s, const bench_options *o, rope_error *error)
{
    uint32_t dtypes = 0;
    *s = (bench_session){0};
    bool good =
        (o->plugin == NULL || rope_plugin_load(o->plugin, &s->plugin, error)) &&
        (o->kernels ? front_split(o->kernels, add_kernel, s, error) : add_all_kernels(s, error)) &&
        add_encodings(s, o, error) &&
        (o->dtypes == NULL || front_split(o->dtypes, add_dtype, &dtypes, error)) &&
        add_problems(s, o, error);
    if (!good)
        return false;
    if (o->shapes != NULL) {
        if (!bench_shapes_parse(o->shapes, &s->shapes, &s->request.shape_count, error))
            return false;
        s->request.shapes = s->shapes;
    } else {
        s->request.shapes = bench_usual_shapes;
        s->request.shape_count = BENCH_USUAL_SHAPES;
    }
    s->request.kernels = s->kernels;
    s->request.problems = s->problems;
    s->request.dtypes =
        dtypes ? dtypes : 1u << ROPE_F32 | 1u << ROPE_F16 | 1u << ROPE_BF16 | 1u << ROPE_F64;
    s->request.thin = !o->full && o->shapes == NULL;
    s->effort = (bench_effort){.rounds = o->full ? 24 : 12,
                               .seconds = 0.01,
                               .seed = o->seed,
                               .checked_tokens = o->full ? 64 : 16};
    return check_sizes(s, error);
}

void bench_session_free(bench_session *s)
{
    for (size_t i = 0; i < s->request.problem_count; i++)
        bench_problem_free(&s->problems[i]);
    free(s->problems);
    free(s->kernels);
    free(s->shapes);
    free(s->points);
    free(s->results);
    free(s->encodings);
    free(s->encoding_results);
}

/* A cold run of each kernel: the first of its points at 1 token and at 512 (or at each shape that
 * was asked for), out of place. */
static void add_cold_points(bench_session *s)
{
    s->cold_from = s->count;
    size_t grid = s->count;
    for (size_t k = 0; k < s->request.kernel_count; k++)
        for (size_t i = 0; i < s->request.shape_count; i++) {
            const bench_shape *shape = &s->request.shapes[i];
            if (s->request.shapes == bench_usual_shapes && shape->tokens != 1 &&
                shape->tokens != 512)
                continue;
            for (size_t p = 0; p < grid; p++)
                if (s->points[p].kernel == s->kernels[k] && s->points[p].tokens == shape->tokens &&
                    s->points[p].heads == shape->heads) {
                    bench_point cold = s->points[p];
                    cold.mode = BENCH_COLD;
                    cold.in_place = false;
                    if ((cold.kernel->cpu_features & ~rope_cpu_features()) == 0)
                        s->points[s->count++] = cold;
                    break;
                }
        }
}

bool bench_session_plan(bench_session *s, bool processes, rope_error *error)
{
    s->points = bench_grid(&s->request, &s->count);
    size_t most = s->count + s->request.kernel_count * s->request.shape_count;
    bench_point *grown = s->points ? realloc(s->points, (most + 1) * sizeof *s->points) : NULL;
    if (grown != NULL)
        s->points = grown;
    s->results = calloc(most + 1, sizeof *s->results);
    s->encoding_results = calloc(s->encoding_count + 1, sizeof *s->encoding_results);
    if (grown == NULL || s->results == NULL || s->encoding_results == NULL)
        return rope_fail(error, "out of memory");
    s->cold_from = s->count;
    if (processes)
        add_cold_points(s);
    return true;
}

bool bench_session_run(bench_session *s, const bench_options *o, rope_error *error)
{
    front_progress progress;
    bench_buffers kept = {0};
    bool good = true;
    front_progress_begin(&progress, "bench", (double)(s->count + s->encoding_count));
    double started = now();
    for (size_t i = 0; good && i < s->count; i++) {
        bench_effort effort = s->effort;
        effort.kept = &kept;
        if (i < s->cold_from && !o->full) {
            /* What is left is shared out: rounds and two more for the calibration, 3 subjects. */
            double share = (quick_budget - (now() - started)) / (double)(s->cold_from - i);
            if (share < 0)
                effort.rounds = LEAST_ROUNDS;
            effort.seconds = fmin(5e-3, fmax(2e-4, share / (3 * (effort.rounds + 2))));
        }
        good = i < s->cold_from ? bench_measure(&s->points[i], &effort, &s->results[i], error)
                                : bench_process_measure(&s->points[i], o->plugin, COLD_RUNS,
                                                        &effort, &s->results[i], error);
        front_progress_update(&progress, (double)(i + 1));
    }
    for (size_t i = 0; good && i < s->encoding_count; i++) {
        bench_effort effort = s->effort;
        effort.kept = &kept;
        effort.seconds = o->full ? effort.seconds : 1e-3;
        good = bench_encoding_measure(&s->encodings[i], &effort, &s->encoding_results[i], error);
        front_progress_update(&progress, (double)(s->count + i + 1));
    }
    front_progress_end(&progress);
    bench_buffers_free(&kept);
    return good;
}
