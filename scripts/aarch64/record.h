/* What the aarch64 driver writes and the host's judge reads: both machines are little-endian, so
 * the records are plain structs. After the head: positions [tokens] int64; x, y (out of place) and
 * z (in place) [tokens][heads][head_dim] of the dtype; bounds [tokens][pairs] f64. */
#ifndef AARCH64_RECORD_H
#define AARCH64_RECORD_H

#include <stdint.h>

enum { RECORD_MAGIC = 0x31363461 };

typedef struct record {
    uint32_t magic, pairing, dtype, element_bytes;
    char kernel[64];
    int64_t head_dim, rotary_dim, rotary_offset, tokens, heads;
    double base;
} record;

#endif
