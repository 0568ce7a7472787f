#include "props/mutants/common.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool uses_loop(const mutant_hooks *h)
{
    return h->position != NULL || h->turn != NULL || h->row != NULL;
}

rope_status mutant_plan(const mutation *m, const mutant_hooks *hooks, const rope_plan_args *args,
                        rope_plan **plan)
{
    const rope_kernel *original = mutant_original(m);
    rope_plan *probe = NULL;
    if (args->size < sizeof *args || args->flags != 0 || args->pairs > MUTANT_MAX_PAIRS)
        return ROPE_UNSUPPORTED;
    if (args->pairs < 1)
        return ROPE_INVALID;
    size_t pairs = (size_t)args->pairs;
    rope_plan *p = calloc(1, sizeof *p);
    if (p == NULL)
        return ROPE_NO_MEMORY;
    p->hooks = hooks;
    p->original = original;
    p->args = *args;
    p->spec = *args->spec;
    p->hi = malloc(pairs * sizeof *p->hi);
    p->lo = malloc(pairs * sizeof *p->lo);
    p->axis = malloc(pairs);
    rope_status status = ROPE_NO_MEMORY;
    if (p->hi == NULL || p->lo == NULL || p->axis == NULL)
        goto fail;
    memcpy(p->hi, args->frequency_hi, pairs * sizeof *p->hi);
    memcpy(p->lo, args->frequency_lo, pairs * sizeof *p->lo);
    memcpy(p->axis, args->axis, pairs);
    p->args.spec = &p->spec;
    p->args.frequency_hi = p->hi;
    p->args.frequency_lo = p->lo;
    p->args.axis = p->axis;
    p->bytes = sizeof *p + pairs * (2 * sizeof *p->hi + 1);

    /* The plain loop needs no table, but it takes and refuses what the original does: asked with a
     * window of one position. */
    rope_plan_args small = *args;
    for (uint32_t a = 0; a < small.axis_count && a < ROPE_MAX_AXES; a++)
        if (small.first[a] <= small.last[a])
            small.last[a] = small.first[a];
    if (hooks->alter != NULL)
        hooks->alter(p);
    if (uses_loop(hooks)) {
        status = original->plan(&small, &probe);
        if (status == ROPE_OK)
            original->destroy(probe);
    } else {
        status = original->plan(&p->args, &p->inner);
        if (status == ROPE_OK)
            p->bytes += original->plan_bytes(p->inner);
    }
    if (status != ROPE_OK)
        goto fail;
    *plan = p;
    return ROPE_OK;
fail:
    mutant_destroy(p);
    return status;
}

rope_status mutant_apply(const rope_plan *p, const rope_view *x, const rope_view *y,
                         const int64_t *positions, int64_t position_stride)
{
    const mutant_hooks *h = p->hooks;
    if (h->apply != NULL)
        return h->apply(p, x, y, positions, position_stride);
    return (uses_loop(h) ? mutant_loop : mutant_honest)(p, x, y, positions, position_stride);
}

rope_status mutant_honest(const rope_plan *p, const rope_view *x, const rope_view *y,
                          const int64_t *positions, int64_t position_stride)
{
    return p->original->apply(p->inner, x, y, positions, position_stride);
}

void mutant_destroy(rope_plan *p)
{
    if (p == NULL)
        return;
    if (p->inner != NULL)
        p->original->destroy(p->inner);
    free(p->hi);
    free(p->lo);
    free(p->axis);
    free(p);
}

size_t mutant_plan_bytes(const rope_plan *p)
{
    return p->bytes;
}

bool mutant_in_window(const rope_plan *p, const int64_t *positions, int64_t tokens,
                      int64_t position_stride)
{
    for (int64_t t = 0; t < tokens; t++)
        for (uint32_t a = 0; a < p->args.axis_count; a++) {
            int64_t position = positions[t * position_stride + (int64_t)a];
            if (position < p->args.first[a] || position > p->args.last[a])
                return false;
        }
    return true;
}

/* As in impl/kernels/lookup.c: the f64 angle, what it leaves of the exact one to first order, one
 * rounding to f32. */
void mutant_turn(const rope_plan *p, int64_t position, int64_t pair, float *c, float *s)
{
    double m = (double)position, angle = m * p->hi[pair];
    double left = fma(m, p->hi[pair], -angle) + m * p->lo[pair];
    double cosine = cos(angle), sine = sin(angle);
    *c = (float)(p->args.attention_factor * (cosine - left * sine));
    *s = (float)(p->args.attention_factor * (sine + left * cosine));
}

