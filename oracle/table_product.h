/* The complex product in double-double, one factor fixed. Internal to the oracle. */
#ifndef ORACLE_TABLE_PRODUCT_H
#define ORACLE_TABLE_PRODUCT_H

#include "oracle/oracle.h"

/* to[..][j] = base * from[..][j] for j < count; arrays are cos hi, cos lo, sin hi, sin lo. AVX2
 * where the machine has it, else portable; bit for bit the same. */
void table_product(oracle_cos_sin_dd base, const double *const from[4], int64_t count,
                   double *const to[4]);

/* The portable form, for the test that compares them. */
void table_product_portable(oracle_cos_sin_dd base, const double *const from[4], int64_t count,
                            double *const to[4]);

#endif
