/* The smallest counter-example, by RapidCheck's shrinking. */
#ifndef PROPS_SHRINK_H
#define PROPS_SHRINK_H

#include "props/case.h"

/* Replaces a failing case by the smallest that was found to fail too, each tried in a child
 * process, at most `trials` of them. *sheet is what the judge says of it. False when the case does
 * not fail at all. */
bool prop_shrink(const prop_subject *s, prop_case *c, int trials, prop_sheet *sheet);

#endif
