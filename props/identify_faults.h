/* Inside of identify: the faults that a hypothesis may be changed by. */
#ifndef PROPS_IDENTIFY_FAULTS_H
#define PROPS_IDENTIFY_FAULTS_H

#include "props/identify_try.h"

/* Appends every fault of computation and of positions that `right` may have: none that is merely
 * another spec. */
bool prop_faults_of_code(prop_hypotheses *list, const prop_hypothesis *right,
                         const prop_sample *sample);

/* Appends the faults that are a wrong spec in the place of the declared one. */
bool prop_faults_of_spec(prop_hypotheses *list, const prop_hypothesis *declared,
                         const prop_sample *sample);

/* The median of |y pair| / |x pair| under the hypothesis' pairing; 1 where nothing tells. */
double prop_measured_factor(const prop_hypothesis *h, const prop_sample *sample);

#endif
