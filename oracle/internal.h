/* The inside of an oracle object, shared by oracle.c and row.c. */
#ifndef ORACLE_INTERNAL_H
#define ORACLE_INTERNAL_H

#include <mpfi.h>

#include "oracle/oracle.h"

/* Bits of the cached frequency enclosures: 63 bits of a position and 120 of a result leave over 130
 * guard bits. The caches are narrower than 2^-FREQUENCY_TRUST relative. */
enum { FREQUENCY_BITS = 320, FREQUENCY_TRUST = 300 };

typedef struct oracle_pair {
    mpfi_t enclosure; /* of the inverse frequency, FREQUENCY_BITS */
    mpfr_t middle;    /* in it: relative error <= 2^-FREQUENCY_TRUST */
    uint32_t axis;
} oracle_pair;

typedef struct oracle_rows oracle_rows;   /* row.c: computed rows */
typedef struct oracle_table oracle_table; /* table.c: two-level tables */

struct oracle {
    rope_spec spec;
    rope_truth truth;
    int64_t pairs;
    uint32_t axis_count;
    oracle_pair *pair; /* [pairs] */
    oracle_dd attention_factor;
    oracle_rows *rows;
    oracle_table *table;
};

/* Encloses the inverse frequency at out's precision; always succeeds for a checked spec. */
void oracle_enclose_frequency(const oracle *o, int64_t pair, mpfi_ptr out);

/* The same for the other quantities. cosine and sine have equal precision. */
void oracle_enclose_attention_factor(const oracle *o, mpfi_ptr out);
void oracle_enclose_angle(const oracle *o, int64_t position, int64_t pair, mpfi_ptr out);
void oracle_enclose_cos_sin(const oracle *o, int64_t position, int64_t pair, mpfi_ptr cosine,
                            mpfi_ptr sine);

oracle_rows *oracle_rows_new(int64_t pairs); /* NULL: out of memory */
void oracle_rows_free(oracle_rows *rows);

oracle_table *oracle_table_new(int64_t pairs); /* empty; NULL: out of memory */
void oracle_table_free(oracle_table *table, int64_t pairs);
/* Builds one pair's table of steps, or all; false with a line when memory is out. */
bool oracle_table_build(oracle *o, int64_t pair, rope_error *error);
bool oracle_table_build_all(oracle *o, rope_error *error);
#endif
