/* Inside of identify: building hypotheses, screening them, and putting them to the engine. */
#ifndef PROPS_IDENTIFY_TRY_H
#define PROPS_IDENTIFY_TRY_H

#include "props/identify.h"

typedef struct prop_hypotheses {
    prop_hypothesis **items;
    int64_t count, capacity;
    int64_t declined; /* not kept: screening showed less than a quarter of the pairs right */
} prop_hypotheses;

/* A hypothesis that the dump is a right RoPE of spec (which is copied); NULL when the spec does not
 * resolve or memory is out. */
prop_hypothesis *prop_hypothesis_new(const prop_sample *sample, const rope_spec *spec,
                                     uint32_t angles);
/* A copy that goes by another fault. */
prop_hypothesis *prop_hypothesis_derive(const prop_hypothesis *from, const char *fault,
                                        const char *detail);
void prop_hypothesis_free(prop_hypothesis *h);

/* Appends; h may be NULL (then nothing). False: out of memory, h is freed. */
bool prop_hypotheses_add(prop_hypotheses *list, prop_hypothesis *h);
void prop_hypotheses_free(prop_hypotheses *list);

/* The position that the hypothesis has rotated a row by, on an axis. */
double prop_mapped_position(const prop_hypothesis *h, const prop_sample *s, int64_t token,
                            int64_t head, uint32_t axis);

/* Whether rows of one token have different positions. */
bool prop_map_by_head(prop_map map);

/* cos and sin of position * theta, accurate to 2^-53 (f64 data: 2^-62). */
oracle_cos_sin_dd prop_turn(const prop_hypothesis *h, int64_t pair, double position);

/* Error of a row's pair under the hypothesis' exact angle, in u, and what is tolerated where the
 * angle is computed in f32 and the arithmetic is any of those known. NaN: not finite, or zero. */
double prop_error(const prop_hypothesis *h, const prop_sample *s, int64_t token, int64_t head,
                  int64_t pair, double *tolerance);

/* Fills share, residual and median from some hundred pairs drawn by a fixed rule. */
void prop_screen(prop_hypothesis *h, const prop_sample *s);

/* Elements outside what the hypothesis rotates that differ from the input, NaN apart. */
int64_t prop_changed_outside(const prop_hypothesis *h, const prop_sample *s);

/* Puts the hypothesis to the engine on the whole sample: explains and best. */
bool prop_try(prop_hypothesis *h, const prop_sample *s);

#endif
