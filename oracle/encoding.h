/* Exact position terms of the encodings that RoPE is compared with, from their definitions, in
 * MPFR. */
#ifndef ORACLE_ENCODING_H
#define ORACLE_ENCODING_H

#include <stdint.h>

#include "oracle/oracle.h"

/* p[element] of a sinusoidal row, correct to 2^-104 absolute, any int64 position, even dim >= 2 (>=
 * 4 for ROPE_LAYOUT_CONCAT), base > 1. Vaswani et al., section 3.5: p[2i] = sin(t / base^(2i/dim)),
 * p[2i+1] = cos; tensor2tensor: dim/2 sines, then dim/2 cosines, of t / base^(i/(dim/2 - 1)). */
oracle_dd oracle_sinusoidal(uint32_t layout, int64_t dim, double base, int64_t position,
                            int64_t element);

/* The inverse frequency w_i of that row, i = 0..dim/2-1, relative error below 2^-104. */
oracle_dd oracle_sinusoidal_frequency(uint32_t layout, int64_t dim, double base, int64_t i);

/* ALiBi's slope of head 0..heads-1, relative error below 2^-104. Press et al., section 3:
 * 2^(-8(head+1)/heads) for a power of two; else those of p, the largest power of two below heads,
 * then every other one of 2p from its first. */
oracle_dd oracle_alibi_slope(int64_t heads, int64_t head);

/* |y - (x + p)| / (u (|x| + size_of_p)), in u of the dtype, computed to a relative 2^-40. NaN where
 * y is; 0 for 0/0. */
double oracle_sum_error_u(uint32_t dtype, double x, oracle_dd p, double size_of_p, double y);

#endif
