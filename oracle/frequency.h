/* The definitions of inverse frequencies and attention factors, as enclosures. Internal to the
 * oracle. */
#ifndef ORACLE_FREQUENCY_H
#define ORACLE_FREQUENCY_H

#include <mpfi.h>

#include "impl/error.h"
#include "impl/spec/spec.h"

/* What the definitions need of a spec is there and in range (impl's validation has said so already;
 * a spec filled by hand has not been through it). */
bool frequency_check(const rope_spec *spec, rope_error *error);

/* Encloses pair's inverse frequency, scaling applied, at out's precision (>= 64 bits). False: a
 * floor or ceiling of the definition (YaRN's range) is not decided at this precision, ask for more.
 */
bool frequency_enclose(const rope_spec *spec, int64_t pair, mpfi_ptr out);

/* The same quantity as frameworks compute it in f32, each step correctly rounded; a single point.
 * docs/oracle.md states the steps. */
void frequency_as_trained(const rope_spec *spec, int64_t pair, mpfr_ptr out);

/* Encloses the attention factor A. */
void frequency_attention_factor(const rope_spec *spec, mpfi_ptr out);

/* The axis that a pair takes its position from. */
uint32_t frequency_axis(const rope_spec *spec, int64_t pair);
uint32_t frequency_axis_count(const rope_spec *spec);

/* The exponent of base is 2 index / dim: dim is rotary_dim, head_dim, or an axis's share. Shared
 * with frequency_as_trained. */
typedef struct frequency_exponent {
    int64_t index, dim;
    bool zero; /* proportional: no rotation past the share */
} frequency_exponent;
frequency_exponent frequency_exponent_of(const rope_spec *spec, int64_t pair);

/* YaRN's ramp for pair: numerator / denominator before clamping. */
bool frequency_yarn_range(const rope_spec *spec, mpfi_ptr low, mpfi_ptr span);

/* dynamic: a = s L'/L - (s - 1), L' = max(length, L). */
void frequency_dynamic_stretch(const rope_spec *spec, mpfi_ptr out);

/* longrope: the list that holds at the spec's length. */
const rope_list *frequency_longrope_factors(const rope_spec *spec);

#endif
