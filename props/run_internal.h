/* What the parent (run.c) and its children (run_work.c) share. */
#ifndef PROPS_RUN_INTERNAL_H
#define PROPS_RUN_INTERNAL_H

#include "props/run.h"

typedef struct {
    prop_unit *unit; /* NULL: an errand */
    prop_errand *errand;
    int start; /* of a unit: first finding to work on */
} prop_chain;

int prop_run_properties(void); /* how many there are */

prop_subject prop_run_subject(const prop_unit *unit, int entry);

/* When an entry of the suite has its turn: a mutant meets the main spec, which costs most, last. */
int prop_run_place(const prop_unit *unit, int entry);

/* The body of a child: a prop_chain from its start on. */
int prop_run_work(void *context);

#endif
