/* Calls a kernel the way that a judge wants it: buffers from arenas, control bits compared, the
 * plan for just the positions at hand. */
#ifndef PROPS_ROTATE_H
#define PROPS_ROTATE_H

#include "props/case.h"

typedef struct prop_plan {
    rope_plan *plan;
    rope_plan_args args;
} prop_plan;

/* Plans for the window of `tokens` positions. False: refused, or failed; the sheet says which. */
bool prop_plan_make(const prop_subject *s, uint32_t axes, const int64_t *positions, int64_t tokens,
                    prop_plan *plan, prop_sheet *sheet);
void prop_plan_free(const prop_subject *s, prop_plan *plan, prop_sheet *sheet);

/* Applies the plan to packed rows of `tokens` tokens in the arrangement of the case. False: failed,
 * see the sheet. */
bool prop_apply(const prop_subject *s, const prop_plan *plan, const prop_case *c,
                const int64_t *positions, int64_t tokens, const void *x, void *y,
                prop_sheet *sheet);

/* The same, whatever status comes back. *untouched: no element of y's rows has been written. On
 * trouble of our own: INVALID, and the sheet says why. */
rope_status prop_call(const prop_subject *s, const prop_plan *plan, const prop_case *c,
                      const int64_t *positions, int64_t tokens, const void *x, void *y,
                      bool *untouched, prop_sheet *sheet);

/* Plan, apply, destroy. y may be x. */
bool prop_rotate(const prop_subject *s, const prop_case *c, const int64_t *positions, const void *x,
                 void *y, prop_sheet *sheet);

/* What is found out about any call: what `call` ("apply") has left changed of the processor's
 * state, text from prop_fpstate_check; what it has written that it may not, format with a %lld. */
void prop_disturbed(prop_sheet *sheet, const char *call, const char *text);
void prop_strayed(prop_sheet *sheet, const char *format, int64_t where);

/* Whether the elements that do not rotate are the same in packed rows, bit for bit; else *row is
 * one where they are not. */
bool prop_rest_copied(const prop_subject *s, const void *from, const void *to, int64_t rows,
                      int64_t *row);

/* The contract of every (token, pair) for such a call: [tokens][pairs]. */
void prop_bounds(const prop_subject *s, uint32_t axes, const int64_t *positions, int64_t tokens,
                 double *bounds, prop_sheet *sheet);

/* Index of pair i's two elements in a row. */
void prop_pair(const rope_spec *spec, int64_t pair, int64_t *first, int64_t *second);

/* A pair of a packed tensor, as f64. */
void prop_load_pair(const prop_subject *s, const void *packed, int64_t row, int64_t pair, double *a,
                    double *b);

#endif
