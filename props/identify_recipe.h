/* Inside of identify: angles that come from a recurrence, made step by step as faulty code makes
 * them. */
#ifndef PROPS_IDENTIFY_RECIPE_H
#define PROPS_IDENTIFY_RECIPE_H

#include "props/identify.h"

/* Tries a hypothesis with a recipe on the sample. False: out of memory. */
bool prop_try_recipe(prop_hypothesis *h, const prop_sample *s);

#endif
