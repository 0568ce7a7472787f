/* The mutation run: every mutant through the code that verifies kernels. A mutant that survives,
 * and a property that kills none, fail the run. */
#ifndef PROPS_MUTATION_H
#define PROPS_MUTATION_H

#include <stdio.h>

#include "props/suite.h"
#include "props/verify.h"

typedef struct prop_mutation prop_mutation;

/* Runs all at the quick level; `only` names one mutant, NULL = all. NULL with a line on trouble. */
prop_mutation *prop_mutation_run(const prop_suite *suite, uint64_t seed, int jobs, const char *only,
                                 rope_error *error);

/* A line a mutant and a line a property. */
prop_sum prop_mutation_text(const prop_mutation *m, FILE *out);

/* The matrix: run,mutant,class,mutates,killed,reason, then a column a property: yes, no, or empty
 * where it was not run. */
void prop_mutation_rows(const prop_mutation *m, const char *run, rows_writer *w);
char *prop_mutation_columns(void); /* malloc'ed */

void prop_mutation_free(prop_mutation *m);

#endif
