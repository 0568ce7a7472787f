/* Probes of exhaustive certification: a block of positions, each with a row of unit vectors (1, 0),
 * one of (0, 1) and one of random pairs, laid out for a call of a kernel. The layout (order of
 * tokens, heads, strides, alignment, in place or not) follows from the seed and the block's place
 * on a fixed grid, so that no division of the range into shards or jobs changes what a kernel sees.
 */
#ifndef PROPS_CERTIFY_PROBE_H
#define PROPS_CERTIFY_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "impl/error.h"
#include "impl/rope.h"
#include "props/certificate.h"

enum { CERTIFY_BLOCK = 64, CERTIFY_PROBES = 3 };

/* How the three rows of each of n tokens lie in a buffer. */
typedef struct certify_layout {
    int64_t tokens, heads;
    int64_t offset, token_stride, head_stride; /* in elements */
    int64_t elements;                          /* from the buffer's start to the last one used */
} certify_layout;

typedef struct certify_arrangement {
    int64_t count;                 /* positions in the block */
    bool repeated;                 /* one head; every position three times in a row */
    int64_t multiplier, shift;     /* position j is token (j multiplier + shift) mod count */
    uint32_t role[CERTIFY_PROBES]; /* probe r lies at head (or repetition) role[r] */
    bool in_place;                 /* where the kernel can */
    int64_t position_stride;
    certify_layout x, y;
} certify_arrangement;

/* One dtype's rows of one block, ready for every kernel that takes them. */
typedef struct certify_block certify_block;

certify_block *certify_block_new(const rope_spec *spec, uint32_t dtype, uint32_t axis_count,
                                 uint64_t seed);
void certify_block_free(certify_block *b);

/* Fills the block with positions [first, first + count), count <= CERTIFY_BLOCK. */
void certify_block_fill(certify_block *b, int64_t first, int64_t count);

/* Runs a kernel on it, output poisoned before. False with a reason: a status other than ROPE_OK,
 * control bits of the floating-point environment changed (they are put back). */
bool certify_block_apply(certify_block *b, const rope_kernel *kernel, const rope_plan *plan,
                         rope_error *error);

/* What went in and came out, decoded: of position first + j, for one probe. The pointers hold until
 * the next call. */
void certify_block_row(certify_block *b, int64_t j, uint32_t probe, const double **x0,
                       const double **x1, const double **y0, const double **y1);

#endif
