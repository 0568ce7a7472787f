/* Dumps of pipelines that frameworks really have, made by plain libm code, one pair after the
 * other, for tests of check and identify: right ones, and with faults that no list has. Nothing is
 * shared with the engine that judges them. */
#ifndef PROPS_DUMP_PIPELINES_H
#define PROPS_DUMP_PIPELINES_H

#include "impl/spec/spec.h"

typedef enum {                    /* of the unscaled inverse frequency */
               PROP_RECIPROCAL,   /* 1 / powf(b, 2i/d): Hugging Face, Meta, vLLM */
               PROP_NEGATIVE,     /* powf(b, -2i/d) */
               PROP_EXPONENTIAL,  /* expf(-2i ln(b)/d) */
               PROP_TIMESCALE,    /* position / powf(b, 2i/d): JAX */
               PROP_IN_F64,       /* pow in f64, kept so */
               PROP_F64_THEN_F32, /* pow in f64, cast */
} prop_formula;

typedef enum {
    PROP_F32_ANGLE,
    PROP_F64_ANGLE,
    PROP_F64_ANGLE_CAST
} prop_angle_way;                                        /* cast: f64 product to f32 */
typedef enum { PROP_COSF, PROP_COS_CAST } prop_trig_way; /* cosf, or cos of f64, cast */
typedef enum { PROP_SEPARATE, PROP_FUSED, PROP_DOUBLE, PROP_STEPS } prop_sum_way;

typedef struct {
    prop_formula formula;
    prop_angle_way angle;
    prop_trig_way trig;
    prop_sum_way sum;
    bool table_in_storage; /* cos and sin rounded to the dump's dtype */
} prop_pipeline;

enum { PIPELINE_TOKENS = 12, PIPELINE_HEADS = 4, PIPELINE_MOST_D = 128 };

/* One pair on its way; a fault changes what it likes. */
typedef struct {
    int64_t token, head, pair, pairs;
    const rope_spec *spec;
    uint32_t dtype;
    double position, theta, angle;
    double c, s, x[2], y[2];
} prop_cell;

typedef enum { PROP_AT_ANGLE, PROP_AT_TABLE, PROP_AT_OUTPUT } prop_stage;
typedef void prop_spoil(prop_cell *c, prop_stage at);

typedef struct {
    double x[PIPELINE_TOKENS * PIPELINE_HEADS * PIPELINE_MOST_D],
        y[PIPELINE_TOKENS * PIPELINE_HEADS * PIPELINE_MOST_D];
    int64_t position[PIPELINE_TOKENS];
} prop_tensors;

/* The spec must have a head_dim of at most PIPELINE_MOST_D; spoil: NULL = right. Positions are
 * taken from t. */
void prop_pipeline_make(const rope_spec *spec, uint32_t dtype, const prop_pipeline *p,
                        prop_spoil *spoil, uint64_t seed, prop_tensors *t);

/* Fills in positions: 0 near, 1 scattered, 2 far. */
void prop_pipeline_place(prop_tensors *t, int which);

enum { PIPELINE_SPECS = 9, PIPELINE_WAYS = 18 };
extern const char *const prop_pipeline_specs[PIPELINE_SPECS];
extern const prop_pipeline prop_pipelines[PIPELINE_WAYS]; /* all right */

typedef struct prop_pipeline_fault {
    const char *label;
    prop_spoil *spoil;
    int spec, positions; /* numbers of the spec, and of what prop_pipeline_place takes */
    uint32_t dtypes;     /* bits */
    const char *named;   /* what identify must say; NULL: it may not know */
} prop_pipeline_fault;

/* The table, count set. */
const prop_pipeline_fault *prop_pipeline_faults_all(int *count);

/* The base of dynamic NTK at a length; NaN where its stretch is negative. */
double prop_pipeline_stretched(const rope_spec *s, double length);

/* v as a number of the dtype. */
double prop_pipeline_store(uint32_t dtype, double v);

#endif
