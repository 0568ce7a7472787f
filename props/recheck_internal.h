/* What the parts of a re-verification share. */
#ifndef PROPS_RECHECK_INTERNAL_H
#define PROPS_RECHECK_INTERNAL_H

#include "props/certify_probe.h"
#include "props/recheck.h"

/* Of the memory that the child shares: its verdict. */
typedef struct recheck_answer {
    bool good;
    int64_t pairs;
    rope_error error;
} recheck_answer;

typedef struct recheck_inspection {
    const certificate *c;
    certify_subject subject;
    certify_options options;
    oracle *o;
    rope_frequencies frequencies;
    int64_t *positions; /* ascending */
    int64_t count;
    recheck_answer *answer;
} recheck_inspection;

extern const char *const recheck_stage_names[CERTIFICATE_STAGES];

/* A number that is stated and one that is found, NaN like NaN. */
bool recheck_same(double a, double b);

/* A stated error against MPFR's. */
bool recheck_error_holds(double stated, double exact, double u);

/* One position: the kernel runs in the same window and block as when it was certified, and MPFR
 * measures every pair of its three rows. */
bool recheck_position(const recheck_inspection *p, certify_block *block, int64_t position,
                      rope_error *error);

#endif
