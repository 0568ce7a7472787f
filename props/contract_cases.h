/* The cases of the property `contract`: which positions, how many tokens and heads. */
#ifndef PROPS_CONTRACT_CASES_H
#define PROPS_CONTRACT_CASES_H

#include "props/case.h"

/* As count and generate of a property (props/property.h). */
int64_t prop_contract_count(const prop_subject *s);
bool prop_contract_generate(const prop_subject *s, int64_t index, prop_case *c);

#endif
