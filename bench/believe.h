/* Whether the rows of a file of bench are values that can be believed. */
#ifndef BENCH_BELIEVE_H
#define BENCH_BELIEVE_H

#include "scripts/front/rows.h"

/* Every number of the table that a judgement rests on (times, ratios, their intervals, errors) is
 * finite and not negative (a time: above 0), or empty, which means not measured; tokens and heads
 * are whole numbers from 1 on; a verdict is one that bench writes. False with "path: line N: column
 * ...". Columns that the table does not have are not missed. */
bool bench_believe(const char *path, const rows_table *table, rope_error *error);

#endif
