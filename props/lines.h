/* What sums of findings share: lines (lines.c) and skips (skips.c). */
#ifndef PROPS_LINES_H
#define PROPS_LINES_H

#include "props/verify.h"

/* Returns whether the worst is now from's. */
bool prop_tally_merge(prop_tally *to, const prop_tally *from);

/* Positions that only the property far tries, past 2^27: a kernel need not claim anything there,
 * and that property's own line says how much it claims. */
bool prop_may_be_unclaimed(const prop_property *property);

#endif
