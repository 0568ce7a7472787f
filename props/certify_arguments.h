/* The options that certify and hunt share: which kernels, on what, over which positions. */
#ifndef PROPS_CERTIFY_ARGUMENTS_H
#define PROPS_CERTIFY_ARGUMENTS_H

#include "props/certify.h"
#include "props/certify_select.h"
#include "scripts/front/front.h"

typedef struct certify_arguments {
    const char *kernels, *dtypes, *positions, *seed, *truth, *jobs, *csv;
    front_values specs, plugins;
} certify_arguments;

enum { CERTIFY_ARGUMENTS = 9, CERTIFY_OPTIONS = 24 };

/* Writes the shared options to table, then own ones, up to one without a name, and the end: at
 * most CERTIFY_OPTIONS in all. */
void certify_arguments_table(certify_arguments *a, const front_option *own, front_option *table);

/* Fills truth, seed, jobs, first and end of a run; 0:1048576 where no positions are given. */
bool certify_arguments_run(const certify_arguments *a, certify_options *run, rope_error *error);

/* certify_select of what was given. */
bool certify_arguments_select(const certify_arguments *a, certify_selection *chosen,
                              rope_error *error);

#endif
