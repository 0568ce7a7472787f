/* Timing loops by Google Benchmark, for C. The shim is the only C++ of bench/; no exception leaves
 * it. */
#ifndef BENCH_GBENCH_SHIM_H
#define BENCH_GBENCH_SHIM_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One thing that is timed: body(context) is one iteration. */
typedef struct bench_subject {
    const char *name;
    void (*body)(void *context);
    void *context;
} bench_subject;

enum { BENCH_MAX_SUBJECTS = 8 };

/* Times `count` subjects in `rounds` rounds; in each round every subject runs once for about
 * `seconds`, in the order given in even rounds and in the reverse order in odd ones, so that what
 * is compared is measured side by side and a linear drift cancels. The last round ends with subject
 * 0 if `rounds` is even. Iteration counts are found by Google Benchmark beforehand, which warms up
 * too, and then stay fixed. nanoseconds[round * count + subject] receives the thread's CPU time of
 * one iteration: what is timed starts no thread, and another process on the core does not count.
 * False when Google Benchmark fails. */
bool bench_gbench_rounds(const bench_subject *subjects, int count, int rounds, double seconds,
                         double *nanoseconds);

#ifdef __cplusplus
}
#endif

#endif
