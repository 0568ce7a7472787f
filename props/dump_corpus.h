/* Dumps made by slow code of its own, right and faulty, for tests of check and identify: MPFR
 * angles, one scalar step after the other, nothing shared with the engine that judges them. */
#ifndef PROPS_DUMP_CORPUS_H
#define PROPS_DUMP_CORPUS_H

#include "oracle/oracle.h"

/* How a right dump was computed. */
typedef enum prop_way {
    PROP_WAY_EXACT = 0,     /* one rounding of the exact rotation */
    PROP_WAY_F32 = 1,       /* f32 frequencies, angles, cos and sin, arithmetic; one rounding more
                               for 16-bit storage */
    PROP_WAY_F64_ANGLE = 2, /* f32 arithmetic with cos and sin of f64 angles */
    PROP_WAY_TABLE = 3,     /* PROP_WAY_F32 with cos and sin rounded to storage */
    PROP_WAY_STEPS = 4,     /* the same with every step rounded to storage */
    PROP_WAY_TIMESCALE = 5, /* PROP_WAY_F32 with position / base^(2i/d) */
    PROP_WAYS = 6,
    PROP_WAY_F64 = 6, /* all in f64, the angle too: position times the rounded frequency; for f64
                         dumps, so it takes no turn among those above */
} prop_way;

/* What was done to it; the names are in prop_blunder_name. */
typedef enum prop_blunder {
    PROP_BLUNDER_NONE = 0,
    PROP_BLUNDER_PAIRING,
    PROP_BLUNDER_FREQUENCY_BF16,
    PROP_BLUNDER_FREQUENCY_F16,
    PROP_BLUNDER_POSITION_BF16,
    PROP_BLUNDER_POSITION_F16,
    PROP_BLUNDER_ANGLE_BF16,
    PROP_BLUNDER_TABLE_BF16, /* in an f32 dump */
    PROP_BLUNDER_ANGLE_RECURRENCE,
    PROP_BLUNDER_FREQUENCY_RECURRENCE,
    PROP_BLUNDER_NO_MAGNITUDE,
    PROP_BLUNDER_SQUARED_MAGNITUDE,
    PROP_BLUNDER_EXPONENT_BY_HEAD,
    PROP_BLUNDER_PARTNER,
    PROP_BLUNDER_NO_SCALING,
    PROP_BLUNDER_INVERTED_SCALING,
    PROP_BLUNDER_DEFAULT_BASE,
    PROP_BLUNDER_INVERSE,
    PROP_BLUNDER_ALIASING,
    PROP_BLUNDER_HEAD_POSITION,
    PROP_BLUNDER_ONE_MORE,
    PROP_BLUNDER_ONE_LESS,
    PROP_BLUNDER_PRODUCTS_ROUNDED,
    PROP_BLUNDER_ACCUMULATION,
    PROP_BLUNDER_ROTOR,
    PROP_BLUNDER_STALE_ROW,
    PROP_BLUNDER_STALE_POSITION,
    PROP_BLUNDER_TAIL,
    PROP_BLUNDER_TWICE,
    PROP_BLUNDER_SWAPPED,
    PROP_BLUNDER_TRUNCATED,
    PROP_BLUNDER_CORRUPTED,
    PROP_BLUNDER_SLIGHTLY_CORRUPTED,
    PROP_BLUNDER_UNRELATED_ROW,
    PROP_BLUNDER_NORM_DRIFT,
    PROP_BLUNDER_NAN,
    PROP_BLUNDERS,
} prop_blunder;

/* What identify is to call it: "none", "F1 pairing-swapped", ... */
const char *prop_blunder_name(prop_blunder blunder);

typedef struct prop_case {
    const rope_spec *spec;
    uint32_t dtype;
    prop_way way;
    prop_blunder blunder;
    int64_t tokens, heads;
    const int64_t *position; /* [tokens] */
    uint64_t seed;
} prop_case;

/* Whether the blunder can be committed with this spec, dtype and way at all. */
bool prop_case_possible(const prop_case *c);

/* Fills x and y, [tokens][heads][head_dim], with numbers of the dtype. */
bool prop_case_make(const prop_case *c, double *x, double *y, rope_error *error);

#endif
