/* Where the results of `tightrope certify` go: certificate files, CSV rows, one line each. */
#ifndef PROPS_CERTIFY_OUT_H
#define PROPS_CERTIFY_OUT_H

#include "props/certify.h"
#include "scripts/front/environment.h"

typedef struct certify_out {
    const char *path; /* file or folder; NULL = the one certificate to stdout */
    const char *csv;  /* NULL = no rows */
    bool folder, single, begun;
    bool quiet;  /* standard output is for rows */
    bool broken; /* a contract, or a kernel that failed */
    front_run run;
    int argc;
    char **argv;
    char **names; /* file names used, to tell double ones */
    int name_count;
    certificate *kept; /* for the rows, which carry the run's id */
    int kept_count;
    int kept_verdicts[4]; /* kept, partial, none, broken */
    int failures, skips;
} certify_out;

/* The rows of all certificates kept, to out->csv: one a stage (angle, rotation, search). */
bool certify_rows_write(const certify_out *out, rope_error *error);

/* single: the run makes one certificate. False with a line: several need a folder, the place cannot
 * be written. */
bool certify_out_begin(certify_out *out, const char *path, const char *csv, bool single,
                       uint64_t seed, int argc, char **argv, rope_error *error);

/* Whether --csv means standard output. */
bool certify_out_to_stdout(const char *csv);
/* A place that cannot be written must show before an hour of work, not after it. */
bool certify_out_writable(const char *path, rope_error *error);

/* A combination that a kernel refuses: a named skip. */
void certify_out_skip(certify_out *out, const char *spec, const rope_error *reason);

/* Takes the certificate over. name: of the spec, for the file's name; spec: for lines. */
bool certify_out_result(certify_out *out, const char *name, const char *spec,
                        const certify_subject *subject, certify_result *result, rope_error *error);

/* Rows and the closing line. */
bool certify_out_finish(certify_out *out, rope_error *error);
void certify_out_free(certify_out *out);

/* Human line of a certificate, no newline. */
void certify_summary_line(const certificate *c, char *text, size_t size);

#endif
