/* Inside of identify: which specs a dump of no declared spec may follow. */
#ifndef PROPS_IDENTIFY_SPECS_H
#define PROPS_IDENTIFY_SPECS_H

#include "props/identify_try.h"

/* Appends, screened, every known spec of the dump's head_dim under which at least a quarter of the
 * pairs come out right: presets, and known bases with known scalings, at every rotary_dim that the
 * unchanged elements allow, both pairings; then what a fit of consecutive tokens proposes. */
bool prop_candidate_specs(prop_hypotheses *list, const prop_sample *sample, uint32_t angles);

#endif
