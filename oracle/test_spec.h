/* A spec with nothing but its dimension and base, for tests that fill in the rest by hand. */
#ifndef ORACLE_TEST_SPEC_H
#define ORACLE_TEST_SPEC_H

#include <math.h>

#include "impl/rope.h"

static inline rope_spec test_spec(int64_t dim, double base)
{
    rope_spec s = {.size = sizeof s,
                   .pairing = ROPE_HALF,
                   .head_dim = dim,
                   .rotary_dim = dim,
                   .base = base,
                   .truncate = 1};
    s.factor = s.low = s.high = s.original = s.beta_fast = s.beta_slow = NAN;
    s.mscale = s.mscale_all_dim = s.attention_factor = NAN;
    s.length = s.max_position = s.share = NAN;
    return s;
}

#endif
