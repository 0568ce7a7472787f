#include "bench/measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/buffers.h"
#include "bench/check.h"
#include "bench/floors.h"
#include "bench/gbench_shim.h"
#include "impl/registry.h"

const char *bench_mode_name(bench_mode mode)
{
    static const char *const names[] = {"apply", "plan+apply", "process-cold"};
    return names[mode];
}

const char *bench_verdict_name(bench_verdict verdict)
{
    static const char *const names[] = {"pass", "fail", "no contract", "skip"};
    return names[verdict];
}

bool bench_problem_new(const char *text, bool with_oracle, bench_problem *problem,
                       rope_error *error)
{
    *problem = (bench_problem){.text = strdup(text)};
    if (problem->text == NULL)
        return rope_fail(error, "out of memory");
    if (!rope_spec_parse(text, &problem->spec, error) ||
        !rope_spec_resolve(&problem->spec, ROPE_TRUTH_EXACT, &problem->frequencies, error) ||
        (with_oracle &&
         (problem->oracle = oracle_new(&problem->spec, ROPE_TRUTH_EXACT, error)) == NULL)) {
        bench_problem_free(problem);
        return false;
    }
    return true;
}

void bench_problem_free(bench_problem *problem)
{
    if (problem->text != NULL) {
        rope_frequencies_free(&problem->frequencies);
        rope_spec_free(&problem->spec);
    }
    if (problem->oracle != NULL)
        oracle_free(problem->oracle);
    free(problem->text);
    *problem = (bench_problem){0};
}

int64_t bench_point_bytes(const bench_point *point)
{
    return point->tokens * point->heads * point->problem->spec.head_dim *
           (int64_t)rope_dtype_bytes(point->dtype);
}

/* All that the timed calls need. */
typedef struct {
    const rope_kernel *kernel;
    rope_plan_args args;
    rope_plan *plan;
    bench_buffers buffers;
    rope_view x, y;
    int64_t *positions; /* [tokens][axes] */
    int64_t axes;
    rope_status status; /* the first that is not ROPE_OK */
} work;

static void note(work *w, rope_status status)
{
    if (w->status == ROPE_OK)
        w->status = status;
}

static void body_apply(void *context)
{
    work *w = context;
    note(w, w->kernel->apply(w->plan, &w->x, &w->y, w->positions, w->axes));
}

static void body_plan_apply(void *context)
{
    work *w = context;
    rope_plan *plan;
    rope_status status = w->kernel->plan(&w->args, &plan);
    note(w, status);
    if (status != ROPE_OK)
        return;
    note(w, w->kernel->apply(plan, &w->x, &w->y, w->positions, w->axes));
    w->kernel->destroy(plan);
}

/* What the floors move. */
typedef struct {
    const bench_buffers *buffers;
    uint32_t dtype;
} floor_work;

static void body_memcpy(void *context)
{
    const floor_work *w = context;
    bench_copy(w->buffers->y, w->buffers->x, w->buffers->bytes);
}

static void body_scale(void *context)
{
    const floor_work *w = context;
    bench_scale_in_place(w->dtype, w->buffers->x, w->buffers->bytes);
}

bool bench_take_buffers(const bench_effort *effort, size_t bytes, bench_buffers *buffers,
                        rope_error *error)
{
    if (effort->kept == NULL || effort->kept->bytes != bytes) {
        if (effort->kept != NULL)
            bench_buffers_free(effort->kept);
        return bench_buffers_new(bytes, buffers, error);
    }
    *buffers = *effort->kept;
    *effort->kept = (bench_buffers){0};
    return true;
}

void bench_give_buffers(const bench_effort *effort, bench_buffers *buffers)
{
    if (effort->kept != NULL)
        *effort->kept = *buffers;
    else
        bench_buffers_free(buffers);
}

static bool work_new(const bench_point *point, const bench_effort *effort, work *w,
                     rope_error *error)
{
    const rope_spec *spec = &point->problem->spec;
    *w = (work){.kernel = point->kernel, .axes = point->problem->frequencies.axis_count};
    size_t bytes = (size_t)bench_point_bytes(point);
    if (!bench_take_buffers(effort, bytes, &w->buffers, error))
        return false;
    w->positions = malloc((size_t)(point->tokens * w->axes) * sizeof *w->positions);
    if (w->positions == NULL) {
        bench_give_buffers(effort, &w->buffers);
        return rope_fail(error, "out of memory");
    }
    int64_t first = point->last_position + 1 - point->tokens;
    for (int64_t t = 0; t < point->tokens; t++)
        for (int64_t a = 0; a < w->axes; a++)
            w->positions[t * w->axes + a] = first + t;
    bench_fill(point->dtype, w->buffers.x, bytes / rope_dtype_bytes(point->dtype), effort->seed);
    w->args = rope_spec_plan_args(spec, &point->problem->frequencies, point->dtype, first,
                                  point->last_position);
    w->x = (rope_view){w->buffers.x, point->tokens, point->heads, point->heads * spec->head_dim,
                       spec->head_dim};
    w->y = w->x;
    if (!point->in_place)
        w->y.data = w->buffers.y;
    return true;
}

