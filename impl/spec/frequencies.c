/* Inverse frequencies and attention factor of a validated spec. */
#include "impl/spec/frequencies.h"

#include <math.h>
#include <stdlib.h>

bool rope_spec_resolve(const rope_spec *spec, rope_truth truth, rope_frequencies *frequencies,
                       rope_error *error)
{
    int64_t pairs = spec->rotary_dim / 2;
    *frequencies = (rope_frequencies){.pairs = pairs, .axis_count = rope_spec_axis_count(spec)};
    rope_solver solver;
    if (!rope_solver_begin(&solver, spec, error))
        return false;
    if (truth == ROPE_TRUTH_AS_TRAINED && spec->base > 0x1p100)
        return rope_fail(error,
                         "base is %.17g, truth as-trained expects at most 2^100: f32 ends "
                         "near 2^128",
                         spec->base);
    if (truth == ROPE_TRUTH_AS_TRAINED)
        rope_solver_begin_f32(&solver);
    frequencies->hi = calloc((size_t)pairs, sizeof *frequencies->hi);
    frequencies->lo = calloc((size_t)pairs, sizeof *frequencies->lo);
    frequencies->axis = calloc((size_t)pairs, sizeof *frequencies->axis);
    if (frequencies->hi == NULL || frequencies->lo == NULL || frequencies->axis == NULL) {
        rope_frequencies_free(frequencies);
        return rope_fail(error, "out of memory for %lld inverse frequencies", (long long)pairs);
    }
    for (int64_t i = 0; i < pairs; i++) {
        rope_place place = rope_place_of(spec, i);
        frequencies->axis[i] = place.axis;
        if (truth == ROPE_TRUTH_AS_TRAINED) {
            frequencies->hi[i] = (double)rope_frequency_as_trained(&solver, i, place);
            continue;
        }
        rope_triple theta = rope_frequency_exact(&solver, i, place);
        frequencies->hi[i] = rope_triple_f64(theta);
        rope_triple rest = rope_triple_subtract(theta, rope_triple_of(frequencies->hi[i]));
        frequencies->lo[i] = rope_triple_f64(rest);
    }
    frequencies->attention_factor = rope_triple_f64(rope_attention_factor(spec));
    return true;
}

void rope_frequencies_free(rope_frequencies *frequencies)
{
    free(frequencies->hi);
    free(frequencies->lo);
    free(frequencies->axis);
    *frequencies = (rope_frequencies){0};
}
