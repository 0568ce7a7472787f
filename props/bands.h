/* Bands of positions, by powers of 4 of the magnitude: error against position is drawn from them.
 */
#ifndef PROPS_BANDS_H
#define PROPS_BANDS_H

#include <stddef.h>
#include <stdint.h>

/* 0: position 0; k = 1..15: 4^(k-1) <= |position| < 4^k; 16: beyond. */
int prop_band(int64_t position);

/* |position|; of INT64_MIN too. */
uint64_t prop_magnitude(int64_t position);
/* "positions 4..15 either side of 0". */
void prop_band_text(int band, char *text, size_t size);

#endif
