/* Inside of identify: which positions a dump was rotated by, where none are given. */
#ifndef PROPS_IDENTIFY_POSITIONS_H
#define PROPS_IDENTIFY_POSITIONS_H

#include "props/identify_try.h"

/* Where positions are not known: appends, screened, the hypothesis with the tokens placed at p0, p0
 * + 1, ... and at -p0, -p0 - 1, ..., where either comes out right. What negative positions explain,
 * an inverse rotation explains alike: both are appended. False: out of memory. */
bool prop_place_tokens(prop_hypotheses *list, const prop_hypothesis *h, const prop_sample *sample);

/* Positions of all tokens one by one, as the hypothesis' frequencies tell them from the angles that
 * the data show: position[tokens]. Returns for how many tokens there is one, of at most 2^20 either
 * way, that explains every pair and is no coincidence; the others get 0. */
int64_t prop_infer_positions(const prop_hypothesis *h, const prop_sample *sample,
                             int64_t *position);

/* Appends the first of the sample's positions to the hypothesis' detail. */
void prop_told_positions(prop_hypothesis *h, const prop_sample *sample);

#endif
