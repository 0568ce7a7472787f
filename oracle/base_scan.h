/* Smallest base whose rotary sum stays non-negative over a context.
 *
 * B(m) = sum over pairs of cos(m base^(-2i/d)), i = 0..d/2-1: the expected gain in score of a
 * similar key over a random one at relative distance m (Men et al., Base of RoPE Bounds Context
 * Length, arXiv 2405.14591, section 4). A context L needs B(m) >= 0 for m = 0..L. Feasible bases
 * are no interval, so they are scanned from below, never bisected. */
#ifndef ORACLE_BASE_SCAN_H
#define ORACLE_BASE_SCAN_H

#include <stdbool.h>
#include <stdint.h>

typedef struct oracle_base {
    double
        infeasible;   /* every base from the start to here is proven infeasible, but for the gaps */
    double feasible;  /* this base is proven feasible, B(m) >= 0 for every m <= L */
    int64_t critical; /* the m whose B changes sign between the two */
    int64_t gaps;     /* steps of `resolution` that no sign could prove: 0 = the bracket is tight */
    int64_t steps;
} oracle_base;

/* head_dim even, 4..4096; context 1..2^24 positions; start > 1. resolution: relative width of the
 * bracket, >= 1e-12. progress (may be NULL) is called with the base reached. False: no feasible
 * base up to limit. */
bool oracle_smallest_base(int64_t head_dim, int64_t context, double start, double limit,
                          double resolution, void (*progress)(double base, void *context),
                          void *progress_context, oracle_base *result);

/* B(m) in f64; *error is a proven bound on its error. */
double oracle_rotary_sum(int64_t head_dim, double base, int64_t m, double *error);

/* The first m >= 1 with B(m) < 0 proven, or 0 if there is none up to limit. */
int64_t oracle_first_negative(int64_t head_dim, double base, int64_t limit);

#endif
