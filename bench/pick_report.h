/* What `pick` answers: the fastest kernel, and what each candidate's time is of. */
#ifndef BENCH_PICK_REPORT_H
#define BENCH_PICK_REPORT_H

#include "bench/pick.h"

/* To standard output; best: an index, or -1 for none. */
void bench_pick_print(const bench_candidate *list, size_t count, int best, rope_dtype dtype);

/* The same as rows; path "" is standard output. */
bool bench_pick_write_csv(const char *path, const bench_candidate *list, size_t count, int best,
                          rope_error *error);

#endif
