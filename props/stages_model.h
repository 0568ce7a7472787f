/* The model of a declared pipeline (props/stages.h). */
#ifndef PROPS_STAGES_MODEL_H
#define PROPS_STAGES_MODEL_H

#include "props/stages.h"

typedef struct stage_model stage_model;

/* NULL with a line: the pipeline is undeclared, memory is out. */
stage_model *stage_model_new(const certify_subject *s, const oracle *o,
                             const rope_frequencies *frequencies, rope_error *error);
void stage_model_free(stage_model *m);

/* What the model's angles are off by at a position, radians: [pairs], from the frequency's format
 * and from the angle's. */
void stage_model_angles(const stage_model *m, int64_t position, double *by_frequency,
                        double *by_angle);

/* The normwise error, in u, of one pair under the model with the stages of `inexact` (bits 1 <<
 * stage) as declared and the others exact. r: exact cos and sin; turn: the angle's error that is in
 * force, radians. */
double stage_model_error(const stage_model *m, uint32_t inexact, oracle_cos_sin_dd r, double turn,
                         double x0, double x1);

#endif
