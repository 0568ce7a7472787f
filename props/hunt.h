/* Worst-case search over position and data: hill climbing with restarts from random and from given
 * positions, thousands of pairs at a time (every token and pair of a call climbs on its own). The
 * outcome follows from the seed and the number of evaluations alone. */
#ifndef PROPS_HUNT_H
#define PROPS_HUNT_H

#include "props/certify.h"

typedef struct hunt_options {
    rope_truth truth;
    uint64_t seed;
    int64_t first, end;    /* positions to search, end excluded */
    uint64_t evaluations;  /* pairs to evaluate by climbing; random sampling gets as many */
    double seconds;        /* stop after so long, whatever is left; 0 = no limit (deterministic) */
    bool sample;           /* random sampling too, for comparison */
    const int64_t *starts; /* positions to begin with, best first; may be NULL */
    int start_count;
} hunt_options;

typedef struct hunt_result {
    uint64_t evaluations, sampled; /* done */
    certificate_case worst;        /* of climbing, confirmed by a call of its own */
    certificate_case random;       /* of random sampling */
    char reason[200];              /* "" or why the kernel could not be searched */
} hunt_result;

/* In a child process. False only where nothing could be run (memory, no process). o: of the
 * subject's spec. */
bool hunt_search(const certify_subject *subject, oracle *o, const rope_frequencies *frequencies,
                 const hunt_options *options, hunt_result *result, rope_error *error);

/* The same in this process, which must be a child (isolate.h) already: reason tells what failed. */
void hunt_here(const certify_subject *subject, oracle *o, const rope_frequencies *frequencies,
               const hunt_options *options, hunt_result *result);

/* One pair alone: a call of one token with x in every pair, in the plan's window of certification.
 * Fills y, the error and the contract of *c from its position, pair and x. For a child process. */
bool hunt_evaluate(const certify_subject *subject, oracle *o, const rope_frequencies *frequencies,
                   const certify_options *range, certificate_case *c, rope_error *error);

#endif
