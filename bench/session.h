/* One run of `tightrope bench`: which kernels, specs and shapes, and their figures. */
#ifndef BENCH_SESSION_H
#define BENCH_SESSION_H

#include "bench/encodings.h"
#include "bench/grid.h"
#include "impl/plugin.h"
#include "scripts/front/front.h"

/* As the command line gave them; NULL and empty: the default. */
typedef struct bench_options {
    const char *kernels, *dtypes, *shapes, *level, *plugin, *csv, *seed_text;
    const char *goals; /* what is in the names of the goals to measure; NULL: a usual run */
    front_values specs;
    bool once, no_processes;
    uint64_t seed;
    bool full;
} bench_options;

typedef struct bench_session {
    bench_request request;
    rope_plugin plugin; /* count 0: none */
    const rope_kernel **kernels;
    bench_problem *problems;
    bench_shape *shapes;
    bench_point *points; /* [count] of the grid, then from cold_from on the cold ones */
    bench_result *results;
    size_t count, cold_from;
    bench_encoding *encodings; /* [encoding_count] other encodings, measured last */
    bench_result *encoding_results;
    size_t encoding_count;
    bench_effort effort;
} bench_session;

/* Reads the options; *s is to be freed whether or not it succeeds. */
bool bench_session_new(bench_session *s, const bench_options *o, rope_error *error);
void bench_session_free(bench_session *s);

/* Lists the points; processes: also cold starts. */
bool bench_session_plan(bench_session *s, bool processes, rope_error *error);

/* Measures them all. */
bool bench_session_run(bench_session *s, const bench_options *o, rope_error *error);

#endif
