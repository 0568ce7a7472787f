/* A contract that suddenly claims far more than it does further out is none there: an error is
 * expected to grow with |position|, so a position where 64 times the claim of a farther one is made
 * is either a fault that is known of, or a place where one hides. It is still held to what it
 * claims; the summary and the rows say where that is. */
#ifndef PROPS_CLAIMS_H
#define PROPS_CLAIMS_H

#include "props/property.h"

enum { PROP_CLAIM_FACTOR = 64 };

/* Notes in band 0 of the sheet the claims of one call that are out of line. bounds: [tokens][pairs]
 * as prop_bounds has them; positions: [tokens][axes]. */
void prop_claims_note(const prop_subject *s, uint32_t axes, const int64_t *positions,
                      int64_t tokens, const double *bounds, prop_sheet *sheet);

/* The smallest claim of a pair at the powers of two from |position| on, up to 2^24, on its side of
 * 0: asked for as of a plan for that position alone. Infinity when there is none. */
double prop_claim_further(const prop_subject *s, int64_t position, int64_t pair);

#endif
