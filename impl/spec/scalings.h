/* The RoPE scalings: which keys each takes. One table for validation and `tightrope list
 * scalings`. */
#ifndef ROPE_SCALINGS_H
#define ROPE_SCALINGS_H

#include "impl/spec/keys.h"

typedef struct rope_scaling_rule {
    uint32_t needs, takes; /* sets of keys: required; optional */
    const char *formula;   /* one line; s = factor, L = original, d = rotary_dim */
} rope_scaling_rule;

/* The rule of a valid rope_scaling. */
const rope_scaling_rule *rope_scaling_rule_of(uint32_t scaling);

/* Keys that belong to scaling, and go when another scaling is chosen. */
uint32_t rope_scaling_keys(void);

#endif
