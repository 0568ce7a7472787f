/* Inside of identify: what was found, and how it is told. */
#ifndef PROPS_IDENTIFY_REPORT_H
#define PROPS_IDENTIFY_REPORT_H

#include "props/identify_try.h"

enum { PROP_MAX_FITS = 16 };

typedef struct {
    const prop_sample *sample;
    uint32_t angles;
    prop_hypotheses all;
    prop_hypothesis *fits[PROP_MAX_FITS]; /* those that explain */
    int fit_count;
    const char *unrotated; /* what prop_sample_unrotated says */
    bool zeros;
    bool good; /* memory */
} prop_inquiry;

/* Fills the identity from the fits, and runners-up from all hypotheses, which it sorts. */
void prop_report(prop_inquiry *q, const rope_spec *declared, prop_identity *id);

#endif
