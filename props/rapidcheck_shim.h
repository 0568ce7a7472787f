/* RapidCheck (Claessen and Hughes's QuickCheck, ICFP 2000, in C++) behind a C interface: it draws
 * the shapes and bit patterns of cases, and makes a failing case small. Nothing here knows of
 * kernels, and no C++ exception leaves. RapidCheck's own runner, which reads RC_PARAMS, is not
 * used: the caller counts. */
#ifndef PROPS_RAPIDCHECK_SHIM_H
#define PROPS_RAPIDCHECK_SHIM_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One element of the data that is not zero. */
typedef struct rapid_element {
    int64_t head, element;
    int32_t stream;
    uint64_t bits;
} rapid_element;

typedef struct rapid_token {
    const int64_t *positions; /* [positions_per_token] */
    const rapid_element *elements;
    int64_t count;
} rapid_token;

enum { RAPID_SCALARS = 13 };

/* A case as RapidCheck sees it: what can be removed (tokens, elements), lowered (heads, at least
 * 1), and brought to 0 (scalars, positions, bits). */
typedef struct rapid_case {
    int64_t scalars[RAPID_SCALARS];
    int64_t heads;
    int64_t positions_per_token;
    uint64_t one; /* the bit pattern of 1, the simplest datum but 0 */
    int64_t tokens;
    const rapid_token *token;
} rapid_case;

typedef enum rapid_answer {
    RAPID_PASSES = 0, /* not a failure: look elsewhere */
    RAPID_FAILS = 1,  /* still fails: go on from here */
    RAPID_STOP = 2,   /* enough */
} rapid_answer;

/* Judges a candidate. */
typedef rapid_answer rapid_judge(const rapid_case *c, void *context);

/* Walks from a failing case, always to a smaller one that still fails, until none does or `judge`
 * has had enough. The last candidate that failed is the result. False on trouble (out of memory).
 */
bool rapid_shrink(const rapid_case *start, rapid_judge *judge, void *context);

#ifdef __cplusplus
}
#endif

#endif
