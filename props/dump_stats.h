/* Errors of a dump against the exact rotation: by pair, by position, the worst place, and what is
 * visibly wrong without any tolerance. */
#ifndef PROPS_DUMP_STATS_H
#define PROPS_DUMP_STATS_H

#include "props/explain.h"

enum { PROP_BANDS = 65 }; /* of |position|: band b holds [2^(b-1), 2^b), band 0 holds 0 */

typedef struct prop_bin {
    int64_t pairs;      /* compared */
    int64_t above;      /* outside the contract of an exact angle */
    double max_u;       /* largest normwise error, u */
    double sum_squares; /* of normwise errors, u^2 */
} prop_bin;

typedef struct prop_worst {
    prop_place place;
    double position, error_u, error; /* error over A |x pair| */
    double x0, x1, y0, y1, exact0, exact1;
} prop_worst;

typedef struct prop_stats {
    prop_bin all, by_position[PROP_BANDS];
    prop_bin *by_pair; /* [pairs] */
    prop_worst worst;
    int64_t not_zero;    /* pairs of finite, non-zero input: something to see */
    int64_t wrong_class; /* finite where NaN or infinity is due, or the reverse, NaN apart */
    prop_place first_wrong_class;
    int64_t unexpected_nan;                   /* elements: NaN in y though x is finite */
    int64_t nan_token, nan_head, nan_element; /* the first */
    int64_t changed_outside; /* elements outside the rotary range that differ from the input */
    int64_t changed_token, changed_head, changed_element;
    int64_t rows, rows_wrong; /* a row: one head of one token, wrong: a pair of it is above */
    int64_t rows_unrotated;   /* wrong rows that equal their input */
    int64_t rows_zero;        /* wrong rows of nothing but zeros */
    int64_t rows_stale;       /* wrong rows that equal another row's output, other input */
    prop_place first_stale, stale_source; /* pair unused */
} prop_stats;

typedef struct prop_judge prop_judge; /* stats in the making */

/* Pairs are judged in groups that threads may share; sums are made by group, so they do not depend
 * on who took which. Half rotation's first elements of 8 pairs fill a cache line of f64. */
enum { PROP_GROUP = 8 };
static inline int prop_groups(const prop_model *m)
{
    return (int)((m->pairs + PROP_GROUP - 1) / PROP_GROUP);
}
static inline void prop_group_range(const prop_model *m, int group, int64_t *first, int64_t *end)
{
    *first = (int64_t)group * PROP_GROUP;
    *end = *first + PROP_GROUP < m->pairs ? *first + PROP_GROUP : m->pairs;
}

/* NULL: out of memory. */
prop_judge *prop_judge_new(const prop_model *model);
void prop_judge_free(prop_judge *j);

/* One token's pairs of a group. above[head] is set to 1 where a pair is outside the contract, else
 * left. No two threads in one group. */
void prop_judge_feed_group(prop_judge *j, int group, const prop_row *row, uint8_t *above);

/* Adds what the groups know to `rows`, which counts rows (prop_rows_take). by_pair belongs to j. */
prop_stats prop_judge_stats(const prop_judge *j, const prop_stats *rows);

/* Nothing seen yet. */
prop_stats prop_stats_none(prop_bin *by_pair);

/* Counts NaN of finite input; token, head, element: the first of them. */
void prop_stats_nan(prop_stats *s, int64_t token, int64_t head, int64_t element, int64_t count);

/* sqrt(sum_squares / pairs), 0 where nothing was compared. */
double prop_bin_rms(const prop_bin *bin);

#endif
