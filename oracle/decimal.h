/* Correctly rounded decimals of the oracle's values. */
#ifndef ORACLE_DECIMAL_H
#define ORACLE_DECIMAL_H

#include "oracle/oracle.h"

enum { ORACLE_MAX_DIGITS = 4000 };

typedef enum oracle_quantity {
    ORACLE_FREQUENCY = 0, /* inverse frequency of the pair; position is not used */
    ORACLE_ANGLE = 1,
    ORACLE_COS = 2,
    ORACLE_SIN = 3,
    ORACLE_ATTENTION_FACTOR = 4, /* neither position nor pair is used */
} oracle_quantity;

/* The value with `digits` significant decimal digits (2..ORACLE_MAX_DIGITS), rounded once from the
 * exact one (to nearest; an exact tie to even): "0.81461723385654470410", "3.0689e-7". A zero is
 * "0". malloc'ed; NULL when memory is out. */
char *oracle_decimal(const oracle *o, oracle_quantity quantity, int64_t position, int64_t pair,
                     int digits);

#endif
