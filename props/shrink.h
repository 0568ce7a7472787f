/* The smallest counter-example, by RapidCheck's shrinking. */
#ifndef PROPS_SHRINK_H
#define PROPS_SHRINK_H

#include "props/case.h"
#include "props/rapidcheck_shim.h"

/* Replaces a failing case by the smallest that was found to fail too, in child processes: at most
 * `trials` of them (20 candidates each while none crashes). *sheet is what the judge says of it.
 * False when the case does not fail at all. */
bool prop_shrink(const prop_subject *s, prop_case *c, int trials, prop_sheet *sheet);

/* A case from RapidCheck's form of it, with the property and the lists of another. On failure
 * (memory) what was made of it is freed. */
bool prop_shrink_rebuild(const prop_subject *s, const prop_case *like, const rapid_case *r,
                         prop_case *c);

#endif