static void work_free(const bench_effort *effort, work *w)
{
    if (w->plan != NULL)
        w->kernel->destroy(w->plan);
    free(w->positions);
    bench_give_buffers(effort, &w->buffers);
}

const char *bench_status_text(rope_status status)
{
    switch (status) {
    case ROPE_OK:
        return "ok";
    case ROPE_UNSUPPORTED:
        return "the kernel does not take such arguments";
    case ROPE_RANGE:
        return "the kernel says that a position is outside its plan";
    case ROPE_NO_MEMORY:
        return "the kernel has no memory for its plan";
    case ROPE_INVALID:
        return "the kernel says that its arguments contradict each other";
    }
    return "the kernel answers with an unknown status";
}

static void decline(bench_result *result, bench_verdict verdict, const char *reason)
{
    result->verdict = verdict;
    snprintf(result->reason, sizeof result->reason, "%s", reason);
}

/* What is known without running anything; true when the point can run. */
static bool can_run(const bench_point *point, bench_result *result)
{
    const rope_kernel *kernel = point->kernel;
    uint32_t missing = kernel->cpu_features & ~rope_cpu_features();
    if (missing != 0) {
        char text[64];
        rope_cpu_features_text(missing, text, sizeof text);
        snprintf(result->reason, sizeof result->reason, "this CPU lacks %s", text);
        result->verdict = BENCH_SKIP;
        return false;
    }
    const char *reason = NULL;
    if (!(kernel->pairings & 1u << point->problem->spec.pairing))
        reason = "the kernel does not take this pairing";
    else if (!(kernel->dtypes & 1u << point->dtype))
        reason = "the kernel does not take this dtype";
    else if (point->in_place && !(kernel->header.flags & ROPE_IN_PLACE))
        reason = "the kernel does not work in place";
    else if (point->in_place && point->problem->frequencies.attention_factor < 1)
        reason = "an attention factor below 1, applied in place again and again, underflows";
    if (reason != NULL)
        decline(result, BENCH_SKIP, reason);
    return reason == NULL;
}

enum { KERNEL = 0, MEMCPY = 1, SCALE = 2, SUBJECTS = 3 };

/* Column `subject` of samples[rounds][SUBJECTS], per element. */
static void column(const double *samples, int rounds, int subject, double elements, double *out)
{
    for (int r = 0; r < rounds; r++)
        out[r] = samples[r * SUBJECTS + subject] / elements;
}

static void summarise(const double *samples, double *scratch, int rounds, double elements,
                      bench_result *result)
{
    double *kernel = scratch, *copy = scratch + rounds, *scale = scratch + 2 * rounds;
    column(samples, rounds, KERNEL, elements, kernel);
    column(samples, rounds, MEMCPY, elements, copy);
    column(samples, rounds, SCALE, elements, scale);
    result->samples = rounds;
    result->ns = bench_median(kernel, rounds);
    result->gigabytes_per_s = 2 * (double)result->bytes / (result->ns.median * elements);
    result->ratio_memcpy = bench_paired_ratio(kernel, copy, rounds);
    result->ratio_scale = bench_paired_ratio(kernel, scale, rounds);
    result->memcpy_ns = bench_median(copy, rounds).median;
    result->scale_ns = bench_median(scale, rounds).median;
    result->floor_spread = fmax(bench_spread(copy, rounds), bench_spread(scale, rounds));
}

