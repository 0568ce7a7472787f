/* Re-verification of certificates. */
#ifndef PROPS_RECHECK_H
#define PROPS_RECHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "impl/error.h"
#include "props/certify.h"
#include "scripts/front/front.h"

typedef enum recheck_verdict {
    RECHECK_HOLDS = 0,
    RECHECK_FAILS = 1,    /* the certificate's numbers do not hold: the line says which */
    RECHECK_UNUSABLE = 2, /* the kernel or spec that it names is unknown */
} recheck_verdict;

typedef struct recheck_options {
    bool other_binary; /* the kernel may be of another build */
    uint64_t seed;     /* of the sample */
    int jobs;
    int positions; /* sampled, beside those of worst cases */
    int segments;  /* sampled and computed again whole */
} recheck_options;

/* What was done, for the closing line. */
typedef struct recheck_work {
    int64_t positions, pairs, segments;
} recheck_work;

/* Runs the kernel again: at every position that the certificate lists and at a sample of others
 * each pair is measured by MPFR alone; sampled segments are computed again and compared sum by sum.
 * The certificate must be consistent. kernel NULL: taken from the registry;
 * else plugin is the path of the file that holds it. */
recheck_verdict recheck_certificate(const certificate *c, const rope_kernel *kernel,
                                    const char *plugin, const recheck_options *options,
                                    recheck_work *work, rope_error *error);

/* Whether the contract of one pair, infinite for none, lies within the certificate's smallest and
 * largest. */
bool recheck_bound_within(const certificate *c, int64_t position, int64_t pair, double bound,
                          rope_error *error);

/* Whether the stated smallest and largest contract are met where the certificate says, and, for at
 * most 2^26 pairs, whether they are those of all positions, as is the number of pairs without. */
bool recheck_bounds(const certificate *c, const certify_subject *s, const certify_options *options,
                    const rope_frequencies *frequencies, rope_error *error);

/* `certify --recheck`: reads, re-verifies, prints PASS or FAIL; seed and jobs as given, or NULL.
 * Returns an exit status. */
int recheck_file(const char *path, const front_values *plugins, bool other_binary, const char *seed,
                 const char *jobs);

#endif
