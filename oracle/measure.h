/* Errors of rotated pairs against the oracle, in the unit of their dtype. */
#ifndef ORACLE_MEASURE_H
#define ORACLE_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include "oracle/oracle.h"

/* One element of a dtype as f64; exact for f32, f16, bf16, f64 (NaN stays NaN). index in elements.
 */
double oracle_load(uint32_t dtype, const void *data, int64_t index);

/* Rounds x to nearest even in the dtype and stores it: overflow to infinity, subnormals kept. */
void oracle_store(uint32_t dtype, void *data, int64_t index, double x);

/* The nearest value of the dtype to hi + lo (one rounding of the exact sum, ties to even), as f64.
 */
double oracle_round_dd(uint32_t dtype, oracle_dd x);

/* The exact rotated pair A R (x0, x1) as double-double; error at most 2^-96 A |x|_2 a component
 * (derived in measure.c). Finite inputs only. */
void oracle_rotate(oracle_cos_sin_dd r, oracle_dd attention_factor, double x0, double x1,
                   oracle_dd *y0, oracle_dd *y1);

typedef enum oracle_outcome {
    ORACLE_WITHIN = 0, /* the enclosure's far side is within bound u A|x| + 2 eta, or the classes
                          agree (NaN, infinity) */
    ORACLE_ABOVE = 1,  /* it is not */
    ORACLE_CLASS = 2,  /* finite where NaN or infinity is due, or the reverse */
} oracle_outcome;

typedef struct oracle_pair_error {
    oracle_outcome outcome;
    double normwise_u; /* |y - exact|_2 / (A |x|_2 u), the enclosure's far side; 0 for x = 0 and y =
                          0 */
    double absolute;   /* |y - exact|_2 */
    double ulp_larger; /* the larger component's error in ulp of the larger exact component */
    double ulp_component;  /* the largest error in ulp of its own component */
    int correctly_rounded; /* how many of the two components are the nearest value: 0..2 */
    bool has_error;        /* normwise_u and the rest are meaningful (finite data, no overflow) */
} oracle_pair_error;

/* Judges one pair. bound_u: the contract at this position and pair, in u. x and y as f64, exact
 * from the dtype. Where x holds NaN or infinity, both outputs are judged by class only; where exact
 * |y| is within the bound of the overflow threshold, infinity and finite are both right. Zeros
 * compare without sign. */
oracle_pair_error oracle_measure_pair(uint32_t dtype, oracle_cos_sin_dd r,
                                      oracle_dd attention_factor, double x0, double x1, double y0,
                                      double y1, double bound_u);

#endif
