/* Offset drift: how far the score of a rotated query and key moves when both positions move by the
 * same k. Exact rotations leave it where it is, whatever the frequencies; what moves it is
 * rounding, of the angle above all. */
#ifndef PROPS_DRIFT_H
#define PROPS_DRIFT_H

#include "props/certify.h"

enum { DRIFT_MAGNITUDES = 10 }; /* k near 10^0 .. 10^9 */

typedef struct drift_result {
    int64_t magnitude[DRIFT_MAGNITUDES];
    int64_t samples;
    /* |score(m + k, n + k) - score(m, n)| / (|q| |k|) */
    double largest[DRIFT_MAGNITUDES], rms[DRIFT_MAGNITUDES];
    char reason[200]; /* "" or why there is none */
} drift_result;

/* m, n in [0, 4096), k in [magnitude, magnitude + 4096), q and k random in [-1, 1]: `samples` of
 * each. In a child process. False only where nothing could be run. */
bool drift_run(const certify_subject *s, const rope_frequencies *frequencies, int64_t samples,
               uint64_t seed, drift_result *result, rope_error *error);

#endif
