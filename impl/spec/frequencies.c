/* Inverse frequencies and attention factor of a validated spec. */
#include <math.h>
#include <stdlib.h>

#include "impl/spec/dd.h"
#include "impl/spec/spec.h"

/* Axis of a pair, and its exponent base^(-numerator/denominator). */
typedef struct place {
    uint8_t axis;
    int64_t numerator, denominator;
} place;

static place place_of(const rope_spec *spec, int64_t pair)
{
    int64_t pairs = spec->rotary_dim / 2;
    place p = {0, 2 * pair, spec->exponent_by_head ? spec->head_dim : spec->rotary_dim};
    const double *sections = spec->sections.values;
    switch (spec->axes) {
    case ROPE_AXES_MROPE:
        p.axis = (uint8_t)((pair >= sections[0]) + (pair >= sections[0] + sections[1]));
        break;
    case ROPE_AXES_MROPE_INTERLEAVED:
        if (pair % 3 != 0 && pair < 3 * sections[pair % 3])
            p.axis = (uint8_t)(pair % 3);
        break;
    case ROPE_AXES_HEIGHT_WIDTH:
    case ROPE_AXES_WIDTH_HEIGHT: {
        /* Each axis has a RoPE of its own over its section: the exponents start again. */
        int64_t first = sections != NULL ? (int64_t)sections[0] : pairs / 2;
        bool second = pair >= first;
        int64_t own = second ? pairs - first : first;
        p.axis = (spec->axes == ROPE_AXES_HEIGHT_WIDTH) == second;
        p.numerator = 2 * (second ? pair - first : pair);
        p.denominator = spec->exponent_by_head ? spec->head_dim : 2 * own;
        break;
    }
    default:
        break;
    }
    return p;
}

static bool frequency(const rope_spec *spec, int64_t pair, place p, rope_dd *out, rope_error *error)
{
    if (spec->inv_freq.count != 0) {
        *out = (rope_dd){spec->inv_freq.values[pair], 0};
        return true;
    }
    rope_dd theta = rope_dd_power((rope_dd){spec->base, 0}, -p.numerator, p.denominator);
    switch (spec->scaling) {
    case ROPE_SCALING_NONE:
        break;
    case ROPE_SCALING_LINEAR:
        theta = dd_divide_double(theta, spec->factor);
        break;
    default:
        return rope_fail(error, "scaling=%s is not supported by this build",
                         rope_scaling_name(spec->scaling));
    }
    if (spec->divisors.count != 0)
        theta = dd_divide_double(theta, spec->divisors.values[pair]);
    *out = theta;
    return true;
}

bool rope_spec_resolve(const rope_spec *spec, rope_truth truth, rope_frequencies *frequencies,
                       rope_error *error)
{
    int64_t pairs = spec->rotary_dim / 2;
    *frequencies = (rope_frequencies){.pairs = pairs, .axis_count = rope_spec_axis_count(spec)};
    if (truth != ROPE_TRUTH_EXACT)
        return rope_fail(error, "truth as-trained is not supported by this build");
    frequencies->hi = calloc((size_t)pairs, sizeof *frequencies->hi);
    frequencies->lo = calloc((size_t)pairs, sizeof *frequencies->lo);
    frequencies->axis = calloc((size_t)pairs, sizeof *frequencies->axis);
    bool ok = frequencies->hi != NULL && frequencies->lo != NULL && frequencies->axis != NULL;
    if (!ok)
        rope_fail(error, "out of memory for %lld inverse frequencies", (long long)pairs);
    for (int64_t i = 0; ok && i < pairs; i++) {
        place p = place_of(spec, i);
        rope_dd theta = {0, 0};
        ok = frequency(spec, i, p, &theta, error);
        if (!ok)
            break;
        frequencies->hi[i] = theta.hi;
        frequencies->lo[i] = theta.lo;
        frequencies->axis[i] = p.axis;
    }
    frequencies->attention_factor = isnan(spec->attention_factor) ? 1 : spec->attention_factor;
    if (!ok)
        rope_frequencies_free(frequencies);
    return ok;
}

void rope_frequencies_free(rope_frequencies *frequencies)
{
    free(frequencies->hi);
    free(frequencies->lo);
    free(frequencies->axis);
    *frequencies = (rope_frequencies){0};
}
