/* The verdict on a dump: statistics against the exact rotation, then the combination that explains
 * it, in at most two passes over the files, in bounded memory, by several threads. */
#ifndef PROPS_DUMP_CHECK_H
#define PROPS_DUMP_CHECK_H

#include "props/dump.h"
#include "props/dump_pass.h"

typedef struct prop_verdict {
    bool pass;
    char reason[512];      /* one line: why, without the leading PASS or FAIL */
    prop_combination best; /* explains where pass; else the one with the fewest pairs refuted */
    uint32_t dtype;        /* of the output: the u of all errors */
    double exact_bound_u;  /* the contract of an exact angle, which `stats` counts by */
    bool tried_computed;   /* A1.. were tried: the exact angle did not explain it */
    double trained_length; /* for which the next figure is; NaN: the spec says none */
    double
        error_at_trained; /* largest normwise error expected there, over |x|; of a PASS not exact */
    int64_t moving;       /* distinct non-zero positions, counted up to 2 */
    prop_stats stats;     /* by_pair is owned by the verdict */
    int64_t pairs;
} prop_verdict;

typedef struct prop_check_options {
    uint32_t angles;       /* admitted ones: bits 1 << prop_angle; 0 = all */
    double trained_length; /* 0 or NaN = what the spec says */
    int jobs;              /* threads; 0 = 1; the verdict does not depend on it */
    prop_progress *progress;
    void *context;
} prop_check_options;

/* Judges an open dump, positions given, by a spec. False with a line where the dump cannot be
 * judged: shapes or axes that do not fit the spec, no non-zero input, unreadable. */
bool prop_dump_check(prop_dump *dump, const rope_spec *spec, const prop_check_options *options,
                     prop_verdict *verdict, rope_error *error);
void prop_verdict_free(prop_verdict *verdict);

#endif
