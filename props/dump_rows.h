/* Rows as a whole: equal to their input, holding another row's output, changed outside of the
 * rotary range. */
#ifndef PROPS_DUMP_ROWS_H
#define PROPS_DUMP_ROWS_H

#include "props/dump_stats.h"

typedef struct prop_rows prop_rows; /* rows seen before */

/* NULL: out of memory. */
prop_rows *prop_rows_new(void);
void prop_rows_free(prop_rows *r);

/* What one row shows by itself; threads may look at rows at once. */
typedef struct prop_look {
    uint64_t output, input; /* hashes */
    bool equal, zero;       /* y is x; y is nothing but zeros */
    int64_t changed, nan;   /* elements outside the rotary range that differ from x, NaN apart */
    int64_t changed_first, nan_first; /* the first of each; -1 */
} prop_look;
prop_look prop_rows_look(const prop_model *model, const double *x, const double *y);

/* Counts a row into s; rows come in order, each once. above: a pair of it is outside the contract.
 */
void prop_rows_take(prop_rows *r, int64_t token, int64_t head, bool above, const prop_look *look,
                    prop_stats *s);

#endif
