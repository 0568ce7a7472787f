/* The keys of a spec's key=value text: one table that the reader, the printer and validation
 * share. */
#ifndef ROPE_KEYS_H
#define ROPE_KEYS_H

#include "impl/spec/spec.h"

typedef enum rope_key_kind {
    ROPE_KEY_INTEGER = 0,
    ROPE_KEY_NUMBER = 1,
    ROPE_KEY_LIST = 2,
    ROPE_KEY_FLAG = 3, /* 0, 1, false, true */
    ROPE_KEY_PAIRING = 4,
    ROPE_KEY_SCALING = 5,
    ROPE_KEY_AXES = 6,
} rope_key_kind;

/* name, kind, field, smallest and largest value (of each entry for a list), both included. The
 * limits keep every intermediate of impl/spec and of the oracle far from overflow and underflow,
 * and hostile text from asking for much memory: 2^256 for the base, 2^64 for what multiplies or
 * divides, 65536 elements. */
#define ROPE_KEYS(KEY)                                                                             \
    KEY(head_dim, INTEGER, 2, 65536)                                                               \
    KEY(rotary_dim, INTEGER, 2, 65536)                                                             \
    KEY(rotary_offset, INTEGER, 0, 65536)                                                          \
    KEY(base, NUMBER, 0x1.0000000000001p0, 0x1p256)                                                \
    KEY(pairing, PAIRING, 0, 0)                                                                    \
    KEY(exponent_by_head, FLAG, 0, 1)                                                              \
    KEY(axes, AXES, 0, 0)                                                                          \
    KEY(sections, LIST, 0, 32768)                                                                  \
    KEY(scaling, SCALING, 0, 0)                                                                    \
    KEY(factor, NUMBER, 1, 0x1p32)                                                                 \
    KEY(low, NUMBER, 0x1p-64, 0x1p64)                                                              \
    KEY(high, NUMBER, 0x1p-64, 0x1p64)                                                             \
    KEY(original, NUMBER, 1, 0x1p53)                                                               \
    KEY(beta_fast, NUMBER, 0x1p-64, 0x1p64)                                                        \
    KEY(beta_slow, NUMBER, 0x1p-64, 0x1p64)                                                        \
    KEY(mscale, NUMBER, 0x1p-64, 0x1p64)                                                           \
    KEY(mscale_all_dim, NUMBER, 0x1p-64, 0x1p64)                                                   \
    KEY(attention_factor, NUMBER, 0x1p-64, 0x1p64)                                                 \
    KEY(truncate, FLAG, 0, 1)                                                                      \
    KEY(length, NUMBER, 1, 0x1p53)                                                                 \
    KEY(max_position, NUMBER, 1, 0x1p53)                                                           \
    KEY(share, NUMBER, 0x1p-64, 1)                                                                 \
    KEY(short_factors, LIST, 0x1p-64, 0x1p64)                                                      \
    KEY(long_factors, LIST, 0x1p-64, 0x1p64)                                                       \
    KEY(divisors, LIST, 0x1p-64, 0x1p64)                                                           \
    KEY(inv_freq, LIST, 0x1p-400, 0x1p64)

enum {
#define KEY(name, kind, low, high) ROPE_KEY_##name,
    ROPE_KEYS(KEY)
#undef KEY
        ROPE_KEYS_COUNT,
    ROPE_LIST_LIMIT = 32768, /* entries: pairs of the largest rotary_dim */
};
_Static_assert(ROPE_KEYS_COUNT <= 32, "a set of keys is a uint32_t");

#define ROPE_KEY_BIT(name) (UINT32_C(1) << ROPE_KEY_##name)

typedef struct rope_key {
    const char *name;
    rope_key_kind kind;
    size_t offset; /* of the field in rope_spec */
    double low, high;
} rope_key;

extern const rope_key rope_keys[ROPE_KEYS_COUNT];

/* Keys whose fields a spec holds: numbers that are not NaN, lists that are not empty, flags that
 * differ from their default. Not for head_dim, rotary_dim, pairing, axes, scaling. */
uint32_t rope_keys_present(const rope_spec *spec);

/* The first name in a set of keys. */
const char *rope_keys_first(uint32_t set);

/* Whether a number is one that the key takes (each entry for a list); false with a line that names
 * the key. */
bool rope_key_check(int key, double value, rope_error *error);

/* Reads "key=value,..." onto spec; *given gets the set of keys that it names. */
bool rope_keys_read(const char *text, rope_spec *spec, uint32_t *given, rope_error *error);

/* Clears the fields of a set of keys, as rope_spec_init leaves them. */
void rope_keys_clear(rope_spec *spec, uint32_t set);

/* A whole string as a finite number, decimal or hex; false without a message. */
bool rope_number(const char *text, double *value);

#endif
