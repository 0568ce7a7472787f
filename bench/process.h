/* Whole processes, timed by hyperfine: a cold start, one plan and one apply. */
#ifndef BENCH_PROCESS_H
#define BENCH_PROCESS_H

#include "bench/measure.h"

/* Whether there is a hyperfine on PATH. */
bool bench_process_available(void);

/* Runs `tightrope bench --once` with the kernel, and beside it the same with a copy in place of the
 * kernel, `runs` times each, and fills times and verdict; point->mode is BENCH_COLD. plugin: a
 * shared object that the kernel comes from, or NULL. */
bool bench_process_measure(const bench_point *point, const char *plugin, int runs,
                           const bench_effort *effort, bench_result *result, rope_error *error);

#endif
