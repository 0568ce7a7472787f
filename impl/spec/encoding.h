/* What the host resolves for sinusoidal encodings. */
#ifndef ROPE_SPEC_ENCODING_H
#define ROPE_SPEC_ENCODING_H

#include <stdbool.h>
#include <stdint.h>

#include "impl/rope.h"

/* w_i, i = 0..dim/2-1, as hi + lo, relative error below 2^-98: base^(-2i/dim) for ROPE_LAYOUT_PAPER
 * (even dim >= 2), and base^(-i/(dim/2-1)) for ROPE_LAYOUT_CONCAT (even dim >= 4). dim up to 2^24,
 * base in (1, 2^256]. False outside. */
bool rope_sinusoidal_frequencies(uint32_t layout, int64_t dim, double base, double *hi, double *lo);

#endif
