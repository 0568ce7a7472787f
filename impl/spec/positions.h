/* Position lists of the command line: `a:b` (b excluded), `a:b:step`, a comma list of those and of
 * single numbers, or a .npy file of int32 or int64, [tokens] or [tokens][axes]. */
#ifndef ROPE_POSITIONS_H
#define ROPE_POSITIONS_H

#include <stdint.h>

#include "impl/error.h"

typedef struct rope_positions {
    int64_t *values; /* [tokens][axes] */
    int64_t tokens;
    uint32_t axes; /* 1 from text: the same position on every axis, or axes > 1 from a .npy of two
                      dimensions */
} rope_positions;

/* False with a line on a number that is malformed or past int64, an empty range, a step of 0, or
 * more than limit positions. */
bool rope_positions_parse(const char *text, int64_t limit, rope_positions *positions,
                          rope_error *error);

/* A range `a:b` alone, b excluded, not expanded; false on anything else or when empty. */
bool rope_range_parse(const char *text, int64_t *first, int64_t *end, rope_error *error);

void rope_positions_free(rope_positions *positions);

#endif
