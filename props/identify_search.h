/* Inside of identify: the steps of a search, which add to an inquiry's hypotheses and fits. */
#ifndef PROPS_IDENTIFY_SEARCH_H
#define PROPS_IDENTIFY_SEARCH_H

#include "props/identify_report.h"

/* A share of the screened pairs that is worth the engine; outliers take the rest. */
#define PROP_NEAR 0.995

/* Puts a hypothesis to the engine. */
void prop_search_one(prop_inquiry *q, prop_hypothesis *h);

/* A fault found in the elements, with `right` for the rest. */
void prop_search_outliers(prop_inquiry *q, const prop_hypothesis *right);

/* Where positions are not given: consecutive ones from anywhere, then any. */
void prop_search_places(prop_inquiry *q, const prop_hypothesis *right);
/* The same for the faults from `from` on that no positions of a row explain. */
void prop_search_places_of_faults(prop_inquiry *q, int64_t from);

#endif
