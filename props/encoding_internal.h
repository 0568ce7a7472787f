/* What the encoding_*.c files share. */
#ifndef PROPS_ENCODING_INTERNAL_H
#define PROPS_ENCODING_INTERNAL_H

#include "props/encoding.h"

typedef struct prop_encoding_run {
    const rope_header *kernel;
    uint64_t random; /* state of splitmix64 */
    int level;
    prop_encoding_report *report;
    void *context;
} prop_encoding_run;

uint64_t prop_encoding_random(prop_encoding_run *run);
/* A signed float of magnitude 2^-20..2^4, or 0 one time in sixteen. */
float prop_encoding_value(prop_encoding_run *run);

/* Counts one comparison: !(error <= bound) fails. */
void prop_encoding_note(prop_encoding_result *r, double error_u, double bound_u, int64_t position,
                        int64_t element, double x);
/* Counts one yes-or-no comparison. */
void prop_encoding_require(prop_encoding_result *r, bool good, int64_t position, const char *format,
                           ...) __attribute__((format(printf, 4, 5)));
/* A result that made no comparison fails: it would prove nothing. */
void prop_encoding_end(prop_encoding_run *run, prop_encoding_result *r);

/* Positions that every encoding is looked at: 0, 1, 2, powers of two +- 1, ... */
extern const int64_t prop_encoding_positions[];
extern const int prop_encoding_position_count;

void prop_encoding_check_table(prop_encoding_run *run);
void prop_encoding_check_bias(prop_encoding_run *run);

#endif
