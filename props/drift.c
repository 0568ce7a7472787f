#include "props/drift.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"
#include "oracle/measure.h"
#include "props/isolate.h"

enum { SPAN = 4096, ROWS = 2 }; /* positions of m, n and of k's spread; q and k */

typedef struct study {
    const certify_subject *s;
    const rope_frequencies *frequencies;
    int64_t samples;
    uint64_t seed, state;
    drift_result *result; /* shared */
    int64_t head_dim;
    unsigned char *x, *y; /* [ROWS][head_dim] of the dtype */
} study;

static uint64_t draw(study *t)
{
    t->state ^= t->state >> 12;
    t->state ^= t->state << 25;
    t->state ^= t->state >> 27;
    return t->state * UINT64_C(0x2545f4914f6cdd1d);
}

/* Fills q and k; returns |q| |k|. */
static double draw_rows(study *t)
{
    double norm[ROWS] = {0};
    for (int64_t i = 0; i < ROWS * t->head_dim; i++) {
        oracle_store(t->s->dtype, t->x, i, (double)(draw(t) >> 11) * 0x1p-52 - 1);
        double value = oracle_load(t->s->dtype, t->x, i);
        norm[i / t->head_dim] += value * value;
    }
    return sqrt(norm[0]) * sqrt(norm[1]);
}

/* q rotated to m, k to n by the kernel; their product summed in f64 (2^-53 |q| |k| at most a
 * term). */
static bool score(study *t, const rope_plan *plan, int64_t m, int64_t n, double *value,
                  rope_error *error)
{
    uint32_t axes = t->frequencies->axis_count;
    int64_t positions[ROWS * ROPE_MAX_AXES];
    for (uint32_t axis = 0; axis < axes; axis++) {
        positions[axis] = m;
        positions[axes + axis] = n;
    }
    rope_view x = {t->x, ROWS, 1, t->head_dim, t->head_dim}, y = x;
    y.data = t->y;
    rope_status status = t->s->kernel->apply(plan, &x, &y, positions, axes);
    if (status != ROPE_OK)
        return rope_fail(error, "apply returned status %d at positions %lld and %lld", (int)status,
                         (long long)m, (long long)n);
    *value = 0;
    for (int64_t i = 0; i < t->head_dim; i++)
        *value +=
            oracle_load(t->s->dtype, t->y, i) * oracle_load(t->s->dtype, t->y, t->head_dim + i);
    return true;
}

static rope_plan *plan_for(const study *t, int64_t first, int64_t last, rope_error *error)
{
    rope_plan_args args =
        rope_spec_plan_args(t->s->spec, t->frequencies, (rope_dtype)t->s->dtype, first, last);
    rope_plan *plan = NULL;
    rope_status status = t->s->kernel->plan(&args, &plan);
    if (status == ROPE_OK)
        return plan;
    rope_fail(error, "plan returned status %d for positions %lld to %lld", (int)status,
              (long long)first, (long long)last);
    return NULL;
}

static bool study_magnitude(study *t, const rope_plan *near, int j, rope_error *error)
{
    drift_result *r = t->result;
    int64_t magnitude = r->magnitude[j];
    rope_plan *far = plan_for(t, magnitude, magnitude + 2 * SPAN, error);
    if (far == NULL)
        return false;
    bool good = true;
    double squares = 0;
    t->state = 2 * t->seed + 1; /* the same rows and positions for every magnitude */
    for (int64_t k = 0; good && k < t->samples; k++) {
        double norm = draw_rows(t), before = 0, after = 0;
        int64_t m = (int64_t)(draw(t) % SPAN), n = (int64_t)(draw(t) % SPAN);
        int64_t shift = magnitude + (int64_t)(draw(t) % SPAN);
        good = score(t, near, m, n, &before, error) &&
               score(t, far, m + shift, n + shift, &after, error);
        double drift = fabs(after - before) / norm;
        drift = isnan(drift) ? INFINITY : drift;
        r->largest[j] = fmax(r->largest[j], drift);
        squares += drift * drift;
    }
    r->rms[j] = sqrt(squares / (double)t->samples);
    t->s->kernel->destroy(far);
    prop_beat();
    return good;
}

static int study_body(void *context)
{
    study *t = context;
    rope_error error;
    size_t bytes = (size_t)t->head_dim * rope_dtype_bytes(t->s->dtype);
    t->x = malloc(ROWS * bytes);
    t->y = malloc(ROWS * bytes);
    bool good = (t->x != NULL && t->y != NULL) || rope_fail(&error, "out of memory");
    rope_plan *near = good ? plan_for(t, 0, SPAN, &error) : NULL;
    good = near != NULL;
    for (int j = 0; good && j < DRIFT_MAGNITUDES; j++)
        good = study_magnitude(t, near, j, &error);
    if (!good)
        snprintf(t->result->reason, sizeof t->result->reason, "%.190s", error.text);
    return 0;
}

bool drift_run(const certify_subject *s, const rope_frequencies *frequencies, int64_t samples,
               uint64_t seed, drift_result *result, rope_error *error)
{
    prop_limits limits = {.cpu_seconds = 60, .wall_seconds = 600, .memory_bytes = 0};
    prop_end end;
    study t = {.s = s,
               .frequencies = frequencies,
               .samples = samples,
               .seed = seed,
               .head_dim = s->spec->head_dim};
    t.result = prop_share(sizeof *t.result);
    if (t.result == NULL)
        return rope_fail(error, "out of memory");
    t.result->samples = samples;
    for (int64_t j = 0, magnitude = 1; j < DRIFT_MAGNITUDES; j++, magnitude *= 10)
        t.result->magnitude[j] = magnitude;
    bool good = prop_isolate(study_body, &t, &limits, &end, error);
    *result = *t.result;
    prop_unshare(t.result, sizeof *t.result);
    if (good && end.outcome != PROP_FINISHED)
        prop_end_text(&end, result->reason, sizeof result->reason);
    return good;
}
