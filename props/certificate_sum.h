/* A sum of non-negative numbers that does not depend on the order of adding: fixed point, in units
 * of 2^-64, 384 bits. */
#ifndef PROPS_CERTIFICATE_SUM_H
#define PROPS_CERTIFICATE_SUM_H

#include <stdbool.h>
#include <stdint.h>

enum { CERTIFICATE_LIMBS = 6 };

typedef struct certificate_sum {
    uint64_t limb[CERTIFICATE_LIMBS]; /* the lowest first */
} certificate_sum;

/* Adds value, 0 <= value < 2^256 (else nothing is added), truncated to a multiple of 2^-64. */
void certificate_sum_add(certificate_sum *sum, double value);
void certificate_sum_join(certificate_sum *sum, const certificate_sum *other);
bool certificate_sum_equal(const certificate_sum *a, const certificate_sum *b);
double certificate_sum_value(const certificate_sum *sum);

/* Hex digits without leading zeros, in units of 2^-64; text holds 97 bytes. */
void certificate_sum_format(const certificate_sum *sum, char text[97]);
bool certificate_sum_parse(const char *text, certificate_sum *sum);

#endif
