/* Tables that papers print, recomputed: `tightrope oracle --table NAME`. */
#ifndef ORACLE_PAPER_TABLES_H
#define ORACLE_PAPER_TABLES_H

#include "impl/error.h"
#include "scripts/front/rows.h"

/* Columns of the rows that oracle_paper_table writes. value_low and value_high enclose the exact
 * value. */
#define ORACLE_PAPER_COLUMNS "table,head_dim,base,argument,value_low,value_high,printed,note,source"

/* "decay": mean_j |S_j(m)| of Su et al., figure 2 (head_dim 128, bases 1e4 and 5e5).
 * "smallest-base": the smallest base with B(m) >= 0 for a context (Men et al., table 2), contexts
 * 1k..16k, or 1k..1M when full. False with a line for another name. */
bool oracle_paper_table(const char *name, bool full, rows_writer *w, rope_error *error);

/* mean_j |S_j|, S_j = sum_{i<j} e^(i m theta_i), j = 1..head_dim/2 (Su et al., section 3.4.3);
 * *bound is a proven bound on the error. head_dim even, 2..4096; base > 1; |m| <= 2^24. */
double oracle_decay_mean(int64_t head_dim, double base, int64_t m, double *bound);

#endif
