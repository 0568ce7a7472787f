/* Building hypotheses, and the positions and angles that they say. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"
#include "impl/spec/frequencies.h"
#include "props/explain_round.h"
#include "props/identify_try.h"

/* ---- building ---- */

static void *copy_of(const void *data, size_t bytes)
{
    void *copy = malloc(bytes);
    if (copy != NULL)
        memcpy(copy, data, bytes);
    return copy;
}

static prop_hypothesis *complete(prop_hypothesis *h)
{
    if (h->theta == NULL || h->theta_lo == NULL || h->steps == NULL || h->axis == NULL) {
        prop_hypothesis_free(h);
        return NULL;
    }
    h->model.theta = h->theta;
    h->model.theta_lo = h->theta_lo;
    h->model.steps = h->steps;
    return h;
}

/* To twice the precision of f64: f64 dumps are held to some u of the exact factor. */
static oracle_dd attention_factor(const rope_spec *spec)
{
    rope_triple a = rope_attention_factor(spec);
    double hi = rope_triple_f64(a);
    return (oracle_dd){hi, rope_triple_f64(rope_triple_subtract(a, rope_triple_of(hi)))};
}

prop_hypothesis *prop_hypothesis_new(const prop_sample *sample, const rope_spec *spec,
                                     uint32_t angles)
{
    rope_error error;
    prop_hypothesis *h = calloc(1, sizeof *h);
    if (h == NULL || !rope_spec_copy(spec, &h->spec)) {
        free(h);
        return NULL;
    }
    rope_frequencies f;
    if (!rope_spec_resolve(spec, ROPE_TRUTH_EXACT, &f, &error)) {
        prop_hypothesis_free(h);
        return NULL;
    }
    size_t pairs = (size_t)f.pairs;
    h->theta = copy_of(f.hi, pairs * sizeof *h->theta);
    h->theta_lo = copy_of(f.lo, pairs * sizeof *h->theta_lo);
    h->axis = copy_of(f.axis, pairs);
    h->steps = malloc(pairs * sizeof *h->steps);
    h->angles = angles;
    h->model = (prop_model){.pairing = spec->pairing,
                            .head_dim = spec->head_dim,
                            .rotary_dim = spec->rotary_dim,
                            .rotary_offset = spec->rotary_offset,
                            .pairs = f.pairs,
                            .attention_factor = attention_factor(spec),
                            .input_dtype = sample->input_dtype,
                            .dtype = sample->dtype};
    if (h->theta != NULL && h->steps != NULL)
        prop_frequency_steps(spec, h->theta, f.pairs, h->steps);
    rope_frequencies_free(&f);
    return complete(h);
}

prop_hypothesis *prop_hypothesis_derive(const prop_hypothesis *from, const char *fault,
                                        const char *detail)
{
    prop_hypothesis *h = malloc(sizeof *h);
    if (h == NULL)
        return NULL;
    *h = *from;
    size_t pairs = (size_t)from->model.pairs;
    h->theta = copy_of(from->theta, pairs * sizeof *h->theta);
    h->theta_lo = copy_of(from->theta_lo, pairs * sizeof *h->theta_lo);
    h->steps = copy_of(from->steps, pairs * sizeof *h->steps);
    h->axis = copy_of(from->axis, pairs);
    if (!rope_spec_copy(&from->spec, &h->spec)) {
        rope_spec_init(&h->spec);
        prop_hypothesis_free(h);
        return NULL;
    }
    snprintf(h->fault, sizeof h->fault, "%s", fault);
    snprintf(h->detail, sizeof h->detail, "%s", detail);
    h->explains = false;
    return complete(h);
}

void prop_hypothesis_free(prop_hypothesis *h)
{
    if (h == NULL)
        return;
    rope_spec_free(&h->spec);
    free(h->theta);
    free(h->theta_lo);
    free(h->steps);
    free(h->axis);
    free(h);
}

