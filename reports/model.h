/* The rows that a report is made from, and the records of their runs. Nothing else goes into a
 * report: from the same files it is the same on any machine. */
#ifndef REPORT_MODEL_H
#define REPORT_MODEL_H

#include <cjson/cJSON.h>

#include "impl/error.h"
#include "scripts/front/rows.h"

/* One row of one file. */
typedef struct report_row {
    const rows_table *table;
    size_t index;
} report_row;

typedef struct report_rows {
    report_row *items;
    size_t count;
} report_rows;

/* What made the rows of a file; its columns tell. */
typedef enum report_kind {
    REPORT_VERIFY = 0,
    REPORT_BENCH = 1,
    REPORT_MUTANTS = 2, /* verify --mutants */
    REPORT_STAGES = 3,  /* hunt --stages */
    REPORT_DRIFT = 4,   /* hunt --drift */
    REPORT_PAPERS = 5,  /* oracle --table */
} report_kind;

enum { REPORT_KINDS = 6 };

typedef struct report_source {
    char *path;
    rows_table table;
    report_kind kind;
} report_source;

/* "verify", "bench", ... : the copy of the rows in a report is named after it. */
const char *report_kind_name(report_kind kind);

/* The record of a run, from <run>.json beside the rows. */
typedef struct report_run {
    char *id;
    char *json;  /* NULL: there is no such file */
    cJSON *root; /* parsed; NULL with json */
} report_run;

typedef struct report_model {
    report_source *sources; /* by kind, then by content: not in the order that they are given in */
    size_t source_count;
    report_rows verify, bench, mutants, stages, drift,
        papers;       /* of all sources of a kind, in order */
    report_run *runs; /* in order of appearance in the sources, as kernels are */
    size_t run_count;
    const char **kernels; /* names, in order of appearance */
    size_t kernel_count;
} report_model;

/* Reads CSV files and the records beside them. False with a line: a file that cannot be read, is no
 * CSV, lacks a column of its kind, has text where a number is due; a record that is no JSON, or
 * whose hash is not its name. */
bool report_load(const char *const *paths, size_t count, report_model *model, rope_error *error);
void report_free(report_model *model);

/* A field by its column's name: "" and NaN where the column is absent or the field empty. */
const char *report_text(report_row row, const char *column);
double report_number(report_row row, const char *column);
bool report_is(report_row row, const char *column, const char *value);

#endif
