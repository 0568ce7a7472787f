/* The moves of a hunt within one window of positions. */
#ifndef PROPS_HUNT_CLIMB_H
#define PROPS_HUNT_CLIMB_H

#include "props/hunt.h"
#include "props/hunt_call.h"

typedef struct hunter {
    const certify_subject *s;
    oracle *o;
    const rope_frequencies *frequencies;
    const hunt_options *options;
    hunt_result *result; /* shared with the parent */
    hunt_call *call;
    int64_t pairs;
    uint64_t state;
    double u; /* unit roundoff */
    int count, rounds;
    int64_t positions[HUNT_TOKENS];
    double *x0, *x1, *y0, *y1, *error_u;              /* [HUNT_TOKENS][pairs], tried */
    double *best0, *best1, *best_y0, *best_y1, *best; /* kept */
} hunter;

/* A position of [first, end). */
int64_t hunter_draw_position(hunter *h, int64_t first, int64_t end);

/* Climbs from random data at the hunter's positions, for its rounds. */
bool hunter_climb(hunter *h, rope_error *error);

/* The same number of evaluations with fresh random data: what sampling alone would have found. */
bool hunter_sample(hunter *h, rope_error *error);

#endif
