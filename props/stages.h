/* Error by stage: a model of a kernel, made from the pipeline that it declares, in which each stage
 * can be replaced by an exact one. The model is compared with the kernel on the same data; what the
 * kernel has beyond the model is put down to the one stage that no format describes, range
 * reduction and cos/sin. */
#ifndef PROPS_STAGES_H
#define PROPS_STAGES_H

#include "props/certify.h"

typedef enum stage {
    STAGE_FREQUENCY = 0,  /* the inverse frequency in its format */
    STAGE_ANGLE = 1,      /* position times frequency in its format */
    STAGE_TABLE = 2,      /* A cos and A sin, correctly rounded to theirs */
    STAGE_ARITHMETIC = 3, /* products and sums of the rotation */
    STAGE_STORAGE = 4,    /* the result's rounding to the dtype */
    STAGES_MODELLED = 5,
    STAGE_EVALUATION = 5, /* range reduction and cos/sin: kernel minus model */
    STAGES = 6,
} stage;

const char *stage_name(stage s); /* "frequency" */

/* A band of positions [first, end): all errors in u, root mean squares over pairs. */
typedef struct stage_band {
    int64_t first, end, positions;
    /* Mean squares that each stage adds when stages are made inexact in the order above; they sum
     * to the kernel's. Negative where a stage happens to cancel earlier ones. */
    double added[STAGES];
    double without[STAGES_MODELLED]; /* rms of the model with that one stage exact */
    double model, measured;          /* rms */
} stage_band;

enum { STAGE_BANDS = 64 };

typedef struct stage_result {
    int count;
    stage_band bands[STAGE_BANDS];
    char reason[200]; /* "" or why there is none: no pipeline declared, a crash */
} stage_result;

/* Bands are [0, 1), [1, 2), [2, 4), ... up to end. In a child process; seed draws positions and
 * data. False only where nothing could be run. */
bool stages_run(const certify_subject *s, oracle *o, const rope_frequencies *frequencies,
                int64_t end, uint64_t seed, stage_result *result, rope_error *error);

#endif
