/* Cases of the contract: calls as inference engines make them. */
#ifndef PROPS_CONTRACT_CALLS_H
#define PROPS_CONTRACT_CALLS_H

#include "props/case.h"

/* They follow the cases of props/contract_cases.h. */
int64_t prop_contract_calls_count(const prop_subject *s);
bool prop_contract_calls_generate(const prop_subject *s, int64_t index, prop_case *c);

#endif
