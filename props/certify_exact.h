/* A cos and A sin of every pair at consecutive positions, in the layout of certify_measure. The
 * oracle's tables give them pair by pair for a span; blocks of that are turned into rows. */
#ifndef PROPS_CERTIFY_EXACT_H
#define PROPS_CERTIFY_EXACT_H

#include "oracle/oracle.h"
#include "props/certify_measure.h"

typedef struct certify_exact_rows certify_exact_rows;

/* Room for spans of `most` positions. NULL when memory is out. o must outlive it. */
certify_exact_rows *certify_exact_new(oracle *o, int64_t most);
void certify_exact_free(certify_exact_rows *r);
/* The span [first, first + count), the same position on every axis. False: memory is out. */
bool certify_exact_span(certify_exact_rows *r, int64_t first, int64_t count, rope_error *error);
/* Turns positions [first, first + count) of the span into rows, count <= 64. */
void certify_exact_block(certify_exact_rows *r, int64_t first, int64_t count);
/* Rows of any positions, count <= 64, from oracle_row. False: memory is out. */
bool certify_exact_gather(certify_exact_rows *r, const int64_t *positions, int count,
                          rope_error *error);
/* Of position first + j of the block, or of positions[j]. */
certify_exact certify_exact_row(const certify_exact_rows *r, int64_t j);

#endif
