/* Inside of identify: which specs a dump of no declared spec may follow. */
#ifndef PROPS_IDENTIFY_SPECS_H
#define PROPS_IDENTIFY_SPECS_H

#include "props/identify_try.h"

/* Appends, screened, every known spec of the dump's head_dim under which at least a quarter of the
 * pairs come out right: presets, and known bases with known scalings, at every rotary_dim that the
 * unchanged elements allow, both pairings; then what a fit of consecutive tokens proposes. */
bool prop_candidate_specs(prop_hypotheses *list, const prop_sample *sample, uint32_t angles);

/* Where positions are not known: appends, screened, the hypothesis with the tokens placed at p0, p0
 * + 1, ... and at -p0, -p0 - 1, ..., where either comes out right. What negative positions explain,
 * an inverse rotation explains alike: both are appended. False: out of memory. */
bool prop_place_tokens(prop_hypotheses *list, const prop_hypothesis *h, const prop_sample *sample);

#endif
