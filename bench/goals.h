/* The goals of speed: ratios of two timings of one run, each with a limit. */
#ifndef BENCH_GOALS_H
#define BENCH_GOALS_H

#include "impl/error.h"

/* Measures every goal whose name contains text ("": every one) and writes rows
 * "goal,figure,low,high,limit,met" to path ("" = stdout): figure the median of the paired ratios,
 * low and high its 95 % interval (sign test); met = "yes" where the interval reaches the limit,
 * else "no", or "skip" where this CPU lacks a kernel's features. The goals generator_*, apply_* and
 * *_software are speeds (floor's or rival's time over the kernel's): at least the limit. The others
 * are times (the kernel's over the rival's): at most the limit. *all_met is set. False with a line
 * where nothing can be measured. */
bool bench_goals(const char *path, const char *text, bool *all_met, rope_error *error);

#endif
