/* What a table or figure shows where the rows hold more than one can. */
#ifndef REPORT_CHOOSE_H
#define REPORT_CHOOSE_H

#include <stdbool.h>

#include "reports/model.h"

/* A condition on a row. */
typedef bool report_filter(report_row row, const void *context);

/* Distinct values of a column among the rows that pass, in order of appearance; malloc'ed array of
 * strings that the model owns; NULL when there are none (or no memory). */
const char **report_distinct(const report_rows *rows, const char *column, report_filter *filter,
                             const void *context, size_t *count);

/* The value of a column that most of the rows that pass have, the first of equals; NULL: no row. */
const char *report_commonest(const report_rows *rows, const char *column, report_filter *filter,
                             const void *context);

/* Rows of hunts: whether both are of one kernel, dtype, spec and truth; whether row r is the first
 * of its kind; whether any row of the curve of `of` has a number in this column. */
bool report_same_curve(report_row a, report_row b);
bool report_first_of_curve(const report_rows *rows, size_t r);
bool report_has_number(const report_rows *rows, report_row of, const char *column);

/* What a figure about time shows: rows that were timed, of one dtype, pairing, spec, mode and
 * place. NULL = any. tokens and heads 0 = any. */
typedef struct report_cut {
    const char *dtype, *pairing, *spec, *mode, *in_place, *kernel;
    double tokens, heads;
} report_cut;
bool report_in_cut(report_row row, const void *cut);

/* The one row of a cut, the first; its table is NULL when there is none. */
report_row report_find(const report_rows *rows, const report_cut *cut);

/* The shape of the trade-off: 512 tokens where the cut has such rows, else its commonest; heads
 * likewise. False: no row. */
bool report_usual_shape(const report_rows *rows, report_cut *cut);

/* A point of a trade-off between time and error, both better when smaller. */
typedef struct report_trade {
    const char *kernel;
    double time, error;
    bool pareto; /* no other point is at least as good in both and better in one */
} report_trade;
void report_mark_pareto(report_trade *points, size_t count);

/* Position of a kernel in the model's list: its colour everywhere. */
int report_kernel_index(const report_model *model, const char *name);

#endif
