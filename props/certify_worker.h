/* What one process of a certification does: a piece of the range, for all subjects. */
#ifndef PROPS_CERTIFY_WORKER_H
#define PROPS_CERTIFY_WORKER_H

#include "props/certify.h"

/* Of one subject, in memory that parent and child share. */
typedef struct certify_part {
    bool failed;
    char reason[200];
    certificate_bounds bounds;
    certificate_stage stage[CERTIFICATE_STAGES];
    int64_t segment_count;
    certificate_segment *segments; /* room for all that the piece touches */
    certificate_search search;     /* by the piece whose turn the subject is */
} certify_part;

/* Where a child is, for the parent's messages and progress. */
typedef struct certify_status {
    double done;      /* subject-positions */
    int subject;      /* at work now, -1 before */
    int64_t position; /* first of the block at work */
    bool out_of_memory;
} certify_status;

typedef struct certify_piece {
    const certify_subject *subjects;
    int count;
    const bool *skip; /* [count]: subjects that failed elsewhere */
    const certify_options *options;
    oracle *o;
    const rope_frequencies *frequencies;
    int64_t first, end; /* the piece */
    int index, jobs;    /* it is number index of jobs, from 0 */
    certify_status *status;
    certify_part *parts; /* [count] */
} certify_piece;

/* A prop_body: context is the piece. */
int certify_work(void *context);

/* Positions that one plan covers: a power of two, at most 2^13, fewer for many pairs. */
int64_t certify_window(int64_t pairs);

/* The window and the block that hold a position: cells of the grid, cut at the range's ends. */
void certify_window_at(const certify_options *options, int64_t pairs, int64_t position,
                       int64_t *first, int64_t *end);
void certify_block_at(const certify_options *options, int64_t position, int64_t *first,
                      int64_t *end);

#endif
