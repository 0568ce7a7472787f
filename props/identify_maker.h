/* Inside of identify: what those who make hypotheses of faults work with. */
#ifndef PROPS_IDENTIFY_MAKER_H
#define PROPS_IDENTIFY_MAKER_H

#include "props/identify_try.h"

typedef struct prop_maker {
    prop_hypotheses *list;
    const prop_hypothesis *from;
    const prop_sample *sample;
    bool good; /* memory */
} prop_maker;

static inline prop_hypothesis *prop_derive(prop_maker *m, const char *fault, const char *detail)
{
    prop_hypothesis *h = prop_hypothesis_derive(m->from, fault, detail);
    if (h == NULL)
        m->good = false;
    return h;
}

static inline void prop_keep(prop_maker *m, prop_hypothesis *h)
{
    if (h != NULL)
        m->good = prop_hypotheses_add(m->list, h) && m->good;
}

/* The declared spec with a change; what it yields follows another spec rightly. NULL: no such spec,
 * or (m->good false) out of memory. */
prop_hypothesis *prop_with_spec(prop_maker *m, const char *fault, const char *detail,
                                const rope_spec *changed);

/* Hypotheses of known bases in the place of the declared one, and of exponents that are 0; each
 * also under the scaling of the declared frequencies, where that is another function. */
void prop_wrong_base(prop_maker *m);
void prop_integer_exponent(prop_maker *m);

#endif
