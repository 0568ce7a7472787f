#include "props/bands.h"

#include <stdio.h>

enum { LAST = 16 };

uint64_t prop_magnitude(int64_t position)
{
    return position < 0 ? 0 - (uint64_t)position : (uint64_t)position;
}

int prop_band(int64_t position)
{
    uint64_t magnitude = prop_magnitude(position);
    int band = 0;
    for (; magnitude > 0 && band < LAST; magnitude >>= 2)
        band++;
    return band;
}

void prop_band_text(int band, char *text, size_t size)
{
    if (band == 0)
        snprintf(text, size, "position 0");
    else if (band == LAST)
        snprintf(text, size, "positions from %llu", 1ull << 2 * (LAST - 1));
    else
        snprintf(text, size, "positions %llu..%llu", 1ull << 2 * (band - 1),
                 (1ull << 2 * band) - 1);
}
