/* What a verification found, as the verb's outputs need it: text, rows, JUnit. */
#ifndef PROPS_VERIFY_H
#define PROPS_VERIFY_H

#include <stdio.h>

#include "props/run.h"
#include "scripts/front/rows.h"

typedef enum prop_verdict {
    PROP_PASS = 0,
    PROP_FAIL = 1,
    PROP_NO_CONTRACT = 2, /* the kernel claims nothing there: not judged, and no pass */
    PROP_UNSUPPORTED = 3, /* the kernel does not take the spec */
    PROP_NOT_RUN = 4,     /* given up before, or this machine cannot run the kernel */
} prop_verdict;

const char *prop_verdict_name(prop_verdict verdict); /* "no contract" */

typedef struct prop_replays prop_replays; /* props/replay.h */

/* A whole verification. */
typedef struct prop_verification {
    prop_suite suite;
    prop_unit *units;
    int unit_count;
    const rope_kernel *
        *kernels; /* under test, in order, each once; also those that cannot run here */
    int kernel_count;
    const char *plugins; /* " --plugin A.so --plugin B.so", as a replay needs them, or "" */
    uint32_t dtypes;     /* bits: those asked for */
    uint64_t seed;
    prop_replays *replays; /* commands that repeat failures, filled by the outputs */
    bool standard;         /* the standard suite: as many positions as it promises are asserted */
} prop_verification;

/* The line of one kernel and property over all specs. */
typedef struct prop_line {
    const rope_kernel *kernel;
    const prop_property *property;
    prop_verdict verdict;   /* PASS, FAIL or NOT_RUN */
    int specs;              /* that were judged */
    prop_tally total;       /* positions, comparisons summed; the worst */
    const char *worst_spec; /* that of the worst, with its pairing */
    char reason[PROP_REASON];
    /* Of the first failure: which finding, and which case of it (-1: none can be named). */
    const prop_unit *unit;
    int entry, property_index;
    int64_t failing;
} prop_line;

/* Sums up; false when the property says nothing about the kernel. */
bool prop_line_make(const prop_verification *v, const rope_kernel *kernel, int property,
                    prop_line *line);

/* A skip, named: what was not judged, and why. Writes "" when there is none. At most one a kernel
 * and kind. */
void prop_skip_no_contract(const prop_verification *v, const rope_kernel *kernel, char *text,
                           size_t size);
void prop_skip_unsupported(const prop_verification *v, const rope_kernel *kernel, char *text,
                           size_t size);
/* A dtype or a pairing that was asked for and that the kernel does not have. */
void prop_skip_no_unit(const prop_verification *v, const rope_kernel *kernel, char *text,
                       size_t size);
void prop_skip_not_run(const prop_verification *v, const rope_kernel *kernel, char *text,
                       size_t size);
/* One spec that a kernel was not run on at all: NOT_RUN (the machine) or UNSUPPORTED (dtype or
 * pairing) and why; PASS and "" where it was. */
prop_verdict prop_skip_entry(const prop_verification *v, const rope_kernel *kernel, int entry,
                             char *text, size_t size);
void prop_skip_far(const prop_verification *v, const rope_kernel *kernel, char *text, size_t size);

/* Rows of verify.csv (docs/rows.md). */
extern const char prop_verify_columns[];
void prop_verify_rows(const prop_verification *v, const char *run, rows_writer *w);

typedef struct prop_sum {
    int passed, failed, skipped;
} prop_sum;

/* The lines of a person's output, GitHub annotations among them where GITHUB_ACTIONS is set; the
 * sum is not printed. */
prop_sum prop_verify_text(const prop_verification *v, FILE *out);

/* JUnit XML: one test case a line; encodings as props/verify_encodings.h has them. */
struct prop_encodings;
struct prop_plugins;
void prop_verify_junit(const prop_verification *v, const struct prop_encodings *encodings,
                       const struct prop_plugins *plugins, double seconds, FILE *out);
/* Text inside an attribute or element of XML. */
void prop_junit_escape(const char *text, FILE *out);

#endif
