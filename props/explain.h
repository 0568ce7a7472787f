/* Explaining a dump: which ONE combination of how the angle was computed and how the rotation was
 * computed, the same for all pairs and tokens, reproduces every pair of it. A tolerance that is
 * wide enough for an f32 angle at position 10^5 would let any fault through; an f32 angle that is
 * itself computed, from one frequency for each pair, leaves only the rotation's own few roundings.
 *
 * Angle, in the order tried (theta the exact inverse frequency of a pair, f one number of the
 * working format within `steps` of its steps from theta, the same for all tokens):
 *   A0  position * theta, exact
 *   A1  position * f, not rounded
 *   A2  fl(position * theta)
 *   A3  fl(fl(position) * f)
 *   A4  fl(fl(position) / t), t one number near 1/theta (position / timescale)
 * Arithmetic:
 *   S0  the rotation by that angle, within the contract of its roundings
 *   S1  (16-bit storage) cos and sin rounded to storage, f32 arithmetic, one rounding
 *   S2  (16-bit storage) cos and sin, both products and the sum each rounded: bit for bit
 */
#ifndef PROPS_EXPLAIN_H
#define PROPS_EXPLAIN_H

#include "oracle/oracle.h"

typedef enum prop_angle {
    PROP_ANGLE_EXACT = 0,
    PROP_ANGLE_UNROUNDED = 1,
    PROP_ANGLE_ROUNDED = 2,
    PROP_ANGLE_PRODUCT = 3,
    PROP_ANGLE_QUOTIENT = 4,
    PROP_ANGLES = 5,
} prop_angle;

typedef enum prop_arithmetic {
    PROP_ARITHMETIC_ONE_ROUNDING = 0,    /* S0 */
    PROP_ARITHMETIC_TABLE = 1,           /* S1 */
    PROP_ARITHMETIC_STEPS = 2,           /* S2 */
    PROP_ARITHMETICS_RIGHT = 3,          /* those before are right, those from here on are faults */
    PROP_ARITHMETIC_TRUNCATED = 3,       /* the exact rotation, cut off towards zero */
    PROP_ARITHMETIC_TABLE_TRUNCATED = 4, /* S1, its last rounding cut off */
    PROP_ARITHMETIC_PRODUCTS = 5,        /* S2 without the rounding of cos and sin */
    PROP_ARITHMETIC_COS_PRODUCT = 6,     /* S1, and the products with cos rounded */
    PROP_ARITHMETIC_SIN_PRODUCT = 7,     /* S1, and the products with sin rounded */
    PROP_ARITHMETIC_ONLY_COS_PRODUCT = 8,    /* S0, and the products with cos rounded */
    PROP_ARITHMETIC_ONLY_SIN_PRODUCT = 9,    /* S0, and the products with sin rounded */
    PROP_ARITHMETIC_FIRST_OVERWRITTEN = 10,  /* in place: y1 made from y0 in the place of x0 */
    PROP_ARITHMETIC_SECOND_OVERWRITTEN = 11, /* in place: y0 made from y1 in the place of x1 */
    PROP_ARITHMETICS = 12,
} prop_arithmetic;

/* What to explain a dump by. Arrays have one entry for each pair and are the caller's. */
typedef struct prop_model {
    uint32_t pairing; /* rope_pairing */
    int64_t head_dim, rotary_dim, rotary_offset;
    int64_t pairs;                  /* rotary_dim / 2 */
    const double *theta, *theta_lo; /* exact inverse frequency, scaling applied, as hi + lo */
    const int32_t *steps;        /* how far f may lie from theta, in steps of the working format */
    oracle_dd attention_factor;  /* > 0 */
    uint32_t input_dtype, dtype; /* rope_dtype of x; of y, whose u the contract is in */
    /* What only the search for a fault sets; all zero for a verdict. */
    uint32_t arithmetics;              /* bits 1 << prop_arithmetic; 0 = right ones of the dtype */
    bool table_rounded, angle_rounded; /* cos and sin of S1; the angle: */
    uint32_t table_dtype, angle_dtype; /* rounded to this dtype */
    int64_t partner;                   /* distance of a pair's elements; 0 = as pairing says */
    double contract;                   /* in u, for every angle; 0 = prop_contract */
} prop_model;

