/* Inside of identify: dumps that are right but for some elements, rows or tokens. */
#ifndef PROPS_IDENTIFY_OUTLIERS_H
#define PROPS_IDENTIFY_OUTLIERS_H

#include "props/identify_try.h"

/* What is wrong where `right` does not hold, if the rest of the dump does follow it: a hypothesis
 * that explains, by the name of the fault; NULL when nothing is found (or memory is out). */
prop_hypothesis *prop_outliers(const prop_hypothesis *right, const prop_sample *sample);

#endif