bool bench_time_beside_floors(const bench_subject *subject, uint32_t dtype,
                              const bench_buffers *buffers, double elements,
                              const bench_effort *effort, bench_result *result, rope_error *error)
{
    size_t samples = (size_t)effort->rounds * SUBJECTS;
    double *figures = malloc(2 * samples * sizeof *figures);
    if (figures == NULL)
        return rope_fail(error, "out of memory");
    floor_work floors = {buffers, dtype};
    const bench_subject subjects[SUBJECTS] = {
        [KERNEL] = *subject,
        [MEMCPY] = {"memcpy", body_memcpy, &floors},
        [SCALE] = {"scale", body_scale, &floors},
    };
    bool good = bench_gbench_rounds(subjects, SUBJECTS, effort->rounds, effort->seconds, figures) ||
                rope_fail(error, "Google Benchmark failed");
    if (good)
        summarise(figures, figures + samples, effort->rounds, elements, result);
    free(figures);
    return good;
}

static bool time_rounds(const bench_point *point, const bench_effort *effort, work *w,
                        bench_result *result, rope_error *error)
{
    const bench_subject subject = {"kernel",
                                   point->mode == BENCH_APPLY ? body_apply : body_plan_apply, w};
    return bench_time_beside_floors(
        &subject, point->dtype, &w->buffers,
        (double)(point->tokens * point->heads * point->problem->spec.head_dim), effort, result,
        error);
}

/* Out of place, y holds the last timed output, since the last round ends with the kernel. In place,
 * x has been turned many times over; it is filled afresh, kept in y, and turned once. */
static bool check_output(const bench_point *point, const bench_effort *effort, work *w,
                         bench_result *result, rope_error *error)
{
    const void *x = w->buffers.x, *y = w->buffers.y;
    if (point->in_place) {
        bench_fill(point->dtype, w->buffers.x, w->buffers.bytes / rope_dtype_bytes(point->dtype),
                   effort->seed);
        bench_copy(w->buffers.y, w->buffers.x, w->buffers.bytes);
        if (point->mode == BENCH_APPLY)
            body_apply(w);
        else
            body_plan_apply(w);
        x = w->buffers.y;
        y = w->buffers.x;
    }
    return bench_check(point, &w->args, x, y, w->positions, effort, result, error);
}

void bench_result_init(bench_result *result, int64_t bytes)
{
    const bench_interval unknown = {NAN, NAN, NAN};
    *result = (bench_result){.bytes = bytes,
                             .ns = unknown,
                             .ratio_memcpy = unknown,
                             .ratio_scale = unknown,
                             .gigabytes_per_s = NAN,
                             .memcpy_ns = NAN,
                             .scale_ns = NAN,
                             .floor_spread = NAN,
                             .max_error_u = NAN,
                             .bound_u = NAN};
}

static bool measure(const bench_point *point, const bench_effort *effort, bool timed,
                    bench_result *result, rope_error *error)
{
    bench_result_init(result, bench_point_bytes(point));
    result->first_position = point->last_position + 1 - point->tokens;
    result->last_position = point->last_position;
    if (!can_run(point, result))
        return true;
    work w;
    if (!work_new(point, effort, &w, error))
        return false;
    rope_status status = point->kernel->plan(&w.args, &w.plan);
    bool good = true;
    if (status != ROPE_OK) {
        w.plan = NULL;
        decline(result, status == ROPE_UNSUPPORTED ? BENCH_SKIP : BENCH_FAIL,
                bench_status_text(status));
    } else {
        result->plan_bytes = (int64_t)point->kernel->plan_bytes(w.plan);
        if (timed)
            good = time_rounds(point, effort, &w, result, error);
        else if (!point->in_place)
            body_apply(&w);
        good = good && check_output(point, effort, &w, result, error);
        if (good && w.status != ROPE_OK)
            decline(result, BENCH_FAIL, bench_status_text(w.status));
    }
    work_free(effort, &w);
    return good;
}

bool bench_measure(const bench_point *point, const bench_effort *effort, bench_result *result,
                   rope_error *error)
{
    if (effort->rounds < 2 || effort->rounds % 2 != 0)
        return rope_fail(error, "internal: an odd number of rounds");
    return measure(point, effort, true, result, error);
}

bool bench_verify(const bench_point *point, const bench_effort *effort, bench_result *result,
                  rope_error *error)
{
    return measure(point, effort, false, result, error);
}

bool bench_once(const bench_point *point, uint64_t seed, rope_error *error)
{
    const bench_effort own = {.seed = seed}, *effort = &own;
    work w;
    if (!work_new(point, effort, &w, error))
        return false;
    if (point->kernel != NULL)
        body_plan_apply(&w);
    else
        bench_copy(w.buffers.y, w.buffers.x, w.buffers.bytes);
    bool good = w.status == ROPE_OK || rope_fail(error, "%s", bench_status_text(w.status));
    work_free(effort, &w);
    return good;
}
