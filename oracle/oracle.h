/* The oracle: exact RoPE of a spec, from its definition, in MPFR. It knows specs, never a kernel,
 * and shares no arithmetic with impl/spec. Every value comes with a proven bound on its error.
 *
 *   oracle_new             a spec -> its exact inverse frequencies
 *   oracle_row             cos and sin of every pair at one position, as double-double, for
 * measuring oracle_cos_sin         the same for one pair, to any precision
 */
#ifndef ORACLE_H
#define ORACLE_H

#include <mpfr.h>
#include <stdint.h>

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "the oracle must not be compiled with value-changing flags (-ffast-math and its parts)"
#endif

#include "impl/error.h"
#include "impl/spec/spec.h"

/* An unevaluated sum hi + lo, |lo| <= ulp(hi)/2. */
typedef struct oracle_dd {
    double hi, lo;
} oracle_dd;

/* cos and sin of one (position, pair), A not applied. */
typedef struct oracle_cos_sin_dd {
    oracle_dd cos, sin;
} oracle_cos_sin_dd;

/* |value - exact| of every cos and sin that oracle_row returns is at most this (absolute). */
#define ORACLE_ROW_ERROR 0x1p-100

typedef struct oracle oracle;

/* "exact" or "as-trained"; false with a line on anything else. */
bool oracle_truth_parse(const char *text, rope_truth *truth, rope_error *error);

/* NULL with a line: the spec does not resolve, memory is out. The spec is copied. */
oracle *oracle_new(const rope_spec *spec, rope_truth truth, rope_error *error);
void oracle_free(oracle *o);

const rope_spec *oracle_spec(const oracle *o);
int64_t oracle_pairs(const oracle *o);
uint32_t oracle_axis_count(const oracle *o);
uint32_t oracle_pair_axis(const oracle *o, int64_t pair);

/* Inverse frequency of a pair, scaling applied, correctly rounded to out's precision (Ziv). */
void oracle_inverse_frequency(const oracle *o, int64_t pair, mpfr_t out);

/* Attention factor A, correctly rounded to out's precision. */
void oracle_attention_factor(const oracle *o, mpfr_t out);
/* The same as double-double, error <= 2^-104 relative. */
oracle_dd oracle_attention_factor_dd(const oracle *o);

/* angle = position * inverse frequency, and its cos and sin, each correctly rounded to its output's
 * precision for every int64 position. */
void oracle_angle(const oracle *o, int64_t position, int64_t pair, mpfr_t out);
void oracle_cos_sin(const oracle *o, int64_t position, int64_t pair, mpfr_t cos, mpfr_t sin);

/* cos and sin of every pair at one position: position[axis_count] -> out[pairs]. Certified to
 * ORACLE_ROW_ERROR. Caches two-level tables inside o (not thread-safe on one o; a forked child
 * inherits what its parent built). */
void oracle_row(oracle *o, const int64_t *position, oracle_cos_sin_dd *out);

/* The same without a copy where it can be done: the result is valid until the next call for o, and
 * may lie in scratch[pairs]. */
const oracle_cos_sin_dd *oracle_row_at(oracle *o, const int64_t *position,
                                       oracle_cos_sin_dd *scratch);

/* Builds ahead what oracle_row needs for positions in [first, last], so that forked children share
 * it. */
void oracle_prepare(oracle *o, int64_t first, int64_t last);

/* Known values (docs/reference-values.md), rounding, and that no value-changing flag was used to
 * compile the oracle. Run at start by every verb that judges; false with the value that differs. */
bool oracle_self_test(rope_error *error);

#endif
