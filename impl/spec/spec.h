/* Specs: what to rotate by. Read from text, validated, resolved to inverse frequencies, printed
 * back. Everything here is impl's own f64 (double-double) arithmetic; the oracle computes the same
 * from the definitions in MPFR, and the two are compared, never shared. */
#ifndef ROPE_SPEC_H
#define ROPE_SPEC_H

#include <stdint.h>

#include "impl/error.h"
#include "impl/rope.h"

/* A spec with no key given: NaN, zero and absent everywhere, size set. */
void rope_spec_init(rope_spec *spec);

/* Frees the lists and re-initialises. */
void rope_spec_free(rope_spec *spec);

/* Deep copy; *to is initialised by the call. False when memory is out. */
bool rope_spec_copy(const rope_spec *from, rope_spec *to);

/* Reads a spec from any of its notations and validates it:
 *   key=value,...               keys of docs/specs.md
 *   PRESET | PRESET,key=value,...   `tightrope list presets`
 *   PATH to a config.json, to its folder, or to a .gguf; ",key=value,..." may follow
 * False: *spec is empty and error says what, where and what was expected. */
bool rope_spec_parse(const char *text, rope_spec *spec, rope_error *error);

/* Checks a complete spec and fills defaults that its definitions give. Called by rope_spec_parse.
 */
bool rope_spec_validate(rope_spec *spec, rope_error *error);

/* Canonical key=value text, which parses back to the same spec bit for bit (17 digits). Returns the
 * length that it would have, as snprintf does. */
int rope_spec_format(const rope_spec *spec, char *text, size_t size);

/* Position axes: 1, 2 or 3. */
uint32_t rope_spec_axis_count(const rope_spec *spec);

/* Inverse frequencies after scaling, as kernels get them. */
typedef struct rope_frequencies {
    int64_t pairs;   /* rotary_dim / 2 */
    double *hi, *lo; /* [pairs] radians a position; |hi + lo - exact| <= 2^-98 |exact| */
    uint8_t *axis;   /* [pairs] */
    uint32_t axis_count;
    double attention_factor; /* A, nearest f64 */
} rope_frequencies;

typedef enum rope_truth {
    ROPE_TRUTH_EXACT = 0, /* real-number RoPE of the spec */
    ROPE_TRUTH_AS_TRAINED =
        1, /* from f32 inverse frequencies, each step of theirs correctly rounded; lo = 0 */
} rope_truth;

/* Resolves a validated spec. False when memory is out or the spec cannot be resolved. */
bool rope_spec_resolve(const rope_spec *spec, rope_truth truth, rope_frequencies *frequencies,
                       rope_error *error);
void rope_frequencies_free(rope_frequencies *frequencies);

/* Plan arguments for a window [first, last] on every axis; they point into spec and frequencies. */
rope_plan_args rope_spec_plan_args(const rope_spec *spec, const rope_frequencies *frequencies,
                                   rope_dtype dtype, int64_t first, int64_t last);

/* Names as specs write them; NULL for an unknown value. */
const char *rope_scaling_name(uint32_t scaling);
const char *rope_axes_name(uint32_t axes);

#endif
