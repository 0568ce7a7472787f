/* Enclosures: an MPFI interval that contains an exact value, narrowed until a question about the
 * value has one answer (Ziv's strategy). */
#ifndef ORACLE_ENCLOSE_H
#define ORACLE_ENCLOSE_H

#include <mpfi.h>
#include <mpfr.h>
#include <stdbool.h>
#include <stdint.h>

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "the oracle must not be compiled with value-changing flags (-ffast-math and its parts)"
#endif

/* Ziv's loop gives up here: the value is then within 2^-65000 (relative) of what cannot be told
 * apart from it, and is taken to be exactly that. No value that a spec defines comes near. */
enum { ENCLOSE_MAX_BITS = 1 << 16 };

/* The nearest value of out's precision when both ends of the enclosure agree on it; false when they
 * do not, and out is then the nearest to the middle. */
bool enclose_round(mpfr_t out, mpfi_srcptr value);

/* Encloses base^(p/q) for an enclosure of a positive base, q >= 1. Exact (a single point) where
 * the root is a binary number and the power fits the precision: 4^(1/2) is 2. */
void enclose_power(mpfi_ptr out, mpfi_srcptr base, uint64_t p, uint64_t q);

/* Clamps both ends to [0, 1]. */
void enclose_clamp(mpfi_ptr value);

/* The integer floor or ceiling, when both ends agree. */
bool enclose_floor(mpfi_srcptr value, int64_t *out);
bool enclose_ceil(mpfi_srcptr value, int64_t *out);

/* True when width <= 2^-bits times the smaller magnitude in the enclosure. */
bool enclose_narrow(mpfi_srcptr value, mpfr_prec_t bits);

#endif
