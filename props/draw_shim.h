/* Cases drawn by RapidCheck's generators, behind a C interface: shape, arrangement, positions and
 * bit patterns. One seed gives one case; the caller counts, RC_PARAMS is not read, and no C++
 * exception leaves. */
#ifndef PROPS_DRAW_SHIM_H
#define PROPS_DRAW_SHIM_H

#include "props/rapidcheck_shim.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a case may be. */
typedef struct rapid_wish {
    int64_t head_dim, axes;
    int64_t places;        /* of a tensor: 0..places-1 */
    int bits, significand; /* of an element: all, and those stored of the significand */
    bool in_place;         /* may be */
} rapid_wish;

/* Receives the case; its pointers live until the return. Every element is there, zeros too. */
typedef void rapid_take(const rapid_case *c, void *context);

/* False on trouble (out of memory). */
bool rapid_draw(const rapid_wish *wish, uint64_t seed, rapid_take *take, void *context);

#ifdef __cplusplus
}
#endif

#endif
