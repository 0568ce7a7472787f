/* Finding out what a dump is: which spec and which fault explain it. Hypotheses (a spec, a map of
 * the positions, a way to compute) are screened on a few hundred pairs, and those that survive are
 * put to the explanation engine, which decides. */
#ifndef PROPS_IDENTIFY_H
#define PROPS_IDENTIFY_H

#include "props/dump.h"
#include "props/explain.h"

/* The part of a dump that hypotheses are tried on, in memory. */
typedef struct prop_sample {
    int64_t tokens, heads, head_dim;
    int64_t dump_tokens; /* of the whole dump; tokens < dump_tokens: a selection */
    uint32_t input_dtype, dtype;
    double *x, *y;     /* [tokens][heads][head_dim] */
    int64_t *index;    /* [tokens]: the token's number in the dump */
    int64_t *position; /* [tokens][axes]; NULL = not known */
    uint32_t axes;
} prop_sample;

bool prop_sample_read(prop_dump *dump, prop_sample *sample, rope_error *error);
void prop_sample_free(prop_sample *sample);

/* What an output that shows no rotation at all is, for a person: all zeros, or equal to the input.
 * NULL: neither. */
const char *prop_sample_unrotated(const prop_sample *sample, bool *zeros);

/* The 16-bit dtype whose numbers all of an f32 output are, or -1. */
int prop_sample_narrower(const prop_sample *sample);

/* How a hypothesis gets the positions that were rotated by, from those given. */
typedef enum prop_map {
    PROP_MAP_GIVEN = 0,
    PROP_MAP_NEGATED = 1,
    PROP_MAP_OFFSET = 2,        /* + map_value */
    PROP_MAP_SCALED = 3,        /* * map_value */
    PROP_MAP_ROUNDED = 4,       /* to the dtype map_dtype */
    PROP_MAP_TF32 = 5,          /* to 11 significant bits */
    PROP_MAP_HEAD = 6,          /* the head's number */
    PROP_MAP_HEAD_POSITION = 7, /* the position that stands at the head's number */
    PROP_MAP_SWAPPED = 8,       /* rows counted as if the axes were [heads, tokens] */
    PROP_MAP_INDEX = 9,         /* the token's number in the dump */
    PROP_MAP_CONSTANT = 10,     /* map_value */
    PROP_MAP_PREVIOUS = 11,     /* of the token before; the first: its own */
    PROP_MAP_AXES = 12,         /* axes permuted: two bits of map_value for each axis say whose
                                   position it takes */
    PROP_MAP_WRAPPED = 14,      /* modulo |map_value|; below 0: of a signed type */
    PROP_MAP_CLAMPED = 15,      /* at most map_value */
} prop_map;

/* Angles that no formula of one position gives. */
typedef enum prop_recipe {
    PROP_RECIPE_NONE = 0,
    PROP_RECIPE_ANGLE_RECURRENCE = 1,     /* angle of pair i + 1 = fl32(angle of pair i * r) */
    PROP_RECIPE_FREQUENCY_RECURRENCE = 2, /* the same of the inverse frequency */
    PROP_RECIPE_ACCUMULATION = 3,         /* angle of position p + 1 = fl32(angle of p + f) */
    PROP_RECIPE_ACCUMULATION_HERE = 4,    /* from the first token of the dump on */
    PROP_RECIPE_ROTOR = 5, /* (cos, sin) of p + 1 = (cos, sin) of p times that of 1 */
    PROP_RECIPE_ROTOR_HERE = 6,
    PROP_RECIPE_ROTOR_FMA = 7,
    PROP_RECIPE_ROTOR_FMA_HERE = 8,
    PROP_RECIPE_MISMATCHED = 9, /* half rotation, frequencies repeated for adjacent elements */
} prop_recipe;

typedef struct prop_hypothesis {
    char fault[64];   /* "F1 pairing-swapped"; "" = none */
    char detail[256]; /* what exactly, for a person */
    rope_spec spec;   /* owned */
    bool follows;     /* a right RoPE of `spec`, which is another than the declared one */
    /* The model: frequencies as given by spec, then changed. */
    prop_model model;
    double *theta, *theta_lo;
    int32_t *steps;
    uint8_t *axis;
    uint32_t angles; /* bits of prop_angle that the engine may try */
    prop_map map;
    double map_value;
    uint32_t map_dtype;
    prop_recipe recipe;
    bool output_transposed; /* y was written as [heads, tokens] */
    /* Found by screening and trying: */
    double share;    /* of the screened pairs within a generous tolerance */
    double residual; /* root mean square error of the screened pairs, in u, by exact angles */
    double median;
    bool explains;
    prop_combination best;
} prop_hypothesis;

enum { PROP_MAX_ANSWERS = 8 };

typedef struct prop_answer {
    char spec[1024];    /* canonical text */
    char follows[1024]; /* of a fault that is a right RoPE of another spec; else "" */
    char fault[64];     /* "none", "F1 pairing-swapped" ... */
    char detail[256];
    char pipeline[256];
    char presets[512]; /* matching ones, "a, b"; "" */
    double residual_u; /* root mean square against the hypothesis' exact angles */
    bool explains;
} prop_answer;

typedef struct prop_identity {
    bool told; /* answers[0] is the answer; else none, or several fit */
    int count; /* answers; the first `fitting` fit alike, the rest are runners-up */
    int fitting;
    prop_answer answers[PROP_MAX_ANSWERS];
    char decide[512]; /* where not told: what further dump would decide */
    int64_t tried;    /* hypotheses */
} prop_identity;

/* declared: NULL = none. angles: those that count as right (bit 1 << prop_angle). */
bool prop_identify(const prop_sample *sample, const rope_spec *declared, uint32_t angles,
                   prop_identity *identity, rope_error *error);

/* q and k together: what two tensors that are each explained can still get wrong, "F2
 * mixed-q-k-pairing" or "F26 position-off-by-one"; NULL = nothing. */
const char *prop_joint_fault(const prop_identity *q, const prop_identity *k);

#endif
