/* Exhaustive rows: cos and sin of consecutive positions, a few nanoseconds each.
 *
 * Two levels: a position is first + step with e^(i (first + step) theta) = e^(i first theta)
 * e^(i step theta), a complex product in double-double of one entry of a table over 0 <= step <
 * 2^12 and one computed for each block. Every entry comes from an MPFI enclosure and is within
 * 2^-106 of it; the product adds less than 2^-103 (derived in table.c). */
#ifndef ORACLE_TABLE_H
#define ORACLE_TABLE_H

#include "oracle/oracle.h"

/* |value - exact| of every cos and sin of a block is at most this (absolute). */
#define ORACLE_BLOCK_ERROR 0x1p-101

/* Positions [first, first + count) of one pair: cos = cos_hi[j] + cos_lo[j], sin likewise, j = 0
 * for first. Any int64 first, negative ones too; first + count - 1 must not pass int64. The arrays
 * hold count values each and need no alignment. Fast for pair-major walks with large counts; one o
 * is not for two threads at once, forked children each have their own copy.
 * False with a line: memory is out. */
bool oracle_block(oracle *o, int64_t pair, int64_t first, int64_t count, double *cos_hi,
                  double *cos_lo, double *sin_hi, double *sin_lo, rope_error *error);

#endif
