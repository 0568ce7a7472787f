/* Lines and rows of `tightrope hunt`. */
#ifndef PROPS_HUNT_REPORT_H
#define PROPS_HUNT_REPORT_H

#include "props/certify.h"
#include "props/drift.h"
#include "props/hunt.h"
#include "props/stages.h"
#include "scripts/front/rows.h"

/* The subject in words: kernel, dtype, spec text as given, truth. */
typedef struct hunt_label {
    const char *kernel, *dtype, *spec, *truth;
    const char *plugins; /* " --plugin 'F.so'", or "" */
} hunt_label;

extern const char hunt_columns[], stages_columns[], drift_columns[];

/* What one hunt found: exhaustive certification of [scan_first, scan_end), then the search. */
typedef struct hunt_finding {
    hunt_label label;
    int64_t first, end;
    certificate scan;
    hunt_result search;
} hunt_finding;

/* The largest known error of all, and how often it goes into its contract (NaN without one). */
const certificate_case *hunt_largest(const hunt_finding *f);
bool hunt_broken(const hunt_finding *f);

/* The one line that runs a case again: malloc'ed. */
char *hunt_replay(const hunt_label *label, const rope_spec *spec, const certificate_case *c);

void hunt_print(const hunt_finding *f, const rope_spec *spec);
void hunt_row(rows_writer *w, const char *run, const hunt_finding *f, const rope_spec *spec);

/* The model's worst band against the kernel: |model / measured - 1| where measured is seen (above
 * 2^-10 u). */
double stages_misfit(const stage_result *r);
void stages_print(const hunt_label *label, const stage_result *r);
void stages_rows(rows_writer *w, const char *run, const hunt_label *label, const stage_result *r);

void drift_print(const hunt_label *label, const drift_result *r);
void drift_rows(rows_writer *w, const char *run, const hunt_label *label, const drift_result *r);

#endif
