/* The inner loop of exhaustive certification: the errors of a row of pairs against exact values in
 * double-double, written so that a compiler turns it into vector code. It measures what
 * oracle_measure_pair measures for finite data, and a test compares the two. */
#ifndef PROPS_CERTIFY_MEASURE_H
#define PROPS_CERTIFY_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include "oracle/oracle.h"

/* A cos and A sin of every pair of one position, one array a part. */
typedef struct certify_exact {
    double *cos_hi, *cos_lo, *sin_hi, *sin_lo; /* [pairs] */
} certify_exact;

/* One row: inputs and outputs of a kernel as f64 (exact from the dtype), pair by pair. */
typedef struct certify_row {
    certify_exact exact;
    const double *x0, *x1, *y0, *y1;
    const double *limit; /* the contract in u; infinity where there is none */
    int64_t pairs;
} certify_row;

/* What the loop needs to know of a dtype and of A. */
typedef struct certify_unit {
    double attention_factor; /* A, nearest f64 */
    double unit_roundoff;    /* u */
    double smallest;         /* eta */
    double quantum_scale;    /* 2 u: ulp of a number in [1, 2) */
    bool wide;               /* f64: the head of a double-double is already the nearest value */
} certify_unit;

certify_unit certify_unit_of(uint32_t dtype, double attention_factor);

/* What underflow may add to the error of a pair with |x| = 1, in u: 2 eta. As the oracle's measure
 * does, it is taken off the error where it can be seen (above 2^-20 u: f16 alone), so that errors
 * compare with the contract. */
#define CERTIFY_UNDERFLOW_SEEN 0x1p-20
double certify_underflow_u(const certify_unit *unit);

/* Errors, pair by pair. */
typedef struct certify_errors {
    double *error_u;   /* [pairs] normwise, in u, the enclosure's far side; NaN for NaN */
    double *ulp;       /* [pairs] the larger of the two components' errors, in its own ulp */
    double *correct;   /* [pairs] components that are the nearest value, 0..2 */
    double *undecided; /* [pairs] not 0: the enclosure holds a midpoint; ask certify_nearest */
    double *above;     /* [pairs] 1: above the limit plus 2 eta, or NaN; else 0 */
} certify_errors;

/* The row's sums and maxima; the maxima hold where above is 0 (no NaN among them). */
typedef struct certify_summary {
    double squares_u, squares_ulp; /* added in a fixed order, whatever the machine */
    double max_error_u, max_ulp;
    double correct, misrounded, undecided, above;
} certify_summary;

/* The error that a value of this loop may have: oracle values within ORACLE_ROW_ERROR (2^-100) and
 * A to 2^-104 give 2^-98.5 A|x| normwise; rounding of the loop itself adds a factor of 1 + 2^-51
 * (certify_measure.c derives both). The far side is error (1 + 2^-50) + 2^-97 / u. */
#define CERTIFY_ENCLOSURE 0x1p-97

/* Whether the vector loop runs: set by certify_measure_choose for this machine; a test clears it to
 * compare the two loops. */
extern bool certify_measure_vector;
void certify_measure_choose(void);

certify_summary certify_measure(const certify_unit *unit, const certify_row *row,
                                const certify_errors *out);

/* Decodes n elements of a dtype to f64, exactly; `step` elements apart. */
void certify_decode(uint32_t dtype, const void *data, int64_t first, int64_t step, int64_t n,
                    double *out);

/* The way back: values that the dtype holds. */
void certify_encode(uint32_t dtype, void *data, int64_t first, int64_t step, int64_t n,
                    const double *values);

/* How many components of (y0, y1) are the nearest value, from MPFR alone: for pairs that the
 * enclosure cannot decide. Ties go to even; zeros compare without sign. */
int certify_nearest(const oracle *o, uint32_t dtype, int64_t position, int64_t pair, double x0,
                    double x1, double y0, double y1);

/* The normwise error in u and the larger component error in ulp, from MPFR alone (rounded to
 * nearest f64 from 300 bits). */
void certify_measure_mpfr(const oracle *o, uint32_t dtype, int64_t position, int64_t pair,
                          double x0, double x1, double y0, double y1, double *error_u, double *ulp);

#endif