/* The contract: the largest normwise error of a pair in u that arithmetic S0 or S1 after this angle
 * may have. f32, exact angle: sqrt(5) + sqrt(2)/2 (Brent, Percival, Zimmermann 2007, and a table of
 * correctly rounded cos and sin). Computed angles, cos and sin of a libm with errors up to 1 ulp:
 * 4.9. An attention factor in the table costs two more. 16-bit storage: one rounding, and 1 % for
 * the f32 arithmetic before it. */
double prop_contract(const prop_model *model, prop_angle angle);

/* Added to the contract where results are subnormal: |error| <= bound u A|x| + this. Half a
 * smallest subnormal a component for the last rounding; with f32 and f64 arithmetic one more for
 * the products. */
double prop_subnormal_allowance(uint32_t dtype);

/* How far frameworks' f32 inverse frequencies lie from the exact ones, in f32 steps, at most: see
 * explain_frequency.c for the derivation. steps[pairs]; theta = the scaled frequencies. */
void prop_frequency_steps(const rope_spec *spec, const double *theta, int64_t pairs,
                          int32_t *steps);

/* One token's pair of numbers, all heads: element k of head h of x is x[h * stride + k]. */
typedef struct prop_row {
    int64_t token;
    const double *position;         /* [pairs]: the position of each pair's axis */
    const oracle_cos_sin_dd *exact; /* [pairs]: of the exact angle */
    const double *x, *y;            /* [heads][head_dim] */
    int64_t heads;
} prop_row;

typedef struct prop_place {
    int64_t token, head, pair; /* -1: none */
} prop_place;

/* How one combination fared. */
typedef struct prop_combination {
    prop_angle angle;
    prop_arithmetic arithmetic;
    uint32_t format;       /* working format of angle and frequency: ROPE_F32 or ROPE_F64 */
    bool explains;         /* all pairs of all tokens */
    int64_t pairs_refuted; /* pairs that no frequency explains */
    prop_place first;      /* where the first pair was refuted */
    double bound_u;        /* contract; 0 for S2 (bit for bit) */
    double max_error_u;    /* of the pairs that it explains, under the frequencies chosen */
    prop_place worst;
    int32_t max_drift; /* |steps| between the chosen f and the nearest to theta, largest */
    int64_t drift_pair;
} prop_combination;

typedef struct prop_explanation prop_explanation;

/* Sets up all combinations whose angle is in `angles` (bit 1 << prop_angle). NULL: out of memory.
 */
prop_explanation *prop_explanation_new(const prop_model *model, uint32_t angles);
void prop_explanation_free(prop_explanation *e);

/* Confronts every combination still standing with one token. Heads whose data are not finite are
 * judged by class elsewhere and skipped here. */
void prop_explanation_feed(prop_explanation *e, const prop_row *row);

/* The same for the pairs [first, end) alone, so that threads may share the pairs: those of one call
 * are no other's. data: room for 6 numbers a head. What is known of combinations as a whole stays
 * as it was at the last sync. */
void prop_explanation_feed_pairs(prop_explanation *e, const prop_row *row, int64_t first,
                                 int64_t end, double *data);
void prop_explanation_sync(prop_explanation *e);

/* Whether no combination stands any longer. */
bool prop_explanation_refuted(const prop_explanation *e);

/* Combinations in the order tried; *count is set. Valid until free. */
const prop_combination *prop_explanation_results(prop_explanation *e, int *count);

/* The frequency (radians a position) that a combination settled on for a pair: the one nearest to
 * theta of those that explain all tokens; NaN where none does. */
double prop_explanation_frequency(const prop_explanation *e, int combination, int64_t pair);

/* Whether a combination still explains a pair. */
bool prop_explanation_stands(const prop_explanation *e, int combination, int64_t pair);

/* "A3 (f32 product of position and inverse frequency)" and so on. */
const char *prop_angle_text(prop_angle angle);
const char *prop_arithmetic_text(prop_arithmetic arithmetic);

/* Elements of a pair within a row. */
static inline int64_t prop_first_element(const prop_model *m, int64_t pair)
{
    return m->rotary_offset + (m->pairing == ROPE_HALF ? pair : 2 * pair);
}
static inline int64_t prop_partner_distance(const prop_model *m)
{
    return m->partner > 0 ? m->partner : m->pairing == ROPE_HALF ? m->pairs : 1;
}

#endif
