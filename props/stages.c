#include "props/stages.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "oracle/measure.h"
#include "props/hunt_call.h"
#include "props/isolate.h"
#include "props/stages_model.h"

enum { CLUSTERS = 8, CLUSTER = 16 };

const char *stage_name(stage s)
{
    static const char *const names[] = {"frequency",  "angle",   "table",
                                        "arithmetic", "storage", "evaluation"};
    return names[s];
}

typedef struct study {
    const certify_subject *s;
    oracle *o;
    const rope_frequencies *frequencies;
    int64_t end;
    uint64_t state;
    stage_result *result; /* shared */
    stage_model *model;
    int64_t pairs;
    double *x0, *x1, *y0, *y1, *error_u; /* [HUNT_TOKENS][pairs] */
    double *by_frequency, *by_angle;     /* [pairs] */
    oracle_cos_sin_dd *row;              /* [pairs] */
} study;

/* Sums of squares over a band. */
typedef struct squares {
    double with[STAGES_MODELLED + 1]; /* stages 0..k-1 inexact */
    double without[STAGES_MODELLED];
    double measured;
    int64_t pairs;
} squares;

static double draw(study *t)
{
    t->state ^= t->state >> 12;
    t->state ^= t->state << 25;
    t->state ^= t->state >> 27;
    return (double)(t->state * UINT64_C(0x2545f4914f6cdd1d) >> 11) * 0x1p-53;
}

static void model_position(study *t, int token, int64_t position, squares *sum)
{
    const uint32_t all = (1u << STAGES_MODELLED) - 1;
    int64_t axes[ROPE_MAX_AXES];
    for (int axis = 0; axis < ROPE_MAX_AXES; axis++)
        axes[axis] = position;
    oracle_row(t->o, axes, t->row);
    stage_model_angles(t->model, position, t->by_frequency, t->by_angle);
    for (int64_t i = 0; i < t->pairs; i++) {
        double x0 = t->x0[token * t->pairs + i], x1 = t->x1[token * t->pairs + i];
        for (int k = 0; k <= STAGES_MODELLED + STAGES_MODELLED; k++) {
            /* First the stages before k, then all but one. */
            uint32_t inexact =
                k <= STAGES_MODELLED ? (1u << k) - 1 : all & ~(1u << (k - STAGES_MODELLED - 1));
            double turn = (inexact & 1u << STAGE_FREQUENCY ? t->by_frequency[i] : 0) +
                          (inexact & 1u << STAGE_ANGLE ? t->by_angle[i] : 0);
            double e = stage_model_error(t->model, inexact, t->row[i], turn, x0, x1);
            double *to =
                k <= STAGES_MODELLED ? &sum->with[k] : &sum->without[k - STAGES_MODELLED - 1];
            *to += e * e;
        }
        double measured = t->error_u[token * t->pairs + i];
        sum->measured += measured * measured;
        sum->pairs++;
    }
}

/* Consecutive positions from `first`: the kernel and the model on the same data. */
static bool study_cluster(study *t, int64_t first, int count, squares *sum, rope_error *error)
{
    int64_t positions[CLUSTER], window_first, window_end;
    for (int k = 0; k < count; k++)
        positions[k] = first + k;
    for (int64_t k = 0; k < count * t->pairs; k++) {
        t->x0[k] = oracle_round_dd(t->s->dtype, (oracle_dd){2 * draw(t) - 1, 0});
        t->x1[k] = oracle_round_dd(t->s->dtype, (oracle_dd){1 + draw(t), 0});
    }
    hunt_call *call = hunt_call_new(t->s, t->o, t->frequencies, first, first + count);
    bool good = call != NULL || rope_fail(error, "out of memory");
    good = good && hunt_call_window(call, first, &window_first, &window_end, error) &&
           hunt_call_positions(call, positions, count, error) &&
           hunt_call_run(call, t->x0, t->x1, t->y0, t->y1, t->error_u, error);
    hunt_call_free(call);
    for (int k = 0; good && k < count; k++)
        model_position(t, k, positions[k], sum);
    return good;
}

static bool study_band(study *t, int64_t first, int64_t end, stage_band *band, rope_error *error)
{
    squares sum = {0};
    *band = (stage_band){.first = first, .end = end};
    int64_t length = end - first;
    for (int k = 0; k < CLUSTERS; k++) {
        int count = length < CLUSTER ? (int)length : CLUSTER;
        int64_t at = first + (int64_t)(draw(t) * (double)(length - count + 1));
        /* A kernel's window may not cross cells of the certification's grid: stay in one. */
        if (at / CLUSTER != (at + count - 1) / CLUSTER && at / CLUSTER * CLUSTER >= first)
            at = at / CLUSTER * CLUSTER;
        prop_beat();
        if (!study_cluster(t, at, count, &sum, error))
            return false;
        band->positions += count;
    }
    double n = (double)sum.pairs;
    for (int s = 0; s < STAGES_MODELLED; s++) {
        band->added[s] = (sum.with[s + 1] - sum.with[s]) / n;
        band->without[s] = sqrt(sum.without[s] / n);
    }
    band->model = sqrt(sum.with[STAGES_MODELLED] / n);
    band->measured = sqrt(sum.measured / n);
    band->added[STAGE_EVALUATION] = (sum.measured - sum.with[STAGES_MODELLED]) / n;
    return true;
}

static bool study_all(study *t, rope_error *error)
{
    size_t pairs = (size_t)t->frequencies->pairs, n = HUNT_TOKENS * pairs;
    t->pairs = t->frequencies->pairs;
    t->model = stage_model_new(t->s, t->o, t->frequencies, error);
    if (t->model == NULL)
        return false;
    t->x0 = malloc((5 * n + 2 * pairs) * sizeof(double));
    t->row = malloc(pairs * sizeof *t->row);
    if (t->x0 == NULL || t->row == NULL)
        return rope_fail(error, "out of memory");
    t->x1 = t->x0 + n;
    t->y0 = t->x1 + n;
    t->y1 = t->y0 + n;
    t->error_u = t->y1 + n;
    t->by_frequency = t->error_u + n;
    t->by_angle = t->by_frequency + pairs;
    for (int64_t first = 0, end = 1; first < t->end && t->result->count < STAGE_BANDS;) {
        end = end < t->end ? end : t->end;
        if (!study_band(t, first, end, &t->result->bands[t->result->count], error))
            return false;
        t->result->count++;
        first = end;
        end = end > INT64_MAX / 2 ? INT64_MAX : 2 * end;
    }
    return true;
}

static int study_body(void *context)
{
    study *t = context;
    rope_error error;
    if (!study_all(t, &error))
        snprintf(t->result->reason, sizeof t->result->reason, "%.190s", error.text);
    return 0;
}

bool stages_run(const certify_subject *s, oracle *o, const rope_frequencies *frequencies,
                int64_t end, uint64_t seed, stage_result *result, rope_error *error)
{
    prop_limits limits = {.cpu_seconds = 60, .wall_seconds = 600, .memory_bytes = 0};
    prop_end how;
    study t = {.s = s, .o = o, .frequencies = frequencies, .end = end, .state = 2 * seed + 1};
    t.result = prop_share(sizeof *t.result);
    if (t.result == NULL)
        return rope_fail(error, "out of memory");
    bool good = prop_isolate(study_body, &t, &limits, &how, error);
    *result = *t.result;
    prop_unshare(t.result, sizeof *t.result);
    if (good && how.outcome != PROP_FINISHED)
        prop_end_text(&how, result->reason, sizeof result->reason);
    return good;
}