bool prop_hypotheses_add(prop_hypotheses *list, prop_hypothesis *h)
{
    if (h == NULL)
        return true;
    if (list->count == list->capacity) {
        int64_t capacity = list->capacity ? 2 * list->capacity : 64;
        prop_hypothesis **items = realloc(list->items, (size_t)capacity * sizeof *items);
        if (items == NULL) {
            prop_hypothesis_free(h);
            return false;
        }
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->count++] = h;
    return true;
}

void prop_hypotheses_free(prop_hypotheses *list)
{
    for (int64_t i = 0; i < list->count; i++)
        prop_hypothesis_free(list->items[i]);
    free(list->items);
    *list = (prop_hypotheses){0};
}

/* ---- positions and angles ---- */

bool prop_map_by_head(prop_map map)
{
    return map == PROP_MAP_HEAD || map == PROP_MAP_HEAD_POSITION || map == PROP_MAP_SWAPPED;
}

static double given(const prop_sample *s, int64_t token, uint32_t axis)
{
    if (s->position == NULL)
        return (double)s->index[token];
    return (double)s->position[token * s->axes + (axis < s->axes ? axis : 0)];
}

double prop_mapped_position(const prop_hypothesis *h, const prop_sample *s, int64_t token,
                            int64_t head, uint32_t axis)
{
    double p = given(s, token, axis);
    switch (h->map) {
    case PROP_MAP_NEGATED:
        return -p - h->map_value; /* map_value: an offset, where positions are not known */
    case PROP_MAP_OFFSET:
        return p + h->map_value;
    case PROP_MAP_SCALED:
        return p * h->map_value;
    case PROP_MAP_ROUNDED:
        return prop_round(h->map_dtype, p);
    case PROP_MAP_TF32: { /* 11 significant bits at f32's exponents */
        double unit = 8 * prop_spacing(ROPE_F32, p) * 1024;
        return rint(p / unit) * unit;
    }
    case PROP_MAP_HEAD:
        return (double)head;
    case PROP_MAP_HEAD_POSITION:
        return given(s, head % s->tokens, axis);
    case PROP_MAP_SWAPPED:
        return given(s, (token * s->heads + head) % s->tokens, axis);
    case PROP_MAP_INDEX:
        return (double)s->index[token];
    case PROP_MAP_CONSTANT:
        return h->map_value;
    case PROP_MAP_PREVIOUS:
        return given(s, token > 0 ? token - 1 : 0, axis);
    case PROP_MAP_AXES:
        return given(s, token, (uint32_t)h->map_value >> (2 * axis) & 3);
    case PROP_MAP_WRAPPED:
        if (h->map_value < 0) /* a signed type of that many numbers */
            return p + h->map_value * floor(0.5 - p / h->map_value);
        return p - h->map_value * floor(p / h->map_value);
    case PROP_MAP_CLAMPED:
        return p < h->map_value ? p : h->map_value;
    default:
        return p;
    }
}

oracle_cos_sin_dd prop_turn(const prop_hypothesis *h, int64_t pair, double position)
{
    double theta = h->theta[pair], angle = position * theta;
    double rest = fma(position, theta, -angle) + position * h->theta_lo[pair];
    oracle_cos_sin_dd r;
    if (h->model.dtype == ROPE_F64) {
        /* angle + rest has more bits than a long double: at 31000 radians the sum would be off by
         * 2^-50, some u of f64. cos and sin of angle, turned by rest, leave rest^3 / 6 out: below
         * 2^-64 for angles up to 2^32. */
        long double c0, s0, turn = (long double)rest, bent = 1 - turn * turn / 2;
        sincosl((long double)angle, &s0, &c0);
        long double c = c0 * bent - s0 * turn, s = s0 * bent + c0 * turn;
        r.cos.hi = (double)c;
        r.cos.lo = (double)(c - (long double)r.cos.hi);
        r.sin.hi = (double)s;
        r.sin.lo = (double)(s - (long double)r.sin.hi);
        return r;
    }
    double s, c;
    sincos(angle, &s, &c);
    r.cos.hi = c - s * rest;
    r.sin.hi = s + c * rest;
    r.cos.lo = r.sin.lo = 0;
    return r;
}
