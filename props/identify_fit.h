/* Inside of identify: what the data themselves show of frequencies. */
#ifndef PROPS_IDENTIFY_FIT_H
#define PROPS_IDENTIFY_FIT_H

#include <complex.h>

#include "props/identify_try.h"

/* sum over heads of y conj(x) of one token's pair: its argument is the angle. */
double complex prop_ratio(const prop_hypothesis *h, const prop_sample *s, int64_t token,
                          int64_t pair);

/* base and factor of base^(-2i/d) / factor, from consecutive tokens; h says where the pairs are.
 * False where the data are no such thing. */
bool prop_fit(const prop_hypothesis *h, const prop_sample *sample, double *base, double *factor);

#endif
