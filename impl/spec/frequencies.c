/* Inverse frequencies and attention factor of a validated spec. */
#include "impl/spec/frequencies.h"

#include <float.h>
#include <stdlib.h>

static bool allocate(rope_frequencies *f, rope_error *error)
{
    f->hi = calloc((size_t)f->pairs, sizeof *f->hi);
    f->lo = calloc((size_t)f->pairs, sizeof *f->lo);
    f->axis = calloc((size_t)f->pairs, sizeof *f->axis);
    return (f->hi != NULL && f->lo != NULL && f->axis != NULL) ||
           rope_fail(error, "out of memory for %lld inverse frequencies", (long long)f->pairs);
}

static void fill_exact(const rope_solver *solver, rope_frequencies *f)
{
    for (int64_t i = 0; i < f->pairs; i++) {
        rope_place place = rope_place_of(solver->spec, i);
        rope_triple theta = rope_frequency_exact(solver, i, place);
        f->axis[i] = place.axis;
        f->hi[i] = rope_triple_f64(theta);
        f->lo[i] = rope_triple_f64(rope_triple_subtract(theta, rope_triple_of(f->hi[i])));
    }
}

static bool fill_as_trained(rope_solver *solver, rope_frequencies *f, rope_error *error)
{
    if (!rope_solver_begin_f32(solver, error))
        return false;
    for (int64_t i = 0; i < f->pairs; i++) {
        rope_place place = rope_place_of(solver->spec, i);
        float theta = rope_frequency_as_trained(solver, i, place);
        bool still = place.still || (solver->spec->inv_freq.count != 0 && theta == 0);
        if (!still && !(theta >= FLT_MIN && theta <= FLT_MAX))
            return rope_fail(
                error, "truth as-trained: the inverse frequency of pair %lld is no normal f32",
                (long long)i);
        f->axis[i] = place.axis;
        f->hi[i] = (double)theta;
    }
    return true;
}

bool rope_spec_resolve(const rope_spec *spec, rope_truth truth, rope_frequencies *frequencies,
                       rope_error *error)
{
    *frequencies =
        (rope_frequencies){.pairs = spec->rotary_dim / 2, .axis_count = rope_spec_axis_count(spec)};
    rope_solver solver;
    bool ok = rope_solver_begin(&solver, spec, error) && allocate(frequencies, error);
    if (ok && truth == ROPE_TRUTH_AS_TRAINED)
        ok = fill_as_trained(&solver, frequencies, error);
    else if (ok)
        fill_exact(&solver, frequencies);
    if (!ok) {
        rope_frequencies_free(frequencies);
        return false;
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