void mutant_elements(const rope_plan *p, int64_t pair, int64_t *first, int64_t *second)
{
    bool half = p->spec.pairing == ROPE_HALF;
    *first = p->spec.rotary_offset + (half ? pair : 2 * pair);
    *second = *first + (half ? p->args.pairs : 1);
}

void mutant_rotate_pair(const mutant_row *r, int64_t pair, const float *x, float *y)
{
    int64_t a, b;
    mutant_elements(r->plan, pair, &a, &b);
    float c = r->cosines[pair], s = r->sines[pair], u = x[a], v = x[b];
    y[a] = u * c - v * s;
    y[b] = u * s + v * c;
}

void mutant_copy_rest(const mutant_row *r, const float *x, float *y)
{
    int64_t offset = r->plan->spec.rotary_offset, end = offset + 2 * r->plan->args.pairs;
    if (x == y)
        return;
    memcpy(y, x, (size_t)offset * sizeof *y);
    memcpy(y + end, x + end, (size_t)(r->plan->spec.head_dim - end) * sizeof *y);
}

void mutant_rotate_row(const mutant_row *r, const float *x, float *y)
{
    for (int64_t i = 0; i < r->plan->args.pairs; i++)
        mutant_rotate_pair(r, i, x, y);
    mutant_copy_rest(r, x, y);
}

rope_status mutant_loop(const rope_plan *p, const rope_view *x, const rope_view *y,
                        const int64_t *positions, int64_t position_stride)
{
    const mutant_hooks *h = p->hooks;
    void (*turn)(const rope_plan *, int64_t, int64_t, float *, float *) =
        h->turn != NULL ? h->turn : mutant_turn;
    void (*rotate)(const mutant_row *, const float *, float *) =
        h->row != NULL ? h->row : mutant_rotate_row;
    float cosines[MUTANT_MAX_PAIRS], sines[MUTANT_MAX_PAIRS];
    if (x->tokens != y->tokens || x->heads != y->heads)
        return ROPE_INVALID;
    if (!mutant_in_window(p, positions, x->tokens, position_stride))
        return ROPE_RANGE;
    for (int64_t t = 0; t < x->tokens; t++) {
        mutant_row row = {.plan = p,
                          .token = t,
                          .heads = x->heads,
                          .position = positions + t * position_stride,
                          .cosines = cosines,
                          .sines = sines};
        for (int64_t i = 0; i < p->args.pairs; i++) {
            int64_t position = row.position[p->axis[i]];
            turn(p, h->position != NULL ? h->position(p, position) : position, i, &cosines[i],
                 &sines[i]);
        }
        for (row.head = 0; row.head < x->heads; row.head++)
            rotate(&row, mutant_row_of(x, t, row.head), mutant_row_of(y, t, row.head));
    }
    return ROPE_OK;
}

void mutant_scale_frequency(rope_plan *p, int64_t pair, double ratio)
{
    if (ratio == 1)
        return;
    p->hi[pair] *= ratio;
    p->lo[pair] = 0;
}

rope_plan *mutant_mutable(const rope_plan *p)
{
    return (rope_plan *)(uintptr_t)p;
}

float *mutant_row_of(const rope_view *view, int64_t token, int64_t head)
{
    return (float *)view->data + token * view->token_stride + head * view->head_stride;
}

double mutant_exponent(const rope_plan *p, int64_t pair)
{
    bool by_head = p->spec.exponent_by_head || p->spec.scaling == ROPE_SCALING_PROPORTIONAL;
    return 2 * (double)pair / (double)(by_head ? p->spec.head_dim : p->spec.rotary_dim);
}

double mutant_round(double x, int bits)
{
    int exponent;
    double significand = frexp(x, &exponent);
    if (x == 0 || !isfinite(x))
        return x;
    return ldexp(nearbyint(ldexp(significand, bits)), exponent - bits);
}

double mutant_round_f16(double x)
{
    double rounded = fabs(x) < 0x1p-14 ? nearbyint(x * 0x1p24) * 0x1p-24 : mutant_round(x, 11);
    return fabs(rounded) > 65504 ? copysign(INFINITY, x) : rounded;
}
