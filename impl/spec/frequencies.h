/* Parts that the exact and the as-trained resolution of a spec share. Internal to impl/spec. */
#ifndef ROPE_FREQUENCIES_H
#define ROPE_FREQUENCIES_H

#include "impl/spec/spec.h"
#include "impl/spec/triple.h"

/* Where a pair stands: its position axis, and the exponent of base, -2 index / dimension. */
typedef struct rope_place {
    uint8_t axis;
    bool still; /* proportional: past the share, no rotation */
    int64_t index, dimension;
} rope_place;
rope_place rope_place_of(const rope_spec *spec, int64_t pair);

/* What all pairs of a spec share. */
typedef struct rope_solver {
    const rope_spec *spec;
    rope_triple_log2 base;
    rope_triple stretch;           /* ntk, ntk-su, dynamic: what multiplies the base's power */
    rope_triple_log2 stretch_log2; /* of it */
    rope_triple low, span;         /* yarn: the ramp's first pair and length, in pairs */
    rope_triple_log2 base_f32;     /* as trained: of the f32 base that the power is taken of ... */
    rope_triple_log2 factor_f32;   /* ... and of factor as f32 (ntk-su) */
} rope_solver;
bool rope_solver_begin(rope_solver *solver, const rope_spec *spec, rope_error *error);

/* longrope: the factors that hold at the spec's length: short up to and at original. */
const rope_list *rope_longrope_factors(const rope_spec *spec);

/* Inverse frequency of a pair, relative error below 2^-98: see the comment in frequencies.c. */
rope_triple rope_frequency_exact(const rope_solver *solver, int64_t pair, rope_place place);

/* The same computed in f32, each step correctly rounded; rope_solver_begin_f32 comes first. */
bool rope_solver_begin_f32(rope_solver *solver, rope_error *error);
float rope_frequency_as_trained(const rope_solver *solver, int64_t pair, rope_place place);

/* A, error 2^-130 relative. */
rope_triple rope_attention_factor(const rope_spec *spec);

#endif
