/* The fastest kernel that keeps an error budget. */
#ifndef BENCH_PICK_H
#define BENCH_PICK_H

#include "bench/measure.h"
#include "scripts/front/rows.h"

/* The largest contract of a kernel for the positions 0..last, in u; infinite where there is none at
 * some position. Looked at: every position below 4096, then each power of two and its neighbours
 * and 15 between, and the last ones; contracts are constant or grow with the magnitude of the
 * position (the property "contract" of verify measures them elsewhere too). */
double bench_largest_contract(const rope_kernel *kernel, const bench_problem *problem,
                              rope_dtype dtype, int64_t last, rope_error *error);

/* Which measurement a time is of. */
typedef struct bench_source {
    const char *file; /* of rows; NULL: timed here and now */
    size_t line;      /* in it */
    char spec[256], run[24];
    int64_t tokens, heads;
    bool in_place;
    int fit;           /* how well the row answers the question, higher is better */
    bool drifted;      /* the record of the run says so of its floors */
    bool preferred;    /* another run times the kernel too */
    char made_utc[40]; /* of the run; "": not known */
} bench_source;

/* A candidate and what speaks for or against it. */
typedef struct bench_candidate {
    const rope_kernel *kernel;
    double contract_u;          /* see above */
    double ns_low, ns, ns_high; /* per element; NaN: no time */
    double max_error_u;         /* measured, NaN: not */
    bench_source source;        /* of the time */
    char reason[256];           /* why it is no choice; "" = it is one */
} bench_candidate;

/* Fills in the time (and the error, where positions reach no further than last) from rows of bench:
 * of the kernel, dtype and pairing, mode apply, of the spec itself where there is one, else of one
 * of the same head_dim; the shape with 512 tokens where there is one. A failed row is a reason. Of
 * several runs (in one table or several calls) the best fit gives the time, among equals one whose
 * floors did not drift, then the newest, then the first; all give their errors. file: the table's,
 * for the source and the records beside it; kept by pointer. */
void bench_candidate_from_rows(bench_candidate *candidate, const bench_problem *problem,
                               rope_dtype dtype, int64_t last, const char *file,
                               const rows_table *table);

/* Gives a reason to one without a time, or with a measured error above the budget. */
void bench_candidate_judge(bench_candidate *candidate, double budget);

/* The fastest without a reason; -1 when there is none. */
int bench_pick(const bench_candidate *candidates, size_t count);

/* The fastest without a reason but for `best`; -1 when there is none. */
int bench_runner_up(const bench_candidate *candidates, size_t count, int best);

/* Whether the interval of one lies below the other's: it is faster. Without intervals: not known,
 * false. */
bool bench_is_faster(const bench_candidate *one, const bench_candidate *other);

bool bench_same_run(const bench_source *a, const bench_source *b);

/* Whether two times are of the same spec, shape, place and run, so that they can be compared (where
 * that run's floors did not drift). */
bool bench_same_source(const bench_source *a, const bench_source *b);

#endif
