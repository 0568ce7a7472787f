/* The judging half of a worker: rows of outputs against exact values, into segments and lists. */
#ifndef PROPS_CERTIFY_JUDGE_H
#define PROPS_CERTIFY_JUDGE_H

#include "props/certify_exact.h"
#include "props/certify_measure.h"
#include "props/certify_probe.h"
#include "props/certify_worker.h"

enum { CERTIFY_DTYPES = 4, CERTIFY_PAIRINGS = 2 };

typedef struct certify_worker {
    const certify_piece *piece;
    certify_exact_rows *exact;
    certify_block *blocks[CERTIFY_PAIRINGS][CERTIFY_DTYPES]; /* NULL where no subject needs one */
    bool filled[CERTIFY_PAIRINGS][CERTIFY_DTYPES]; /* for the block of positions at work */
    rope_plan **plans;                             /* [count] of the window at work */
    rope_plan_args *args;                          /* [count] the same */
    double *bound, *limit;                         /* [pairs] of the position at work */
    certify_errors errors;                         /* [pairs] */
    int64_t segment_size;
} certify_worker;

/* The contract of every pair at a position, and the limit that the measurement compares with.
 * Returns how many pairs have no contract (DESIGN's rule: NaN, infinite, negative or at least
 * sqrt(2)/u). Position 0 with A = 1 must give x itself: the limit allows the enclosure alone. */
int64_t certify_judge_bounds(const certify_worker *w, int k, int64_t position);

/* The segment that holds a position: the last one, or a new one. */
certificate_segment *certify_judge_segment(const certify_worker *w, certify_part *part,
                                           int64_t position);

/* Probe `probe` of a position, the j-th of subject k's block and row row_index of the exact values;
 * without: how many of its pairs have no contract. */
void certify_judge_row(certify_worker *w, int k, int64_t j, int64_t row_index, uint32_t probe,
                       int64_t position, int64_t without, certificate_segment *segment);

#endif
