/* Verification of the encodings that RoPE is compared with: sinusoidal, learnt, ALiBi. */
#ifndef PROPS_ENCODING_H
#define PROPS_ENCODING_H

#include <stdbool.h>
#include <stdint.h>

#include "impl/rope.h"

/* One property of one kernel, in one shape. */
typedef struct prop_encoding_result {
    const char *property; /* a name of prop_encoding_properties */
    char spec[64];        /* "dim=64,layout=paper", "heads=12" */
    int64_t positions;    /* distinct positions looked at */
    int64_t cases;        /* comparisons made */
    double max_error_u;   /* largest error, in u (|x| + |p|); NaN where the property has none */
    double bound_u;       /* what it is held against */
    int64_t worst_position, worst_element;
    double worst_x;
    bool failed;
    char reason[200];
} prop_encoding_result;

typedef void prop_encoding_report(const prop_encoding_result *result, void *context);

/* Runs every property that applies to the kernel (kind ROPE_TABLE_ADD or ROPE_SCORE_BIAS), in this
 * process: callers isolate. Deterministic for a seed. level 0 quick, 1 full. */
void prop_encoding_check(const rope_header *kernel, uint64_t seed, int level,
                         prop_encoding_report *report, void *context);

typedef struct prop_encoding_property {
    const char *name, *statement;
} prop_encoding_property;

/* Ended by a NULL name. */
extern const prop_encoding_property prop_encoding_properties[];

#endif
