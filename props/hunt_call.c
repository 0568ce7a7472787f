#include "props/hunt_call.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"
#include "props/certify_exact.h"
#include "props/certify_measure.h"
#include "props/certify_worker.h"
#include "props/fpstate.h"
#include "props/isolate.h"

struct hunt_call {
    const certify_subject *s;
    oracle *o;
    const rope_frequencies *frequencies;
    certify_options range;
    int64_t pairs;
    rope_plan_args args;
    rope_plan *plan;
    certify_exact_rows *exact;
    int count;
    int64_t positions[HUNT_TOKENS * ROPE_MAX_AXES];
    double *bound;                                     /* [HUNT_TOKENS][pairs] */
    double *ulp, *correct, *undecided, *above, *limit; /* [pairs] */
    unsigned char *x, *y;                              /* [HUNT_TOKENS][head_dim] of the dtype */
};

hunt_call *hunt_call_new(const certify_subject *s, oracle *o, const rope_frequencies *frequencies,
                         int64_t range_first, int64_t range_end)
{
    hunt_call *h = calloc(1, sizeof *h);
    if (h == NULL)
        return NULL;
    size_t pairs = (size_t)frequencies->pairs;
    size_t row = (size_t)s->spec->head_dim * rope_dtype_bytes(s->dtype);
    *h = (hunt_call){.s = s,
                     .o = o,
                     .frequencies = frequencies,
                     .range = {.first = range_first, .end = range_end},
                     .pairs = frequencies->pairs};
    h->exact = certify_exact_new(o, HUNT_TOKENS);
    h->bound = malloc(HUNT_TOKENS * pairs * sizeof(double));
    double *room = malloc(5 * pairs * sizeof *room);
    h->ulp = room;
    h->x = calloc(HUNT_TOKENS, row);
    h->y = malloc(HUNT_TOKENS * row);
    if (!h->exact || !h->bound || !room || !h->x || !h->y) {
        hunt_call_free(h);
        return NULL;
    }
    h->correct = room + pairs;
    h->undecided = room + 2 * pairs;
    h->above = room + 3 * pairs;
    h->limit = room + 4 * pairs;
    for (size_t i = 0; i < pairs; i++)
        h->limit[i] = INFINITY;
    certify_measure_choose();
    return h;
}

void hunt_call_free(hunt_call *h)
{
    if (h == NULL)
        return;
    if (h->plan != NULL)
        h->s->kernel->destroy(h->plan);
    certify_exact_free(h->exact);
    free(h->bound);
    free(h->ulp);
    free(h->x);
    free(h->y);
    free(h);
}

bool hunt_call_window(hunt_call *h, int64_t position, int64_t *first, int64_t *end,
                      rope_error *error)
{
    certify_window_at(&h->range, h->pairs, position, first, end);
    if (h->plan != NULL && h->args.first[0] == *first)
        return true;
    if (h->plan != NULL)
        h->s->kernel->destroy(h->plan);
    h->plan = NULL;
    prop_beat();
    h->args =
        rope_spec_plan_args(h->s->spec, h->frequencies, (rope_dtype)h->s->dtype, *first, *end - 1);
    rope_status status = h->s->kernel->plan(&h->args, &h->plan);
    if (status == ROPE_OK)
        return true;
    h->plan = NULL;
    return rope_fail(error, "plan returned status %d for positions %" PRId64 " to %" PRId64,
                     (int)status, *first, *end - 1);
}

bool hunt_call_positions(hunt_call *h, const int64_t *positions, int count, rope_error *error)
{
    double ceiling = sqrt(2) / rope_dtype_unit_roundoff(h->s->dtype);
    uint32_t axes = h->frequencies->axis_count;
    h->count = count;
    for (int t = 0; t < count; t++) {
        for (uint32_t axis = 0; axis < axes; axis++)
            h->positions[(uint32_t)t * axes + axis] = positions[t];
        for (int64_t i = 0; i < h->pairs; i++) {
            double bound = h->s->kernel->error_bound(&h->args, positions[t], i);
            h->bound[t * h->pairs + i] = bound >= 0 && bound < ceiling ? bound : INFINITY;
        }
    }
    return certify_exact_gather(h->exact, positions, count, error);
}

double hunt_call_bound(const hunt_call *h, int t, int64_t i)
{
    return h->bound[t * h->pairs + i];
}

void hunt_call_rotor(const hunt_call *h, int t, int64_t i, double *cosine, double *sine)
{
    certify_exact row = certify_exact_row(h->exact, t);
    *cosine = row.cos_hi[i];
    *sine = row.sin_hi[i];
}

bool hunt_call_run(hunt_call *h, const double *x0, const double *x1, double *y0, double *y1,
                   double *error_u, rope_error *error)
{
    const rope_spec *spec = h->s->spec;
    int64_t head_dim = spec->head_dim, step = spec->pairing == ROPE_HALF ? 1 : 2;
    int64_t u = spec->rotary_offset, v = u + (spec->pairing == ROPE_HALF ? h->pairs : 1);
    size_t bytes = rope_dtype_bytes(h->s->dtype);
    for (int t = 0; t < h->count; t++) {
        int64_t row = t * head_dim, at = t * h->pairs;
        certify_encode(h->s->dtype, h->x, row + u, step, h->pairs, x0 + at);
        certify_encode(h->s->dtype, h->x, row + v, step, h->pairs, x1 + at);
    }
    memset(h->y, 0xff, (size_t)h->count * (size_t)head_dim * bytes);
    rope_view x = {h->x, h->count, 1, head_dim, head_dim}, y = x;
    y.data = h->y;
    prop_beat();
    prop_fpstate before = prop_fpstate_get();
    rope_status status =
        h->s->kernel->apply(h->plan, &x, &y, h->positions, h->frequencies->axis_count);
    char changed[PROP_FPSTATE_TEXT];
    if (!prop_fpstate_check(&before, changed, sizeof changed))
        return rope_fail(error, "%s", changed);
    if (status != ROPE_OK)
        return rope_fail(error, "apply returned status %d", (int)status);
    certify_unit unit = certify_unit_of(h->s->dtype, h->args.attention_factor);
    for (int t = 0; t < h->count; t++) {
        int64_t at = t * h->pairs;
        certify_decode(h->s->dtype, h->y, t * head_dim + u, step, h->pairs, y0 + at);
        certify_decode(h->s->dtype, h->y, t * head_dim + v, step, h->pairs, y1 + at);
        certify_row row = {
            certify_exact_row(h->exact, t), x0 + at, x1 + at, y0 + at, y1 + at, h->limit, h->pairs};
        certify_errors errors = {error_u + at, h->ulp, h->correct, h->undecided, h->above};
        certify_measure(&unit, &row, &errors);
        for (int64_t i = 0; i < h->pairs; i++)
            if (!(error_u[at + i] < 0x1p100))
                error_u[at + i] = INFINITY;
    }
    return true;
}
