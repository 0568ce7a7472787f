/* Calls of a kernel for the search: rows of pairs chosen freely, at positions of one window,
 * measured pair by pair. */
#ifndef PROPS_HUNT_CALL_H
#define PROPS_HUNT_CALL_H

#include "props/certify.h"

enum { HUNT_TOKENS = 64 };

typedef struct hunt_call hunt_call;

hunt_call *hunt_call_new(const certify_subject *s, oracle *o, const rope_frequencies *frequencies,
                         int64_t range_first, int64_t range_end);
void hunt_call_free(hunt_call *h);

/* Plans for the window that holds a position (certify_worker.h's). [*first, *end) is that window.
 */
bool hunt_call_window(hunt_call *h, int64_t position, int64_t *first, int64_t *end,
                      rope_error *error);

/* Fixes the positions of the next calls, all in the window: exact values and contracts. */
bool hunt_call_positions(hunt_call *h, const int64_t *positions, int count, rope_error *error);

/* x0, x1: [count][pairs] values of the dtype, with |x| > 0. Runs the kernel and fills y0, y1 and
 * error_u, all [count][pairs]; an error that is NaN or absurd is infinity. */
bool hunt_call_run(hunt_call *h, const double *x0, const double *x1, double *y0, double *y1,
                   double *error_u, rope_error *error);

/* The contract at token t, pair i; infinity where there is none. */
double hunt_call_bound(const hunt_call *h, int t, int64_t i);

/* cos and sin (A folded in) at token t, pair i, nearest f64: to aim with. */
void hunt_call_rotor(const hunt_call *h, int t, int64_t i, double *cosine, double *sine);

#endif
